/* SPDX-License-Identifier: BSD-2-Clause */
/* The open piece of a summary: how calls come and go in it. For those who find transfers alone. */
#ifndef DUMP_CALL_CALL_SUMMARY_STATE_H
#define DUMP_CALL_CALL_SUMMARY_STATE_H

#include "common/vector.h"
#include "dump/call/call_stack.h"
#include "dump/call/call_totals.h"

/* A piece ends that has more: it would be larger than what it saves. */
#define DUMP_PIECE_DEPTH ((size_t)1 << 16)
#define DUMP_PIECE_TIMES ((size_t)1 << 16)

/* Of code without symbols, whose entry of a PLT has none either, and which has executed nothing that was taken. */
#define DUMP_SUMMARY_YOUNG 8

/* The innermost call of the piece; NULL: it is where it began. */
static inline struct dump_summary_call *dump_summary_top(const struct dump_summary *summary)
{
	return summary->call ? &summary->tree->calls[summary->call] : NULL;
}

/* What it takes is of the function that it leads to: as long as that is not known, nothing may be counted. */
static inline bool dump_summary_is_stub(const struct dump_summary_call *top)
{
	return top && top->flags & DUMP_CALL_STUB;
}

/* Begins the open piece. PTL_NO_MEMORY. */
int dump_summary_begin(struct dump_summary *summary);
/* For states: what is added to the sums. */
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

/* The time is later, in the call. PTL_NO_MEMORY. */
int dump_summary_add_time(struct dump_summary *summary, uint32_t call, uint64_t time);
/* The same, where it is. PTL_NO_MEMORY. */
int dump_summary_tick(struct dump_summary *summary, uint64_t time);

/* What was executed up to a transfer, in the innermost call, which the piece has a stack for. */
static inline int dump_summary_pass_on_stack(struct dump_summary *summary, struct dump_summary_call *top,
					     uint64_t instructions, uint64_t time)
{
	top->instructions += instructions;
	summary->instructions += instructions;
	summary->tree->transfers++;
	return time > summary->time ? dump_summary_tick(summary, time) : 0;
}

/* What was executed up to a transfer. */
static inline int dump_summary_pass(struct dump_summary *summary, uint64_t instructions, uint64_t time)
{
	dump_summary_add(summary, summary->call, instructions, 0);
	summary->instructions += instructions;
	summary->tree->transfers++;
	return time > summary->time ? dump_summary_tick(summary, time) : 0;
}

/* Whether the innermost call is of code without symbols may not matter any more. PTL_NO_MEMORY. */
int dump_summary_grow_old(struct dump_summary *summary);
/* PTL_NO_MEMORY. */
int dump_summary_push(struct dump_summary *summary, uint32_t function, uint64_t entry, uint64_t return_address,
		      unsigned flags);

/* Of the call that a transfer enters. */
static inline unsigned dump_summary_flags(const struct dump_transfer *transfer)
{
	return (transfer->flags & DUMP_TRANSFER_START ? 0 : (unsigned)DUMP_CALL_MIDWAY) |
	       (transfer->function_flags & DUMP_FUNCTION_STUB ? (unsigned)DUMP_CALL_STUB : 0);
}

static inline bool dump_summary_is_plain(const struct dump_transfer *transfer)
{
	return !(transfer->function_flags & ~DUMP_FUNCTION_STUB) && !(transfer->flags & DUMP_TRANSFER_OUTSIDE);
}

/* Whether a transfer of a run enters a call, whatever was done before. */
static inline bool dump_summary_enters(const struct dump_transfer *transfer)
{
	return transfer->site && dump_summary_is_plain(transfer);
}

/* The call that one enters which does, where the piece is not full. */
uint32_t dump_summary_enter(struct dump_summary *summary, const struct dump_transfer *transfer);

static inline void dump_summary_pop(struct dump_summary *summary)
{
	const struct dump_summary_call *top = &summary->tree->calls[summary->call];

	if (summary->by_function)
		dump_totals_leave(summary, top);
	summary->call = top->parent;
}

#endif
