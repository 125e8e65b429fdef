/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the calls of a segment add up to, found on a worker that does not know the stack at its start. Calls and returns that
 * fit each other become pieces: trees of what was called by the function where a piece begins. All other transfers stand
 * between pieces, for who knows the stack.
 */
#ifndef DUMP_CALL_CALL_SUMMARY_H
#define DUMP_CALL_CALL_SUMMARY_H

#include "dump/call/call_summary_tree.h"
#include "dump/call/transfer.h"

/*
 * A path of calls, in the order in which they were first entered; there may be several that are alike. The first of a piece
 * stands for where it begins.
 */
struct dump_summary_node {
	uint64_t instructions; /* without those of calls */
	uint64_t time;         /* likewise, nanoseconds; worked out when the piece is taken */
	uint64_t calls;        /* that have ended */
	uint32_t parent;       /* number within the piece; of the first: 0 */
	uint32_t function;     /* of the first: nothing */
	uint32_t renamed;      /* the function that calls of it turned out to be, counted from 1; 0: none did */
};

/* From this transfer on, which ended a stretch in the node. */
struct dump_summary_time {
	uint64_t time;
	uint32_t node; /* number within the piece */
};

/* What a function took in a piece whose paths nobody wants. */
struct dump_function_sums {
	uint64_t calls;                      /* that have ended */
	uint64_t instructions, time;         /* of its own: without those of calls */
	uint64_t all_instructions, all_time; /* of its outermost calls, with those */
	uint32_t function;
	uint32_t first; /* what there is besides: the time before the first that is known */
};

#define DUMP_FIRST 1u                    /* it is of the function's calls */
#define DUMP_FIRST_OWN (2u | DUMP_FIRST) /* and its own */

/* Of such a piece, nanoseconds. Times go by behind the first that is known. */
struct dump_piece_time {
	uint64_t first, last; /* 0: none is known */
	uint64_t passed;      /* in between, */
	uint64_t own;         /* and of that, not in calls */
	bool is_first_own;    /* no call had begun then */
};

/* A call that goes on. */
struct dump_summary_frame {
	uint64_t return_address;
	uint64_t entry;
	uint32_t flags; /* DUMP_CALL_* */
	uint32_t function;
};

struct dump_piece {
	size_t at; /* transfers before it */
	size_t node, node_count;
	size_t time, time_count;
	size_t frame, frame_count; /* calls that go on at its end, the outermost first */
	uint64_t instructions;
	uint64_t calls;     /* that have ended */
	uint64_t transfers; /* that it is made of */
	/* In place of nodes and times: */
	bool by_function;
	size_t sum, sum_count;
	uint64_t own_instructions; /* not in calls */
	struct dump_piece_time elapsed;
};

/* Sums that are added at once. */
#define DUMP_SUMMARY_ADDED 32

struct dump_transfer_runs;
struct dump_totals;

/* Zero-initialised is empty, but for what is others'. */
struct dump_summary {
	struct dump_summary_tree *tree; /* the worker's */
	struct dump_totals *totals;     /* likewise; NULL: paths are wanted */
	/* Of who takes steps: */
	struct dump_tracker *tracker;          /* at a home of the runs, or at none */
	const struct dump_transfer_runs *runs; /* of the process at hand */
	struct dump_transfers *found; /* within a run: the first that is for who knows the stack, and the rest */
	/* Takes what was found, and before that a step that is not for pieces, or NULL. */
	int (*otherwise)(void *owner, const struct flow_step *step, uint32_t *home);
	void *owner;

	struct dump_piece *pieces; /* closed, and so is all of: */
	size_t piece_count, piece_capacity;
	struct dump_summary_node *nodes;
	size_t node_count, node_capacity;
	struct dump_summary_frame *frames;
	size_t frame_count, frame_capacity;
	struct dump_summary_time *times; /* those of the open piece last, with calls of the tree for nodes */
	size_t time_count, time_capacity;
	struct dump_function_sums *sums;
	size_t sum_count, sum_capacity;

	/* The open piece: */
	bool is_open;
	bool is_full;          /* it is to end */
	bool by_function;      /* calls are those of a stack, instead of: */
	uint32_t call;         /* of the tree, where it is */
	uint64_t instructions; /* of all transfers */
	uint64_t clock;        /* what they were when the innermost call was entered, if it is DUMP_CALL_MIDWAY */
	uint64_t time;         /* the latest; 0: none yet */
	size_t first_time;     /* in times */
	struct dump_piece_time elapsed;
	/* What was added to sums since it went to a state: */
	struct dump_summary_sum added[DUMP_SUMMARY_ADDED];
	uint32_t added_count;
	bool added_more;          /* than there is room for, or fits */
	uint64_t added_transfers; /* the tree's were so many before */
};

void dump_summary_free(struct dump_summary *summary);
/* Without pieces; memory is kept. */
void dump_summary_clear(struct dump_summary *summary);
/* 1: the transfer is in the open piece; 0: it is for who knows the stack. PTL_NO_MEMORY. */
int dump_summary_take(struct dump_summary *summary, const struct dump_transfer *transfer);
/* Takes a step, see flow_sink. */
int dump_summary_step(struct dump_summary *summary, const struct flow_step *step, uint32_t *home);
/* The states of a summary at work, see flow_step_states. It stands behind all steps, and none of their transfers are left. */
uint32_t dump_summary_state(struct dump_summary *summary, const struct flow_step *passed, uint32_t *effect);
uint32_t dump_summary_go(struct dump_summary *summary, uint32_t state);
int dump_summary_tick_at(struct dump_summary *summary, uint32_t state, uint64_t time);
/* Ends the open piece, behind so many transfers. PTL_NO_MEMORY. */
int dump_summary_close(struct dump_summary *summary, size_t transfers);
/*
 * How many transfers of `count`, and pieces of all, come before those that are made of `ahead` transfers, or before all; and pieces
 * right behind, for which nothing need be ahead. There is no open piece.
 */
void dump_summary_before(const struct dump_summary *summary, size_t count, size_t ahead, size_t *transfers,
			 size_t *pieces);
/* Forgets the first pieces and transfers. There is no open piece. */
void dump_summary_drop(struct dump_summary *summary, size_t transfers, size_t pieces);

#endif
