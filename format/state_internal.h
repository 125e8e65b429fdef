/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the state: what folding events and telling of the result share. Only state*.c include this. */
#ifndef PTL_FORMAT_STATE_INTERNAL_H
#define PTL_FORMAT_STATE_INTERNAL_H

#include <ptl/state.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/address_space.h"

#define PTL_STATE_NONE UINT32_MAX

/* A string that several may hold. */
struct ptl_state_text {
	uint32_t holders;
	char text[];
};

/*
 * A load of an image, or code that was written, of which at least one byte still shows. A piece of an
 * address space names its image's layer (image) and that of the code on top (blob), or PTL_STATE_NONE.
 */
struct ptl_state_layer {
	bool is_code;
	uint64_t sequence; /* the order of all of them */
	uint64_t mapped;   /* bytes that still show; 0: the layer is free */
	struct ptl_state_text *name; /* of image */
	union {
		struct ptl_image_event image;
		struct ptl_code_event code;
		uint32_t next_free;
	};
};

struct ptl_state_thread {
	uint32_t tid;
	uint64_t start_address;
	struct ptl_state_text *name;
};

struct ptl_state_space {
	uint32_t root;
	bool touched; /* an event has told of it */
	/* It is a copy of the parent's, unless more is told at the time of the start. */
	bool inherited;
};

struct ptl_state_member {
	struct ptl_state_process data;
	struct ptl_state_text *program;
	struct ptl_state_text *command_line;
	struct ptl_state_thread *threads;
	size_t thread_count;
	struct ptl_state_space space;
};

struct ptl_state {
	struct ptl_state_member **members; /* in order of start; NULL where one has ended */
	size_t count, ended_count;
	struct ptl_hash_map by_pid; /* index in members */
	struct ptl_hash_map ended;  /* unique keys of those that ended last, by pid */
	struct ptl_pieces pieces;
	struct ptl_state_layer *layers;
	uint32_t layer_count, layer_capacity, free_layer;
	uint64_t sequence;
	uint32_t *undecided; /* pids: forked at undecided_time */
	size_t undecided_count;
	uint64_t undecided_time;
	int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start);
	void *inherit_context;
	uint64_t skipped;
	struct ptl_bytes storage; /* strings of the event at hand */
};

/* A new text with one holder; NULL without memory. */
struct ptl_state_text *ptl_state_text_new(const char *text);
struct ptl_state_text *ptl_state_text_hold(struct ptl_state_text *text);
void ptl_state_text_drop(struct ptl_state_text *text); /* may be NULL */

/* The live process; NULL: none. */
struct ptl_state_member *ptl_state_member(const struct ptl_state *state, uint32_t pid);
/*
 * The same; one that nobody told of is made. *member is NULL for one that has ended: what is told of it then
 * changes nothing. PTL_NO_MEMORY.
 */
int ptl_state_need(struct ptl_state *state, uint32_t pid, struct ptl_state_member **member);

/* Everything is unmapped. */
void ptl_state_space_clear(struct ptl_state *state, struct ptl_state_space *space);
/* child, which is empty, becomes a copy. PTL_NO_MEMORY. */
int ptl_state_space_copy(struct ptl_state *state, const struct ptl_state_space *parent,
			 struct ptl_state_space *child);
/* The process executes another program. PTL_NO_MEMORY. */
int ptl_state_space_exec(struct ptl_state *state, struct ptl_state_member *member, uint64_t time);
int ptl_state_image(struct ptl_state *state, const struct ptl_event *event, const struct ptl_image_event *data);
int ptl_state_code(struct ptl_state *state, const struct ptl_event *event, const struct ptl_code_event *data);
/* If the process began as a copy of its parent, that is what it is. What inherit returns. */
int ptl_state_decide(struct ptl_state *state, struct ptl_state_member *member);
/* Forked processes of an earlier time than this have what their parents had. */
int ptl_state_settle(struct ptl_state *state, uint64_t time);

#endif
