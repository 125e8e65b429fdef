/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of a thread as a list of records, in order of their begin; values are filled in at their end. */
#ifndef ANALYSIS_CALL_CALL_TREE_H
#define ANALYSIS_CALL_CALL_TREE_H

#include "analysis/call/call_record.h"
#include "analysis/call/call_stack.h"

struct analysis_call_tree {
	/* Set by the caller. */
	uint64_t min_time;         /* nanoseconds; shorter calls are left out and counted by their callers */
	uint64_t min_instructions; /* likewise, in instructions */
	size_t max_depth;          /* deeper calls are left out; 0: unlimited */
	bool no_folding;
	/* Whether calls of a function are selected. Other calls that contain a selected call are not folded. NULL: none. */
	bool (*selects)(void *context, uint32_t function);
	/*
	 * Returns the thread's events before a time that were not returned yet, as text of *size bytes. NULL: no
	 * events.
	 */
	const uint8_t *(*events)(void *context, const struct analysis_call_thread *thread, uint64_t time, size_t *size);
	/* Receives the records of a thread, or of one program of the thread. */
	int (*show)(void *context, const struct analysis_call_tree *tree, const struct analysis_call_thread *thread);
	void *context;

	struct analysis_record_list list;
	size_t kept;     /* index after the last event or change of stacks: calls that contain one are not folded */
	size_t selected; /* index after the selected call that ended last */
	struct analysis_record_list below; /* frames found below the first frames, outermost last */
	uint32_t *belows;                  /* by stack: number of its frames in `below`; owned */
	size_t belows_count;
};

/* Observer for analysis_calls_run. The context is the tree. */
extern const struct analysis_call_observer analysis_call_tree_observer;
void analysis_call_tree_free(struct analysis_call_tree *tree);

/* Returns the depth of a record's call, counted from the outermost known frame. */
size_t analysis_record_level(const struct analysis_call_tree *tree, const struct analysis_call_record *record);

#endif
