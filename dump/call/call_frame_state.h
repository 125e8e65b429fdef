/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames of a thread at work: how they come, go and are found. For the fold of calls alone. */
#ifndef DUMP_CALL_CALL_FRAME_STATE_H
#define DUMP_CALL_CALL_FRAME_STATE_H

#include "dump/call/call_stack.h"

struct dump_fold {
	const struct dump_call_fold *fold;
	const struct dump_call_observer *observer;
	struct dump_call_thread *thread;
	const struct dump_transfer *transfer; /* the one at hand */
	const struct dump_transfer *end;      /* behind those that are known of its part */
	/* Pieces behind it that are known, by number of the transfer that they stand before: */
	const struct dump_piece *piece, *piece_end;
	const struct dump_transfer *first; /* number 0 */
	const struct dump_call_part *next; /* that follows; NULL: none is known */
};

/* Goes to the first transfer of the part, behind which so many are known that are not of it. */
static inline void dump_fold_enter_part(struct dump_fold *fold, const struct dump_call_part *part, size_t ahead)
{
	const struct dump_summary *summary = part->summary;
	const struct dump_piece *pieces = summary ? summary->pieces : NULL;

	fold->transfer = fold->first = part->transfers;
	fold->end = part->transfers + part->count + ahead;
	fold->piece = pieces;
	fold->piece_end = pieces ? pieces + summary->piece_count : NULL;
	fold->next = part->next;
}

/* The innermost frame; NULL where there is none. */
static inline struct dump_frame *dump_fold_top(const struct dump_call_thread *thread)
{
	struct dump_stack *stack = thread->stack;

	return stack && stack->count ? &stack->frames[stack->count - 1] : NULL;
}

/* A further stack, which becomes the thread's. PTL_NO_MEMORY. */
int dump_fold_make_stack(struct dump_call_thread *thread);
/* Room for a frame inside of all; NULL after a failure. */
struct dump_frame *dump_fold_room(struct dump_call_thread *thread);

/* The function that the flow has come to; where it has no name, the one that begins there. PTL_NO_MEMORY. */
int dump_fold_function(const struct dump_fold *fold, uint32_t *function);
/* What a frame's flags say of that function, and what the transfer says of the call. */
unsigned dump_fold_flags(const struct dump_fold *fold);
unsigned dump_fold_call_flags(const struct dump_fold *fold);
/* To be reported each frame that has come, or whose function has become known. */
void dump_fold_count_unwound(struct dump_stack *stack);

/* These tell the observer, and return what it does. The thread has a frame for those that pop. */
int dump_fold_push(const struct dump_fold *fold, uint32_t function, uint64_t return_address, unsigned flags);
int dump_fold_pop(const struct dump_fold *fold, unsigned flags);
/* Ends frames until so many are left. */
int dump_fold_pop_to(const struct dump_fold *fold, size_t count, unsigned flags);
/* The top frame returns as it should. */
int dump_fold_pop_return(const struct dump_fold *fold);

/* So many calls have come and gone without frames of their own. */
void dump_fold_count_calls(struct dump_call_thread *thread, uint64_t count);
/* A call of the top frame has come and gone without a frame of its own. */
void dump_fold_pass_leaf(struct dump_call_thread *thread, uint64_t instructions);

/* What happened within a piece, and the frames that it leaves. */
int dump_fold_take_piece(const struct dump_fold *fold, struct dump_summary *summary, const struct dump_piece *piece);

#define DUMP_FOLD_NOT_FOUND SIZE_MAX
/* The innermost frame that returns to an address. */
size_t dump_fold_find_return(struct dump_call_thread *thread, uint64_t address);
/* The innermost frame of a function; the top one does not count. */
size_t dump_fold_find_function(struct dump_call_thread *thread, uint32_t function);
/* The frame of a function without a name that an address, which no symbol covers, is most likely in; the top one counts. */
size_t dump_fold_find_nameless(const struct dump_fold *fold, uint64_t address);
/* Of so many frames of the stack, at most all, the innermost in which setjmp returned to the address. */
size_t dump_fold_find_again(const struct dump_stack *stack, size_t left, uint64_t address);
/* The frame that an exception has come to, which is of this function, where the unwinder was counted. */
size_t dump_fold_find_unwound(const struct dump_stack *stack, uint32_t function);

/* Goes on on a stack that waits for a return to where the flow is now; *found: there was one. */
int dump_fold_resume_stack(const struct dump_fold *fold, bool *found);
/* Goes on in the frame, on whichever stack, in which setjmp returned to where the flow is now; *found: there was one. */
int dump_fold_jump_again(const struct dump_fold *fold, bool *found);
/* Goes on on a stack that was not seen before, in the function where the flow is now. */
int dump_fold_begin_stack(const struct dump_fold *fold, unsigned flags);

#endif
