/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of all threads as slices of time: the longest of them, if there are more than fit. */
#ifndef DUMP_EXPORT_HTML_SLICES_H
#define DUMP_EXPORT_HTML_SLICES_H

#include "dump/call/call_stack.h"

struct dump_slice {
	uint64_t start;    /* trace clock */
	uint64_t duration; /* nanoseconds */
	uint64_t instructions;
	uint32_t function;
	uint32_t track;
	int32_t level; /* 0: the outermost call of its stack */
	uint16_t flags;
};

/* A stack of a thread: calls of one nest. */
struct dump_slice_track {
	uint32_t process, thread; /* indexes in the timeline; FLOW_NONE */
	uint32_t pid, tid, cpu;
	uint32_t stack;
	int32_t below; /* frames found below the first ones, of the program at hand */
};

/* Flow of a thread is missing. */
struct dump_slice_gap {
	uint64_t time; /* trace clock; 0 unknown */
	uint64_t duration;
	uint64_t before; /* the thread's absence by gaps when it began */
	uint32_t pid, tid, cpu;
};

struct dump_slices {
	/* Set by the caller. */
	size_t limit;
	size_t gap_limit;

	struct dump_slice *list; /* owned; once sorted: by track, start and level */
	size_t count, capacity;
	struct dump_slice_track *tracks; /* owned */
	size_t track_count, track_capacity;
	struct dump_slice_gap *gaps; /* owned */
	size_t gap_count, gap_capacity;
	uint64_t calls;    /* all */
	uint64_t cut;      /* calls that were shorter than those that fit */
	uint64_t untimed;  /* calls of which no time is known */
	uint64_t cut_gaps; /* gaps beyond the limit */
	uint64_t floor;    /* calls that took less are left out from now on */

	/* Of the thread at hand. */
	uint32_t *stacks; /* its tracks by the number of the stack, counted from 1; owned */
	size_t stack_capacity;
	size_t first;  /* its slices of the program at hand begin there */
	bool gap_open; /* the last gap goes on */
};

/* For the functions of an observer of calls. PTL_NO_MEMORY. */
void dump_slices_begin(struct dump_slices *slices);
int dump_slices_leave(struct dump_slices *slices, const struct dump_call_thread *thread,
		      const struct dump_frame *frame);
int dump_slices_below(struct dump_slices *slices, const struct dump_call_thread *thread);
int dump_slices_gap(struct dump_slices *slices, const struct dump_call_thread *thread);
/* A thread, or one of its programs, has ended. */
void dump_slices_end(struct dump_slices *slices, const struct dump_call_thread *thread);

/* Of a sorted list: so many of the longest ones stay. */
void dump_slices_limit(struct dump_slices *slices, size_t limit);

void dump_slices_sort(struct dump_slices *slices);
void dump_slices_free(struct dump_slices *slices);

#endif
