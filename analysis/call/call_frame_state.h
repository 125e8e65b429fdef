/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of a running fold: pushing, popping and searching. Only for the fold of calls. */
#ifndef ANALYSIS_CALL_CALL_FRAME_STATE_H
#define ANALYSIS_CALL_CALL_FRAME_STATE_H

#include "analysis/call/call_stack.h"

struct analysis_fold {
	const struct analysis_call_fold *fold;
	const struct analysis_call_observer *observer;
	struct analysis_call_thread *thread;
	const struct analysis_transfer *transfer; /* current transfer */
	const struct analysis_transfer *end;      /* end of the known transfers of the part */
	/* Known pieces after the current transfer. piece->at: number of the transfer that follows the piece. */
	const struct analysis_piece *piece, *piece_end;
	const struct analysis_transfer *first; /* transfer with number 0 */
	const struct analysis_call_part *next; /* part after this part; NULL: unknown */
};

/* Moves to the first transfer of the part. ahead: number of known transfers after the part's own. */
static inline void analysis_fold_enter_part(struct analysis_fold *fold, const struct analysis_call_part *part,
					    size_t ahead)
{
	const struct analysis_summary *summary = part->summary;
	const struct analysis_piece *pieces = summary ? summary->pieces : NULL;

	fold->transfer = fold->first = part->transfers;
	fold->end = part->transfers + part->count + ahead;
	fold->piece = pieces;
	fold->piece_end = pieces ? pieces + summary->piece_count : NULL;
	fold->next = part->next;
}

/* Returns the innermost frame; NULL without frames. */
static inline struct analysis_frame *analysis_fold_top(const struct analysis_call_thread *thread)
{
	struct analysis_stack *stack = thread->stack;

	return stack && stack->count ? &stack->frames[stack->count - 1] : NULL;
}

/* Adds a stack and makes it the thread's current stack. Returns 0 or PTL_NO_MEMORY. */
int analysis_fold_make_stack(struct analysis_call_thread *thread);
/* Adds an uninitialised innermost frame. Returns NULL after a failure. */
struct analysis_frame *analysis_fold_room(struct analysis_call_thread *thread);

/*
 * Finds the function at the transfer's target. Without a symbol, adds a nameless function that begins at the target.
 * Returns 0 or PTL_NO_MEMORY.
 */
int analysis_fold_function(const struct analysis_fold *fold, uint32_t *function);
/* Return ANALYSIS_CALL_* flags: of the function at the transfer's target, and of a call by the transfer. */
unsigned analysis_fold_flags(const struct analysis_fold *fold);
unsigned analysis_fold_call_flags(const struct analysis_fold *fold);
/* Call for each frame that was pushed or whose function became known: counts unwound frames. */
void analysis_fold_count_unwound(struct analysis_stack *stack);

/*
 * Push or pop a frame, and call the observer. Return the observer's status. analysis_fold_pop and the functions below need
 * a frame.
 */
int analysis_fold_push(const struct analysis_fold *fold, uint32_t function, uint64_t return_address, unsigned flags);
/* Adds a frame of the function at the target of the transfer. */
int analysis_fold_push_target(const struct analysis_fold *fold, uint64_t return_address, unsigned flags);
int analysis_fold_pop(const struct analysis_fold *fold, unsigned flags);
/* Pops frames until `count` frames are left. */
int analysis_fold_pop_to(const struct analysis_fold *fold, size_t count, unsigned flags);
/* Pops the top frame, which returns to its return address. */
int analysis_fold_pop_return(const struct analysis_fold *fold);

/* Counts calls that began and ended without frames. */
void analysis_fold_count_calls(struct analysis_call_thread *thread, uint64_t count);
/* Counts a call of the top frame that began and ended without a frame. */
void analysis_fold_pass_leaf(struct analysis_call_thread *thread, uint64_t instructions);

/* Applies the calls of a piece, and pushes frames for its unfinished calls. */
int analysis_fold_take_piece(const struct analysis_fold *fold, struct analysis_summary *summary,
			     const struct analysis_piece *piece);

#define ANALYSIS_FOLD_NOT_FOUND SIZE_MAX
/* Finds the innermost frame with this return address. */
size_t analysis_fold_find_return(struct analysis_call_thread *thread, uint64_t address);
/* Finds the innermost frame of a function, without the top frame. */
size_t analysis_fold_find_function(struct analysis_call_thread *thread, uint32_t function);
/*
 * Finds the frame of a nameless function that most likely contains an address without symbol. Includes the top frame.
 */
size_t analysis_fold_find_nameless(const struct analysis_fold *fold, uint64_t address);
/* Finds the innermost of the first `left` frames in which setjmp returned to the address. */
size_t analysis_fold_find_again(const struct analysis_stack *stack, size_t left, uint64_t address);
/* Finds the frame of this function to which an exception unwound, if unwound frames were counted. */
size_t analysis_fold_find_unwound(const struct analysis_stack *stack, uint32_t function);

/* Switches to a stack that waits for a return to the transfer's target. *found: such a stack exists. */
int analysis_fold_resume_stack(const struct analysis_fold *fold, bool *found);
/*
 * Unwinds to the frame, on any stack, in which setjmp returned to the transfer's target. *found: such a frame exists.
 */
int analysis_fold_jump_again(const struct analysis_fold *fold, bool *found);
/* Switches to a new stack, with a frame for the function at the transfer's target. */
int analysis_fold_begin_stack(const struct analysis_fold *fold, unsigned flags);

#endif
