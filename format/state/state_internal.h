/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals of the state, shared by folding and rundown. */
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

/* A string with several holders. */
struct format_state_text {
	uint32_t holders;
	char text[];
};

/*
 * A load of an image, or written code, of which at least one byte is visible. A piece of an address space refers to its
 * image's layer (image) and to the layer of the code on top (blob), or to FORMAT_STATE_NONE. There may be a million
 * layers, so their other properties are in the store.
 */
struct format_state_layer {
	uint64_t base, size;
	uint64_t mapped;   /* visible bytes; 0: the layer is free */
	uint64_t sequence; /* order of all layers */
	uint64_t place;    /* place in the store; in a free layer: number of the next free layer */
	uint32_t protection;
	bool is_code;
	bool noted; /* used while layers are listed */
};

/* A thread in its process's list, in order of start. Links are a thread's number plus one, or 0. */
struct format_state_thread {
	struct {
		uint32_t pid, tid;
	} key;                   /* first member, as key of the row index */
	uint32_t next, previous; /* in a free element, next is the next free element */
	uint64_t start_address;
	struct format_state_text *name;
};

struct format_state_member {
	struct format_fold_process fold; /* first member, so that rows may be found by pid */
	uint32_t parent_id;
	uint32_t first_thread, last_thread;
	struct format_state_text *program;
	struct format_state_text *command_line;
};

#define FORMAT_STATE_NAMES 256 /* a power of two */
#define FORMAT_STATE_SHOWN 1024

/* An image that was returned, as reported. */
struct format_state_shown {
	uint32_t layer;
	uint64_t sequence;
	struct ptl_image_event image;
	struct ptl_bytes bytes; /* bytes that `image` points into */
};

struct ptl_state {
	struct format_fold fold;
	struct format_state_member *members; /* in order of start; places of ended processes are closed later */
	size_t count, ended_count;
	struct common_row_index by_pid;
	size_t walk_rank, walk_at;       /* last process returned by ptl_state_process_at: its rank and place */
	struct common_hash_map ended;    /* pid -> unique key of the last ended process */
	struct format_fold_process past; /* ended process returned to the fold */
	struct format_state_thread *threads;
	size_t thread_count;
	uint32_t free_thread;
	struct common_row_index by_thread;
	struct format_state_text *names[FORMAT_STATE_NAMES]; /* recent names, by hash */
	struct format_state_layer *layers;
	size_t layer_count;
	uint32_t free_layer;
	uint64_t sequence;
	struct format_store store;
	uint64_t sweep_at;         /* size of the store at which unused entries are removed */
	struct ptl_bytes reported; /* bytes being encoded for the store */
	struct format_state_shown *shown[FORMAT_STATE_SHOWN]; /* cache by layer */
	struct ptl_image_event returned_image;                /* image returned to the fold */
	struct ptl_bytes returned_image_bytes;                /* bytes that `returned_image` points into */
	int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start);
	void *inherit_context;
	size_t text_bytes;
	struct common_memory_budget memory_budget;
};

/* Returns a text with one more holder, possibly an existing text; NULL without memory. */
struct format_state_text *format_state_text(struct ptl_state *state, const char *text);
void format_state_text_drop(struct ptl_state *state, struct format_state_text *text); /* text may be NULL */

/* Ends a thread of a process. number: the thread's number plus one. */
void format_state_thread_remove(struct ptl_state *state, struct format_state_member *member, uint32_t number);

/* Listeners of the fold: in state.c, thread.c and space.c. */
extern const struct format_fold_threads format_state_threads;
extern const struct format_fold_spaces format_state_spaces;

/* ---- reported properties of images and code: reported.c ---------------------------------------------------- */

/* Store the properties of an image, or of code, for a layer. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_state_put_image(struct ptl_state *state, const struct ptl_image_event *image,
			   struct format_state_layer *layer);
int format_state_put_code(struct ptl_state *state, const struct ptl_code_event *code, struct format_state_layer *layer);
/* Return the properties of a layer; strings point into `bytes`. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_state_get_image(struct ptl_state *state, const struct format_state_layer *layer, struct ptl_bytes *bytes,
			   struct ptl_image_event *image);
int format_state_get_code(struct ptl_state *state, const struct format_state_layer *layer, struct ptl_bytes *bytes,
			  struct ptl_code_event *code);
/* Reserves memory for the state's growth. PTL_NO_MEMORY. */
int format_state_budget(struct ptl_state *state);
/* Removes entries without a layer from the store, if there may be many. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_state_sweep(struct ptl_state *state);

/* ---- processes: member.c ------------------------------------------------------------------------------------ */

/* Returns the rows of the index by pid. Valid until a process begins or ends. */
struct common_rows format_state_member_rows(const struct ptl_state *state);
/* Returns the live process, or NULL. Valid until a process begins or ends. */
struct format_state_member *format_state_member(const struct ptl_state *state, uint32_t pid);

#endif
