/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of a function, as a list with their places in the flow: an observer of calls. */
#ifndef ANALYSIS_CALL_CALL_SET_H
#define ANALYSIS_CALL_CALL_SET_H

#include "analysis/call/call_latency.h"
#include "analysis/event/call_values.h"
#include "flow/view/span.h"
#include "query/row.h"

struct analysis_set_call {
	uint64_t number;       /* position among all calls of the function, in the order of their begins, from 1 */
	uint64_t first, end;   /* instructions of the thread before the call, and up to its end */
	uint64_t start, wall;  /* trace clock, 0: unknown; nanoseconds */
	uint64_t until;        /* next known time of the thread after the call's end; UINT64_MAX: none */
	uint64_t instructions; /* with callees */
	uint32_t thread;       /* index in `threads` */
	uint32_t stack;        /* number of the stack within the thread */
	uint32_t nested;       /* calls of the function around this call, on the same stack */
	bool slow;             /* set->mark is true; else for the user of the set */
};

/* A thread whose calls were seen. */
struct analysis_set_thread {
	uint32_t process, pid, tid, cpu;
	size_t first_segment, first_switch; /* indexes in `segments` and `switches` */
};

/* A segment of the flow of a thread, or a switch to another stack. */
struct analysis_set_place {
	size_t what;    /* index of the segment; number of the stack */
	uint64_t first; /* instructions of the thread before */
};

struct analysis_call_set {
	/* Set by the caller. */
	struct analysis_matches matches;
	const struct query_row *where; /* on analysis_set_fields; NULL: all calls */
	const struct query_row *mark;  /* NULL: no call is marked slow */
	bool outermost;                /* without calls within another call of the function on the same stack */

	struct analysis_set_call *calls; /* owned; ordered by number after analysis_call_set_run */
	size_t count, capacity;
	uint64_t seen;       /* all calls of the function */
	uint64_t incomplete; /* calls without a known begin or end in the flow, which are in no set */
	struct analysis_set_thread *threads;
	size_t thread_count, thread_capacity;
	struct analysis_set_place *segments, *switches; /* ordered by thread and place */
	size_t segment_count, segment_capacity, switch_count, switch_capacity;
	/* During the walk: */
	struct query_row_asker asker, marker;
	uint32_t *active; /* by stack: unfinished calls of the function; owned */
	size_t active_capacity;
	size_t settled;                                    /* calls before this index have their `until` */
	uint64_t ended;                                    /* known time at which the later calls ended */
	struct analysis_call_values *values, *mark_values; /* of `where` and `mark` */
	const struct analysis_call_values *asking;         /* of the expression that is evaluated */
	struct ptl_bytes marks;
	const struct analysis_call_thread *thread; /* for the fields */
	const struct analysis_frame *frame;
	const struct analysis_set_call *call;
};

extern const struct query_row_field analysis_set_fields[];

/*
 * Walks all calls of the trace, and lists the calls for which set->where is true. Returns PTL_MISUSE if no function that
 * ran has the name; option: its source, for the message. Call analysis_call_set_free in any case.
 */
int analysis_call_set_run(struct analysis_call_set *set, const char *option);
void analysis_call_set_free(struct analysis_call_set *set);

/*
 * Makes spans of all calls in the set. The owner of a span is the index of its call; with
 * `joined`, spans of overlapping calls become one span, and the owner has no meaning. Without `joined`, the set must be
 * `outermost`. The caller frees spans->list. Returns PTL_NO_MEMORY.
 */
int analysis_call_set_spans(const struct analysis_call_set *set, bool joined, struct flow_spans *spans);

/*
 * For enter and rename of an observer: whether a call of the function begins with the frame. 1 or 0, or PTL_NO_MEMORY.
 * Every walk of the same flow has the calls in the same order, so the count of begins is the number of the call.
 */
int analysis_call_set_begins(struct analysis_matches *matches, struct analysis_frame *frame);
/* Returns the call with this number; NULL: not in the set. */
const struct analysis_set_call *analysis_call_set_find(const struct analysis_call_set *set, uint64_t number);

#endif
