/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's own log of its calls, by -finstrument-functions. The last act of main is call_log_write: it writes a line
 * per entered function with thread, stack, number of enclosing logged calls, file, and address in the file. After
 * leaving functions by longjmp, the program corrects call_log_depth.
 */
#ifndef CALL_LOG_H
#define CALL_LOG_H

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOT_LOGGED __attribute__((no_instrument_function))
#define CALL_LOG_MAX 200000
#define CALL_LOG_STACKS 16

struct call_log_entry {
	void *function;
	int tid;
	int stack;
	int depth;
};

static struct call_log_entry call_log[CALL_LOG_MAX];
static volatile unsigned call_log_count;
static __thread volatile int call_log_depths[CALL_LOG_STACKS];
static __thread volatile int call_log_stack;

#define call_log_depth (call_log_depths[call_log_stack])

NOT_LOGGED void __cyg_profile_func_enter(void *function, void *caller)
{
	const unsigned at = __atomic_fetch_add(&call_log_count, 1, __ATOMIC_RELAXED);

	(void)caller;
	if (at >= CALL_LOG_MAX)
		abort();
	call_log[at].function = function;
	call_log[at].tid = (int)syscall(SYS_gettid);
	call_log[at].stack = call_log_stack;
	call_log[at].depth = call_log_depth;
	call_log_depth = call_log_depth + 1;
}

NOT_LOGGED void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	call_log_depth = call_log_depth - 1;
}

NOT_LOGGED static void call_log_write(const char *path)
{
	FILE *file = fopen(path, "w");

	if (!file)
		exit(2);
	for (unsigned i = 0; i < call_log_count; i++) {
		Dl_info info;

		if (!dladdr(call_log[i].function, &info))
			abort();
		fprintf(file, "%d %d %d %s %lx\n", call_log[i].tid, call_log[i].stack, call_log[i].depth,
			info.dli_fname, (unsigned long)((char *)call_log[i].function - (char *)info.dli_fbase));
	}
	if (fclose(file))
		exit(2);
}

#ifdef __cplusplus
}
#endif

#endif
