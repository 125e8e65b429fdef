/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who lives and what is mapped at a moment: processes, threads, images and code, folded from a trace's events, and
 * the rundown that describes it to a reader. It is what makes a piece of a trace a whole one.
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
	uint64_t unique_key;      /* 0: none */
	uint64_t start;           /* 0: before the trace began, or unknown */
	bool implied;             /* no process event has reported it */
	const char *program;      /* path; "" unknown */
	const char *command_line; /* "" unknown */
};

/* An empty state: nobody lives. PTL_NO_MEMORY. */
int ptl_state_new(struct ptl_state **state);
void ptl_state_free(struct ptl_state *state);

/*
 * Folds an event. Events come in the trace's order, as ptl_process gives them; those of classes that say
 * nothing about processes, threads, images and code change nothing. An event that cannot be understood changes
 * nothing and is counted. What is reported about very many images waits in an unnamed file in $TMPDIR. PTL_NO_MEMORY, PTL_SYSTEM
 * (that file cannot be written): the state is not to be used any more.
 */
int ptl_state_event(struct ptl_state *state, const struct ptl_event *event);
/* Events of these classes that could not be understood so far. */
uint64_t ptl_state_skipped(const struct ptl_state *state);

/* False: no such process lives. */
bool ptl_state_find_process(const struct ptl_state *state, uint32_t pid, struct ptl_state_process *process);
/* The i-th live process in order of start, from 0; false: there are no more. */
bool ptl_state_process_at(struct ptl_state *state, size_t i, struct ptl_state_process *process);
/*
 * The live image of the process that covers the lowest address in [first, last], both inclusive; NULL: none. It is
 * as its load reported it (of its range, parts may be unmapped or covered) and lives until the next event is folded, or
 * the next call. NULL, too, where what was reported about it cannot be read again.
 */
const struct ptl_image_event *ptl_state_find_image(struct ptl_state *state, uint32_t pid, uint64_t first,
						   uint64_t last);

/* What rundown is to be written, and where to. */
struct ptl_rundown {
	size_t size;   /* sizeof(struct ptl_rundown) */
	uint32_t pid;  /* of one process; PTL_NO_ID: of all */
	uint64_t time; /* that its events get */
	/*
	 * PTL_OPCODE_START_RUNDOWN; or PTL_OPCODE_LOAD: the images and the code alone, as if they were loaded at that
	 * moment; or PTL_OPCODE_END_RUNDOWN, for a reader who has followed all of it: processes, threads, and images
	 * where they begin, without code and unloads.
	 */
	uint8_t opcode;
	/* Gets each event; it and its payload live until it returns. Non-zero ends the rundown, which returns it. */
	int (*take)(void *context, const struct ptl_event *event);
	void *context;
};

/*
 * Gives the events that bring a reader who knows nothing to this state: processes in order of start; of each its
 * process event, its threads, and its images and code in the order of their loads, with unloads of what has been
 * unmapped or covered since. They belong to no CPU and bear PTL_EVENT_INJECTED.
 *
 * All that there is at the time of the last event counts as reported: fold all events of a moment
 * before. PTL_NO_MEMORY, or what take returned.
 */
int ptl_state_rundown(struct ptl_state *state, const struct ptl_rundown *rundown);

/*
 * From now on inherit is called whenever it becomes clear that a forked process has begun with what its parent had:
 * while an event of a later time than its start is folded, before that takes effect, or during a rundown. It may ask
 * for rundown of that process. Non-zero ends the call that it is in, which returns it. NULL: nobody is called.
 */
void ptl_state_on_inherit(struct ptl_state *state,
			  int (*inherit)(void *context, struct ptl_state *state, uint32_t pid, uint64_t start),
			  void *context);

#ifdef __cplusplus
}
#endif

#endif
