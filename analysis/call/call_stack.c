/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a stack of frames from calls and returns, and handles calls and returns that do not match. */
#include "analysis/call/call_stack.h"

#include "analysis/call/call_clock.h"
#include "analysis/call/call_frame_state.h"
#include "analysis/call/call_resume.h"

/* ---- jumps --------------------------------------------------------------------------------------- */

/* The frame of a stub becomes a frame of the stub's target function. */
static int resolve_stub(const struct analysis_fold *fold, struct analysis_frame *frame)
{
	const struct analysis_call_observer *observer = fold->observer;
	uint32_t function;
	const int status = analysis_fold_function(fold, &function);

	if (status < 0)
		return status;
	frame->function = function;
	frame->entry = fold->transfer->to;
	frame->flags = (frame->flags & ~(ANALYSIS_CALL_STUB | ANALYSIS_CALL_MIDWAY)) | analysis_fold_flags(fold) |
		       (analysis_fold_call_flags(fold) & ANALYSIS_CALL_OUTSIDE);
	analysis_fold_count_unwound(fold->thread->stack);
	return observer->rename ? observer->rename(observer->context, fold->thread, frame) : 0;
}

/* Replaces the top frame by a frame of another function with the same return address. */
static int tail_call(const struct analysis_fold *fold)
{
	const struct analysis_frame *top = analysis_fold_top(fold->thread);
	const uint64_t return_address = top->return_address;
	const unsigned kept = top->flags & (ANALYSIS_CALL_TWICE | ANALYSIS_CALL_SWITCH | ANALYSIS_CALL_JUMPS |
					    ANALYSIS_CALL_SIGNAL | ANALYSIS_CALL_KERNEL);
	uint32_t function;
	int status = analysis_fold_function(fold, &function);

	if (status == 0)
		status = analysis_fold_pop(fold, 0);
	return status == 0 ? analysis_fold_push(fold, function, return_address,
						kept | ANALYSIS_CALL_TAIL |
							(analysis_fold_call_flags(fold) & ANALYSIS_CALL_OUTSIDE))
			   : status;
}

/*
 * Whether the frame is a PLT entry without a symbol: a few instructions (more if the entry first looks up its target),
 * then a jump through a table to another file.
 */
#define STUB_INSTRUCTIONS 8

static bool is_nameless_stub(const struct analysis_fold *fold, const struct analysis_frame *frame)
{
	return frame->flags & ANALYSIS_CALL_MIDWAY && !frame->children &&
	       fold->transfer->flags & ANALYSIS_TRANSFER_INDIRECT &&
	       fold->transfer->flags & ANALYSIS_TRANSFER_FOREIGN &&
	       fold->thread->stack->instructions - frame->instructions <= STUB_INSTRUCTIONS;
}

/* Whether the stub's jump leads to the target function, not to code that looks up its address. */
static bool is_end_of_stub(const struct analysis_fold *fold)
{
	const struct analysis_transfer *transfer = fold->transfer;

	return transfer->flags & ANALYSIS_TRANSFER_START && !(transfer->function_flags & ANALYSIS_FUNCTION_STUB);
}

/* Unwinds to a calling function that the jump enters: longjmp, or an exception handler. */
static int jump_back(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const struct analysis_transfer *transfer = fold->transfer;
	size_t found;
	bool again;
	int status;

	/* A direct jump stays within a function, whose parts may lie apart. */
	if (!(transfer->flags & ANALYSIS_TRANSFER_INDIRECT))
		return 0;
	status = analysis_fold_jump_again(fold, &again);
	if (status < 0 || again)
		return status;
	found = analysis_fold_find_unwound(thread->stack, transfer->function);
	if (found == ANALYSIS_FOLD_NOT_FOUND)
		found = analysis_fold_find_function(thread, transfer->function);
	return found == ANALYSIS_FOLD_NOT_FOUND ? 0 : analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
}

static int take_jump(const struct analysis_fold *fold)
{
	const struct analysis_transfer *transfer = fold->transfer;
	struct analysis_frame *top = analysis_fold_top(fold->thread);
	bool found;
	int status;

	if (!top)
		return 0;
	if (top->flags & ANALYSIS_CALL_STUB)
		return is_end_of_stub(fold) ? resolve_stub(fold, top) : 0;
	if (is_nameless_stub(fold, top))
		return resolve_stub(fold, top);
	if (top->flags & ANALYSIS_CALL_SWITCH && transfer->flags & ANALYSIS_TRANSFER_INDIRECT) {
		const size_t own = analysis_fold_find_return(fold->thread, transfer->to);

		status = analysis_fold_resume_stack(fold, &found);
		if (found || status < 0)
			return status;
		if (own != ANALYSIS_FOLD_NOT_FOUND)
			return analysis_fold_pop_to(fold, own, ANALYSIS_CALL_UNWOUND);
		if (transfer->flags & ANALYSIS_TRANSFER_START)
			return analysis_fold_begin_stack(fold, 0);
	}
	if (transfer->flags & ANALYSIS_TRANSFER_START)
		return tail_call(fold);
	return jump_back(fold);
}

/* ---- returns ------------------------------------------------------------------------------------- */

/* The outermost frame returns: finds a frame that existed before all frames of the stack. */
static int open_below(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_stack *stack = thread->stack;
	const struct analysis_call_observer *observer = fold->observer;
	struct analysis_frame *frame;
	uint32_t function;
	int status = analysis_fold_function(fold, &function);

	if (status == 0)
		status = analysis_fold_pop_to(fold, 0, 0);
	frame = status == 0 ? analysis_fold_room(thread) : NULL;
	if (!frame)
		return status < 0 ? status : PTL_NO_MEMORY;
	*frame = (struct analysis_frame){
		.start = stack->start,
		.serial = ++thread->serial,
		.time = stack->idle_time,
		.instructions = stack->idle_instructions,
		.child_time = stack->time - stack->idle_time,
		.child_instructions = stack->instructions - stack->idle_instructions,
		.children = 1,
		.function = function,
		.entry = fold->transfer->to,
		.flags = ANALYSIS_CALL_INFERRED,
	};
	return observer->below ? observer->below(observer->context, thread, frame) : 0;
}

/* A return to a function that no known frame called. */
static int return_to_unknown(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const struct analysis_frame *top = analysis_fold_top(thread);
	uint32_t function;
	int status;

	if (thread->stack->count == 1)
		return open_below(fold);
	if (!(top->flags & ANALYSIS_CALL_INFERRED) || top->return_address)
		return analysis_fold_begin_stack(fold, ANALYSIS_CALL_INFERRED);
	status = analysis_fold_function(fold, &function);
	if (status == 0)
		status = analysis_fold_pop(fold, 0);
	return status == 0 ? analysis_fold_push(fold, function, 0, ANALYSIS_CALL_INFERRED) : status;
}

/* Handles a return to an address that differs from the top frame's return address. */
static int return_elsewhere(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_frame *top = analysis_fold_top(thread);
	const struct analysis_transfer *transfer = fold->transfer;
	const bool to_start = transfer->flags & ANALYSIS_TRANSFER_START;
	size_t found;
	bool resumed = false;
	int status = 0;

	/* A signal handler returns to code that asks the kernel to resume. */
	if (top->flags & ANALYSIS_CALL_SIGNAL) {
		top->flags |= ANALYSIS_CALL_RETURNED;
		return 0;
	}
	if (top->flags & ANALYSIS_CALL_SWITCH)
		status = analysis_fold_resume_stack(fold, &resumed);
	if (status < 0 || resumed)
		return status;
	if (top->return_address == transfer->to)
		return analysis_fold_pop_return(fold);
	if (top->flags & ANALYSIS_CALL_SWITCH && to_start)
		return analysis_fold_begin_stack(fold, 0);
	status = analysis_fold_jump_again(fold, &resumed);
	if (status < 0 || resumed)
		return status;
	found = analysis_fold_find_unwound(thread->stack, transfer->function);
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
	found = analysis_fold_find_return(thread, transfer->to);
	if (found != ANALYSIS_FOLD_NOT_FOUND) {
		status = analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
		return status == 0 ? analysis_fold_pop(fold, 0) : status;
	}
	status = analysis_fold_resume_stack(fold, &resumed);
	if (status < 0 || resumed)
		return status;
	if (to_start)
		return top->flags & ANALYSIS_CALL_THUNK ? tail_call(fold) : analysis_fold_begin_stack(fold, 0);
	found = thread->stack->count > 1 ? analysis_fold_find_function(thread, transfer->function)
					 : ANALYSIS_FOLD_NOT_FOUND;
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
	return return_to_unknown(fold);
}

/* Handles a return to code that is not traced. */
static int return_outside(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const size_t found = fold->transfer->to ? analysis_fold_find_return(thread, fold->transfer->to)
						: ANALYSIS_FOLD_NOT_FOUND;
	int status = 0;

	if (found != ANALYSIS_FOLD_NOT_FOUND)
		status = analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
	return status == 0 ? analysis_fold_pop(fold, 0) : status;
}

static int take_return(const struct analysis_fold *fold)
{
	const struct analysis_frame *top = analysis_fold_top(fold->thread);
	const struct analysis_transfer *transfer = fold->transfer;

	if (!top)
		return 0;
	/* A switch to another stack may return to the same address there. */
	if (top->return_address == transfer->to && transfer->to &&
	    !(top->flags & ANALYSIS_CALL_SWITCH && fold->thread->stack_count > 1))
		return analysis_fold_pop_return(fold);
	return transfer->flags & ANALYSIS_TRANSFER_OUTSIDE ? return_outside(fold) : return_elsewhere(fold);
}

/* ---- transfers ----------------------------------------------------------------------------------- */

static int take_other_transfer(const struct analysis_fold *fold)
{
	const struct analysis_transfer *transfer = fold->transfer;
	struct analysis_call_thread *thread = fold->thread;
	int status;

	switch (transfer->kind) {
	case ANALYSIS_TRANSFER_JUMP:
		return take_jump(fold);
	case ANALYSIS_TRANSFER_FAR_RETURN:
		return analysis_fold_far_return(fold);
	case ANALYSIS_TRANSFER_FAR_CALL:
	case ANALYSIS_TRANSFER_INTERRUPT:
		return analysis_fold_push_target(fold, transfer->address, ANALYSIS_CALL_KERNEL);
	case ANALYSIS_TRANSFER_PAUSE:
		analysis_fold_pause(fold);
		return 0;
	case ANALYSIS_TRANSFER_RESUME:
		status = analysis_fold_resume(fold);
		thread->lost = false;
		return status;
	case ANALYSIS_TRANSFER_GAP:
		thread->lost = true;
		thread->state = ANALYSIS_THREAD_IN_GAP;
		return fold->observer->gap ? fold->observer->gap(fold->observer->context, thread) : 0;
	case ANALYSIS_TRANSFER_GO_ON:
		status = analysis_fold_go_on(fold);
		thread->lost = false;
		return status;
	default:
		return 0;
	}
}

/* Applies a leaf call as a frame. */
static int take_leaf_as_frame(const struct analysis_fold *fold)
{
	const struct analysis_transfer *leaf = fold->transfer;
	const struct analysis_transfer end = {
		.to = leaf->address,
		.function = ANALYSIS_NO_FUNCTION,
		.image = FLOW_NONE,
		.kind = ANALYSIS_TRANSFER_RETURN,
	};
	const struct analysis_fold returning = {.fold = fold->fold,
						.observer = fold->observer,
						.thread = fold->thread,
						.transfer = &end,
						.end = fold->end};
	int status = analysis_fold_push(fold, leaf->function, leaf->address, analysis_fold_call_flags(fold));

	analysis_calls_pass(fold->thread, leaf->inside, 0);
	return status == 0 ? take_return(&returning) : status;
}

static int take_leaf(const struct analysis_fold *fold)
{
	const struct analysis_call_observer *observer = fold->observer;
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_frame *caller = analysis_fold_top(thread);
	const int taken = caller && observer->leaf ? observer->leaf(observer->context, thread, caller, fold->transfer)
						   : 0;

	if (taken == 0)
		return take_leaf_as_frame(fold);
	if (taken < 0)
		return taken;
	analysis_fold_pass_leaf(thread, fold->transfer->inside);
	return 0;
}

static int take_transfer(const struct analysis_fold *fold)
{
	const struct analysis_transfer *transfer = fold->transfer;

	analysis_calls_pass(fold->thread, transfer->instructions, transfer->time);
	if (transfer->kind == ANALYSIS_TRANSFER_CALL)
		return analysis_fold_push(fold, transfer->function, transfer->address, analysis_fold_call_flags(fold));
	if (transfer->kind == ANALYSIS_TRANSFER_RETURN)
		return take_return(fold);
	return transfer->kind == ANALYSIS_TRANSFER_LEAF ? take_leaf(fold) : take_other_transfer(fold);
}

int analysis_calls_take(const struct analysis_call_fold *calls, struct analysis_call_thread *thread,
			const struct analysis_call_part *part, size_t ahead)
{
	const struct analysis_piece *taken;
	struct analysis_fold fold = {.fold = calls, .observer = calls->observer, .thread = thread};
	int status = 0;

	analysis_fold_enter_part(&fold, part, ahead);
	taken = fold.piece ? fold.piece + part->piece_count : NULL;
	for (size_t i = 0; status == 0 && i < part->count; i++) {
		for (; status == 0 && fold.piece < taken && fold.piece->at == i; fold.piece++)
			status = analysis_fold_take_piece(&fold, part->summary, fold.piece);
		fold.transfer = &part->transfers[i];
		if (status == 0)
			status = take_transfer(&fold);
	}
	for (; status == 0 && fold.piece < taken; fold.piece++)
		status = analysis_fold_take_piece(&fold, part->summary, fold.piece);
	return status;
}
