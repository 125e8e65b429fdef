/* SPDX-License-Identifier: BSD-2-Clause */
/* Applies a piece of a summary to the stack of a thread. */
#include "analysis/call/call_clock.h"
#include "analysis/call/call_frame_state.h"

/* Converts times to durations of the nodes. Returns the sum of all durations. */
static uint64_t pass_times(struct analysis_call_thread *thread, struct analysis_summary_node *nodes,
			   const struct analysis_summary *summary, const struct analysis_piece *piece)
{
	uint64_t all = 0;

	for (size_t i = 0; i < piece->time_count; i++) {
		const struct analysis_summary_time *at = &summary->times[piece->time + i];
		const uint64_t before = thread->time, time = at->time;

		if (time <= before)
			continue;
		analysis_calls_pass(thread, 0, time);
		nodes[at->node].time += before ? time - before : 0;
		all += before ? time - before : 0;
	}
	return all;
}

/* Adds the values of calls to the top frame's callees; without a frame, subtracts them from the stack's idle values. */
static void pass_calls(struct analysis_stack *stack, struct analysis_frame *top, uint64_t time, uint64_t instructions)
{
	if (top) {
		top->child_time += time;
		top->child_instructions += instructions;
	} else {
		stack->idle_time -= time;
		stack->idle_instructions -= instructions;
	}
}

/* Pushes frames for unfinished calls. These frames begin now: earlier values are counted by the piece. */
static int push_frames(const struct analysis_fold *fold, const struct analysis_summary *summary,
		       const struct analysis_piece *piece)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < piece->frame_count; i++) {
		const struct analysis_summary_frame *frame = &summary->frames[piece->frame + i];
		const struct analysis_transfer transfer = {
			.to = frame->entry,
			.function_flags = frame->flags & ANALYSIS_CALL_STUB ? ANALYSIS_FUNCTION_STUB : 0,
		};
		struct analysis_fold pushing = *fold;

		pushing.transfer = &transfer;
		status = analysis_fold_push(&pushing, frame->function, frame->return_address, frame->flags);
	}
	return status;
}

/* Applies a piece that has sums by function instead of paths. */
static int take_by_function(const struct analysis_fold *fold, const struct analysis_summary *summary,
			    const struct analysis_piece *piece)
{
	const struct analysis_call_observer *observer = fold->observer;
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_frame *top = analysis_fold_top(thread);
	const struct analysis_piece_time *elapsed = &piece->elapsed;
	const uint64_t before = thread->time;
	const uint64_t first = before && elapsed->first > before ? elapsed->first - before : 0;

	analysis_calls_pass(thread, 0, elapsed->first);
	analysis_calls_pass(thread, piece->instructions, elapsed->last);
	pass_calls(thread->stack, top, elapsed->passed - elapsed->own + (elapsed->is_first_own ? 0 : first),
		   piece->instructions - piece->own_instructions);
	if (top)
		top->children += piece->sum_count > 0;
	analysis_fold_count_calls(thread, piece->calls);
	return piece->sum_count
		       ? observer->sums(observer->context, thread, summary->sums + piece->sum, piece->sum_count, first)
		       : 0;
}

int analysis_fold_take_piece(const struct analysis_fold *fold, struct analysis_summary *summary,
			     const struct analysis_piece *piece)
{
	const struct analysis_call_observer *observer = fold->observer;
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_frame *top = analysis_fold_top(thread);
	struct analysis_summary_node *nodes;
	int status = thread->stack ? 0 : analysis_fold_make_stack(thread);
	uint64_t time;

	if (status < 0)
		return status;
	if (piece->by_function) {
		status = take_by_function(fold, summary, piece);
		return status == 0 ? push_frames(fold, summary, piece) : status;
	}
	nodes = summary->nodes + piece->node;
	time = pass_times(thread, nodes, summary, piece);
	analysis_calls_pass(thread, piece->instructions, 0);
	pass_calls(thread->stack, top, time - nodes->time, piece->instructions - nodes->instructions);
	if (top)
		top->children += piece->node_count > 1;
	analysis_fold_count_calls(thread, piece->calls);
	if (piece->node_count > 1)
		status = observer->piece(observer->context, thread, top, nodes, piece->node_count);
	return status == 0 ? push_frames(fold, summary, piece) : status;
}
