/* SPDX-License-Identifier: BSD-2-Clause */
/* The last executed blocks of each thread, without blocks of the C library and the like. */
#ifndef DUMP_CRASH_TAIL_H
#define DUMP_CRASH_TAIL_H

#include "flow/view/view.h"

/* Instructions at consecutive addresses, executed in order. */
struct dump_crash_block {
	uint64_t begin; /* address of the first instruction */
	uint64_t last;  /* address of the last instruction */
	uint64_t end;   /* address behind the last instruction */
	uint32_t image; /* index in the timeline; FLOW_NONE */
	uint64_t next;  /* address at which the next executed block begins, in any image; 0: none */
	uint8_t branch; /* enum flow_branch */
	bool after_gap; /* flow is missing before the block */
};

enum dump_crash_stop {
	DUMP_CRASH_STOP_UNKNOWN,
	DUMP_CRASH_STOP_CALL,   /* in a system call, or outside of the traced code */
	DUMP_CRASH_STOP_BEFORE, /* before the instruction at `stop_at`: a fault, a signal or an interrupt */
	DUMP_CRASH_STOP_GAP,    /* flow is missing behind the last block */
};

struct dump_crash_tail {
	uint32_t pid, tid;
	uint32_t process, thread;        /* indexes in the timeline; FLOW_NONE */
	struct dump_crash_block *blocks; /* owned; in order of execution */
	size_t count;
	bool gap;      /* flow is missing behind the last kept block */
	uint64_t last; /* address of the last instruction, in any image; 0: no flow */
	enum dump_crash_stop stop;
	uint64_t stop_at;
	uint64_t time; /* of the last block, trace clock; 0 unknown */
};

struct dump_crash_tails {
	size_t blocks_max;    /* set by the caller: blocks that are kept of a thread */
	const bool *left_out; /* set by the caller: images whose blocks are not kept, by index in the timeline */
	struct dump_crash_tail *list; /* owned; in order of the threads' first flow */
	size_t count;
};

/*
 * Decodes the selection of the options, and replaces the list. bytes: of each stream, only so many bytes at the end; 0:
 * all. Returns a status of flow_view_run.
 */
int dump_crash_tails_read(struct dump_crash_tails *tails, struct ptl_trace *trace, const struct flow_timeline *timeline,
			  const struct flow_view_options *options, uint64_t bytes);
void dump_crash_tails_free(struct dump_crash_tails *tails);
/* Returns the tail of a thread; NULL: no flow. */
struct dump_crash_tail *dump_crash_tail_find(const struct dump_crash_tails *tails, uint32_t pid, uint32_t tid);

#endif
