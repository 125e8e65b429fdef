/* SPDX-License-Identifier: BSD-2-Clause */
/* A stack of frames from calls and returns, and what is done where they do not fit each other. */
#include "dump/analysis/call_stack.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

#define STACKS_MAX ((size_t)1 << 16)
#define BUDGET_EACH 8   /* frames that a search may look at for each frame that was made */
#define BUDGET_LEAST 64 /* a search may always look at so many */
#define AGAIN_MAX 256   /* places of setjmp that one stack remembers */

enum state { RUNNING, IN_KERNEL, IN_GAP, OUTSIDE };

/* setjmp returned here, in the frame of this depth. */
struct dump_return_again {
	uint64_t address;
	uint64_t serial;
	size_t depth;
};

struct fold {
	const struct dump_call_fold *fold;
	const struct dump_call_observer *observer;
	struct dump_call_thread *thread;
	const struct dump_transfer *transfer;
};

/* ---- stacks -------------------------------------------------------------------------------------- */

void dump_calls_start(struct dump_call_thread *thread, const struct flow_segment *segment)
{
	*thread = (struct dump_call_thread){
		.process = segment->process,
		.pid = segment->pid,
		.thread = segment->thread,
		.tid = segment->tid,
		.cpu = segment->cpu,
	};
}

static void free_stack(struct dump_stack *stack)
{
	free(stack->frames);
	free(stack->again);
	free(stack);
}

void dump_calls_free(struct dump_call_thread *thread)
{
	for (size_t i = 0; i < thread->stack_count; i++)
		free_stack(thread->stacks[i]);
	free(thread->stacks);
	common_hash_map_free(&thread->waiting);
	*thread = (struct dump_call_thread){0};
}

/* A further stack, which becomes the thread's. */
static int make_stack(struct dump_call_thread *thread)
{
	struct dump_stack **stacks = realloc(thread->stacks, (thread->stack_count + 1) * sizeof(struct dump_stack *));
	struct dump_stack *stack = stacks ? calloc(1, sizeof(*stack)) : NULL;

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

static struct dump_frame *top_of(const struct dump_call_thread *thread)
{
	struct dump_stack *stack = thread->stack;

	return stack && stack->count ? &stack->frames[stack->count - 1] : NULL;
}

static struct dump_frame *room(struct dump_call_thread *thread)
{
	struct dump_stack *stack = thread->stack;

	if (COMMON_VECTOR_RESERVE(stack->frames, stack->capacity, stack->count + 1, "frames") < 0)
		return NULL;
	return &stack->frames[stack->count++];
}

/* ---- frames come and go -------------------------------------------------------------------------- */

/* Of the function that the flow has come to. */
static unsigned flags_of(const struct fold *fold)
{
	static const struct {
		unsigned function, call;
	} pairs[] = {
		{DUMP_FUNCTION_STUB, DUMP_CALL_STUB},       {DUMP_FUNCTION_TWICE, DUMP_CALL_TWICE},
		{DUMP_FUNCTION_SWITCH, DUMP_CALL_SWITCH},   {DUMP_FUNCTION_THUNK, DUMP_CALL_THUNK},
		{DUMP_FUNCTION_UNWINDS, DUMP_CALL_UNWINDS}, {DUMP_FUNCTION_FINDER, DUMP_CALL_FINDER},
	};
	const unsigned function_flags = fold->transfer->function_flags;
	unsigned flags = 0;

	if (__builtin_expect(!function_flags, 1))
		return 0;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		flags |= function_flags & pairs[i].function ? pairs[i].call : 0;
	return flags;
}

/* What the transfer says of a call. */
static unsigned call_flags(const struct fold *fold)
{
	const unsigned flags = fold->transfer->flags;

	return (flags & DUMP_TRANSFER_OUTSIDE ? DUMP_CALL_OUTSIDE : 0) |
	       (flags & DUMP_TRANSFER_START ? 0 : DUMP_CALL_MIDWAY);
}

/* The function of a place; where it has no name, the one that begins there. */
static int function_of(const struct fold *fold, uint32_t *function)
{
	const struct dump_transfer *transfer = fold->transfer;

	*function = transfer->function;
	if (*function != DUMP_NO_FUNCTION || !transfer->to)
		return 0;
	return dump_functions_nameless(fold->fold->functions, fold->thread->process, transfer->image, transfer->to,
				       function);
}

/*
 * An exception goes through frames, and for each of them libgcc asks where its description is. It does so below
 * uw_frame_state_for, that below the loop that goes to the handler, and that below _Unwind_RaiseException or one of its
 * like; the loop that only looks for a handler is not a function of its own. So this tells how many frames go.
 */
#define FINDER_BELOW 3

static void count_unwound(struct dump_stack *stack)
{
	struct dump_frame *top = &stack->frames[stack->count - 1];

	if (top->flags & DUMP_CALL_FINDER && stack->count > FINDER_BELOW &&
	    top[-FINDER_BELOW].flags & DUMP_CALL_UNWINDS)
		top[-FINDER_BELOW].unwound++;
}

static int push(const struct fold *fold, uint32_t function, uint64_t return_address, unsigned flags)
{
	struct dump_call_thread *thread = fold->thread;
	struct dump_stack *stack;
	struct dump_frame *frame;

	if (!thread->stack) {
		const int status = make_stack(thread);

		if (status < 0)
			return status;
	}
	stack = thread->stack;
	if (stack->count)
		stack->frames[stack->count - 1].children++;
	frame = room(thread);
	if (!frame)
		return PTL_NO_MEMORY;
	*frame = (struct dump_frame){
		.return_address = return_address,
		.start = thread->time,
		.time = stack->time,
		.instructions = stack->instructions,
		.absence = thread->absence,
		.serial = ++thread->serial,
		.entry = fold->transfer->to,
		.function = function,
		.flags = flags | flags_of(fold),
	};
	thread->budget += BUDGET_EACH;
	count_unwound(stack);
	return fold->observer->enter(fold->observer->context, thread, frame);
}

/* What a frame took, now that it ends. */
static void complete(const struct dump_call_thread *thread, struct dump_frame *frame)
{
	const struct dump_stack *stack = thread->stack;

	frame->time = stack->time - frame->time;
	frame->instructions = stack->instructions - frame->instructions;
	frame->wall = frame->start && thread->time > frame->start ? thread->time - frame->start : 0;
	frame->absence.kernel = thread->absence.kernel - frame->absence.kernel;
	frame->absence.off = thread->absence.off - frame->absence.off;
	frame->absence.gap = thread->absence.gap - frame->absence.gap;
}

static int pop(const struct fold *fold, unsigned flags)
{
	struct dump_call_thread *thread = fold->thread;
	struct dump_stack *stack = thread->stack;
	struct dump_frame *frame = &stack->frames[stack->count - 1];
	int status;

	frame->flags |= flags;
	complete(thread, frame);
	status = fold->observer->leave(fold->observer->context, thread, frame);
	if (stack->count > 1) {
		frame[-1].child_time += frame->time;
		frame[-1].child_instructions += frame->instructions;
	}
	stack->count--;
	return status;
}

/* Ends frames until so many are left. */
static int pop_to(const struct fold *fold, size_t count, unsigned flags)
{
	struct dump_stack *stack = fold->thread->stack;
	int status = 0;

	while (status == 0 && stack->count > count)
		status = pop(fold, flags);
	return status;
}

/* setjmp returns, and may return here again while its caller's frame is there. */
static int remember_again(struct dump_stack *stack, uint64_t address)
{
	const struct dump_frame *caller = &stack->frames[stack->count - 1];

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
	stack->again[stack->again_count++] = (struct dump_return_again){address, caller->serial, stack->count - 1};
	return 0;
}

/* The top frame returns as it should. */
static int pop_return(const struct fold *fold)
{
	struct dump_stack *stack = fold->thread->stack;
	const bool twice = stack->frames[stack->count - 1].flags & DUMP_CALL_TWICE;
	const uint64_t address = fold->transfer->to;
	const int status = pop(fold, 0);

	return status == 0 && twice && stack->count ? remember_again(stack, address) : status;
}

/* ---- searches ------------------------------------------------------------------------------------ */

#define NOT_FOUND SIZE_MAX

/*
 * How many frames may be looked at. What is found is popped, and so paid for; what is not found costs, and a flow that
 * never fits must not take forever.
 */
static size_t search_limit(const struct dump_call_thread *thread)
{
	const size_t count = thread->stack->count;

	return count < thread->budget + BUDGET_LEAST ? count : (size_t)thread->budget + BUDGET_LEAST;
}

static size_t not_found(struct dump_call_thread *thread, size_t looked)
{
	thread->budget -= looked < thread->budget ? looked : thread->budget;
	return NOT_FOUND;
}

/* The innermost frame that returns to an address. */
static size_t find_return(struct dump_call_thread *thread, uint64_t address)
{
	const struct dump_stack *stack = thread->stack;
	const size_t limit = search_limit(thread);

	for (size_t i = 0; i < limit; i++)
		if (stack->frames[stack->count - 1 - i].return_address == address)
			return stack->count - 1 - i;
	return not_found(thread, limit);
}

/* The innermost frame of a function; the top one does not count. */
static size_t find_function(struct dump_call_thread *thread, uint32_t function)
{
	const struct dump_stack *stack = thread->stack;
	const size_t limit = search_limit(thread);

	if (function == DUMP_NO_FUNCTION)
		return NOT_FOUND;
	for (size_t i = 1; i < limit; i++)
		if (stack->frames[stack->count - 1 - i].function == function)
			return stack->count - 1 - i;
	return not_found(thread, limit);
}

/* The frame in which setjmp returned to the address. */
static size_t find_again(const struct dump_stack *stack, uint64_t address)
{
	for (size_t i = stack->again_count; i-- > 0;) {
		const struct dump_return_again *again = &stack->again[i];

		if (again->address == address && again->depth < stack->count &&
		    stack->frames[again->depth].serial == again->serial)
			return again->depth;
	}
	return NOT_FOUND;
}

/* The frame that an exception has come to; NOT_FOUND where that was not counted, or cannot be. */
static size_t find_unwound(const struct dump_stack *stack, uint32_t function)
{
	const size_t unwinder = stack->count - 1;
	size_t at = unwinder, steps = stack->frames[unwinder].unwound;

	if (!(stack->frames[unwinder].flags & DUMP_CALL_UNWINDS) || steps < 2)
		return NOT_FOUND;
	/* The first of them was the unwinder's own. A signal's handler has another below it, which the kernel made. */
	for (steps--; steps > 0 && at > 0; steps--) {
		const bool two = stack->frames[at].flags & DUMP_CALL_SIGNAL;

		steps -= two && steps > 1;
		at--;
	}
	if (steps || (function != DUMP_NO_FUNCTION && stack->frames[at].function != function))
		return NOT_FOUND;
	return at;
}

/* ---- several stacks ------------------------------------------------------------------------------ */

/* Where a stack goes on that is left now: behind the call that switches. */
static size_t switching_frame(const struct dump_stack *stack)
{
	for (size_t i = stack->count; i-- > 0 && stack->count - i <= BUDGET_LEAST;)
		if (stack->frames[i].flags & DUMP_CALL_SWITCH)
			return i;
	return stack->count - 1;
}

/* The thread's stack waits until something returns to it. */
static int suspend(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	struct dump_stack *stack = thread->stack, *first;
	const uint64_t *known;
	uint64_t address;

	if (!stack || !stack->count)
		return 0;
	address = stack->frames[switching_frame(stack)].return_address;
	stack->next = NULL;
	stack->last = stack;
	known = common_hash_map_get(&thread->waiting, address);
	if (!known)
		return common_hash_map_put(&thread->waiting, address, (uint64_t)(uintptr_t)stack);
	first = (struct dump_stack *)(uintptr_t)*known;
	first->last->next = stack;
	first->last = stack;
	return 0;
}

/* The stack that has waited longest for a return to the address; NULL: none does. */
static struct dump_stack *take_waiting(struct dump_call_thread *thread, uint64_t address)
{
	uint64_t *known = common_hash_map_get(&thread->waiting, address);
	struct dump_stack *stack;

	if (!known || !address)
		return NULL;
	stack = (struct dump_stack *)(uintptr_t)*known;
	if (stack->next) {
		stack->next->last = stack->last;
		*known = (uint64_t)(uintptr_t)stack->next;
	} else {
		common_hash_map_remove(&thread->waiting, address);
	}
	return stack;
}

static int report_change(const struct fold *fold)
{
	const struct dump_call_observer *observer = fold->observer;

	return observer->change ? observer->change(observer->context, fold->thread) : 0;
}

/* Goes on on a stack that waits for a return to where the flow is now; *found: there was one. */
static int resume_stack(const struct fold *fold, bool *found)
{
	struct dump_call_thread *thread = fold->thread;
	struct dump_stack *stack = take_waiting(thread, fold->transfer->to);
	int status;

	*found = stack != NULL;
	if (!stack)
		return 0;
	status = suspend(fold);
	thread->stack = stack;
	if (status == 0)
		status = report_change(fold);
	if (status == 0)
		status = pop_to(fold, switching_frame(stack) + 1, DUMP_CALL_UNWOUND);
	return status == 0 ? pop(fold, 0) : status;
}

/* Goes on on a stack that was not seen before, in the function where the flow is now. */
static int begin_stack(const struct fold *fold, unsigned flags)
{
	struct dump_call_thread *thread = fold->thread;
	uint32_t function;
	int status = function_of(fold, &function);

	if (status == 0 && thread->stack_count >= STACKS_MAX)
		status = pop_to(fold, 0, DUMP_CALL_UNWOUND);
	else if (status == 0)
		status = suspend(fold);
	if (status == 0 && thread->stack_count < STACKS_MAX)
		status = make_stack(thread);
	if (status == 0)
		status = report_change(fold);
	return status == 0 ? push(fold, function, 0, flags | DUMP_CALL_STACK) : status;
}

/* ---- jumps --------------------------------------------------------------------------------------- */

/* The frame turns out to be that of the function it leads to. */
static int resolve(const struct fold *fold, struct dump_frame *frame)
{
	const struct dump_call_observer *observer = fold->observer;
	uint32_t function;
	const int status = function_of(fold, &function);

	if (status < 0)
		return status;
	frame->function = function;
	frame->entry = fold->transfer->to;
	frame->flags = (frame->flags & ~(DUMP_CALL_STUB | DUMP_CALL_MIDWAY)) | flags_of(fold) |
		       (call_flags(fold) & DUMP_CALL_OUTSIDE);
	count_unwound(fold->thread->stack);
	return observer->rename ? observer->rename(observer->context, fold->thread, frame) : 0;
}

/* Another function in place of the top one, for its caller. */
static int tail_call(const struct fold *fold)
{
	const struct dump_frame *top = top_of(fold->thread);
	const uint64_t return_address = top->return_address;
	const unsigned kept = top->flags & (DUMP_CALL_TWICE | DUMP_CALL_SWITCH | DUMP_CALL_SIGNAL | DUMP_CALL_KERNEL);
	uint32_t function;
	int status = function_of(fold, &function);

	if (status == 0)
		status = pop(fold, 0);
	return status == 0 ? push(fold, function, return_address,
				  kept | DUMP_CALL_TAIL | (call_flags(fold) & DUMP_CALL_OUTSIDE))
			   : status;
}

/*
 * Whether the frame is that of an entry of a PLT that has no symbol: some instructions (more where it first asks for the
 * address), and a jump through a table to another file.
 */
#define STUB_INSTRUCTIONS 8

static bool is_nameless_stub(const struct fold *fold, const struct dump_frame *frame)
{
	return frame->flags & DUMP_CALL_MIDWAY && !frame->children && fold->transfer->flags & DUMP_TRANSFER_INDIRECT &&
	       fold->transfer->flags & DUMP_TRANSFER_FOREIGN &&
	       fold->thread->stack->instructions - frame->instructions <= STUB_INSTRUCTIONS;
}

/* Whether a stub leads there, and not only to what looks up the address of its function. */
static bool is_end_of_stub(const struct fold *fold)
{
	const struct dump_transfer *transfer = fold->transfer;

	return transfer->flags & DUMP_TRANSFER_START && !(transfer->function_flags & DUMP_FUNCTION_STUB);
}

/* Back to a place in a function that has called, not by a return: longjmp, or to the handler of an exception. */
static int jump_back(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	const struct dump_transfer *transfer = fold->transfer;
	size_t found = find_again(thread->stack, transfer->to);

	if (found == NOT_FOUND)
		found = find_unwound(thread->stack, transfer->function);
	if (found == NOT_FOUND && transfer->flags & DUMP_TRANSFER_INDIRECT)
		found = find_function(thread, transfer->function);
	return found == NOT_FOUND ? 0 : pop_to(fold, found + 1, DUMP_CALL_UNWOUND);
}

static int take_jump(const struct fold *fold)
{
	const struct dump_transfer *transfer = fold->transfer;
	struct dump_frame *top = top_of(fold->thread);
	bool found;
	int status;

	if (!top)
		return 0;
	if (top->flags & DUMP_CALL_STUB)
		return is_end_of_stub(fold) ? resolve(fold, top) : 0;
	if (is_nameless_stub(fold, top))
		return resolve(fold, top);
	if (top->flags & DUMP_CALL_SWITCH && transfer->flags & DUMP_TRANSFER_INDIRECT) {
		const size_t own = find_return(fold->thread, transfer->to);

		status = resume_stack(fold, &found);
		if (found || status < 0)
			return status;
		if (own != NOT_FOUND)
			return pop_to(fold, own, DUMP_CALL_UNWOUND);
		if (transfer->flags & DUMP_TRANSFER_START)
			return begin_stack(fold, 0);
	}
	if (transfer->flags & DUMP_TRANSFER_START)
		return tail_call(fold);
	return jump_back(fold);
}

/* ---- returns ------------------------------------------------------------------------------------- */

/* The outermost frame ends, into one that was there before all of it. */
static int open_below(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	struct dump_stack *stack = thread->stack;
	const struct dump_call_observer *observer = fold->observer;
	struct dump_frame *frame;
	uint32_t function;
	int status = function_of(fold, &function);

	if (status == 0)
		status = pop_to(fold, 0, 0);
	frame = status == 0 ? room(thread) : NULL;
	if (!frame)
		return status < 0 ? status : PTL_NO_MEMORY;
	*frame = (struct dump_frame){
		.start = stack->start,
		.serial = ++thread->serial,
		.child_time = stack->time,
		.child_instructions = stack->instructions,
		.children = 1,
		.function = function,
		.entry = fold->transfer->to,
		.flags = DUMP_CALL_INFERRED,
	};
	return observer->below ? observer->below(observer->context, thread, frame) : 0;
}

/* Nothing that is known has called this. */
static int return_to_unknown(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	const struct dump_frame *top = top_of(thread);
	uint32_t function;
	int status;

	if (thread->stack->count == 1)
		return open_below(fold);
	if (!(top->flags & DUMP_CALL_INFERRED) || top->return_address)
		return begin_stack(fold, DUMP_CALL_INFERRED);
	status = function_of(fold, &function);
	if (status == 0)
		status = pop(fold, 0);
	return status == 0 ? push(fold, function, 0, DUMP_CALL_INFERRED) : status;
}

/* A return that is not to where the top frame was called. */
static int return_elsewhere(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	struct dump_frame *top = top_of(thread);
	const struct dump_transfer *transfer = fold->transfer;
	const bool to_start = transfer->flags & DUMP_TRANSFER_START;
	size_t found;
	bool resumed = false;
	int status = 0;

	/* A signal's handler returns to code that asks the kernel to go back. */
	if (top->flags & DUMP_CALL_SIGNAL)
		return 0;
	if (top->flags & DUMP_CALL_SWITCH)
		status = resume_stack(fold, &resumed);
	if (status < 0 || resumed)
		return status;
	if (top->return_address == transfer->to)
		return pop_return(fold);
	if (top->flags & DUMP_CALL_SWITCH && to_start)
		return begin_stack(fold, 0);
	found = find_again(thread->stack, transfer->to);
	if (found == NOT_FOUND)
		found = find_unwound(thread->stack, transfer->function);
	if (found != NOT_FOUND)
		return pop_to(fold, found + 1, DUMP_CALL_UNWOUND);
	found = find_return(thread, transfer->to);
	if (found != NOT_FOUND) {
		status = pop_to(fold, found + 1, DUMP_CALL_UNWOUND);
		return status == 0 ? pop(fold, 0) : status;
	}
	status = resume_stack(fold, &resumed);
	if (status < 0 || resumed)
		return status;
	if (to_start)
		return top->flags & DUMP_CALL_THUNK ? tail_call(fold) : begin_stack(fold, 0);
	found = thread->stack->count > 1 ? find_function(thread, transfer->function) : NOT_FOUND;
	if (found != NOT_FOUND)
		return pop_to(fold, found + 1, DUMP_CALL_UNWOUND);
	return return_to_unknown(fold);
}

/* The callee's caller is not traced, and what it does now is not. */
static int return_outside(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	const size_t found = fold->transfer->to ? find_return(thread, fold->transfer->to) : NOT_FOUND;
	int status = 0;

	if (found != NOT_FOUND)
		status = pop_to(fold, found + 1, DUMP_CALL_UNWOUND);
	return status == 0 ? pop(fold, 0) : status;
}

static int take_return(const struct fold *fold)
{
	const struct dump_frame *top = top_of(fold->thread);
	const struct dump_transfer *transfer = fold->transfer;

	if (!top)
		return 0;
	/* Who goes over to another stack may come back to the very same address there. */
	if (top->return_address == transfer->to && transfer->to &&
	    !(top->flags & DUMP_CALL_SWITCH && fold->thread->stack_count > 1))
		return pop_return(fold);
	return transfer->flags & DUMP_TRANSFER_OUTSIDE ? return_outside(fold) : return_elsewhere(fold);
}

/* ---- the kernel, and what is not traced ---------------------------------------------------------- */

/* A frame from which the kernel comes back; the system call itself is two bytes before what is behind it. */
static size_t find_interrupted(const struct dump_call_thread *thread, uint64_t address, unsigned flags)
{
	const struct dump_stack *stack = thread->stack;

	for (size_t i = stack ? stack->count : 0; i-- > 0;) {
		const struct dump_frame *frame = &stack->frames[i];

		if (frame->flags & flags && (frame->return_address == address || frame->return_address == address + 2))
			return i;
	}
	return NOT_FOUND;
}

static int take_far_return(const struct fold *fold)
{
	const struct dump_call_thread *thread = fold->thread;
	const size_t found = find_interrupted(thread, fold->transfer->to, DUMP_CALL_KERNEL | DUMP_CALL_SIGNAL);
	uint64_t interrupted = 0;
	uint32_t function;
	int status = 0;

	if (found != NOT_FOUND)
		return pop_to(fold, found, 0);
	/* Not to where the kernel was called: a signal's handler. */
	for (size_t i = thread->stack ? thread->stack->count : 0; i-- > 0;)
		if (thread->stack->frames[i].flags & DUMP_CALL_KERNEL) {
			interrupted = thread->stack->frames[i].return_address;
			status = pop_to(fold, i, 0);
			break;
		}
	if (status == 0)
		status = function_of(fold, &function);
	if (status < 0)
		return status;
	return push(fold, function, interrupted, interrupted ? DUMP_CALL_SIGNAL : DUMP_CALL_INFERRED);
}

/* The process runs another program: nothing of the one before is left. */
static int begin_program(const struct fold *fold, const struct flow_program *program)
{
	const struct dump_call_observer *observer = fold->observer;
	uint32_t function;
	int status = dump_calls_end(fold->fold, fold->thread);

	fold->thread->program = program;
	if (fold->thread->stack) {
		fold->thread->stack->time = fold->thread->stack->instructions = 0;
		fold->thread->stack->start = fold->thread->time;
	}
	if (status == 0 && observer->exec)
		status = observer->exec(observer->context, fold->thread);
	if (status == 0)
		status = function_of(fold, &function);
	return status == 0 ? push(fold, function, 0,
				  fold->transfer->flags & DUMP_TRANSFER_START ? 0 : (unsigned)DUMP_CALL_INFERRED)
			   : status;
}

static int resume_from_kernel(const struct fold *fold)
{
	const struct dump_call_thread *thread = fold->thread;
	const uint64_t to = fold->transfer->to;
	const struct flow_program *program;
	size_t found;
	uint32_t function;
	int status;

	if (to == thread->expected || to + 2 == thread->expected)
		return 0;
	found = find_interrupted(thread, to, DUMP_CALL_SIGNAL);
	if (found != NOT_FOUND)
		return pop_to(fold, found, 0);
	program = thread->process == FLOW_NONE
			  ? NULL
			  : flow_timeline_program_at(fold->fold->timeline, thread->process, thread->time);
	if (program != thread->program)
		return begin_program(fold, program);
	status = function_of(fold, &function);
	return status == 0 ? push(fold, function, thread->expected, DUMP_CALL_SIGNAL) : status;
}

static int resume_from_outside(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	const struct dump_transfer *transfer = fold->transfer;
	const size_t found = find_return(thread, transfer->to);
	uint32_t function;
	int status;

	if (found != NOT_FOUND)
		return pop_to(fold, found, 0);
	if (!(transfer->flags & DUMP_TRANSFER_START) && transfer->function != DUMP_NO_FUNCTION) {
		const size_t own = top_of(thread)->function == transfer->function
					   ? thread->stack->count - 1
					   : find_function(thread, transfer->function);

		if (own != NOT_FOUND)
			return pop_to(fold, own + 1, DUMP_CALL_UNWOUND);
	}
	status = function_of(fold, &function);
	return status == 0 ? push(fold, function, 0, DUMP_CALL_INFERRED) : status;
}

static int begin(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	uint32_t function;
	const int status = function_of(fold, &function);

	if (status < 0)
		return status;
	if (thread->process != FLOW_NONE)
		thread->program = flow_timeline_program_at(fold->fold->timeline, thread->process, thread->time);
	return push(fold, function, 0, fold->transfer->flags & DUMP_TRANSFER_START ? 0 : (unsigned)DUMP_CALL_INFERRED);
}

/* Flow goes on behind a gap: in the same call, in one that called it, or in one that is new. */
static int go_on(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	const uint32_t covers = fold->transfer->function;
	uint32_t function;
	size_t found;
	int status;

	if (covers == DUMP_NO_FUNCTION || top_of(thread)->function == covers)
		return 0;
	found = find_function(thread, covers);
	if (found != NOT_FOUND)
		return pop_to(fold, found + 1, DUMP_CALL_LOST);
	status = function_of(fold, &function);
	return status == 0 ? push(fold, function, 0, DUMP_CALL_INFERRED) : status;
}

static int take_resume(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;
	const bool kernel = thread->kernel_pause;

	thread->state = RUNNING;
	thread->kernel_pause = false;
	if (!top_of(thread))
		return begin(fold);
	if (thread->lost)
		return go_on(fold);
	return kernel ? resume_from_kernel(fold) : resume_from_outside(fold);
}

static int take_go_on(const struct fold *fold)
{
	fold->thread->state = RUNNING;
	return top_of(fold->thread) ? go_on(fold) : begin(fold);
}

static void take_pause(const struct fold *fold)
{
	struct dump_call_thread *thread = fold->thread;

	thread->expected = fold->transfer->address;
	thread->kernel_pause = fold->transfer->flags & DUMP_TRANSFER_KERNEL;
	thread->state = thread->kernel_pause ? IN_KERNEL : OUTSIDE;
}

/* ---- transfers ----------------------------------------------------------------------------------- */

static void add_absence(struct dump_call_thread *thread, uint64_t nanoseconds)
{
	if (thread->state == IN_KERNEL)
		thread->absence.kernel += nanoseconds;
	else if (thread->state == IN_GAP)
		thread->absence.gap += nanoseconds;
}

void dump_calls_pass(struct dump_call_thread *thread, uint64_t instructions, uint64_t time)
{
	if (thread->stack)
		thread->stack->instructions += instructions;
	if (time <= thread->time)
		return;
	if (thread->time) {
		const uint64_t passed = time - thread->time;

		if (thread->stack)
			thread->stack->time += passed;
		if (thread->state != RUNNING)
			add_absence(thread, passed);
	}
	thread->time = time;
}

void dump_calls_off(struct dump_call_thread *thread, uint64_t time)
{
	if (time <= thread->time)
		return;
	if (thread->time) {
		thread->absence.off += time - thread->time;
		if (thread->stack)
			thread->stack->time += time - thread->time;
	}
	thread->time = time;
}

static int take_other(const struct fold *fold)
{
	const struct dump_transfer *transfer = fold->transfer;
	struct dump_call_thread *thread = fold->thread;
	uint32_t function;
	int status;

	switch (transfer->kind) {
	case DUMP_TRANSFER_JUMP:
		return take_jump(fold);
	case DUMP_TRANSFER_FAR_RETURN:
		return take_far_return(fold);
	case DUMP_TRANSFER_FAR_CALL:
	case DUMP_TRANSFER_INTERRUPT:
		status = function_of(fold, &function);
		return status == 0 ? push(fold, function, transfer->address, DUMP_CALL_KERNEL) : status;
	case DUMP_TRANSFER_PAUSE:
		take_pause(fold);
		return 0;
	case DUMP_TRANSFER_RESUME:
		status = take_resume(fold);
		thread->lost = false;
		return status;
	case DUMP_TRANSFER_GAP:
		thread->lost = true;
		thread->state = IN_GAP;
		return 0;
	case DUMP_TRANSFER_GO_ON:
		status = take_go_on(fold);
		thread->lost = false;
		return status;
	default:
		return 0;
	}
}

int dump_calls_take(const struct dump_call_fold *calls, struct dump_call_thread *thread,
		    const struct dump_transfer *transfers, size_t count)
{
	struct fold fold = {calls, calls->observer, thread, NULL};
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const struct dump_transfer *transfer = &transfers[i];

		fold.transfer = transfer;
		dump_calls_pass(thread, transfer->instructions, transfer->time);
		if (transfer->kind == DUMP_TRANSFER_CALL)
			status = push(&fold, transfer->function, transfer->address, call_flags(&fold));
		else if (transfer->kind == DUMP_TRANSFER_RETURN)
			status = take_return(&fold);
		else
			status = take_other(&fold);
	}
	return status;
}

int dump_calls_end(const struct dump_call_fold *calls, struct dump_call_thread *thread)
{
	const struct fold fold = {calls, calls->observer, thread, NULL};
	struct dump_stack *current = thread->stack;
	int status = current ? pop_to(&fold, 0, DUMP_CALL_UNFINISHED) : 0;

	for (size_t i = 0; status == 0 && i < thread->stack_count; i++) {
		thread->stack = thread->stacks[i];
		if (!thread->stack->count)
			continue;
		if (calls->observer->change)
			status = calls->observer->change(calls->observer->context, thread);
		if (status == 0)
			status = pop_to(&fold, 0, DUMP_CALL_UNFINISHED);
	}
	thread->stack = current;
	common_hash_map_free(&thread->waiting);
	return status;
}
