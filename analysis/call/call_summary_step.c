/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes steps into pieces. */
#include "analysis/call/call_summary.h"
#include "analysis/call/call_summary_state.h"
#include "analysis/call/transfer_state.h"
#include "common/error.h"

/*
 * Takes a jump to a run at another place. Returns 1; or 0, without changes, if pieces cannot take the jump or its place
 * must be looked up.
 */
static __attribute__((noinline)) int jump(struct analysis_summary *summary, const struct flow_step *step,
					  const struct analysis_transfer_run *known)
{
	struct analysis_tracker *tracker = summary->tracker;
	const struct analysis_transfer_runs *runs = summary->runs;
	const struct analysis_code_place *from = analysis_transfer_run_place(runs, tracker->home_number);
	const struct analysis_code_place *to = analysis_transfer_run_place(runs, known->from);
	const uint64_t instructions = tracker->instructions + step->instructions;
	const unsigned flags = analysis_walk_jump_flags(from, to, analysis_tracker_branch(tracker, step));
	const struct analysis_transfer transfer = {
		.time = step->time ? step->time : tracker->time,
		.to = known->ip,
		.instructions = (uint32_t)instructions,
		.function = to->function,
		.image = to->image,
		.kind = ANALYSIS_TRANSFER_JUMP,
		.flags = (uint8_t)(flags | (known->starts ? ANALYSIS_TRANSFER_START : 0)),
		.function_flags = (uint16_t)to->flags,
	};
	int status;

	if (from->image == to->image &&
	    (from->function == to->function || known->ip - from->first <= from->last - from->first))
		return 0;
	status = analysis_summary_take(summary, &transfer);
	if (status <= 0)
		return status;
	tracker->instructions = 0;
	tracker->time = transfer.time;
	return 1;
}

/* Takes the flow to a run. Returns 1; or 0, without changes, if the branch does not match the calls of the piece. */
static inline int come(struct analysis_summary *summary, const struct flow_step *step,
		       const struct analysis_transfer_run *known)
{
	struct analysis_tracker *tracker = summary->tracker;
	const uint8_t branch = analysis_tracker_way(tracker, step);
	struct analysis_summary_call *top = analysis_summary_top(summary);
	const uint64_t instructions = tracker->instructions + step->instructions;
	const uint64_t time = step->time ? step->time : tracker->time;
	int status;

	if (branch < FLOW_BRANCH_CALL) {
		if (known->from != tracker->home_number)
			return jump(summary, step, known);
		tracker->instructions = instructions;
		return 1;
	}
	if (branch == FLOW_BRANCH_RETURN) {
		if (!top || top->return_address != known->ip)
			return 0;
		if (summary->by_function) {
			status = analysis_summary_pass_on_stack(summary, top, instructions, time);
			analysis_totals_pop(summary, top);
		} else {
			status = analysis_summary_pass(summary, instructions, time);
			analysis_summary_pop(summary);
		}
	} else if ((branch == FLOW_BRANCH_CALL || branch == FLOW_BRANCH_CALL_INDIRECT) &&
		   known->function != ANALYSIS_NO_FUNCTION && tracker->leaving.behind != known->ip &&
		   !analysis_summary_is_stub(top)) {
		status = analysis_summary_pass(summary, instructions, time);
		if (status == 0)
			status = analysis_summary_push(summary, known->function, known->ip, tracker->leaving.behind,
						       (known->starts ? 0 : ANALYSIS_CALL_MIDWAY) |
							       (known->stub ? ANALYSIS_CALL_STUB : 0));
	} else {
		return 0;
	}
	tracker->instructions = 0;
	tracker->time = time;
	return status < 0 ? status : 1;
}

/* Takes a transfer by analysis_summary_take, which looks up its call. Returns the status of analysis_summary_take. */
static __attribute__((noinline)) int take_other_transfer(struct analysis_summary *summary,
							 const struct analysis_transfer *known, uint32_t instructions,
							 uint64_t time)
{
	struct analysis_transfer transfer = *known;

	transfer.instructions = instructions;
	transfer.time = time;
	return analysis_summary_take(summary, &transfer);
}

/* Returns the call that a transfer of a run enters; 0: use take_other_transfer. */
static __attribute__((noinline)) uint32_t enter_known_call(struct analysis_summary *summary,
							   const struct analysis_transfer *known)
{
	const struct analysis_summary_call *from = &summary->tree->calls[summary->call];

	/* The transfer first changes such a caller, or enters no call. */
	if (from->flags & (ANALYSIS_CALL_MIDWAY | ANALYSIS_CALL_STUB) || summary->is_full ||
	    !analysis_summary_enters(known))
		return 0;
	return analysis_summary_enter(summary, known);
}

/* As take_transfer, in a piece with a stack of calls. */
static inline int take_on_stack(struct analysis_summary *summary, const struct analysis_transfer *known,
				uint64_t instructions, uint64_t time)
{
	struct analysis_summary_call *from = &summary->tree->calls[summary->call];
	int status;

	if (__builtin_expect(from->flags & (ANALYSIS_CALL_MIDWAY | ANALYSIS_CALL_STUB) || summary->is_full ||
				     !analysis_summary_enters(known) ||
				     !analysis_totals_has_room(summary->totals, known->function),
			     0))
		return take_other_transfer(summary, known, (uint32_t)instructions, time);
	status = analysis_summary_pass_on_stack(summary, from, instructions, time);
	summary->clock = summary->instructions;
	if (known->kind == ANALYSIS_TRANSFER_LEAF) {
		analysis_totals_leaf(summary, known->function, known->inside);
		summary->instructions += known->inside;
		summary->tree->transfers++;
	} else {
		analysis_totals_push(summary, known->function, known->to, known->address,
				     analysis_summary_flags(known));
	}
	return status < 0 ? status : 1;
}

/* Takes a transfer of a run. Returns the status of analysis_summary_take. */
static inline int take_transfer(struct analysis_summary *summary, const struct analysis_transfer *known,
				uint64_t instructions, uint64_t time)
{
	uint32_t entered = known->site ? analysis_summary_tree_entered(summary->tree, summary->call, known->site) : 0;
	int status;

	if (!entered)
		entered = enter_known_call(summary, known);
	if (!entered)
		return take_other_transfer(summary, known, (uint32_t)instructions, time);
	status = analysis_summary_pass(summary, instructions, time);
	summary->clock = summary->instructions;
	if (known->kind == ANALYSIS_TRANSFER_LEAF) {
		analysis_summary_add(summary, entered, known->inside, 1);
		summary->instructions += known->inside;
		summary->tree->transfers++;
	} else {
		analysis_summary_add(summary, entered, 0, 1);
		summary->call = entered;
	}
	return status < 0 ? status : 1;
}

/* Leaves transfers of a run to the fold. Returns 0 or PTL_NO_MEMORY. */
static __attribute__((noinline)) int leave_within(const struct analysis_summary *summary,
						  const struct analysis_transfer *transfers, size_t count)
{
	struct analysis_transfers *found = summary->found;
	struct analysis_tracker *tracker = summary->tracker;
	const int status = COMMON_VECTOR_RESERVE(found->list, found->capacity, found->count + count, "calls");

	for (size_t i = 0; status == 0 && i < count; i++) {
		struct analysis_transfer *transfer = &found->list[found->count++];

		*transfer = transfers[i];
		transfer->time = tracker->time;
		transfer->instructions += (uint32_t)tracker->instructions;
		tracker->instructions = 0;
	}
	return status;
}

/*
 * Takes the transfers of a run. Returns 1; 0 if a transfer, and so all later transfers, were left to the fold; or
 * PTL_NO_MEMORY.
 */
static inline int take_within(struct analysis_summary *summary, const struct analysis_transfer_run *known)
{
	struct analysis_tracker *tracker = summary->tracker;
	const struct analysis_transfer *transfers = analysis_transfer_run_list(summary->runs, known);
	const uint32_t count = known->count;

	if (!summary->by_function)
		analysis_summary_tree_use_sites(summary->tree, summary->runs->base);
	for (uint32_t i = 0; i < count; i++) {
		const uint64_t instructions = transfers[i].instructions + tracker->instructions;
		const int status = summary->by_function
					   ? take_on_stack(summary, &transfers[i], instructions, tracker->time)
					   : take_transfer(summary, &transfers[i], instructions, tracker->time);

		if (__builtin_expect(status <= 0, 0))
			return status < 0 ? status : leave_within(summary, transfers + i, count - i);
		tracker->instructions = 0;
	}
	return 1;
}

int analysis_summary_step(struct analysis_summary *summary, const struct flow_step *step, uint32_t *home_number)
{
	struct analysis_tracker *tracker = summary->tracker;
	const struct analysis_transfer_run *known = step->run ? analysis_transfer_run_find(summary->runs,
											   step->marks->tag)
							      : NULL;
	int status = 0;

	if (__builtin_expect(known && tracker->home_number && summary->is_open && tracker->leaving.valid &&
				     tracker->instructions + step->instructions <= UINT32_MAX / 2 && !summary->is_full,
			     1)) {
		/* Fetches the list from memory while the branch to the run is taken. */
		if (known->count)
			__builtin_prefetch(analysis_transfer_run_list(summary->runs, known));
		status = come(summary, step, known);
	}
	if (__builtin_expect(status <= 0, 0))
		return status < 0 ? status : summary->otherwise(summary->owner, step, home_number);
	if (known->list && step->time)
		tracker->time = step->time;
	if (known->count)
		status = take_within(summary, known);
	analysis_tracker_end_run(tracker, known);
	*home_number = known->branch < FLOW_BRANCH_CALL ? known->to : 0;
	if (__builtin_expect(status <= 0, 0))
		return status < 0 ? status : summary->otherwise(summary->owner, NULL, home_number);
	return 0;
}
