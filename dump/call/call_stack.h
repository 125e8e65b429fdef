/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of a thread: transfers in order become a stack of frames, and observers see each come and go. */
#ifndef DUMP_CALL_CALL_STACK_H
#define DUMP_CALL_CALL_STACK_H

#include "common/hash_map.h"
#include "dump/function/function_table.h"
#include "dump/call/call_summary.h"

/* How a frame came to be, and how it ended. */
#define DUMP_CALL_INFERRED 0x001u   /* its call was not seen: it was there before, or was met behind a gap */
#define DUMP_CALL_TAIL 0x002u       /* by a jump in place of the frame before */
#define DUMP_CALL_SIGNAL 0x004u     /* came instead of an instruction, by the kernel: a signal's handler */
#define DUMP_CALL_KERNEL 0x008u     /* the kernel: a system call, an interrupt, an exception */
#define DUMP_CALL_OUTSIDE 0x010u    /* not traced itself */
#define DUMP_CALL_STACK 0x020u      /* the first of a stack of its own: a fibre, a coroutine */
#define DUMP_CALL_UNWOUND 0x040u    /* did not return: longjmp, an exception, an end of its stack */
#define DUMP_CALL_UNFINISHED 0x080u /* had not ended when the flow did */
#define DUMP_CALL_LOST 0x100u       /* ended in a gap */
#define DUMP_CALL_GUESSED 0x200u    /* its stack was gone back to, and others fitted as well */
#define DUMP_CALL_STUB 0x400u       /* only leads to its function */
#define DUMP_CALL_TWICE 0x800u      /* as of its function */
#define DUMP_CALL_SWITCH 0x1000u
#define DUMP_CALL_THUNK 0x2000u
#define DUMP_CALL_UNWINDS 0x4000u
#define DUMP_CALL_FINDER 0x8000u
#define DUMP_CALL_MIDWAY 0x10000u /* where it was called no symbol begins */
#define DUMP_CALL_PARKS 0x20000u
#define DUMP_CALL_JUMPS 0x40000u
#define DUMP_CALL_RETURNED 0x80000u /* a signal's handler that has returned to code that asks the kernel to go back */
/* What is reported about a call; the rest is for those who follow the flow. */
#define DUMP_CALL_SHOWN 0x3ffu

/* What went by while a thread did not run the code that its trace has. */
struct dump_absence {
	uint64_t kernel; /* nanoseconds: system calls, interrupts and what else the kernel does */
	uint64_t off;    /* switched out */
	uint64_t gap;    /* flow is missing */
};

struct dump_frame {
	uint64_t return_address; /* where it goes back to; 0 unknown */
	uint64_t start;          /* trace clock; 0 unknown */
	uint64_t time;           /* its stack's clock when it began; from `leave` on what it took, in nanoseconds */
	uint64_t instructions;   /* the same of instructions */
	uint64_t child_time;     /* of this, in calls */
	uint64_t child_instructions;
	uint64_t wall; /* from `leave` on: with what other stacks took */
	struct dump_absence absence;
	uint64_t children;
	uint64_t serial;
	uint64_t user;     /* the observer's */
	uint64_t other;    /* of one that is two: what is the other's `user` */
	uint64_t entry;    /* the address where it began */
	uint32_t function; /* may be DUMP_NO_FUNCTION */
	uint32_t flags;
	uint32_t unwound; /* UNWINDS: frames that it has looked for */
};

struct dump_stack {
	struct dump_frame *frames; /* owned; the first is the outermost */
	size_t count, capacity;
	uint64_t time; /* clocks that go on while the thread is on this stack */
	uint64_t instructions;
	uint64_t idle_time; /* of these clocks: while there was no frame */
	uint64_t idle_instructions;
	uint64_t start; /* trace clock */
	uint32_t number;
	struct dump_return_again *again; /* owned: places that setjmp and the like returned to */
	size_t again_count;
	/* Of one that waits: */
	uint64_t goes_on;                   /* the address to which a return is waited for */
	struct dump_stack *before, *next;   /* of those that wait for the same return, as they were left */
	struct dump_stack *last;            /* of the first of them: the one that was left last */
	struct dump_stack *older, *younger; /* of all that wait, as they were left */
};

struct dump_call_thread {
	struct dump_stack *stack;       /* the one it is on */
	struct common_hash_map waiting; /* the first of the stacks that go on at an address, by this */
	struct dump_stack *oldest;      /* of all that wait, the one that was left first */
	struct dump_stack *youngest;
	struct dump_stack **stacks; /* all; owned */
	size_t stack_count;
	uint64_t time; /* trace clock; 0: none yet */
	struct dump_absence absence;
	uint64_t serial;
	uint64_t budget; /* frames that searches may still look at */
	uint32_t process, pid, thread, tid, cpu;
	uint64_t expected; /* where tracing goes on */
	uint8_t state;     /* why time goes by: enum in call_stack.c */
	bool lost;         /* flow was missing since the last transfer */
	bool kernel_pause;
	const struct flow_program *program;
	void *user; /* the observers' */
};

/* All return 0 or a negative ptl_status. Depth is the place of a frame in its stack. */
struct dump_call_observer {
	void *context;
	/* Its transfers begin, and have ended. begin may set thread->user. May be NULL. */
	int (*begin)(void *context, struct dump_call_thread *thread);
	int (*end)(void *context, struct dump_call_thread *thread);
	/* The frame has been put on the thread's stack. */
	int (*enter)(void *context, struct dump_call_thread *thread, struct dump_frame *frame);
	/* Its function is only known now: it was entered by a stub. May be NULL. */
	int (*rename)(void *context, struct dump_call_thread *thread, struct dump_frame *frame);
	/*
	 * A call of the top frame, `caller`, has come and gone and called nothing, in no time: instead of enter and leave, and
	 * without a frame. Its function and instructions are the leaf's, its flags would be none of DUMP_CALL_SHOWN. 1: it is
	 * taken; 0: it is to come as a frame. May be NULL.
	 */
	int (*leaf)(void *context, struct dump_call_thread *thread, struct dump_frame *caller,
		    const struct dump_transfer *leaf);
	/*
	 * Calls of the top frame, or without one of the thread's stack, have come and gone: instead of enter, rename and leave
	 * of each. The first node stands for the frame, whose own sums are no call's. NULL: they come as frames.
	 */
	int (*piece)(void *context, struct dump_call_thread *thread, struct dump_frame *top,
		     const struct dump_summary_node *nodes, size_t count);
	/*
	 * The same of calls whose paths are not known, where there is a piece, too: what each of their functions took. `first` is the
	 * time, in nanoseconds, that sums say they have besides. NULL: paths are wanted.
	 */
	int (*sums)(void *context, struct dump_call_thread *thread, const struct dump_function_sums *sums, size_t count,
		    uint64_t first);
	/* It is complete, and still on the stack. */
	int (*leave)(void *context, struct dump_call_thread *thread, struct dump_frame *frame);
	/* The only frame of the stack, which has just come below all that was on it so far. May be NULL. */
	int (*below)(void *context, struct dump_call_thread *thread, struct dump_frame *frame);
	/* The thread is on another stack from now on. May be NULL. */
	int (*change)(void *context, struct dump_call_thread *thread);
	/* The thread runs another program; all frames have ended. May be NULL. */
	int (*exec)(void *context, struct dump_call_thread *thread);
	/* Flow of the thread is missing from its time on. May be NULL. */
	int (*gap)(void *context, struct dump_call_thread *thread);
};

struct dump_call_fold {
	struct dump_function_table *functions;
	const struct flow_timeline *timeline;
	const struct dump_call_observer *observer;
};

/* A thread without frames. */
void dump_calls_start(struct dump_call_thread *thread, const struct flow_segment *segment);
void dump_calls_free(struct dump_call_thread *thread);

/* What a segment has of transfers, and of pieces that stand between them. */
struct dump_call_part {
	const struct dump_transfer *transfers;
	size_t count;
	struct dump_summary *summary;      /* NULL: no pieces */
	size_t piece_count;                /* of its pieces, the first of which may stand before all transfers */
	const struct dump_call_part *next; /* what follows all of that, as far as it is known; NULL: nothing is */
};

/*
 * Takes the part. `ahead` transfers behind it, the pieces there and the next parts are known as well, and not taken yet: what is
 * found does not depend on how they are parted as long as what is ahead is made of DUMP_CALLS_AHEAD transfers or all that there are.
 */
#define DUMP_CALLS_AHEAD 200
int dump_calls_take(const struct dump_call_fold *fold, struct dump_call_thread *thread,
		    const struct dump_call_part *part, size_t ahead);
/* Instructions that were executed behind the last transfer; time is that of the last of them, 0 unknown. */
void dump_calls_pass(struct dump_call_thread *thread, uint64_t instructions, uint64_t time);
/* From the end of the flow so far to `time` the thread did not run. */
void dump_calls_off(struct dump_call_thread *thread, uint64_t time);
/* Ends all frames. */
int dump_calls_end(const struct dump_call_fold *fold, struct dump_call_thread *thread);

static inline size_t dump_frame_depth(const struct dump_call_thread *thread, const struct dump_frame *frame)
{
	return (size_t)(frame - thread->stack->frames);
}

#endif
