/* SPDX-License-Identifier: BSD-2-Clause */
/* Maintains a stack of calls and sums by function. */
#include "analysis/call/call_totals.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/call/call_summary_state.h"
#include "common/error.h"
#include "common/vector.h"

_Static_assert(sizeof(struct analysis_function_total) == 64, "a cache line");

#define FEW_FUNCTIONS 1024u

void analysis_totals_free(struct analysis_totals *totals)
{
	free(totals->functions);
	free(totals->used);
	free(totals->stack);
	*totals = (struct analysis_totals){0};
}

int analysis_totals_reserve(struct analysis_totals *totals, uint32_t function)
{
	const size_t wanted = (size_t)(uint32_t)(function + 1) + 1;
	size_t capacity = totals->capacity ? totals->capacity : FEW_FUNCTIONS;
	struct analysis_function_total *functions;
	uint32_t *used;

	if (wanted <= totals->capacity)
		return 0;
	while (capacity < wanted)
		capacity *= 2;
	functions = realloc(totals->functions, capacity * sizeof(*functions));
	if (functions)
		totals->functions = functions;
	used = functions ? realloc(totals->used, capacity * sizeof(*used)) : NULL;
	if (!used)
		return common_fail_memory("functions", capacity * sizeof(*functions));
	totals->used = used;
	memset(functions + totals->capacity, 0, (capacity - totals->capacity) * sizeof(*functions));
	totals->capacity = (uint32_t)capacity;
	return 0;
}

int analysis_totals_begin(struct analysis_summary *summary)
{
	struct analysis_totals *totals = summary->totals;
	struct analysis_summary_tree *tree = summary->tree;
	const size_t size = ANALYSIS_SUMMARY_CALLS_ROOM * sizeof(*totals->stack);

	if (!totals->stack)
		totals->stack = aligned_alloc(sizeof(*totals->stack), size);
	if (!totals->stack)
		return common_fail_memory("calls", size);
	if (!++totals->turn && totals->functions) {
		memset(totals->functions, 0, totals->capacity * sizeof(*totals->functions));
		totals->turn = 1;
	}
	totals->used_count = 0;
	tree->calls = totals->stack;
	tree->calls[0] = (struct analysis_summary_call){.function = UINT32_MAX, .turn = tree->turn};
	summary->elapsed = (struct analysis_piece_time){0};
	return 0;
}

void analysis_totals_tick(struct analysis_summary *summary, uint64_t time)
{
	struct analysis_function_total *functions = summary->totals->functions;
	const struct analysis_summary_call *calls = summary->tree->calls;
	struct analysis_piece_time *elapsed = &summary->elapsed;
	const uint64_t passed = elapsed->last ? time - elapsed->last : 0;

	if (!elapsed->last) {
		/* Only the fold knows the time before the piece, and so the duration. */
		elapsed->first = time;
		elapsed->is_first_own = !summary->call;
		for (uint32_t at = summary->call; at; at = calls[at].parent)
			functions[calls[at].function + 1].sums.first |= at == summary->call ? ANALYSIS_FIRST_OWN
											    : ANALYSIS_FIRST;
	}
	elapsed->last = summary->time = time;
	elapsed->passed += passed;
	if (summary->call)
		functions[calls[summary->call].function + 1].sums.time += passed;
	else
		elapsed->own += passed;
}

void analysis_totals_take_back(struct analysis_summary *summary)
{
	const struct analysis_summary_call *top = &summary->tree->calls[summary->call];

	analysis_totals_leave(summary, top);
	summary->totals->functions[top->function + 1].sums.calls--;
}

int analysis_totals_close(struct analysis_summary *summary, struct analysis_piece *piece)
{
	const struct analysis_totals *totals = summary->totals;
	const struct analysis_summary_call *calls = summary->tree->calls;
	const int status = COMMON_VECTOR_RESERVE(summary->sums, summary->sum_capacity,
						 summary->sum_count + totals->used_count, "functions");

	piece->sum = summary->sum_count;
	piece->sum_count = totals->used_count;
	if (status < 0)
		return status;
	/* Unfinished calls are not counted as ended. */
	for (uint32_t at = summary->call; at; at = calls[at].parent) {
		analysis_totals_leave(summary, &calls[at]);
		totals->functions[calls[at].function + 1].sums.calls--;
	}
	for (uint32_t i = 0; i < totals->used_count; i++) {
		const struct analysis_function_sums *sums = &totals->functions[totals->used[i]].sums;

		summary->sums[summary->sum_count++] = *sums;
		piece->calls += sums->calls;
	}
	piece->calls += calls[summary->call].depth;
	piece->instructions = summary->instructions;
	piece->own_instructions = calls[0].instructions;
	piece->elapsed = summary->elapsed;
	return 0;
}
