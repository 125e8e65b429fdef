/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums by function in the open piece of a summary, for observers that need no paths: a stack of calls is enough. Only
 * for code that finds transfers.
 */
#ifndef DUMP_CALL_CALL_TOTALS_H
#define DUMP_CALL_CALL_TOTALS_H

#include "dump/call/call_summary.h"

/* Sums of a function. Size: a cache line. */
struct dump_function_total {
	struct dump_function_sums
		sums;    /* while a call is active: all_* minus the clocks at the begin of the outermost call */
	uint32_t active; /* active calls */
	uint32_t turn;   /* number of the piece; in another piece, all sums are 0 */
	uint64_t unused; /* padding */
};

/* Zero-initialised: empty. Owned by a worker. */
struct dump_totals {
	struct dump_function_total *functions; /* by function number + 1; 0: no function */
	uint32_t *used;                        /* indexes in `functions` in order of first use */
	uint32_t used_count, capacity;         /* capacity: of both arrays */
	uint32_t turn;
	struct dump_summary_call *stack; /* active calls, indexed by depth */
};

void dump_totals_free(struct dump_totals *totals);
/* Begins a piece without calls and sums. Returns 0 or PTL_NO_MEMORY. */
int dump_totals_begin(struct dump_summary *summary);
/* Ends all calls, and appends the sums to summary->sums. Returns 0 or PTL_NO_MEMORY. */
int dump_totals_close(struct dump_summary *summary, struct dump_piece *piece);
/* Sets the time, which belongs to the innermost call. */
void dump_totals_tick(struct dump_summary *summary, uint64_t time);
/* Undoes the innermost call. */
void dump_totals_take_back(struct dump_summary *summary);
/* Makes room for the function. Returns 0 or PTL_NO_MEMORY. */
int dump_totals_reserve(struct dump_totals *totals, uint32_t function);

/* Returns the sums of a function in this piece. The caller has reserved room. */
static inline struct dump_function_total *dump_totals_meet(struct dump_totals *totals, uint32_t function)
{
	const uint32_t place = function + 1;
	struct dump_function_total *total = &totals->functions[place];

	if (__builtin_expect(total->turn != totals->turn, 0)) {
		*total = (struct dump_function_total){.sums.function = function, .turn = totals->turn};
		totals->used[totals->used_count++] = place;
	}
	return total;
}

static inline bool dump_totals_has_room(const struct dump_totals *totals, uint32_t function)
{
	return __builtin_expect(function + 1 < totals->capacity, 1);
}

/* Counts the begin of a call that is on the stack. */
static inline void dump_totals_enter(struct dump_summary *summary, const struct dump_summary_call *call)
{
	struct dump_function_total *total = dump_totals_meet(summary->totals, call->function);

	total->sums.calls++;
	if (!total->active++) {
		total->sums.all_instructions -= summary->instructions;
		total->sums.all_time -= summary->elapsed.passed;
	}
}

/* Pushes a call. The caller has reserved room for its function. */
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

/* Counts the end of the innermost call. */
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

/* Counts a call that began and ended, without time. */
static inline void dump_totals_leaf(struct dump_summary *summary, uint32_t function, uint64_t instructions)
{
	struct dump_function_total *total = dump_totals_meet(summary->totals, function);

	total->sums.calls++;
	total->sums.instructions += instructions;
	total->sums.all_instructions += total->active ? 0 : instructions;
}

#endif
