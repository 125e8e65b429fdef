/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of a thread: turns transfers, in order, into a stack of frames, and reports each begin and end of a frame to an
 * observer.
 */
#ifndef ANALYSIS_CALL_CALL_STACK_H
#define ANALYSIS_CALL_CALL_STACK_H

#include "analysis/call/call_summary.h"
#include "analysis/function/function_table.h"
#include "common/hash_map.h"

/* Flags: origin and end of a frame. */
#define ANALYSIS_CALL_INFERRED 0x001u   /* the call was not seen: it began before the trace, or in a gap */
#define ANALYSIS_CALL_TAIL 0x002u       /* entered by a jump that replaced the caller's frame */
#define ANALYSIS_CALL_SIGNAL 0x004u     /* entered by the kernel instead of an instruction: a signal handler */
#define ANALYSIS_CALL_KERNEL 0x008u     /* the kernel: system call, interrupt, exception */
#define ANALYSIS_CALL_OUTSIDE 0x010u    /* code that is not traced */
#define ANALYSIS_CALL_STACK 0x020u      /* first frame of a separate stack: a fibre, a coroutine */
#define ANALYSIS_CALL_UNWOUND 0x040u    /* ended without a return: longjmp, an exception, or the end of its stack */
#define ANALYSIS_CALL_UNFINISHED 0x080u /* unfinished at the end of the flow */
#define ANALYSIS_CALL_LOST 0x100u       /* ended in a gap */
#define ANALYSIS_CALL_GUESSED 0x200u    /* frame of a stack that was chosen among several matching stacks */
#define ANALYSIS_CALL_STUB 0x400u       /* a stub, which only leads to its function */
/* as ANALYSIS_FUNCTION_TWICE; likewise the flags without a comment */
#define ANALYSIS_CALL_TWICE 0x800u
#define ANALYSIS_CALL_SWITCH 0x1000u
#define ANALYSIS_CALL_THUNK 0x2000u
#define ANALYSIS_CALL_UNWINDS 0x4000u
#define ANALYSIS_CALL_FINDER 0x8000u
#define ANALYSIS_CALL_MIDWAY 0x10000u /* no symbol begins at the call's target */
#define ANALYSIS_CALL_PARKS 0x20000u
#define ANALYSIS_CALL_JUMPS 0x40000u
#define ANALYSIS_CALL_RETURNED 0x80000u /* a signal handler that returned to code that asks the kernel to resume */
#define ANALYSIS_CALL_NOTED 0x100000u   /* an observer counted the begin of the call */
/* Flags that are displayed; the other flags are for the fold. */
#define ANALYSIS_CALL_SHOWN 0x3ffu

/* Time in which a thread did not execute traced code, in nanoseconds. */
struct analysis_absence {
	uint64_t kernel; /* system calls, interrupts, and other work of the kernel */
	uint64_t off;    /* switched out */
	uint64_t gap;    /* gaps in the flow */
};

struct analysis_frame {
	uint64_t return_address; /* 0: unknown */
	uint64_t start;          /* trace clock; 0: unknown */
	uint64_t time;           /* stack clock at the begin; from `leave` on: duration, in nanoseconds */
	uint64_t instructions;   /* instruction clock at the begin; from `leave` on: executed instructions */
	uint64_t child_time;     /* part of `time` in callees */
	uint64_t child_instructions;
	uint64_t wall; /* from `leave` on: duration including time on other stacks */
	struct analysis_absence absence;
	uint64_t children;
	uint64_t serial;
	uint64_t user;     /* for the observer */
	uint64_t other;    /* second `user`, for an observer that combines two observers */
	uint64_t entry;    /* start address */
	uint32_t function; /* may be ANALYSIS_NO_FUNCTION */
	uint32_t flags;
	uint32_t unwound; /* with ANALYSIS_CALL_UNWINDS: frames that the unwinder has looked up */
};

struct analysis_stack {
	struct analysis_frame *frames; /* owned; the outermost frame comes first */
	size_t count, capacity;
	uint64_t time; /* clocks that run while the thread is on this stack */
	uint64_t instructions;
	uint64_t idle_time; /* part of these clocks without any frame */
	uint64_t idle_instructions;
	uint64_t start; /* trace clock */
	uint32_t number;
	struct analysis_return_again *again; /* owned; places where setjmp and similar functions returned */
	size_t again_count;
	/* Only for a waiting stack: */
	uint64_t goes_on;                       /* return address at which the stack resumes */
	struct analysis_stack *before, *next;   /* list of stacks with the same return address, oldest first */
	struct analysis_stack *last;            /* only in the list's first stack: the list's last stack */
	struct analysis_stack *older, *younger; /* list of all waiting stacks, oldest first */
};

struct analysis_call_thread {
	struct analysis_stack *stack;   /* current stack */
	struct common_hash_map waiting; /* by return address: the first waiting stack of its list */
	struct analysis_stack *oldest;  /* ends of the list of all waiting stacks */
	struct analysis_stack *youngest;
	struct analysis_stack **stacks; /* all stacks; owned */
	size_t stack_count;
	uint64_t time; /* trace clock; 0: unknown so far */
	struct analysis_absence absence;
	uint64_t instructions; /* executed so far, on all stacks */
	uint64_t serial;
	uint64_t budget; /* frames that searches may still visit */
	uint32_t process, pid, thread, tid, cpu;
	uint64_t expected; /* address at which tracing resumes */
	uint8_t state;     /* why time passes: enum analysis_thread_state */
	bool lost;         /* flow was missing since the last transfer */
	bool kernel_pause;
	uint64_t left;    /* time of the last pause of the flow */
	uint64_t resumed; /* time at which the flow resumed the last time */
	const struct flow_program *program;
	void *user; /* for the observer */
};

/* Receives calls. All functions return 0 or a negative ptl_status. Depth: index of a frame in its stack. */
struct analysis_call_observer {
	void *context;
	/* The thread's transfers begin; have ended. begin may set thread->user. May be NULL. */
	int (*begin)(void *context, struct analysis_call_thread *thread);
	int (*end)(void *context, struct analysis_call_thread *thread);
	/* The thread continues with the flow of this segment. May be NULL. */
	int (*segment)(void *context, struct analysis_call_thread *thread, const struct flow_segment *segment);
	/* A frame was pushed. */
	int (*enter)(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame);
	/* The function of a frame became known: a stub was called. May be NULL. */
	int (*rename)(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame);
	/*
	 * A call of the top frame, `caller`, began and ended without calls of its own and without time. Replaces enter
	 * and leave; no frame exists. leaf: function and instructions of the call, which has no flag of
	 * ANALYSIS_CALL_SHOWN. Return 1 if taken, 0 to get the call as a frame. May be NULL.
	 */
	int (*leaf)(void *context, struct analysis_call_thread *thread, struct analysis_frame *caller,
		    const struct analysis_transfer *leaf);
	/*
	 * Calls of the top frame (without frames: outermost calls of the stack) began and ended. Replaces enter, rename
	 * and leave of these calls. nodes[0] stands for the top frame, and its sums belong to no call. NULL: the
	 * observer gets frames.
	 */
	int (*piece)(void *context, struct analysis_call_thread *thread, struct analysis_frame *top,
		     const struct analysis_summary_node *nodes, size_t count);
	/*
	 * As `piece`, for calls with sums by function instead of paths. first: nanoseconds that sums with ANALYSIS_FIRST
	 * have in addition. NULL: the observer needs paths. Requires `piece`.
	 */
	int (*sums)(void *context, struct analysis_call_thread *thread, const struct analysis_function_sums *sums,
		    size_t count, uint64_t first);
	/* A frame is complete (final values), but not yet popped. */
	int (*leave)(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame);
	/* A frame was found below all frames of the stack, and is now the only frame of the stack. May be NULL. */
	int (*below)(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame);
	/* The thread switched to another stack. May be NULL. */
	int (*change)(void *context, struct analysis_call_thread *thread);
	/* The thread runs another program; all frames have ended. May be NULL. */
	int (*exec)(void *context, struct analysis_call_thread *thread);
	/* Flow of the thread is missing from thread->time on. May be NULL. */
	int (*gap)(void *context, struct analysis_call_thread *thread);
};

struct analysis_call_fold {
	struct analysis_function_table *functions;
	const struct flow_timeline *timeline;
	const struct analysis_call_observer *observer;
};

/* Initialises a thread without frames. */
void analysis_calls_start(struct analysis_call_thread *thread, const struct flow_segment *segment);
void analysis_calls_free(struct analysis_call_thread *thread);

/* Transfers of a segment, and pieces between them. */
struct analysis_call_part {
	const struct analysis_transfer *transfers;
	size_t count;
	struct analysis_summary *summary;      /* NULL: no pieces */
	size_t piece_count;                    /* number of pieces; the first may precede all transfers */
	const struct analysis_call_part *next; /* the following part, if known; else NULL */
};

/*
 * Applies the part to the thread. `ahead` transfers after the part, pieces among them, and the next parts are also
 * known, but not applied: they help to choose among waiting stacks. The result does not depend on the division into
 * parts, if the known transfers ahead, with those that pieces stand for, number ANALYSIS_CALLS_AHEAD or include all
 * remaining transfers.
 */
#define ANALYSIS_CALLS_AHEAD 200
int analysis_calls_take(const struct analysis_call_fold *fold, struct analysis_call_thread *thread,
			const struct analysis_call_part *part, size_t ahead);
/* Ends all frames. */
int analysis_calls_end(const struct analysis_call_fold *fold, struct analysis_call_thread *thread);

static inline size_t analysis_frame_depth(const struct analysis_call_thread *thread, const struct analysis_frame *frame)
{
	return (size_t)(frame - thread->stack->frames);
}

#endif
