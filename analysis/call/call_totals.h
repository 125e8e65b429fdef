/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums by function in the open piece of a summary, for observers that need no paths: a stack of calls is enough. Only
 * for code that finds transfers.
 */
#ifndef ANALYSIS_CALL_CALL_TOTALS_H
#define ANALYSIS_CALL_CALL_TOTALS_H

#include "analysis/call/call_summary.h"

/* Sums of a function. Size: a cache line. */
struct analysis_function_total {
	struct analysis_function_sums
		sums;    /* while a call is active: all_* minus the clocks at the begin of the outermost call */
	uint32_t active; /* active calls */
	uint32_t turn;   /* number of the piece; in another piece, all sums are 0 */
	uint64_t unused; /* padding */
};

/* Zero-initialised: empty. Owned by a worker. */
struct analysis_totals {
	struct analysis_function_total *functions; /* by function number + 1; 0: no function */
	uint32_t *used;                            /* indexes in `functions` in order of first use */
	uint32_t used_count, capacity;             /* capacity: of both arrays */
	uint32_t turn;
	struct analysis_summary_call *stack; /* active calls, indexed by depth */
};

void analysis_totals_free(struct analysis_totals *totals);
/* Begins a piece without calls and sums. Returns 0 or PTL_NO_MEMORY. */
int analysis_totals_begin(struct analysis_summary *summary);
/* Ends all calls, and appends the sums to summary->sums. Returns 0 or PTL_NO_MEMORY. */
int analysis_totals_close(struct analysis_summary *summary, struct analysis_piece *piece);
/* Sets the time, which belongs to the innermost call. */
void analysis_totals_tick(struct analysis_summary *summary, uint64_t time);
/* Undoes the innermost call. */
void analysis_totals_take_back(struct analysis_summary *summary);
/* Makes room for the function. Returns 0 or PTL_NO_MEMORY. */
int analysis_totals_reserve(struct analysis_totals *totals, uint32_t function);

/* Returns the sums of a function in this piece. The caller has reserved room. */
static inline struct analysis_function_total *analysis_totals_meet(struct analysis_totals *totals, uint32_t function)
{
	const uint32_t place = function + 1;
	struct analysis_function_total *total = &totals->functions[place];

	if (__builtin_expect(total->turn != totals->turn, 0)) {
		*total = (struct analysis_function_total){.sums.function = function, .turn = totals->turn};
		totals->used[totals->used_count++] = place;
	}
	return total;
}

static inline bool analysis_totals_has_room(const struct analysis_totals *totals, uint32_t function)
{
	return __builtin_expect(function + 1 < totals->capacity, 1);
}

/* Counts the begin of a call that is on the stack. */
static inline void analysis_totals_enter(struct analysis_summary *summary, const struct analysis_summary_call *call)
{
	struct analysis_function_total *total = analysis_totals_meet(summary->totals, call->function);

	total->sums.calls++;
	if (!total->active++) {
		total->sums.all_instructions -= summary->instructions;
		total->sums.all_time -= summary->elapsed.passed;
	}
}

/* Pushes a call. The caller has reserved room for its function. */
static inline void analysis_totals_push(struct analysis_summary *summary, uint32_t function, uint64_t entry,
					uint64_t return_address, uint32_t flags)
{
	const uint32_t caller = summary->call++;
	struct analysis_summary_call *call = &summary->tree->calls[summary->call];

	call->return_address = return_address;
	call->entry = entry;
	call->parent = caller;
	call->function = function;
	call->flags = flags;
	call->depth = summary->call;
	call->instructions = 0;
	call->turn = summary->tree->turn;
	call->renamed = 0;
	summary->is_full |= summary->call >= ANALYSIS_SUMMARY_CALLS_MAX;
	analysis_totals_enter(summary, call);
}

/* Counts the end of the innermost call. */
static inline void analysis_totals_leave(struct analysis_summary *summary, const struct analysis_summary_call *call)
{
	struct analysis_function_total *total = &summary->totals->functions[call->function + 1];

	total->sums.instructions += call->instructions;
	if (!--total->active) {
		total->sums.all_instructions += summary->instructions;
		total->sums.all_time += summary->elapsed.passed;
	}
}

static inline void analysis_totals_pop(struct analysis_summary *summary, const struct analysis_summary_call *top)
{
	analysis_totals_leave(summary, top);
	summary->call--;
}

/* Counts a call that began and ended, without time. */
static inline void analysis_totals_leaf(struct analysis_summary *summary, uint32_t function, uint64_t instructions)
{
	struct analysis_function_total *total = analysis_totals_meet(summary->totals, function);

	total->sums.calls++;
	total->sums.instructions += instructions;
	total->sums.all_instructions += total->active ? 0 : instructions;
}

#endif
