/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a stack of frames from calls and returns, and handles calls and returns that do not match. */
#include "analysis/call/call_stack.h"

#include "analysis/call/call_frame_state.h"

enum state { RUNNING, IN_KERNEL, IN_GAP, OUTSIDE };

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

/* ---- kernel and untraced code -------------------------------------------------------------------- */

/* Finds the frame that the kernel interrupted. A restarted system call resumes two bytes before its return address. */
static size_t find_interrupted(const struct analysis_call_thread *thread, uint64_t address, unsigned flags)
{
	const struct analysis_stack *stack = thread->stack;

	for (size_t i = stack ? stack->count : 0; i-- > 0;) {
		const struct analysis_frame *frame = &stack->frames[i];

		if (frame->flags & flags && (frame->return_address == address || frame->return_address == address + 2))
			return i;
	}
	return ANALYSIS_FOLD_NOT_FOUND;
}

static int take_far_return(const struct analysis_fold *fold)
{
	const struct analysis_call_thread *thread = fold->thread;
	const size_t found = find_interrupted(thread, fold->transfer->to, ANALYSIS_CALL_KERNEL | ANALYSIS_CALL_SIGNAL);
	uint64_t interrupted = 0;
	uint32_t function;
	int status = 0;

	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found, 0);
	/* The kernel resumes at an address that it did not interrupt: a signal handler. */
	for (size_t i = thread->stack ? thread->stack->count : 0; i-- > 0;)
		if (thread->stack->frames[i].flags & ANALYSIS_CALL_KERNEL) {
			interrupted = thread->stack->frames[i].return_address;
			status = analysis_fold_pop_to(fold, i, 0);
			break;
		}
	if (status == 0)
		status = analysis_fold_function(fold, &function);
	if (status < 0)
		return status;
	return analysis_fold_push(fold, function, interrupted,
				  interrupted ? ANALYSIS_CALL_SIGNAL : ANALYSIS_CALL_INFERRED);
}

/* The process runs another program: ends all frames of the last program. */
static int begin_program(const struct analysis_fold *fold, const struct flow_program *program)
{
	const struct analysis_call_observer *observer = fold->observer;
	uint32_t function;
	int status = analysis_calls_end(fold->fold, fold->thread);

	fold->thread->program = program;
	if (fold->thread->stack) {
		fold->thread->stack->time = fold->thread->stack->instructions = 0;
		fold->thread->stack->idle_time = fold->thread->stack->idle_instructions = 0;
		fold->thread->stack->start = fold->thread->time;
	}
	if (status == 0 && observer->exec)
		status = observer->exec(observer->context, fold->thread);
	if (status == 0)
		status = analysis_fold_function(fold, &function);
	return status == 0
		       ? analysis_fold_push(
				 fold, function, 0,
				 fold->transfer->flags & ANALYSIS_TRANSFER_START ? 0 : (unsigned)ANALYSIS_CALL_INFERRED)
		       : status;
}

/*
 * The kernel resumes after a signal handler, but not at the interrupted address: the handler changed the address. The
 * target is in the interrupted function, in one of its callers, or in a function that will return to the interrupted
 * address.
 */
static int resume_elsewhere(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const uint64_t interrupted = analysis_fold_top(thread)->return_address;
	const uint32_t covers = fold->transfer->function;
	const struct analysis_frame *top;
	uint32_t function;
	size_t found;
	int status = analysis_fold_pop(fold, 0);

	top = analysis_fold_top(thread);
	if (status < 0 || (top && covers != ANALYSIS_NO_FUNCTION && top->function == covers))
		return status;
	found = top && !(fold->transfer->flags & ANALYSIS_TRANSFER_START) ? analysis_fold_find_function(thread, covers)
									  : ANALYSIS_FOLD_NOT_FOUND;
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
	status = analysis_fold_function(fold, &function);
	return status == 0 ? analysis_fold_push(fold, function, interrupted, analysis_fold_call_flags(fold)) : status;
}

static int resume_from_kernel(const struct analysis_fold *fold)
{
	const struct analysis_call_thread *thread = fold->thread;
	const uint64_t to = fold->transfer->to;
	const struct flow_program *program;
	size_t found;
	uint32_t function;
	int status;

	if (to == thread->expected || to + 2 == thread->expected)
		return 0;
	found = find_interrupted(thread, to, ANALYSIS_CALL_SIGNAL);
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found, 0);
	if (analysis_fold_top(thread)->flags & ANALYSIS_CALL_RETURNED)
		return resume_elsewhere(fold);
	program = thread->process == FLOW_NONE
			  ? NULL
			  : flow_timeline_program_at(fold->fold->timeline, thread->process, thread->time);
	if (program != thread->program)
		return begin_program(fold, program);
	status = analysis_fold_function(fold, &function);
	return status == 0 ? analysis_fold_push(fold, function, thread->expected, ANALYSIS_CALL_SIGNAL) : status;
}

static int resume_from_outside(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const struct analysis_transfer *transfer = fold->transfer;
	const size_t found = analysis_fold_find_return(thread, transfer->to);
	uint32_t function;
	int status;

	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found, 0);
	if (!(transfer->flags & ANALYSIS_TRANSFER_START) && transfer->function != ANALYSIS_NO_FUNCTION) {
		const size_t own = analysis_fold_top(thread)->function == transfer->function
					   ? thread->stack->count - 1
					   : analysis_fold_find_function(thread, transfer->function);

		if (own != ANALYSIS_FOLD_NOT_FOUND)
			return analysis_fold_pop_to(fold, own + 1, ANALYSIS_CALL_UNWOUND);
	}
	status = analysis_fold_function(fold, &function);
	return status == 0 ? analysis_fold_push(fold, function, 0, ANALYSIS_CALL_INFERRED) : status;
}

static int begin_thread(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	uint32_t function;
	const int status = analysis_fold_function(fold, &function);

	if (status < 0)
		return status;
	if (thread->process != FLOW_NONE)
		thread->program = flow_timeline_program_at(fold->fold->timeline, thread->process, thread->time);
	return analysis_fold_push(fold, function, 0,
				  fold->transfer->flags & ANALYSIS_TRANSFER_START ? 0
										  : (unsigned)ANALYSIS_CALL_INFERRED);
}

/* The flow resumes after a gap: in the same call, in a caller, or in a new call. */
static int resume_after_gap(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const uint32_t covers = fold->transfer->function;
	uint32_t function;
	size_t found;
	int status;

	if (covers != ANALYSIS_NO_FUNCTION && analysis_fold_top(thread)->function == covers)
		return 0;
	found = covers == ANALYSIS_NO_FUNCTION ? analysis_fold_find_nameless(fold, fold->transfer->to)
					       : analysis_fold_find_function(thread, covers);
	if (found == ANALYSIS_FOLD_NOT_FOUND && covers == ANALYSIS_NO_FUNCTION)
		return 0;
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_LOST);
	status = analysis_fold_function(fold, &function);
	return status == 0 ? analysis_fold_push(fold, function, 0, ANALYSIS_CALL_INFERRED) : status;
}

/*
 * Makes the pause of the flow a gap if ptl-record had paused the packets: the thread executed code in between, which is
 * neither the kernel nor a signal handler.
 */
static int find_paused_packets(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const uint64_t since = thread->resumed, passed = thread->time - thread->left;

	thread->resumed = thread->time;
	if (!flow_timeline_resumes(fold->fold->timeline, thread->tid, since, thread->time))
		return 0;
	if (thread->state == IN_KERNEL)
		thread->absence.kernel -= passed;
	thread->absence.gap += passed;
	thread->lost = true;
	return fold->observer->gap ? fold->observer->gap(fold->observer->context, thread) : 0;
}

static int take_resume(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const bool kernel = thread->kernel_pause;
	const int status = find_paused_packets(fold);

	if (status < 0)
		return status;
	thread->state = RUNNING;
	thread->kernel_pause = false;
	if (!analysis_fold_top(thread))
		return begin_thread(fold);
	if (thread->lost)
		return resume_after_gap(fold);
	return kernel ? resume_from_kernel(fold) : resume_from_outside(fold);
}

static int take_go_on(const struct analysis_fold *fold)
{
	fold->thread->state = RUNNING;
	return analysis_fold_top(fold->thread) ? resume_after_gap(fold) : begin_thread(fold);
}

static void take_pause(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;

	thread->expected = fold->transfer->address;
	thread->kernel_pause = fold->transfer->flags & ANALYSIS_TRANSFER_KERNEL;
	thread->state = thread->kernel_pause ? IN_KERNEL : OUTSIDE;
	thread->left = thread->time;
}

/* ---- transfers ----------------------------------------------------------------------------------- */

static void add_absence(struct analysis_call_thread *thread, uint64_t nanoseconds)
{
	if (thread->state == IN_KERNEL)
		thread->absence.kernel += nanoseconds;
	else if (thread->state == IN_GAP)
		thread->absence.gap += nanoseconds;
}

/* Lets time pass on the stack, with or without frames. */
static void pass_time(struct analysis_stack *stack, uint64_t nanoseconds)
{
	if (!stack)
		return;
	stack->time += nanoseconds;
	if (!stack->count)
		stack->idle_time += nanoseconds;
}

void analysis_calls_pass(struct analysis_call_thread *thread, uint64_t instructions, uint64_t time)
{
	thread->instructions += instructions;
	if (thread->stack) {
		thread->stack->instructions += instructions;
		if (!thread->stack->count)
			thread->stack->idle_instructions += instructions;
	}
	if (time <= thread->time)
		return;
	if (thread->time) {
		const uint64_t passed = time - thread->time;

		pass_time(thread->stack, passed);
		if (thread->state != RUNNING)
			add_absence(thread, passed);
	}
	thread->time = time;
}

void analysis_calls_off(struct analysis_call_thread *thread, uint64_t time)
{
	if (time <= thread->time)
		return;
	if (thread->time) {
		thread->absence.off += time - thread->time;
		pass_time(thread->stack, time - thread->time);
	}
	thread->time = time;
}

static int take_other_transfer(const struct analysis_fold *fold)
{
	const struct analysis_transfer *transfer = fold->transfer;
	struct analysis_call_thread *thread = fold->thread;
	uint32_t function;
	int status;

	switch (transfer->kind) {
	case ANALYSIS_TRANSFER_JUMP:
		return take_jump(fold);
	case ANALYSIS_TRANSFER_FAR_RETURN:
		return take_far_return(fold);
	case ANALYSIS_TRANSFER_FAR_CALL:
	case ANALYSIS_TRANSFER_INTERRUPT:
		status = analysis_fold_function(fold, &function);
		return status == 0 ? analysis_fold_push(fold, function, transfer->address, ANALYSIS_CALL_KERNEL)
				   : status;
	case ANALYSIS_TRANSFER_PAUSE:
		take_pause(fold);
		return 0;
	case ANALYSIS_TRANSFER_RESUME:
		status = take_resume(fold);
		thread->lost = false;
		return status;
	case ANALYSIS_TRANSFER_GAP:
		thread->lost = true;
		thread->state = IN_GAP;
		return fold->observer->gap ? fold->observer->gap(fold->observer->context, thread) : 0;
	case ANALYSIS_TRANSFER_GO_ON:
		status = take_go_on(fold);
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

int analysis_calls_end(const struct analysis_call_fold *calls, struct analysis_call_thread *thread)
{
	const struct analysis_fold fold = {.fold = calls, .observer = calls->observer, .thread = thread};
	struct analysis_stack *current = thread->stack;
	int status = current ? analysis_fold_pop_to(&fold, 0, ANALYSIS_CALL_UNFINISHED) : 0;

	for (size_t i = 0; status == 0 && i < thread->stack_count; i++) {
		thread->stack = thread->stacks[i];
		if (!thread->stack->count)
			continue;
		if (calls->observer->change)
			status = calls->observer->change(calls->observer->context, thread);
		if (status == 0)
			status = analysis_fold_pop_to(&fold, 0, ANALYSIS_CALL_UNFINISHED);
	}
	thread->stack = current;
	common_hash_map_free(&thread->waiting);
	thread->oldest = thread->youngest = NULL;
	return status;
}
