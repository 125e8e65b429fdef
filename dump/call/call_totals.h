/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What functions took within the open piece of a summary, for who does without the paths to them: a stack alone says what is
 * within what. For those who find transfers alone.
 */
#ifndef DUMP_CALL_CALL_TOTALS_H
#define DUMP_CALL_CALL_TOTALS_H

#include "dump/call/call_summary.h"

/* A function. A cache line. */
struct dump_function_total {
	struct dump_function_sums
		sums;    /* while a call goes on, all_* are less what the clocks were when the outermost one began */
	uint32_t active; /* calls that go on */
	uint32_t turn;   /* of the piece: of another, all is 0 */
	uint64_t unused; /* fills a cache line */
};

/* A worker's. Zero-initialised is empty. */
struct dump_totals {
	struct dump_function_total *functions; /* by number, from 1 on; 0: without one */
	uint32_t *met;                         /* their places here, in the order in which they were first entered */
	uint32_t met_count, capacity;          /* of both */
	uint32_t turn;
	struct dump_summary_call *stack; /* calls that go on: the number of each is its depth */
};

void dump_totals_free(struct dump_totals *totals);
/* The open piece has neither calls nor sums. PTL_NO_MEMORY. */
int dump_totals_begin(struct dump_summary *summary);
/* All calls end, and functions get their sums, behind those of other pieces. PTL_NO_MEMORY. */
int dump_totals_close(struct dump_summary *summary, struct dump_piece *piece);
/* The time is later, in the innermost call. */
void dump_totals_tick(struct dump_summary *summary, uint64_t time);
/* The innermost call was none. */
void dump_totals_take_back(struct dump_summary *summary);
/* Room for the function. PTL_NO_MEMORY. */
int dump_totals_reserve(struct dump_totals *totals, uint32_t function);

/* Of a function; there is room for it. */
static inline struct dump_function_total *dump_totals_meet(struct dump_totals *totals, uint32_t function)
{
	const uint32_t place = function + 1;
	struct dump_function_total *total = &totals->functions[place];

	if (__builtin_expect(total->turn != totals->turn, 0)) {
		*total = (struct dump_function_total){.sums.function = function, .turn = totals->turn};
		totals->met[totals->met_count++] = place;
	}
	return total;
}

static inline bool dump_totals_has_room(const struct dump_totals *totals, uint32_t function)
{
	return __builtin_expect(function + 1 < totals->capacity, 1);
}

/* A call, which is in its place in the stack, is entered. */
static inline void dump_totals_enter(struct dump_summary *summary, const struct dump_summary_call *call)
{
	struct dump_function_total *total = dump_totals_meet(summary->totals, call->function);

	total->sums.calls++;
	if (!total->active++) {
		total->sums.all_instructions -= summary->instructions;
		total->sums.all_time -= summary->elapsed.passed;
	}
}

/* A call becomes the innermost one; there is room for its function. */
static inline void dump_totals_push(struct dump_summary *summary, uint32_t function, uint64_t entry,
				    uint64_t return_address, uint32_t flags)
{
	const uint32_t caller = summary->call++;
	struct dump_summary_call *call = &summary->tree->calls[summary->call];

	call->return_address = return_address;
	call->entry = entry;
	call->parent = caller;
	call->function = function;
	call->flags = flags;
	call->depth = summary->call;
	call->instructions = 0;
	call->turn = summary->tree->turn;
	call->renamed = 0;
	summary->is_full |= summary->call >= DUMP_SUMMARY_CALLS_MAX;
	dump_totals_enter(summary, call);
}

/* The innermost call ends. */
static inline void dump_totals_leave(struct dump_summary *summary, const struct dump_summary_call *call)
{
	struct dump_function_total *total = &summary->totals->functions[call->function + 1];

	total->sums.instructions += call->instructions;
	if (!--total->active) {
		total->sums.all_instructions += summary->instructions;
		total->sums.all_time += summary->elapsed.passed;
	}
}

static inline void dump_totals_pop(struct dump_summary *summary, const struct dump_summary_call *top)
{
	dump_totals_leave(summary, top);
	summary->call--;
}

/* A call comes and goes, and takes so many instructions, and no time. */
static inline void dump_totals_leaf(struct dump_summary *summary, uint32_t function, uint64_t instructions)
{
	struct dump_function_total *total = dump_totals_meet(summary->totals, function);

	total->sums.calls++;
	total->sums.instructions += instructions;
	total->sums.all_instructions += total->active ? 0 : instructions;
}

#endif
