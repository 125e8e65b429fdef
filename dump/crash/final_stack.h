/* SPDX-License-Identifier: BSD-2-Clause */
/* The stack of calls of each thread at its end: an observer of calls. */
#ifndef DUMP_CRASH_FINAL_STACK_H
#define DUMP_CRASH_FINAL_STACK_H

#include "dump/run/calls.h"

/* Frames kept of a deep stack: the innermost and the outermost ones. */
#define DUMP_CRASH_INNER_FRAMES 64
#define DUMP_CRASH_OUTER_FRAMES 16

/* A copy of a stack. Of a deep stack, frames between `outer` and the rest are missing. */
struct dump_crash_frames {
	struct analysis_frame *list; /* owned; the outermost frame comes first */
	size_t count;
	size_t outer; /* frames before the missing frames; 0: no frame is missing */
	size_t depth; /* frames of the stack */
};

struct dump_crash_final {
	uint32_t pid, tid, thread;
	struct dump_crash_frames end;
	/* the stack at the last call of a function that raises an exception or a panic; empty: no such call */
	struct dump_crash_frames raised;
	uint64_t raised_time;  /* trace clock; 0 unknown */
	uint64_t instructions; /* of the current stack */
};

struct dump_crash_finals {
	const struct analysis_function_table *functions; /* set by the caller */
	struct dump_crash_final *list;                   /* owned */
	size_t count;
	struct dump_crash_final current;
	bool copied;      /* the stack of the current thread's end was copied */
	uint64_t gaps;    /* gaps in the flow of all threads */
	uint64_t raising; /* serial number of the frame that raised last; 0: none */
	size_t raising_depth;
	uint8_t *known; /* by function: whether the function raises; owned */
	size_t known_capacity;
};

/* The context is the finals. */
extern const struct analysis_call_observer dump_crash_finals_observer;
void dump_crash_finals_free(struct dump_crash_finals *finals);
/* Returns the end of a thread; NULL: no flow. */
const struct dump_crash_final *dump_crash_final_find(const struct dump_crash_finals *finals, uint32_t pid,
						     uint32_t tid);

#endif
