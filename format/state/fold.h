/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fold of the kernel's events: it knows what they do to processes, threads, images and code (docs/decoding.md, "Timeline"),
 * and gives out changes. What is kept of processes and images, and for how long, is its listener's: ptl_state keeps
 * what is there now, the timeline keeps all that ever was.
 */
#ifndef FORMAT_STATE_FOLD_H
#define FORMAT_STATE_FOLD_H

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/event/kernel_class.h"
#include "format/state/address_space.h"

#define FORMAT_FOLD_NONE UINT32_MAX

/* What the fold knows of a process: the first member of what the listener keeps of one. */
struct format_fold_process {
	uint32_t pid;  /* first: rows may be found by it */
	uint32_t root; /* of its address space as it is now */
	uint64_t unique_key;
	uint64_t start; /* 0: before the trace began, or unknown */
	bool implied;   /* no process event reports it */
	bool started;   /* its start is in the trace, not only its rundown */
	bool ended;
	bool rundown;   /* what it had when the trace began was reported, or is gone by exec */
	bool touched;   /* something was reported of its address space, or of its parent's when it was forked */
	bool undecided; /* it was forked: whether it inherits depends on what else is reported at that time */
};

/*
 * What the fold asks its listener, and the changes that it gives out. All functions that return int give 0, or a ptl_status
 * that ends the event. Pointers to processes hold until the next `add`. Threads, images and code are named by numbers that the
 * listener gives. Strings and data live until the function returns.
 */
struct format_fold_processes {
	/* The last process that has had the pid; NULL: none, or it need not be known any more. */
	struct format_fold_process *(*find)(void *context, uint32_t pid);
	/* Adds a process, implied so far. */
	int (*add)(void *context, uint32_t pid, struct format_fold_process **process);
	/* The program that a process runs; false: it is not known. */
	bool (*program)(void *context, const struct format_fold_process *process, const char **path,
			const char **command_line);
	/* A process is not implied any more. parent is NULL where it is not known. data has the program that it inherits. */
	int (*begins)(void *context, struct format_fold_process *process, const struct format_fold_process *parent,
		      const struct ptl_process_event *data);
	/* data is NULL where no event reports the end, but the pid is used again. */
	int (*ends)(void *context, struct format_fold_process *process, uint64_t time,
		    const struct ptl_process_event *data);
	int (*executes)(void *context, struct format_fold_process *process, uint64_t time,
			const struct ptl_process_event *data);
};

struct format_fold_threads {
	/* The number of a thread that lives; false: there is none. */
	bool (*find)(void *context, const struct format_fold_process *process, uint32_t tid, uint32_t *thread);
	/* started: at that time; one that lives and has its id has ended unseen. Otherwise it was there before. */
	int (*begins)(void *context, struct format_fold_process *process, uint64_t time, bool started,
		      const struct ptl_thread_event *data);
	int (*renamed)(void *context, uint32_t thread, const char *name);
	/* Nothing may have been reported of the thread before. */
	int (*ends)(void *context, uint64_t time, const struct ptl_thread_event *data);
	/* May be NULL. */
	int (*switched)(void *context, const struct ptl_event *event, const struct ptl_switch_event *data);
};

/* Address spaces. A process that is forked may begin with what its parent has. */
struct format_fold_spaces {
	/* It was forked: what its parent has now may be what it begins with. */
	int (*forks)(void *context, struct format_fold_process *process, const struct format_fold_process *parent);
	/* It is: nothing was reported of it at the time of its start. */
	int (*inherits)(void *context, struct format_fold_process *process);
	/* It is not: what it has is reported. */
	void (*disinherits)(void *context, struct format_fold_process *process);
	/* format_fold_copy is about to put this piece: its numbers become the process's own, by `copies` where it has them. */
	int (*copies)(void *context, struct format_fold_process *process, struct format_piece *piece,
		      struct common_hash_map *copies);

	/* All changes of an event stand between these two, which may be NULL. */
	int (*change_begins)(void *context, struct format_fold_process *process, uint64_t time, bool injected);
	int (*change_ends)(void *context, struct format_fold_process *process);
	/* What was reported of an image, and how many bytes of it show. */
	int (*image)(void *context, uint32_t image, const struct ptl_image_event **data, uint64_t *mapped);
	/* An image is reported at the end of the trace, or is unloaded, and nothing was mapped there. May be NULL. */
	int (*unannounced)(void *context, struct format_fold_process *process, const struct ptl_event *event,
			   const struct ptl_image_event *data);
	/* An image is loaded: its number, and that of its bytes, go into the piece. */
	int (*loads)(void *context, struct format_fold_process *process, const struct ptl_image_event *data,
		     enum format_action action, struct format_piece *piece);
	/* Bytes of code change: their number goes into the piece. */
	int (*writes)(void *context, struct format_fold_process *process, const struct ptl_code_event *data,
		      struct format_piece *piece);
	/* Puts a piece into the process's tree; the bytes of its blob begin at base. */
	void (*maps)(void *context, struct format_fold_process *process, const struct format_piece *piece,
		     uint64_t base);
	/* So many bytes of the piece's image and blob show no more. */
	void (*hides)(void *context, const struct format_piece *piece, uint64_t bytes);
	/* All of a range has been unmapped. May be NULL. */
	void (*unmaps)(void *context, struct format_fold_process *process, uint64_t first, uint64_t last);
	void (*protects)(void *context, uint32_t image, uint32_t protection);
};

struct format_fold_listener {
	/* Nothing changes a process that has ended, and what it forks inherits nothing. */
	bool forgets_ended;
	const struct format_fold_processes *processes;
	const struct format_fold_threads *threads;
	const struct format_fold_spaces *spaces;
};

/* Zero-initialised but for the listener and its context. */
struct format_fold {
	const struct format_fold_listener *listener;
	void *context;
	struct format_pieces pieces; /* trees of all address spaces */
	uint32_t *undecided;         /* pids of processes that were forked at undecided_time */
	size_t undecided_count;
	uint64_t undecided_time;
	uint64_t skipped; /* events of the classes that could not be understood */
	struct ptl_bytes storage;
};

void format_fold_free(struct format_fold *fold);

/*
 * Folds an event; they come in order of time. One that cannot be understood changes nothing and is counted, one that is of no
 * class changes nothing. PTL_NO_MEMORY, or what the listener returns.
 */
int format_fold_event(struct format_fold *fold, const struct ptl_event *event);

/* Forked processes of an earlier time than this have what their parents had. */
int format_fold_settle(struct format_fold *fold, uint64_t time);
/* If it is undecided whether the process inherits, it does. */
int format_fold_decide(struct format_fold *fold, struct format_fold_process *process);

/* ---- for listeners ----------------------------------------------------------------------------------------------- */

/* Unmaps a range. */
void format_fold_unmap(struct format_fold *fold, struct format_fold_process *process, uint64_t first, uint64_t last);
/* Gives a process that has nothing what the tree has, by `copies`. */
int format_fold_copy(struct format_fold *fold, uint32_t root, struct format_fold_process *process);

/* ---- fold_space.c: images and code ------------------------------------------------------------------------------- */

/* The last process that has had the pid; it is made where there is none. NULL: what it does is not wanted any more. */
int format_fold_need(struct format_fold *fold, uint32_t pid, struct format_fold_process **process);
int format_fold_image(struct format_fold *fold, const struct ptl_event *event,
		      const struct format_kernel_event *decoded);
int format_fold_code(struct format_fold *fold, const struct ptl_event *event, const struct ptl_code_event *data);
/* Everything is unmapped: the process executes another program. */
int format_fold_clear(struct format_fold *fold, struct format_fold_process *process, uint64_t time);

#endif
