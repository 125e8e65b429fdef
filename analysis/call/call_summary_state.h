/* SPDX-License-Identifier: BSD-2-Clause */
/* The open piece of a summary: begin and end of calls. Only for code that finds transfers. */
#ifndef ANALYSIS_CALL_CALL_SUMMARY_STATE_H
#define ANALYSIS_CALL_CALL_SUMMARY_STATE_H

#include "analysis/call/call_stack.h"
#include "analysis/call/call_totals.h"
#include "common/vector.h"

/* Limits of a piece: a larger piece would cost more than it saves. */
#define ANALYSIS_PIECE_DEPTH ((size_t)1 << 16)
#define ANALYSIS_PIECE_TIMES ((size_t)1 << 16)

/* Maximum instructions of a nameless PLT entry: a nameless call up to this age may still turn out to be a stub. */
#define ANALYSIS_SUMMARY_YOUNG 8

/* Returns the innermost call of the piece; NULL at the piece's begin. */
static inline struct analysis_summary_call *analysis_summary_top(const struct analysis_summary *summary)
{
	return summary->call ? &summary->tree->calls[summary->call] : NULL;
}

/* A PLT stub's instructions belong to its target. They are not counted before the target is known. */
static inline bool analysis_summary_is_stub(const struct analysis_summary_call *top)
{
	return top && top->flags & ANALYSIS_CALL_STUB;
}

/* Begins a piece. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_begin(struct analysis_summary *summary);
/* Adds to the sums of a call. */
static inline void analysis_summary_add(struct analysis_summary *summary, uint32_t call, uint64_t instructions,
					int calls)
{
	struct analysis_summary_call *sums = analysis_summary_tree_meet(summary->tree, call);

	sums->instructions += instructions;
	sums->calls += calls;
}

/* Sets the time, which belongs to the call. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_add_time(struct analysis_summary *summary, uint32_t call, uint64_t time);
/* Sets the time, which belongs to the innermost call. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_tick(struct analysis_summary *summary, uint64_t time);

/* Adds the instructions up to a transfer to the innermost call `top`, in a piece with a stack of calls. */
static inline int analysis_summary_pass_on_stack(struct analysis_summary *summary, struct analysis_summary_call *top,
						 uint64_t instructions, uint64_t time)
{
	top->instructions += instructions;
	summary->instructions += instructions;
	summary->tree->transfers++;
	return time > summary->time ? analysis_summary_tick(summary, time) : 0;
}

/* Adds the instructions up to a transfer to the innermost call. */
static inline int analysis_summary_pass(struct analysis_summary *summary, uint64_t instructions, uint64_t time)
{
	analysis_summary_add(summary, summary->call, instructions, 0);
	summary->instructions += instructions;
	summary->tree->transfers++;
	return time > summary->time ? analysis_summary_tick(summary, time) : 0;
}

/*
 * Ends the time in which the innermost call, if entered away from any symbol, could turn out to be a stub. Returns 0 or
 * PTL_NO_MEMORY.
 */
int analysis_summary_grow_old(struct analysis_summary *summary);
/* Adds an innermost call. Returns 0 or PTL_NO_MEMORY. */
int analysis_summary_push(struct analysis_summary *summary, uint32_t function, uint64_t entry, uint64_t return_address,
			  unsigned flags);

/* Returns the flags of the call that the transfer enters. */
static inline unsigned analysis_summary_flags(const struct analysis_transfer *transfer)
{
	return (transfer->flags & ANALYSIS_TRANSFER_START ? 0 : (unsigned)ANALYSIS_CALL_MIDWAY) |
	       (transfer->function_flags & ANALYSIS_FUNCTION_STUB ? (unsigned)ANALYSIS_CALL_STUB : 0);
}

static inline bool analysis_summary_is_plain(const struct analysis_transfer *transfer)
{
	return !(transfer->function_flags & ~ANALYSIS_FUNCTION_STUB) && !(transfer->flags & ANALYSIS_TRANSFER_OUTSIDE);
}

/* Whether a transfer of a run always enters a call, whatever preceded. */
static inline bool analysis_summary_enters(const struct analysis_transfer *transfer)
{
	return transfer->site && analysis_summary_is_plain(transfer);
}

/* Returns the call that such a transfer enters. The piece must not be full. */
uint32_t analysis_summary_enter(struct analysis_summary *summary, const struct analysis_transfer *transfer);

static inline void analysis_summary_pop(struct analysis_summary *summary)
{
	const struct analysis_summary_call *top = &summary->tree->calls[summary->call];

	if (summary->by_function)
		analysis_totals_leave(summary, top);
	summary->call = top->parent;
}

#endif
