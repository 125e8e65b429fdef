/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of all threads as time slices; the longest slices if too many. */
#ifndef DUMP_EXPORT_HTML_SLICES_H
#define DUMP_EXPORT_HTML_SLICES_H

#include "analysis/call/call_stack.h"

struct dump_slice {
	uint64_t start;    /* trace clock */
	uint64_t duration; /* nanoseconds */
	uint64_t instructions;
	int64_t order; /* order of the calls' begins in a stack; negative: found below the first frames, the outermost first */
	uint32_t function;
	uint32_t track;
	int32_t level; /* 0: outermost call of its stack */
	uint16_t flags;
};

/* A stack of a thread: nested calls. */
struct dump_slice_track {
	uint32_t process, thread; /* indexes in the timeline; FLOW_NONE */
	uint32_t pid, tid, cpu;
	uint32_t stack;
	int32_t below; /* frames of the current program that were found below the first frames */
};

/* A gap in the flow of a thread. */
struct dump_slice_gap {
	uint64_t time; /* trace clock; 0: unknown */
	uint64_t duration;
	uint64_t before; /* the thread's absence by gaps at the begin of this gap */
	uint32_t pid, tid, cpu;
};

struct dump_slices {
	/* Set by the caller. */
	size_t limit;
	size_t gap_limit;

	struct dump_slice *list; /* owned; after sorting: by track, start and order, so a caller precedes its callees */
	size_t count, capacity;
	struct dump_slice_track *tracks; /* owned */
	size_t track_count, track_capacity;
	struct dump_slice_gap *gaps; /* owned */
	size_t gap_count, gap_capacity;
	uint64_t calls;    /* number of all calls */
	uint64_t cut;      /* calls that were too short */
	uint64_t untimed;  /* calls without times */
	uint64_t cut_gaps; /* gaps beyond the limit */
	uint64_t floor;    /* minimum duration of further calls */

	/* State of the current thread. */
	uint32_t *stacks; /* track by stack number, from 1; owned */
	size_t stack_capacity;
	size_t first;  /* first slice of the current program */
	bool gap_open; /* the last gap continues */
};

/* For the functions of an observer of calls. Return 0 or PTL_NO_MEMORY. */
void dump_slices_begin(struct dump_slices *slices);
int dump_slices_leave(struct dump_slices *slices, const struct analysis_call_thread *thread,
		      const struct analysis_frame *frame);
int dump_slices_below(struct dump_slices *slices, const struct analysis_call_thread *thread);
int dump_slices_gap(struct dump_slices *slices, const struct analysis_call_thread *thread);
/* Ends a thread, or one of its programs. */
void dump_slices_end(struct dump_slices *slices, const struct analysis_call_thread *thread);

/* Reduces a sorted list to the longest `limit` slices. */
void dump_slices_limit(struct dump_slices *slices, size_t limit);

void dump_slices_sort(struct dump_slices *slices);
void dump_slices_free(struct dump_slices *slices);

#endif
