/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of all kinds, with a log of them: recursion, callbacks, longjmp, signals, fibres, plugins, threads.
 * calls LOG PLUGIN
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "call_log.h"
#include "check.h"

#define NOINLINE __attribute__((noinline))

/* ---- recursion, callbacks --------------------------------------------------------------------------- */

NOINLINE static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static int is_odd(int n);
NOINLINE static int is_even(int n)
{
	return n ? is_odd(n - 1) : 1;
}

NOINLINE static int is_odd(int n)
{
	return n ? is_even(n - 1) : 0;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

NOINLINE static void sort(void)
{
	int values[100];

	for (int i = 0; i < 100; i++)
		values[i] = (i * 7919) % 101;
	qsort(values, 100, sizeof(values[0]), compare);
	CHECK(values[0] <= values[50] && values[50] <= values[99]);
}

/* ---- longjmp ---------------------------------------------------------------------------------------- */

static jmp_buf place;

NOINLINE static void jump(int depth)
{
	if (depth < 0)
		return;
	if (depth)
		jump(depth - 1);
	else
		longjmp(place, 1);
	__asm__ volatile("" ::: "memory");
}

NOINLINE static int catcher(int depth)
{
	const int logged = call_log_depth;

	if (setjmp(place) == 0) {
		jump(depth);
		abort();
	}
	call_log_depth = logged;
	return depth;
}

/* longjmp returns to one of several frames of the function. */
NOINLINE static int nested(int depth, int target)
{
	const int logged = call_log_depth;

	if (depth == target && setjmp(place)) {
		call_log_depth = logged;
		return depth;
	}
	if (depth == 12)
		longjmp(place, 1);
	return nested(depth + 1, target) + fibonacci(2);
}

/* ---- signals ---------------------------------------------------------------------------------------- */

static sigjmp_buf from_handler;
static volatile int leave_handler;
static volatile int handled;

static void handler(int number)
{
	handled += fibonacci(3);
	if (number == SIGUSR1)
		raise(SIGUSR2);
	if (leave_handler)
		siglongjmp(from_handler, 1);
}

NOINLINE static void fault(void)
{
	__asm__ volatile("ud2");
}

NOINLINE static void signals(void)
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_NODEFER};
	const int logged = call_log_depth;

	CHECK(!sigaction(SIGUSR1, &action, NULL) && !sigaction(SIGUSR2, &action, NULL) &&
	      !sigaction(SIGILL, &action, NULL));
	raise(SIGUSR2);
	raise(SIGUSR1);
	leave_handler = 1;
	if (sigsetjmp(from_handler, 1) == 0)
		fault();
	call_log_depth = logged;
	leave_handler = 0;
	CHECK(handled == 8);
}

/* ---- fibres ----------------------------------------------------------------------------------------- */

#define FIBRES 4
static ucontext_t main_context, contexts[FIBRES];
static char stacks[FIBRES][65536];

NOINLINE static void yield(int self, int depth)
{
	if (depth) {
		yield(self, depth - 1);
		return;
	}
	call_log_stack = 0;
	CHECK(swapcontext(&contexts[self], &main_context) == 0);
	call_log_stack = self + 1;
}

static void fibre(int self)
{
	for (int i = 0; i < 6; i++) {
		yield(self, (self * 5 + i) % 7);
		fibonacci(3);
	}
	/* The function's end is logged later, when the main stack continues. */
}

NOINLINE static void resume(int self)
{
	call_log_stack = self + 1;
	CHECK(swapcontext(&main_context, &contexts[self]) == 0);
	call_log_stack = 0;
}

NOINLINE static void fibres(void)
{
	for (int i = 0; i < FIBRES; i++) {
		CHECK(getcontext(&contexts[i]) == 0);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))fibre, 1, i);
	}
	for (int round = 0; round < 7; round++)
		for (int i = 0; i < FIBRES; i++)
			resume(i);
}

/* ---- plugins, threads ------------------------------------------------------------------------------- */

static int twice(int value)
{
	return 2 * value;
}

NOINLINE static void plugin(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	int (*run)(int (*)(int), int);

	CHECK(library != NULL);
	*(void **)&run = dlsym(library, "plugin_run");
	CHECK(run && run(twice, 5) == 36);
}

static void *work(void *argument)
{
	return (void *)(long)(fibonacci(8) + is_even((int)(long)argument));
}

NOINLINE static void threads(void)
{
	pthread_t all[3];

	for (long i = 0; i < 3; i++)
		CHECK(pthread_create(&all[i], NULL, work, (void *)(i + 4)) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(all[i], NULL) == 0);
}

NOINLINE static void everything(const char *path)
{
	CHECK(fibonacci(10) == 55 && is_even(30));
	sort();
	for (int i = 0; i < 4; i++)
		CHECK(catcher(i * 3) == i * 3);
	for (int i = 0; i < 12; i += 3)
		CHECK(nested(0, i) == 2 * i);
	signals();
	fibres();
	plugin(path);
	threads();
}

NOT_LOGGED int main(int argc, char **argv)
{
	CHECK(argc == 3);
	everything(argv[2]);
	call_log_write(argv[1]);
	puts("calls done");
	return 0;
}
