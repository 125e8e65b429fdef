/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state at a moment: live processes and threads, mapped images and code, folded from a trace's events; and the
 * rundown that describes this state to a reader. Rundown makes a piece of a trace self-contained.
 */
#ifndef PTL_STATE_H
#define PTL_STATE_H

#include <ptl/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ptl_state;

/* A live process. Strings live until the next event is folded. */
struct ptl_state_process {
	uint32_t pid;
	uint32_t parent_id;       /* PTL_NO_ID: unknown */
	uint64_t unique_key;      /* 0: no key */
	uint64_t start;           /* 0: before the trace's start, or unknown */
	bool implied;             /* no process event has reported the process */
	const char *program;      /* path; "": unknown */
	const char *command_line; /* "": unknown */
};

/* Creates an empty state, without processes. PTL_NO_MEMORY. */
int ptl_state_new(struct ptl_state **state);
void ptl_state_free(struct ptl_state *state);

/*
 * Folds an event. Events must come in the trace's order, as from ptl_process. Events of classes other than processes,
 * threads, images and code have no effect. An invalid event has no effect and is counted. Descriptions of very many
 * images wait in an unnamed file in $TMPDIR. PTL_NO_MEMORY, PTL_SYSTEM (this file cannot be written): the state must
 * not be used afterwards.
 */
int ptl_state_event(struct ptl_state *state, const struct ptl_event *event);
/* Returns the number of invalid events of these classes so far. */
uint64_t ptl_state_skipped(const struct ptl_state *state);

/* Finds a live process; false if not found. */
bool ptl_state_find_process(const struct ptl_state *state, uint32_t pid, struct ptl_state_process *process);
/* Returns the i-th live process in order of start, from 0; false if there are no more. */
bool ptl_state_process_at(struct ptl_state *state, size_t i, struct ptl_state_process *process);
/*
 * Returns the live image of the process that covers the lowest address in [first, last], both inclusive, or NULL. The
 * image is as its load event reported it (parts of its range may be unmapped or covered), and lives until the next
 * event is folded, or the next call. Also NULL if the image's stored description cannot be read back.
 */
const struct ptl_image_event *ptl_state_find_image(struct ptl_state *state, uint32_t pid, uint64_t first,
						   uint64_t last);

/* Parameters of a rundown. */
struct ptl_rundown {
	size_t size;   /* sizeof(struct ptl_rundown) */
	uint32_t pid;  /* process to describe; PTL_NO_ID: all processes */
	uint64_t time; /* time of the rundown's events */
	/*
	 * PTL_OPCODE_START_RUNDOWN: everything. PTL_OPCODE_LOAD: only images and code, as if loaded at this moment.
	 * PTL_OPCODE_END_RUNDOWN: for a reader that has followed the whole trace: processes, threads, and each image at
	 * its start, without code and unloads.
	 */
	uint8_t opcode;
	/*
	 * Receives each event, which is valid, like its payload, until the callback returns. A non-zero result ends the
	 * rundown, which returns the result.
	 */
	int (*take)(void *context, const struct ptl_event *event);
	void *context;
	/*
	 * Range of addresses, both inclusive; both 0: all addresses. Images and code that overlap the range are
	 * reported whole, unloads within the range only.
	 */
	uint64_t first, last;
};

/*
 * Passes the events that bring a reader without any knowledge to this state: processes in order of start; for each
 * process, its process event, its threads, and its images and code in order of loading, with unloads for ranges that
 * were unmapped or covered since. The events belong to no CPU and have the flag PTL_EVENT_INJECTED.
 *
 * All objects that exist at the time of the last event count as reported, so fold all events of a moment first.
 * PTL_NO_MEMORY, or the result of take().
 */
int ptl_state_rundown(struct ptl_state *state, const struct ptl_rundown *rundown);

/*
 * Sets a callback for inheritance. inherit() is called when a forked process is known to have begun with its parent's
 * mappings: while an event later than its start is folded, before this event takes effect, or during a rundown.
 * inherit() may request a rundown of the process. A non-zero result ends the enclosing call, which returns the result.
 * NULL: no callback.
 */
void ptl_state_on_inherit(struct ptl_state *state,
			  int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start),
			  void *context);

#ifdef __cplusplus
}
#endif

#endif
