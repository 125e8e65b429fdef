/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames when flow pauses and resumes: in the kernel, in code that is not traced, and in gaps. */
#include "analysis/call/call_resume.h"

#include "analysis/call/call_clock.h"
#include "analysis/call/call_frame_state.h"

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

int analysis_fold_far_return(const struct analysis_fold *fold)
{
	const struct analysis_call_thread *thread = fold->thread;
	const size_t found = find_interrupted(thread, fold->transfer->to, ANALYSIS_CALL_KERNEL | ANALYSIS_CALL_SIGNAL);
	uint64_t interrupted = 0;
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
	if (status < 0)
		return status;
	return analysis_fold_push_target(fold, interrupted,
					 interrupted ? ANALYSIS_CALL_SIGNAL : ANALYSIS_CALL_INFERRED);
}

/* The process runs another program: ends all frames of the last program. */
static int begin_program(const struct analysis_fold *fold, const struct flow_program *program)
{
	const struct analysis_call_observer *observer = fold->observer;
	int status = analysis_calls_end(fold->fold, fold->thread);

	fold->thread->program = program;
	if (fold->thread->stack) {
		fold->thread->stack->time = fold->thread->stack->instructions = 0;
		fold->thread->stack->idle_time = fold->thread->stack->idle_instructions = 0;
		fold->thread->stack->start = fold->thread->time;
	}
	if (status == 0 && observer->exec)
		status = observer->exec(observer->context, fold->thread);
	return status == 0
		       ? analysis_fold_push_target(
				 fold, 0,
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
	size_t found;
	int status = analysis_fold_pop(fold, 0);

	top = analysis_fold_top(thread);
	if (status < 0 || (top && covers != ANALYSIS_NO_FUNCTION && top->function == covers))
		return status;
	found = top && !(fold->transfer->flags & ANALYSIS_TRANSFER_START) ? analysis_fold_find_function(thread, covers)
									  : ANALYSIS_FOLD_NOT_FOUND;
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_UNWOUND);
	return analysis_fold_push_target(fold, interrupted, analysis_fold_call_flags(fold));
}

static int resume_from_kernel(const struct analysis_fold *fold)
{
	const struct analysis_call_thread *thread = fold->thread;
	const uint64_t to = fold->transfer->to;
	const struct flow_program *program;
	size_t found;

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
	return analysis_fold_push_target(fold, thread->expected, ANALYSIS_CALL_SIGNAL);
}

static int resume_from_outside(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const struct analysis_transfer *transfer = fold->transfer;
	const size_t found = analysis_fold_find_return(thread, transfer->to);

	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found, 0);
	if (!(transfer->flags & ANALYSIS_TRANSFER_START) && transfer->function != ANALYSIS_NO_FUNCTION) {
		const size_t own = analysis_fold_top(thread)->function == transfer->function
					   ? thread->stack->count - 1
					   : analysis_fold_find_function(thread, transfer->function);

		if (own != ANALYSIS_FOLD_NOT_FOUND)
			return analysis_fold_pop_to(fold, own + 1, ANALYSIS_CALL_UNWOUND);
	}
	return analysis_fold_push_target(fold, 0, ANALYSIS_CALL_INFERRED);
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
	size_t found;

	if (covers != ANALYSIS_NO_FUNCTION && analysis_fold_top(thread)->function == covers)
		return 0;
	found = covers == ANALYSIS_NO_FUNCTION ? analysis_fold_find_nameless(fold, fold->transfer->to)
					       : analysis_fold_find_function(thread, covers);
	if (found == ANALYSIS_FOLD_NOT_FOUND && covers == ANALYSIS_NO_FUNCTION)
		return 0;
	if (found != ANALYSIS_FOLD_NOT_FOUND)
		return analysis_fold_pop_to(fold, found + 1, ANALYSIS_CALL_LOST);
	return analysis_fold_push_target(fold, 0, ANALYSIS_CALL_INFERRED);
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
	if (thread->state == ANALYSIS_THREAD_IN_KERNEL)
		thread->absence.kernel -= passed;
	thread->absence.gap += passed;
	thread->lost = true;
	return fold->observer->gap ? fold->observer->gap(fold->observer->context, thread) : 0;
}

int analysis_fold_resume(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const bool kernel = thread->kernel_pause;
	const int status = find_paused_packets(fold);

	if (status < 0)
		return status;
	thread->state = ANALYSIS_THREAD_RUNNING;
	thread->kernel_pause = false;
	if (!analysis_fold_top(thread))
		return begin_thread(fold);
	if (thread->lost)
		return resume_after_gap(fold);
	return kernel ? resume_from_kernel(fold) : resume_from_outside(fold);
}

int analysis_fold_go_on(const struct analysis_fold *fold)
{
	fold->thread->state = ANALYSIS_THREAD_RUNNING;
	return analysis_fold_top(fold->thread) ? resume_after_gap(fold) : begin_thread(fold);
}

void analysis_fold_pause(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;

	thread->expected = fold->transfer->address;
	thread->kernel_pause = fold->transfer->flags & ANALYSIS_TRANSFER_KERNEL;
	thread->state = thread->kernel_pause ? ANALYSIS_THREAD_IN_KERNEL : ANALYSIS_THREAD_OUTSIDE;
	thread->left = thread->time;
}
