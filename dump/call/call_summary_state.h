/* SPDX-License-Identifier: BSD-2-Clause */
/* The open piece of a summary: begin and end of calls. Only for code that finds transfers. */
#ifndef DUMP_CALL_CALL_SUMMARY_STATE_H
#define DUMP_CALL_CALL_SUMMARY_STATE_H

#include "common/vector.h"
#include "dump/call/call_stack.h"
#include "dump/call/call_totals.h"

/* Limits of a piece: a larger piece would cost more than it saves. */
#define DUMP_PIECE_DEPTH ((size_t)1 << 16)
#define DUMP_PIECE_TIMES ((size_t)1 << 16)

/* Maximum instructions of a nameless PLT entry: a nameless call up to this age may still turn out to be a stub. */
#define DUMP_SUMMARY_YOUNG 8

/* Returns the innermost call of the piece; NULL at the piece's begin. */
static inline struct dump_summary_call *dump_summary_top(const struct dump_summary *summary)
{
	return summary->call ? &summary->tree->calls[summary->call] : NULL;
}

/* A PLT stub's instructions belong to its target. They are not counted before the target is known. */
static inline bool dump_summary_is_stub(const struct dump_summary_call *top)
{
	return top && top->flags & DUMP_CALL_STUB;
}

/* Begins a piece. Returns 0 or PTL_NO_MEMORY. */
int dump_summary_begin(struct dump_summary *summary);
/* Records an addition to the sums, for the effect of a state change. */
void dump_summary_note(struct dump_summary *summary, uint32_t call, uint64_t instructions, int calls);

/* Adds to the sums of a call. */
static inline void dump_summary_add(struct dump_summary *summary, uint32_t call, uint64_t instructions, int calls)
{
	struct dump_summary_call *sums = dump_summary_tree_meet(summary->tree, call);

	sums->instructions += instructions;
	sums->calls += calls;
	if (!summary->added_more)
		dump_summary_note(summary, call, instructions, calls);
}

/* Sets the time, which belongs to the call. Returns 0 or PTL_NO_MEMORY. */
int dump_summary_add_time(struct dump_summary *summary, uint32_t call, uint64_t time);
/* Sets the time, which belongs to the innermost call. Returns 0 or PTL_NO_MEMORY. */
int dump_summary_tick(struct dump_summary *summary, uint64_t time);

/* Adds the instructions up to a transfer to the innermost call `top`, in a piece with a stack of calls. */
static inline int dump_summary_pass_on_stack(struct dump_summary *summary, struct dump_summary_call *top,
					     uint64_t instructions, uint64_t time)
{
	top->instructions += instructions;
	summary->instructions += instructions;
	summary->tree->transfers++;
	return time > summary->time ? dump_summary_tick(summary, time) : 0;
}

/* Adds the instructions up to a transfer to the innermost call. */
static inline int dump_summary_pass(struct dump_summary *summary, uint64_t instructions, uint64_t time)
{
	dump_summary_add(summary, summary->call, instructions, 0);
	summary->instructions += instructions;
	summary->tree->transfers++;
	return time > summary->time ? dump_summary_tick(summary, time) : 0;
}

/*
 * Ends the time in which the innermost call, if entered away from any symbol, could turn out to be a stub. Returns 0 or
 * PTL_NO_MEMORY.
 */
int dump_summary_grow_old(struct dump_summary *summary);
/* Adds an innermost call. Returns 0 or PTL_NO_MEMORY. */
int dump_summary_push(struct dump_summary *summary, uint32_t function, uint64_t entry, uint64_t return_address,
		      unsigned flags);

/* Returns the flags of the call that the transfer enters. */
static inline unsigned dump_summary_flags(const struct dump_transfer *transfer)
{
	return (transfer->flags & DUMP_TRANSFER_START ? 0 : (unsigned)DUMP_CALL_MIDWAY) |
	       (transfer->function_flags & DUMP_FUNCTION_STUB ? (unsigned)DUMP_CALL_STUB : 0);
}

static inline bool dump_summary_is_plain(const struct dump_transfer *transfer)
{
	return !(transfer->function_flags & ~DUMP_FUNCTION_STUB) && !(transfer->flags & DUMP_TRANSFER_OUTSIDE);
}

/* Whether a transfer of a run always enters a call, whatever preceded. */
static inline bool dump_summary_enters(const struct dump_transfer *transfer)
{
	return transfer->site && dump_summary_is_plain(transfer);
}

/* Returns the call that such a transfer enters. The piece must not be full. */
uint32_t dump_summary_enter(struct dump_summary *summary, const struct dump_transfer *transfer);

static inline void dump_summary_pop(struct dump_summary *summary)
{
	const struct dump_summary_call *top = &summary->tree->calls[summary->call];

	if (summary->by_function)
		dump_totals_leave(summary, top);
	summary->call = top->parent;
}

#endif
