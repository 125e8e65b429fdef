/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of the calls of a segment, computed on a worker that does not know the stack at the segment's start. Matching
 * calls and returns become pieces: trees of calls below the function in which a piece begins. All other transfers stand
 * between pieces, for the fold, which knows the stack.
 */
#ifndef ANALYSIS_CALL_CALL_SUMMARY_H
#define ANALYSIS_CALL_CALL_SUMMARY_H

#include "analysis/call/call_summary_tree.h"
#include "analysis/call/transfer.h"

/*
 * A path of calls. Paths are in order of their first call; a path may occur several times. The first node of a piece
 * stands for the function in which the piece begins.
 */
struct analysis_summary_node {
	uint64_t instructions; /* without callees */
	uint64_t time;         /* self time in nanoseconds; computed when the piece is applied */
	uint64_t calls;        /* ended calls */
	uint32_t parent;       /* number within the piece; 0 for the first node */
	uint32_t function;     /* not set in the first node */
	uint32_t renamed;      /* final function of calls that began in a stub, from 1; 0: unchanged */
};

/* End of a time interval that belongs to the node. */
struct analysis_summary_time {
	uint64_t time;
	uint32_t node; /* number within the piece */
};

/* Values of a function in a piece without paths. */
struct analysis_function_sums {
	uint64_t calls;                      /* ended calls */
	uint64_t instructions, time;         /* self values, without callees */
	uint64_t all_instructions, all_time; /* of the function's outermost calls, with callees */
	uint32_t function;
	uint32_t first; /* ANALYSIS_FIRST: which times also include the time before the first known time */
};

#define ANALYSIS_FIRST 1u                        /* the time belongs to the function's calls (all_time) */
#define ANALYSIS_FIRST_OWN (2u | ANALYSIS_FIRST) /* the time also belongs to the function itself (time) */

/* Times of a piece without paths, in nanoseconds. Durations begin at the first known time. */
struct analysis_piece_time {
	uint64_t first, last; /* trace clock; 0: no known time */
	uint64_t passed;      /* from first to last */
	uint64_t own;         /* part of `passed` outside calls */
	bool is_first_own;    /* no call was active before `first` */
};

/* An unfinished call. */
struct analysis_summary_frame {
	uint64_t return_address;
	uint64_t entry;
	uint32_t flags; /* ANALYSIS_CALL_ flags */
	uint32_t function;
};

struct analysis_piece {
	size_t at; /* number of transfers before the piece */
	size_t node, node_count;
	size_t time, time_count;
	size_t frame, frame_count; /* unfinished calls at the end of the piece, outermost first */
	uint64_t instructions;
	uint64_t calls;     /* ended calls */
	uint64_t transfers; /* transfers that the piece stands for */
	/* Instead of nodes and times: */
	bool by_function;
	size_t sum, sum_count;
	uint64_t own_instructions; /* outside calls */
	struct analysis_piece_time elapsed;
};

struct analysis_transfer_runs;
struct analysis_totals;

/* Zero-initialised: empty. Set the members that belong to others. */
struct analysis_summary {
	struct analysis_summary_tree *tree; /* owned by the worker */
	struct analysis_totals *totals;     /* owned by the worker; NULL: pieces have paths */
	/* For a consumer of steps: */
	struct analysis_tracker *tracker;          /* its place is a home of the runs, or home_number is 0 */
	const struct analysis_transfer_runs *runs; /* of the current process */
	/* for a run that is only partly taken: its first transfer for the fold, and all later transfers */
	struct analysis_transfers *found;
	/* Handles a step that pieces cannot take (NULL: none), and then the transfers in `found`. */
	int (*otherwise)(void *owner, const struct flow_step *step, uint32_t *home_number);
	void *owner;

	struct analysis_piece *pieces; /* closed pieces, and arrays of closed pieces: */
	size_t piece_count, piece_capacity;
	struct analysis_summary_node *nodes;
	size_t node_count, node_capacity;
	struct analysis_summary_frame *frames;
	size_t frame_count, frame_capacity;
	struct analysis_summary_time
		*times; /* the open piece's times come last, with numbers of calls instead of nodes */
	size_t time_count, time_capacity;
	struct analysis_function_sums *sums;
	size_t sum_count, sum_capacity;

	/* The open piece: */
	bool is_open;
	bool is_full;          /* the piece must end */
	bool by_function;      /* calls form a stack, instead of paths */
	uint32_t call;         /* current call in the tree */
	uint64_t instructions; /* sum over all transfers */
	uint64_t clock;        /* `instructions` at the begin of the innermost call, if that is ANALYSIS_CALL_MIDWAY */
	uint64_t time;         /* latest time; 0: unknown so far */
	size_t first_time;     /* index in times */
	struct analysis_piece_time elapsed;
};

void analysis_summary_free(struct analysis_summary *summary);
/* Removes all pieces, but keeps the memory. */
void analysis_summary_clear(struct analysis_summary *summary);
/* Takes the transfer into the open piece. Returns 1 if taken, 0 if the transfer is for the fold, or PTL_NO_MEMORY. */
int analysis_summary_take(struct analysis_summary *summary, const struct analysis_transfer *transfer);
/* Takes a step: see flow_sink. */
int analysis_summary_step(struct analysis_summary *summary, const struct flow_step *step, uint32_t *home_number);
/* Ends the open piece. transfers: number of transfers before its end. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_close(struct analysis_summary *summary, size_t transfers);
/*
 * Divides the transfers (`count`) and pieces, such that transfers and pieces after the division stand for at least
 * `ahead` transfers, if possible. *transfers, *pieces: how many lie before. Pieces directly at the division lie before:
 * they need no transfers ahead. No piece may be open.
 */
void analysis_summary_before(const struct analysis_summary *summary, size_t count, size_t ahead, size_t *transfers,
			     size_t *pieces);
/* Removes the first transfers and pieces. No piece may be open. */
void analysis_summary_drop(struct analysis_summary *summary, size_t transfers, size_t pieces);

#endif
