/* SPDX-License-Identifier: BSD-2-Clause */
/* Pushes and pops frames on a thread's stack, and searches frames. */
#include <stdlib.h>

#include "analysis/call/call_frame_state.h"
#include "common/error.h"
#include "common/vector.h"

#define BUDGET_EACH 8   /* frames that searches may visit for each pushed frame */
#define BUDGET_LEAST 64 /* frames that a search may visit in any case */
#define AGAIN_MAX 256   /* setjmp return places kept per stack */

/* A place where setjmp returned, in the frame at `depth`. serial: identifies the frame. */
struct analysis_return_again {
	uint64_t address;
	uint64_t serial;
	size_t depth;
};

/* ---- stacks -------------------------------------------------------------------------------------- */

void analysis_calls_start(struct analysis_call_thread *thread, const struct flow_segment *segment)
{
	*thread = (struct analysis_call_thread){
		.process = segment->process,
		.pid = segment->pid,
		.thread = segment->thread,
		.tid = segment->tid,
		.cpu = segment->cpu,
	};
}

static void free_stack(struct analysis_stack *stack)
{
	free(stack->frames);
	free(stack->again);
	free(stack);
}

void analysis_calls_free(struct analysis_call_thread *thread)
{
	for (size_t i = 0; i < thread->stack_count; i++)
		free_stack(thread->stacks[i]);
	free(thread->stacks);
	common_hash_map_free(&thread->waiting);
	*thread = (struct analysis_call_thread){0};
}

int analysis_fold_make_stack(struct analysis_call_thread *thread)
{
	struct analysis_stack **stacks = realloc(thread->stacks,
						 (thread->stack_count + 1) * sizeof(struct analysis_stack *));
	struct analysis_stack *stack = stacks ? calloc(1, sizeof(*stack)) : NULL;

	if (stacks)
		thread->stacks = stacks;
	if (!stack)
		return common_fail_memory("stacks of calls", sizeof(*stack));
	stack->start = thread->time;
	stack->number = (uint32_t)thread->stack_count;
	thread->stacks[thread->stack_count++] = stack;
	thread->stack = stack;
	return 0;
}

struct analysis_frame *analysis_fold_room(struct analysis_call_thread *thread)
{
	struct analysis_stack *stack = thread->stack;

	if (COMMON_VECTOR_RESERVE(stack->frames, stack->capacity, stack->count + 1, "frames") < 0)
		return NULL;
	return &stack->frames[stack->count++];
}

/* ---- pushing and popping frames ------------------------------------------------------------------ */

/* Returns ANALYSIS_CALL_* flags for the function at the transfer's target. */
unsigned analysis_fold_flags(const struct analysis_fold *fold)
{
	static const struct {
		unsigned function, call;
	} pairs[] = {
		{ANALYSIS_FUNCTION_STUB, ANALYSIS_CALL_STUB},       {ANALYSIS_FUNCTION_TWICE, ANALYSIS_CALL_TWICE},
		{ANALYSIS_FUNCTION_SWITCH, ANALYSIS_CALL_SWITCH},   {ANALYSIS_FUNCTION_THUNK, ANALYSIS_CALL_THUNK},
		{ANALYSIS_FUNCTION_UNWINDS, ANALYSIS_CALL_UNWINDS}, {ANALYSIS_FUNCTION_FINDER, ANALYSIS_CALL_FINDER},
		{ANALYSIS_FUNCTION_PARKS, ANALYSIS_CALL_PARKS},     {ANALYSIS_FUNCTION_JUMPS, ANALYSIS_CALL_JUMPS},
	};
	const unsigned function_flags = fold->transfer->function_flags;
	unsigned flags = 0;

	if (__builtin_expect(!function_flags, 1))
		return 0;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		flags |= function_flags & pairs[i].function ? pairs[i].call : 0;
	return flags;
}

/* Returns ANALYSIS_CALL_* flags for a call by the transfer. */
unsigned analysis_fold_call_flags(const struct analysis_fold *fold)
{
	const unsigned flags = fold->transfer->flags;

	return (flags & ANALYSIS_TRANSFER_OUTSIDE ? ANALYSIS_CALL_OUTSIDE : 0) |
	       (flags & ANALYSIS_TRANSFER_START ? 0 : ANALYSIS_CALL_MIDWAY);
}

/* Finds the function at the transfer's target. Without a symbol, adds a nameless function that begins at the target. */
int analysis_fold_function(const struct analysis_fold *fold, uint32_t *function)
{
	const struct analysis_transfer *transfer = fold->transfer;

	*function = transfer->function;
	if (*function != ANALYSIS_NO_FUNCTION || !transfer->to)
		return 0;
	return analysis_functions_nameless(fold->fold->functions, fold->thread->process, transfer->image, transfer->to,
					   function);
}

/*
 * Counts frames that an exception unwinds. libgcc looks up the unwind description of each frame by the finder, which
 * has three outer calls: uw_frame_state_for, the loop that unwinds to the handler, and _Unwind_RaiseException or a
 * similar function. The loop that only searches for a handler is inlined, so its lookups have a lower depth. Lookups at
 * this depth therefore equal unwound frames.
 */
#define FINDER_BELOW 3

void analysis_fold_count_unwound(struct analysis_stack *stack)
{
	struct analysis_frame *top = &stack->frames[stack->count - 1];

	if (top->flags & ANALYSIS_CALL_FINDER && stack->count > FINDER_BELOW &&
	    top[-FINDER_BELOW].flags & ANALYSIS_CALL_UNWINDS)
		top[-FINDER_BELOW].unwound++;
}

/*
 * Fills a new frame, except members that depend on the call. Assigns each member: gcc clears a whole structure by a
 * string instruction, which takes longer than all other work of a call.
 */
static inline void fill_frame(struct analysis_frame *frame, struct analysis_call_thread *thread)
{
	frame->start = thread->time;
	frame->time = thread->stack->time;
	frame->instructions = thread->stack->instructions;
	frame->child_time = frame->child_instructions = 0;
	frame->wall = 0;
	frame->absence = thread->absence;
	frame->children = 0;
	frame->serial = ++thread->serial;
	frame->user = frame->other = 0;
	frame->unwound = 0;
}

int analysis_fold_push(const struct analysis_fold *fold, uint32_t function, uint64_t return_address, unsigned flags)
{
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_stack *stack;
	struct analysis_frame *frame;

	if (!thread->stack) {
		const int status = analysis_fold_make_stack(thread);

		if (status < 0)
			return status;
	}
	stack = thread->stack;
	if (stack->count)
		stack->frames[stack->count - 1].children++;
	frame = analysis_fold_room(thread);
	if (!frame)
		return PTL_NO_MEMORY;
	fill_frame(frame, thread);
	frame->return_address = return_address;
	frame->entry = fold->transfer->to;
	frame->function = function;
	frame->flags = flags | analysis_fold_flags(fold);
	thread->budget += BUDGET_EACH;
	analysis_fold_count_unwound(stack);
	return fold->observer->enter(fold->observer->context, thread, frame);
}

int analysis_fold_push_target(const struct analysis_fold *fold, uint64_t return_address, unsigned flags)
{
	uint32_t function;
	const int status = analysis_fold_function(fold, &function);

	return status == 0 ? analysis_fold_push(fold, function, return_address, flags) : status;
}

void analysis_fold_count_calls(struct analysis_call_thread *thread, uint64_t count)
{
	thread->serial += count;
	thread->budget += BUDGET_EACH * count;
}

void analysis_fold_pass_leaf(struct analysis_call_thread *thread, uint64_t instructions)
{
	struct analysis_stack *stack = thread->stack;
	struct analysis_frame *caller = &stack->frames[stack->count - 1];

	caller->children++;
	caller->child_instructions += instructions;
	stack->instructions += instructions;
	thread->instructions += instructions;
	analysis_fold_count_calls(thread, 1);
}

/* Replaces the start values of clocks in an ending frame by differences. */
static void complete_frame(const struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	const struct analysis_stack *stack = thread->stack;

	frame->time = stack->time - frame->time;
	frame->instructions = stack->instructions - frame->instructions;
	frame->wall = frame->start && thread->time > frame->start ? thread->time - frame->start : 0;
	frame->absence.kernel = thread->absence.kernel - frame->absence.kernel;
	frame->absence.off = thread->absence.off - frame->absence.off;
	frame->absence.gap = thread->absence.gap - frame->absence.gap;
}

int analysis_fold_pop(const struct analysis_fold *fold, unsigned flags)
{
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_stack *stack = thread->stack;
	struct analysis_frame *frame = &stack->frames[stack->count - 1];
	int status;

	frame->flags |= flags;
	complete_frame(thread, frame);
	status = fold->observer->leave(fold->observer->context, thread, frame);
	if (stack->count > 1) {
		frame[-1].child_time += frame->time;
		frame[-1].child_instructions += frame->instructions;
	}
	stack->count--;
	return status;
}

/* Pops frames until `count` frames are left. */
int analysis_fold_pop_to(const struct analysis_fold *fold, size_t count, unsigned flags)
{
	struct analysis_stack *stack = fold->thread->stack;
	int status = 0;

	while (status == 0 && stack->count > count)
		status = analysis_fold_pop(fold, flags);
	return status;
}

/* Remembers a return of setjmp. A longjmp may return here again while the caller's frame exists. */
static int remember_again(struct analysis_stack *stack, uint64_t address)
{
	const struct analysis_frame *caller = &stack->frames[stack->count - 1];

	while (stack->again_count && stack->again[stack->again_count - 1].depth >= stack->count)
		stack->again_count--;
	for (size_t i = 0; i < stack->again_count; i++)
		if (stack->again[i].address == address && stack->again[i].serial == caller->serial)
			return 0;
	if (stack->again_count == AGAIN_MAX)
		return 0;
	if (!stack->again) {
		stack->again = calloc(AGAIN_MAX, sizeof(*stack->again));
		if (!stack->again)
			return common_fail_memory("calls", AGAIN_MAX * sizeof(*stack->again));
	}
	stack->again[stack->again_count++] = (struct analysis_return_again){address, caller->serial, stack->count - 1};
	return 0;
}

/* Pops the top frame, which returns to its return address. */
int analysis_fold_pop_return(const struct analysis_fold *fold)
{
	struct analysis_stack *stack = fold->thread->stack;
	const bool twice = stack->frames[stack->count - 1].flags & ANALYSIS_CALL_TWICE;
	const uint64_t address = fold->transfer->to;
	const int status = analysis_fold_pop(fold, 0);

	return status == 0 && twice && stack->count ? remember_again(stack, address) : status;
}

/* ---- searches ------------------------------------------------------------------------------------ */

/*
 * Returns how many frames a search may visit. A found frame is popped to, so its search is paid for. Failed searches
 * use up a budget: a hostile trace must not take quadratic time.
 */
static size_t search_limit(const struct analysis_call_thread *thread)
{
	const size_t count = thread->stack->count;

	return count < thread->budget + BUDGET_LEAST ? count : (size_t)thread->budget + BUDGET_LEAST;
}

static size_t not_found(struct analysis_call_thread *thread, size_t looked)
{
	thread->budget -= looked < thread->budget ? looked : thread->budget;
	return ANALYSIS_FOLD_NOT_FOUND;
}

/* Finds the innermost frame with this return address. */
size_t analysis_fold_find_return(struct analysis_call_thread *thread, uint64_t address)
{
	const struct analysis_stack *stack = thread->stack;
	const size_t limit = search_limit(thread);

	for (size_t i = 0; i < limit; i++)
		if (stack->frames[stack->count - 1 - i].return_address == address)
			return stack->count - 1 - i;
	return not_found(thread, limit);
}

/* Finds the innermost frame of a function, without the top frame. */
size_t analysis_fold_find_function(struct analysis_call_thread *thread, uint32_t function)
{
	const struct analysis_stack *stack = thread->stack;
	const size_t limit = search_limit(thread);

	if (function == ANALYSIS_NO_FUNCTION)
		return ANALYSIS_FOLD_NOT_FOUND;
	for (size_t i = 1; i < limit; i++)
		if (stack->frames[stack->count - 1 - i].function == function)
			return stack->count - 1 - i;
	return not_found(thread, limit);
}

static bool is_nameless(const struct analysis_fold *fold, const struct analysis_frame *frame)
{
	return frame->function == ANALYSIS_NO_FUNCTION ||
	       analysis_function(fold->fold->functions, frame->function)->flags & ANALYSIS_FUNCTION_NAMELESS;
}

/*
 * Finds the nameless frame that most likely contains the address. Without symbols, a function is assumed to reach up to
 * the entry of the next function on the stack.
 */
size_t analysis_fold_find_nameless(const struct analysis_fold *fold, uint64_t address)
{
	const struct analysis_stack *stack = fold->thread->stack;
	const size_t limit = search_limit(fold->thread);
	size_t found = ANALYSIS_FOLD_NOT_FOUND;

	for (size_t i = 0; i < limit; i++) {
		const size_t at = stack->count - 1 - i;
		const struct analysis_frame *frame = &stack->frames[at];

		if (!is_nameless(fold, frame))
			continue;
		/* The frame's callee returns to this address. */
		if (i && stack->frames[at + 1].return_address == address)
			return at;
		if (frame->entry <= address &&
		    (found == ANALYSIS_FOLD_NOT_FOUND || frame->entry > stack->frames[found].entry))
			found = at;
	}
	/* A found frame does not pop the visited frames, so the search uses up the budget. */
	not_found(fold->thread, limit);
	return found;
}

size_t analysis_fold_find_again(const struct analysis_stack *stack, size_t left, uint64_t address)
{
	for (size_t i = stack->again_count; i-- > 0;) {
		const struct analysis_return_again *again = &stack->again[i];

		if (again->address == address && again->depth < left &&
		    stack->frames[again->depth].serial == again->serial)
			return again->depth;
	}
	return ANALYSIS_FOLD_NOT_FOUND;
}

/*
 * Finds the frame to which the exception unwound; ANALYSIS_FOLD_NOT_FOUND if unwound frames were not counted, or the
 * function does not match.
 */
size_t analysis_fold_find_unwound(const struct analysis_stack *stack, uint32_t function)
{
	const size_t unwinder = stack->count - 1;
	size_t at = unwinder, steps = stack->frames[unwinder].unwound;

	if (!(stack->frames[unwinder].flags & ANALYSIS_CALL_UNWINDS) || steps < 2)
		return ANALYSIS_FOLD_NOT_FOUND;
	/*
	 * The first counted frame is the unwinder's own. A signal handler counts twice: the kernel's signal frame lies
	 * below the handler.
	 */
	for (steps--; steps > 0 && at > 0; steps--) {
		const bool two = stack->frames[at].flags & ANALYSIS_CALL_SIGNAL;

		steps -= two && steps > 1;
		at--;
	}
	if (steps || (function != ANALYSIS_NO_FUNCTION && stack->frames[at].function != function))
		return ANALYSIS_FOLD_NOT_FOUND;
	return at;
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
