/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the state: what listening to the fold and reporting the result share. */
#ifndef FORMAT_STATE_STATE_INTERNAL_H
#define FORMAT_STATE_STATE_INTERNAL_H

#include <ptl/state.h>

#include "common/memory_budget.h"
#include "common/bytes.h"
#include "common/hash_map.h"
#include "common/row_index.h"
#include "format/state/fold.h"
#include "format/state/store.h"

#define FORMAT_STATE_NONE FORMAT_FOLD_NONE

/* A string that several may hold. */
struct format_state_text {
	uint32_t holders;
	char text[];
};

/*
 * A load of an image, or code that was written, of which at least one byte still shows. A piece of an
 * address space names its image's layer (image) and that of the code on top (blob), or FORMAT_STATE_NONE.
 * There can be a million of them: what is reported about them beside this is in the store.
 */
struct format_state_layer {
	uint64_t base, size;
	uint64_t mapped;   /* bytes that still show; 0: the layer is free */
	uint64_t sequence; /* the order of all of them */
	uint64_t place;    /* in the store; of a free one the number of the next free one */
	uint32_t protection;
	bool is_code;
	bool noted; /* while layers are listed */
};

/* One thread of a list in order of start; 0 or the number of a thread plus one. */
struct format_state_thread {
	struct {
		uint32_t pid, tid;
	} key;                   /* first: it is found by that */
	uint32_t next, previous; /* of a free one, next is the next free one */
	uint64_t start_address;
	struct format_state_text *name;
};

struct format_state_member {
	struct format_fold_process fold; /* first: it is found by its pid */
	uint32_t parent_id;
	uint32_t first_thread, last_thread;
	struct format_state_text *program;
	struct format_state_text *command_line;
};

#define FORMAT_STATE_NAMES 256 /* a power of two */
#define FORMAT_STATE_SHOWN 1024

/* An image that was asked for, as it was reported. */
struct format_state_shown {
	uint32_t layer;
	uint64_t sequence;
	struct ptl_image_event image;
	struct ptl_bytes bytes; /* what it points into */
};

struct ptl_state {
	struct format_fold fold;
	struct format_state_member *members; /* in order of start; an ended one's place waits to be closed */
	size_t count, ended_count;
	struct common_row_index by_pid;
	size_t walk_rank, walk_at;       /* the process that ptl_state_process_at gave last, and its place */
	struct common_hash_map ended;    /* unique keys of those that ended last, by pid */
	struct format_fold_process past; /* the one of these that the fold asked for */
	struct format_state_thread *threads;
	size_t thread_count;
	uint32_t free_thread;
	struct common_row_index by_thread;
	struct format_state_text *names[FORMAT_STATE_NAMES]; /* that came recently, by a hash */
	struct format_state_layer *layers;
	size_t layer_count;
	uint32_t free_layer;
	uint64_t sequence;
	struct format_store store;
	uint64_t sweep_at;         /* size of the store at which what nobody wants is left out */
	struct ptl_bytes reported; /* bytes on their way into the store */
	struct format_state_shown *shown[FORMAT_STATE_SHOWN]; /* by layer */
	struct ptl_image_event asked;                         /* the image that the fold asked for */
	struct ptl_bytes asked_bytes;                         /* what it points into */
	int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start);
	void *inherit_context;
	size_t text_bytes;
	struct common_memory_budget memory_budget;
};

/* A text with a holder more, which may be one of before; NULL without memory. */
struct format_state_text *format_state_text(struct ptl_state *state, const char *text);
void format_state_text_drop(struct ptl_state *state, struct format_state_text *text); /* may be NULL */

/* Ends a thread of a process; number is that of a list. */
void format_state_thread_remove(struct ptl_state *state, struct format_state_member *member, uint32_t number);

/* What listens to the fold: in state.c, thread.c and space.c. */
extern const struct format_fold_threads format_state_threads;
extern const struct format_fold_spaces format_state_spaces;

/* ---- what is reported about images and code: reported.c --------------------------------------------------- */

/* Puts what is reported about an image, or about code, into the store, for a layer. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_state_put_image(struct ptl_state *state, const struct ptl_image_event *image,
			   struct format_state_layer *layer);
int format_state_put_code(struct ptl_state *state, const struct ptl_code_event *code, struct format_state_layer *layer);
/* What was reported about a layer; strings point into bytes. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_state_get_image(struct ptl_state *state, const struct format_state_layer *layer, struct ptl_bytes *bytes,
			   struct ptl_image_event *image);
int format_state_get_code(struct ptl_state *state, const struct format_state_layer *layer, struct ptl_bytes *bytes,
			  struct ptl_code_event *code);
/* Counts what the state takes, if that has grown. PTL_NO_MEMORY. */
int format_state_budget(struct ptl_state *state);
/* Leaves out of the store what no layer names, if there may be much of it. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_state_sweep(struct ptl_state *state);

/* The live process; NULL: none. Until one begins or ends. */
struct format_state_member *format_state_member(const struct ptl_state *state, uint32_t pid);

#endif
