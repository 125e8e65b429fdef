/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of functions: begins and ends of calls of each thread, in order, with durations and instructions. docs/calls.md
 * has the rules: tail calls, stubs, signal handlers, longjmp, exceptions, coroutines, and gaps.
 */
#ifndef PTL_CALLS_H
#define PTL_CALLS_H

#include <ptl/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A thread at a place in its flow. Valid within a callback. */
struct ptl_call_thread {
	uint32_t pid; /* PTL_NO_ID: unknown */
	uint32_t tid;
	uint32_t cpu;        /* PTL_NO_CPU: packets belong to a thread */
	uint32_t stack;      /* number of the current stack, from 0; a coroutine has a stack of its own */
	const char *process; /* name of the program; "" unknown */
	const char *name;    /* name of the thread; "" unknown */
	uint64_t time;       /* 0 unknown */
};

/* How a call began, and how a call ended. */
#define PTL_CALL_INFERRED 0x001u   /* the begin is not in the flow: before the trace, or in a gap */
#define PTL_CALL_TAIL 0x002u       /* a jump that replaced the caller */
#define PTL_CALL_SIGNAL 0x004u     /* the kernel began the call instead of an instruction: a signal handler */
#define PTL_CALL_KERNEL 0x008u     /* the kernel: system call, interrupt, exception */
#define PTL_CALL_OUTSIDE 0x010u    /* code that is not traced */
#define PTL_CALL_STACK 0x020u      /* first call of a separate stack: a fibre, a coroutine */
#define PTL_CALL_UNWOUND 0x040u    /* ended without a return: longjmp, an exception, or the end of its stack */
#define PTL_CALL_UNFINISHED 0x080u /* unfinished at the end of the flow */
#define PTL_CALL_LOST 0x100u       /* ended in a gap */
#define PTL_CALL_GUESSED 0x200u    /* call of a stack that was chosen among several matching stacks */

/* A call. Valid within a callback; the strings are valid until ptl_analysis_close. */
struct ptl_call {
	uint32_t function; /* number of the function, from 0 without holes; PTL_NO_ID: unknown code */
	uint32_t depth;    /* calls below on the same stack, as far as they are known */
	const char *name;  /* name of the function; "" without symbol */
	const char *path;  /* path of the file; "" for code without file */
	uint64_t address;  /* address of the function in its file, as symbol tables have addresses */
	uint64_t start;    /* time of the begin; 0 unknown */
	uint32_t flags;    /* PTL_CALL_INFERRED and so on; complete from `leave` on */
	uint32_t stack;    /* number of the stack */
	/* The following members are set from `leave` on. Callees, unlike callers, are counted in. */
	uint64_t duration; /* nanoseconds from begin to end, including times on other stacks */
	uint64_t time;     /* nanoseconds on this stack, including callees */
	uint64_t self_time;
	uint64_t instructions;
	uint64_t self_instructions;
	uint64_t off_time;    /* part of `time` in which the thread was switched out */
	uint64_t kernel_time; /* part of `time` in the kernel, if the kernel is not traced */
	uint64_t gap_time;    /* part of `time` in gaps of the flow */
	uint64_t calls;       /* number of direct calls */
};

/*
 * Receives calls. Each function may be NULL. A function returns 0, or a negative enum ptl_status that ends the run.
 * Calls of one stack nest: a call ends after all its callees. Functions run one at a time, but not always on the thread
 * that called ptl_calls_run.
 */
struct ptl_calls_callbacks {
	size_t size; /* sizeof(struct ptl_calls_callbacks) */
	/* The flow of a thread begins, or has ended. A thread may begin again, if its flow has a hole. */
	int (*begin)(void *context, const struct ptl_call_thread *thread);
	int (*end)(void *context, const struct ptl_call_thread *thread);
	int (*enter)(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call);
	int (*leave)(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call);
	/* The function of a call became known: `enter` reported a stub, such as an entry of a PLT. */
	int (*rename)(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call);
	/*
	 * A caller was found below all calls of the stack: the call began before the flow, or in a gap. The depth of the
	 * call is 0. `leave` follows later.
	 */
	int (*below)(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call);
	/* The thread switched to the stack thread->stack. */
	int (*switch_stack)(void *context, const struct ptl_call_thread *thread);
	/* The thread runs another program from here on; all calls have ended. */
	int (*exec)(void *context, const struct ptl_call_thread *thread);
	/* Flow of the thread is missing here. */
	int (*gap)(void *context, const struct ptl_call_thread *thread);
};

/*
 * Decodes the flow that the options select (NULL: everything), and reports the calls of each thread, thread after
 * thread. The reports do not depend on the number of threads that decode. options->by_time has no meaning here.
 * Returns PTL_MISUSE for NULL or an unknown engine, PTL_UNSUPPORTED for a newer structure, a status of ptl_flow_run, or
 * the negative result of a callback.
 */
int ptl_calls_run(struct ptl_analysis *analysis, const struct ptl_flow_options *options,
		  const struct ptl_calls_callbacks *callbacks, void *context);

#ifdef __cplusplus
}
#endif

#endif
