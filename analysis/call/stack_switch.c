/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles several stacks of one thread: fibres, coroutines. A waiting stack resumes by a return, or by longjmp to a
 * place where setjmp returned.
 */
#include "analysis/call/call_frame_state.h"
#include "common/error.h"

#define STACKS_MAX ((size_t)1 << 16)
#define LOOKS_MAX 64 /* maximum stacks or frames visited to find the stack that resumes */
#define AHEAD 16     /* returns and jumps ahead that distinguish stacks waiting at the same address */

/* ---- waiting stacks ------------------------------------------------------------------------------ */

/*
 * Returns the frame whose return resumes the stack: the call that switches stacks or, if present, an outer call that
 * parked the stack. Calls within the parking call may already belong to another stack.
 */
static size_t switching_frame(const struct analysis_stack *stack)
{
	size_t switching = stack->count - 1;
	bool found = false;

	for (size_t i = stack->count; i-- > 0 && stack->count - i <= LOOKS_MAX;) {
		if (stack->frames[i].flags & ANALYSIS_CALL_PARKS)
			return i;
		if (!found && stack->frames[i].flags & ANALYSIS_CALL_SWITCH)
			switching = i;
		found |= switching == i;
	}
	return switching;
}

static struct analysis_stack *first_at(const struct analysis_call_thread *thread, uint64_t address)
{
	const uint64_t *known = common_hash_map_get(&thread->waiting, address);

	return known ? (struct analysis_stack *)(uintptr_t)*known : NULL;
}

static int put_first(struct analysis_call_thread *thread, struct analysis_stack *stack)
{
	return common_hash_map_put(&thread->waiting, stack->goes_on, (uint64_t)(uintptr_t)stack);
}

/* Makes the current stack wait. */
static int suspend(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	struct analysis_stack *stack = thread->stack, *first;
	int status = 0;

	if (!stack || !stack->count)
		return 0;
	stack->goes_on = stack->frames[switching_frame(stack)].return_address;
	stack->before = stack->next = NULL;
	stack->last = stack;
	first = first_at(thread, stack->goes_on);
	if (first) {
		stack->before = first->last;
		first->last->next = stack;
		first->last = stack;
	} else {
		status = put_first(thread, stack);
	}
	stack->older = thread->youngest;
	stack->younger = NULL;
	*(stack->older ? &stack->older->younger : &thread->oldest) = stack;
	thread->youngest = stack;
	return status;
}

/* Removes the stack from the waiting stacks. */
static int wake(struct analysis_call_thread *thread, struct analysis_stack *stack)
{
	int status = 0;

	*(stack->older ? &stack->older->younger : &thread->oldest) = stack->younger;
	*(stack->younger ? &stack->younger->older : &thread->youngest) = stack->older;
	if (stack->before) {
		stack->before->next = stack->next;
		*(stack->next ? &stack->next->before : &first_at(thread, stack->goes_on)->last) = stack->before;
	} else if (stack->next) {
		stack->next->before = NULL;
		stack->next->last = stack->last;
		status = put_first(thread, stack->next);
	} else {
		common_hash_map_remove(&thread->waiting, stack->goes_on);
	}
	return status;
}

/* ---- choice of the stack that resumes ------------------------------------------------------------ */

/* A transfer that leaves a frame of the resumed stack. */
struct leaving {
	uint64_t to;
	bool by_jump; /* by longjmp, not by a return */
};

/*
 * Returns the next known transfer; NULL at the end. Adds the transfers of skipped pieces to *passed, and their
 * unfinished calls to *depth.
 */
static const struct analysis_transfer *next_transfer(struct analysis_fold *ahead, uint64_t *passed, size_t *depth)
{
	for (;;) {
		for (; ahead->piece < ahead->piece_end && ahead->piece->at <= (size_t)(ahead->transfer - ahead->first);
		     ahead->piece++) {
			*passed += ahead->piece->transfers;
			*depth += ahead->piece->frame_count;
		}
		if (ahead->transfer < ahead->end)
			return ahead->transfer++;
		if (!ahead->next)
			return NULL;
		analysis_fold_enter_part(ahead, ahead->next, 0);
	}
}

/* Collects the next transfers that leave frames of the resumed stack, as far as they are known. */
static size_t look_ahead(const struct analysis_fold *fold, struct leaving next[AHEAD])
{
	struct analysis_fold ahead = *fold;
	const struct analysis_transfer *transfer;
	size_t count = 0, depth = 0;
	bool jumps = false;

	ahead.transfer++;
	for (uint64_t passed = 0;
	     count < AHEAD && (transfer = next_transfer(&ahead, &passed, &depth)) && passed < ANALYSIS_CALLS_AHEAD;
	     passed++) {
		if (transfer->kind == ANALYSIS_TRANSFER_GAP ||
		    transfer->function_flags & (ANALYSIS_FUNCTION_PARKS | ANALYSIS_FUNCTION_SWITCH))
			break;
		jumps |= transfer->function_flags & ANALYSIS_FUNCTION_JUMPS;
		if (transfer->kind == ANALYSIS_TRANSFER_LEAF) {
			passed++; /* a leaf also stands for its return */
		} else if (transfer->kind == ANALYSIS_TRANSFER_CALL) {
			depth++;
		} else if (transfer->kind == ANALYSIS_TRANSFER_RETURN && depth) {
			depth--;
		} else if (transfer->kind == ANALYSIS_TRANSFER_RETURN) {
			next[count++] = (struct leaving){.to = transfer->to};
		} else if (jumps && transfer->kind == ANALYSIS_TRANSFER_JUMP &&
			   transfer->flags & ANALYSIS_TRANSFER_INDIRECT &&
			   !(transfer->flags & ANALYSIS_TRANSFER_START)) {
			next[count++] = (struct leaving){.to = transfer->to, .by_jump = true};
			depth = 0;
			jumps = false;
		}
	}
	return count;
}

/* Counts how many of the transfers match the frames of the stack, of which `left` are left. */
static size_t count_fitting(const struct analysis_stack *stack, size_t left, const struct leaving *next, size_t count)
{
	size_t fitting = 0;

	for (; fitting < count && left; fitting++) {
		if (next[fitting].by_jump) {
			const size_t marked = analysis_fold_find_again(stack, left, next[fitting].to);

			if (marked == ANALYSIS_FOLD_NOT_FOUND)
				break;
			left = marked + 1;
		} else if (stack->frames[--left].return_address != next[fitting].to) {
			break;
		}
	}
	return fitting;
}

/* A candidate for the stack that resumes. */
struct choice {
	struct analysis_stack *stack; /* NULL: none */
	size_t left;                  /* number of frames left */
	bool guessed;                 /* another candidate matches equally well */
};

struct choices {
	struct choice list[LOOKS_MAX]; /* oldest first */
	size_t count;
};

static void add_choice(struct choices *choices, struct analysis_stack *stack, size_t left)
{
	choices->list[choices->count++] = (struct choice){.stack = stack, .left = left};
}

/* Chooses the candidate that matches most transfers ahead. Of equal candidates, the stack that has waited longest. */
static struct choice choose_stack(const struct analysis_fold *fold, const struct choices *choices)
{
	struct leaving next[AHEAD];
	const size_t count = choices->count > 1 ? look_ahead(fold, next) : 0;
	struct choice best = {0};
	size_t most = 0;

	for (size_t i = 0; i < choices->count; i++) {
		const struct choice *choice = &choices->list[i];
		const size_t fitting = count_fitting(choice->stack, choice->left, next, count);

		if (!best.stack || fitting > most) {
			best = *choice;
			most = fitting;
		} else if (fitting == most) {
			best.guessed = true;
		}
	}
	return best;
}

/* Finds the stack that waits for a return to the transfer's target. */
static struct choice find_waiting(const struct analysis_fold *fold)
{
	const uint64_t address = fold->transfer->to;
	struct analysis_stack *stack = address ? first_at(fold->thread, address) : NULL;
	struct choices choices = {.count = 0};

	for (; stack && choices.count < LOOKS_MAX; stack = stack->next)
		add_choice(&choices, stack, switching_frame(stack));
	return choose_stack(fold, &choices);
}

/* Finds the stack with a frame, or inner frames, in which setjmp returned to the transfer's target. */
static struct choice find_marked(const struct analysis_fold *fold)
{
	struct analysis_call_thread *thread = fold->thread;
	const uint64_t limit = thread->budget + LOOKS_MAX;
	struct choices choices = {.count = 0};
	uint64_t looked = 0;

	for (struct analysis_stack *stack = thread->oldest; stack && looked < limit && choices.count < LOOKS_MAX;
	     stack = stack->younger) {
		const size_t marked = analysis_fold_find_again(stack, stack->count, fold->transfer->to);

		looked += 1 + stack->again_count;
		if (marked != ANALYSIS_FOLD_NOT_FOUND)
			add_choice(&choices, stack, marked + 1);
	}
	thread->budget -= looked < thread->budget ? looked : thread->budget;
	return choose_stack(fold, &choices);
}

/* ---- changes of the current stack ---------------------------------------------------------------- */

static int report_change(const struct analysis_fold *fold)
{
	const struct analysis_call_observer *observer = fold->observer;

	return observer->change ? observer->change(observer->context, fold->thread) : 0;
}

/* Switches to the chosen stack. Its innermost remaining frame gets ANALYSIS_CALL_GUESSED if the choice was a guess. */
static int switch_to_choice(const struct analysis_fold *fold, const struct choice *choice)
{
	struct analysis_call_thread *thread = fold->thread;
	int status = wake(thread, choice->stack);

	if (status == 0)
		status = suspend(fold);
	thread->stack = choice->stack;
	if (choice->guessed && choice->left)
		thread->stack->frames[choice->left - 1].flags |= ANALYSIS_CALL_GUESSED;
	return status == 0 ? report_change(fold) : status;
}

int analysis_fold_resume_stack(const struct analysis_fold *fold, bool *found)
{
	const struct choice choice = find_waiting(fold);
	int status;

	*found = choice.stack != NULL;
	if (!choice.stack)
		return 0;
	status = switch_to_choice(fold, &choice);
	if (status == 0)
		status = analysis_fold_pop_to(fold, choice.left + 1, ANALYSIS_CALL_UNWOUND);
	return status == 0 ? analysis_fold_pop(fold, 0) : status;
}

/*
 * Whether the frame calls longjmp directly after setjmp: such a longjmp targets another stack that was left in the same
 * way, not its own setjmp.
 */
static bool is_left(const struct analysis_stack *stack, size_t marked)
{
	return marked + 1 < stack->count && stack->frames[marked + 1].flags & ANALYSIS_CALL_JUMPS;
}

int analysis_fold_jump_again(const struct analysis_fold *fold, bool *found)
{
	struct analysis_stack *stack = fold->thread->stack;
	const size_t own = analysis_fold_find_again(stack, stack->count, fold->transfer->to);
	struct choice choice = {0};
	int status = 0;

	if (own == ANALYSIS_FOLD_NOT_FOUND || is_left(stack, own))
		choice = find_marked(fold);
	*found = choice.stack || own != ANALYSIS_FOLD_NOT_FOUND;
	if (!*found)
		return 0;
	if (choice.stack)
		status = switch_to_choice(fold, &choice);
	return status == 0 ? analysis_fold_pop_to(fold, choice.stack ? choice.left : own + 1, ANALYSIS_CALL_UNWOUND)
			   : status;
}

int analysis_fold_begin_stack(const struct analysis_fold *fold, unsigned flags)
{
	struct analysis_call_thread *thread = fold->thread;
	uint32_t function;
	int status = analysis_fold_function(fold, &function);

	if (status == 0 && thread->stack_count >= STACKS_MAX)
		status = analysis_fold_pop_to(fold, 0, ANALYSIS_CALL_UNWOUND);
	else if (status == 0)
		status = suspend(fold);
	if (status == 0 && thread->stack_count < STACKS_MAX)
		status = analysis_fold_make_stack(thread);
	if (status == 0)
		status = report_change(fold);
	return status == 0 ? analysis_fold_push(fold, function, 0, flags | ANALYSIS_CALL_STACK) : status;
}
