/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the calls of a segment add up to, found on a worker that does not know the stack at its start. Calls and returns that
 * fit each other become pieces: trees of what was called by the function where a piece begins. All other transfers stand
 * between pieces, for who knows the stack.
 */
#ifndef DUMP_ANALYSIS_CALL_SUMMARY_H
#define DUMP_ANALYSIS_CALL_SUMMARY_H

#include "dump/call/transfer.h"

/* A path of calls, in the order in which they were first entered. The first of a piece stands for where it begins. */
struct dump_summary_node {
	uint64_t instructions; /* without those of calls */
	uint64_t time;         /* likewise, nanoseconds; worked out when the piece is taken */
	uint64_t calls;        /* that have ended */
	uint32_t parent;       /* number within the piece; of the first: 0 */
	uint32_t function;     /* of the first: nothing */
	uint32_t recent;       /* the child that was entered last; 0: none was */
	uint32_t renamed;      /* the function that calls of it turned out to be, counted from 1; 0: none did */
};

/* From this transfer on, which ended a stretch in the node. */
struct dump_summary_time {
	uint64_t time;
	uint32_t node; /* number within the piece */
};

/* A call that goes on. */
struct dump_summary_frame {
	uint64_t return_address;
	uint64_t entry;
	uint64_t clock;    /* instructions of the piece when it was entered */
	uint32_t node;     /* number within the piece */
	uint32_t flags;    /* DUMP_CALL_* */
	uint32_t function; /* that of the node */
	bool has_called;
};

struct dump_piece {
	size_t at; /* transfers before it */
	size_t node, node_count;
	size_t time, time_count;
	size_t frame, frame_count; /* calls that go on at its end, the outermost first */
	uint64_t instructions;
	uint64_t calls;     /* that have ended */
	uint64_t transfers; /* that it is made of */
};

/* Zero-initialised is empty. */
struct dump_summary {
	struct dump_piece *pieces; /* closed */
	size_t piece_count, piece_capacity;
	struct dump_summary_node *nodes; /* of all pieces, the open one last; so are: */
	size_t node_count, node_capacity;
	struct dump_summary_time *times;
	size_t time_count, time_capacity;
	struct dump_summary_frame *frames; /* the calls that go on in the open piece, behind those of closed ones */
	size_t frame_count, frame_capacity;

	struct dump_piece open; /* node_count 0: nothing was taken yet */
	uint32_t node;          /* where the open piece is */
	uint64_t time;          /* the latest; 0: none yet */
	uint32_t *slots;        /* nodes of the open piece by parent and function; 0: free */
	uint32_t slot_mask;
};

void dump_summary_free(struct dump_summary *summary);
/* Without pieces; memory is kept. */
void dump_summary_clear(struct dump_summary *summary);
/* 1: the transfer is in the open piece; 0: it is for who knows the stack. PTL_NO_MEMORY. */
int dump_summary_take(struct dump_summary *summary, const struct dump_transfer *transfer);
/*
 * Takes a step: 1; 0: nothing was done. What is within its run and is for who knows the stack goes into `found`, with all that
 * comes behind it. The tracker is at the home of the runs, which are of the process at hand. PTL_NO_MEMORY.
 */
struct dump_transfer_runs;
int dump_summary_step(struct dump_summary *summary, struct dump_tracker *tracker, const struct dump_transfer_runs *runs,
		      const struct flow_step *step, uint32_t *home, struct dump_transfers *found);
/* Ends the open piece, behind so many transfers. PTL_NO_MEMORY. */
int dump_summary_close(struct dump_summary *summary, size_t transfers);
/*
 * How many transfers of `count`, and pieces of all, come before those that are made of `ahead` transfers, or before all.
 * There is no open piece.
 */
void dump_summary_before(const struct dump_summary *summary, size_t count, size_t ahead, size_t *transfers,
			 size_t *pieces);
/* Forgets the first pieces and transfers. There is no open piece. */
void dump_summary_drop(struct dump_summary *summary, size_t transfers, size_t pieces);

#endif
