/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fold of kernel events: derives changes of processes, threads, images and code from events (docs/decoding.md,
 * "Timeline"), and reports the changes to a listener. The listener decides what to keep of processes and images, and
 * for how long: ptl_state keeps the current state, the timeline keeps all history.
 */
#ifndef FORMAT_STATE_FOLD_H
#define FORMAT_STATE_FOLD_H

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "common/hash_map.h"
#include "format/event/kernel_class.h"
#include "format/state/address_space.h"

#define FORMAT_FOLD_NONE UINT32_MAX

/* The fold's data of a process: the first member of the listener's structure for a process. */
struct format_fold_process {
	uint32_t pid;  /* first member, so that rows may be found by pid */
	uint32_t root; /* current address space */
	uint64_t unique_key;
	uint64_t start; /* 0: before the trace's start, or unknown */
	bool implied;   /* no process event has reported the process */
	bool started;   /* the trace contains the start, not only rundown */
	bool ended;
	bool rundown;   /* everything the process had at the trace's start was reported, or exec has discarded it */
	bool touched;   /* something was reported about its address space, or about its parent's before the fork */
	bool undecided; /* forked; whether the process inherits depends on further reports of the same time */
};

/*
 * The listener's functions: queries by the fold, and reports of changes. Functions that return int return 0, or a
 * ptl_status that ends the event. Pointers to processes are valid until the next `add`. The listener assigns numbers to
 * threads, images and code. Strings and data live until the function returns.
 */
struct format_fold_processes {
	/* Returns the last process with this pid; NULL: none, or no longer of interest. */
	struct format_fold_process *(*find)(void *context, uint32_t pid);
	/* Adds a process, which is implied at first. */
	int (*add)(void *context, uint32_t pid, struct format_fold_process **process);
	/* Returns the program that a process runs; false if unknown. */
	bool (*program)(void *context, const struct format_fold_process *process, const char **path,
			const char **command_line);
	/*
	 * A process is reported and is no longer implied. parent: NULL if unknown. data: includes an inherited program.
	 */
	int (*begins)(void *context, struct format_fold_process *process, const struct format_fold_process *parent,
		      const struct ptl_process_event *data);
	/* A process ends. data: NULL if no event reports the end, but the pid is reused. */
	int (*ends)(void *context, struct format_fold_process *process, uint64_t time,
		    const struct ptl_process_event *data);
	int (*executes)(void *context, struct format_fold_process *process, uint64_t time,
			const struct ptl_process_event *data);
	/* A thread took a signal that ends the process. May be NULL. */
	int (*signalled)(void *context, struct format_fold_process *process, uint64_t time,
			 const struct ptl_signal_event *data);
};

struct format_fold_threads {
	/* Finds a live thread's number; false if there is none. */
	bool (*find)(void *context, const struct format_fold_process *process, uint32_t tid, uint32_t *thread);
	/*
	 * A thread begins. started: at `time`; a live thread with the same id has ended unseen. Otherwise the thread
	 * existed before.
	 */
	int (*begins)(void *context, struct format_fold_process *process, uint64_t time, bool started,
		      const struct ptl_thread_event *data);
	int (*renamed)(void *context, uint32_t thread, const char *name);
	/* A thread ends. The thread may be unknown so far. */
	int (*ends)(void *context, uint64_t time, const struct ptl_thread_event *data);
	/* A CPU switches threads. May be NULL. */
	int (*switched)(void *context, const struct ptl_event *event, const struct ptl_switch_event *data);
};

/* Address spaces. A forked process may begin with its parent's mappings. */
struct format_fold_spaces {
	/* A process was forked, and may inherit its parent's current mappings. */
	int (*forks)(void *context, struct format_fold_process *process, const struct format_fold_process *parent);
	/* The forked process inherits, as nothing else was reported at the time of its start. */
	int (*inherits)(void *context, struct format_fold_process *process);
	/* The forked process does not inherit, as its own mappings are reported. */
	void (*disinherits)(void *context, struct format_fold_process *process);
	/*
	 * Called before format_fold_copy puts a piece: replaces the piece's numbers by the process's own numbers.
	 * `copies` maps numbers already copied.
	 */
	int (*copies)(void *context, struct format_fold_process *process, struct format_piece *piece,
		      struct common_hash_map *copies);

	/* Called before and after all changes of an event. NULL: no call. */
	int (*change_begins)(void *context, struct format_fold_process *process, uint64_t time, bool injected);
	int (*change_ends)(void *context, struct format_fold_process *process);
	/* Returns the reported data of an image, and how many of its bytes are visible. */
	int (*image)(void *context, uint32_t image, const struct ptl_image_event **data, uint64_t *mapped);
	/* An image is unloaded, or reported at the trace's end, and nothing was mapped there. May be NULL. */
	int (*unannounced)(void *context, struct format_fold_process *process, const struct ptl_event *event,
			   const struct ptl_image_event *data);
	/* An image is loaded. Stores its number, and the number of its bytes, in the piece. */
	int (*loads)(void *context, struct format_fold_process *process, const struct ptl_image_event *data,
		     enum format_action action, struct format_piece *piece);
	/* Code bytes change. Stores their number in the piece. */
	int (*writes)(void *context, struct format_fold_process *process, const struct ptl_code_event *data,
		      struct format_piece *piece);
	/* Puts a piece into the process's tree. base: address of the blob's first byte. */
	void (*maps)(void *context, struct format_fold_process *process, const struct format_piece *piece,
		     uint64_t base);
	/* `bytes` bytes of the piece's image and blob are no longer visible. */
	void (*hides)(void *context, const struct format_piece *piece, uint64_t bytes);
	/* A whole range was unmapped. May be NULL. */
	void (*unmaps)(void *context, struct format_fold_process *process, uint64_t first, uint64_t last);
	void (*protects)(void *context, uint32_t image, uint32_t protection);
};

struct format_fold_listener {
	/* Ended processes never change, and processes that they fork inherit nothing. */
	bool forgets_ended;
	const struct format_fold_processes *processes;
	const struct format_fold_threads *threads;
	const struct format_fold_spaces *spaces;
};

/* Set listener and context; zero-initialise the rest. */
struct format_fold {
	const struct format_fold_listener *listener;
	void *context;
	struct format_pieces pieces; /* trees of all address spaces */
	uint32_t *undecided;         /* pids of processes forked at undecided_time */
	size_t undecided_count;
	uint64_t undecided_time;
	uint64_t skipped; /* number of invalid events of the classes */
	struct ptl_bytes storage;
};

void format_fold_free(struct format_fold *fold);

/*
 * Folds an event; events must come in order of time. An invalid event changes nothing and is counted; an event of
 * another class changes nothing. PTL_NO_MEMORY, or a failure of the listener.
 */
int format_fold_event(struct format_fold *fold, const struct ptl_event *event);

/* Lets undecided processes forked before `time` inherit. */
int format_fold_settle(struct format_fold *fold, uint64_t time);
/* Lets a process inherit if this is undecided. */
int format_fold_decide(struct format_fold *fold, struct format_fold_process *process);

/* ---- for listeners ----------------------------------------------------------------------------------------------- */

/* Unmaps a range. */
void format_fold_unmap(struct format_fold *fold, struct format_fold_process *process, uint64_t first, uint64_t last);
/* Copies a tree to a process without mappings, by the listener's `copies`. */
int format_fold_copy(struct format_fold *fold, uint32_t root, struct format_fold_process *process);

/* ---- fold_space.c: images and code ------------------------------------------------------------------------------- */

/*
 * Returns the last process with the pid, new if there is none. NULL: the process has ended and is no longer of
 * interest.
 */
int format_fold_need(struct format_fold *fold, uint32_t pid, struct format_fold_process **process);
int format_fold_image(struct format_fold *fold, const struct ptl_event *event,
		      const struct format_kernel_event *decoded);
int format_fold_code(struct format_fold *fold, const struct ptl_event *event, const struct ptl_code_event *data);
/* Unmaps everything, as the process executes another program. */
int format_fold_clear(struct format_fold *fold, struct format_fold_process *process, uint64_t time);

#endif
