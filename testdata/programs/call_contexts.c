/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibres that continue at the return of getcontext or setjmp, not at the call of a switch; logs its calls.
 * call_contexts LOG
 */
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#include "call_log.h"
#include "check.h"

#define NOINLINE __attribute__((noinline))
#define FIBRES 4
#define ROUNDS 6
#define MAIN FIBRES /* index of the main stack in all tables */
#define STACK 65536

static char stacks[FIBRES][STACK];
static volatile int returned;

/* Logs calls on this stack; the log's stack 0 is the main stack. */
NOT_LOGGED static void log_on(int stack)
{
	call_log_stack = stack == MAIN ? 0 : stack + 1;
}

NOINLINE static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void make(ucontext_t *context, int fibre, void (*body)(int))
{
	CHECK(getcontext(context) == 0);
	context->uc_stack.ss_sp = stacks[fibre];
	context->uc_stack.ss_size = STACK;
	context->uc_link = NULL;
	makecontext(context, (void (*)(void))body, 1, fibre);
}

/* ---- getcontext, setcontext ------------------------------------------------------------------------- */

static ucontext_t contexts[FIBRES + 1];

/* Leaves a stack and continues another; all switches are in this function. */
NOINLINE static void go(int from, int to)
{
	volatile int back = 0;

	CHECK(getcontext(&contexts[from]) == 0);
	if (!back) {
		back = 1;
		log_on(to);
		setcontext(&contexts[to]);
	}
	log_on(from);
}

static volatile int lowest;

/* The caller of the switch identifies a continued stack, so each stack has a function of its own. */
#define BELOW(name, over, number)                                                                                      \
	NOINLINE static void name(int from, int to, int depth)                                                         \
	{                                                                                                              \
		if (depth)                                                                                             \
			name(from, to, depth - 1);                                                                     \
		else                                                                                                   \
			over(from, to);                                                                                \
		lowest = number;                                                                                       \
		fibonacci(2);                                                                                          \
	}
#define EACH_BELOW(name, over)                                                                                         \
	BELOW(name##_0, over, 0)                                                                                       \
	BELOW(name##_1, over, 1)                                                                                       \
	BELOW(name##_2, over, 2)                                                                                       \
	BELOW(name##_3, over, 3)                                                                                       \
	BELOW(name##_main, over, MAIN)                                                                                 \
	static void (*const name[FIBRES + 1])(int, int, int) = {name##_0, name##_1, name##_2, name##_3, name##_main};
EACH_BELOW(go_below, go)

static void saved_fibre(int self)
{
	for (int round = 0; round < ROUNDS; round++) {
		/* to the main stack or, in odd rounds, to the next fibre, which finally returns here */
		go_below[self](self, round % 2 && self + 1 < FIBRES ? self + 1 : MAIN, (self * 3 + round) % 5);
		fibonacci(3);
	}
	returned++;
	for (;;)
		go(self, MAIN);
}

NOINLINE static void saved_contexts(void)
{
	for (int i = 0; i < FIBRES; i++)
		make(&contexts[i], i, saved_fibre);
	for (int round = 0; returned < FIBRES; round++)
		go_below[MAIN](MAIN, round % FIBRES, round % 7);
}

/* ---- setjmp, longjmp, as coroutines have it that only begin with a context ----------------------------- */

static sigjmp_buf places[FIBRES + 1];
static ucontext_t beginning;

NOINLINE static void jump(int from, int to)
{
	if (sigsetjmp(places[from], 0) == 0) {
		log_on(to);
		siglongjmp(places[to], 1);
	}
	log_on(from);
}

EACH_BELOW(jump_below, jump)

static jmp_buf errors[FIBRES];

/* Before failing, switches to another stack, which fails as well. */
NOINLINE static void fail(int self, int to, int depth)
{
	if (depth)
		fail(self, to, depth - 1);
	jump(self, to);
	longjmp(errors[self], 1);
}

NOINLINE static void try(int self, int to, int depth)
{
	const int logged = call_log_depth;

	if (setjmp(errors[self]) == 0)
		fail(self, to, depth);
	call_log_depth = logged;
}

static void jumping_fibre(int self)
{
	/* Back to the main stack, but not through the context. */
	if (sigsetjmp(places[self], 0) == 0) {
		log_on(MAIN);
		siglongjmp(places[MAIN], 1);
	}
	log_on(self);
	for (int round = 0; round < ROUNDS; round++) {
		jump_below[self](self, MAIN, (self + round) % 4);
		try(self, MAIN, (self + 2 * round) % 3);
	}
	returned++;
	for (;;)
		jump(self, MAIN);
}

NOINLINE static void begin(int fibre)
{
	ucontext_t context;

	make(&context, fibre, jumping_fibre);
	if (sigsetjmp(places[MAIN], 0) == 0) {
		log_on(fibre);
		CHECK(swapcontext(&beginning, &context) == 0);
	}
	log_on(MAIN);
}

NOINLINE static void jumps(void)
{
	returned = 0;
	memset((void *)&call_log_depths[1], 0, FIBRES * sizeof(call_log_depths[0]));
	for (int i = 0; i < FIBRES; i++)
		begin(i);
	for (int round = 0; returned < FIBRES; round++)
		jump_below[MAIN](MAIN, round % FIBRES, round % 5);
}

/* ---- both on one stack ----------------------------------------------------------------------------------- */

NOINLINE static int again(void)
{
	ucontext_t here;
	volatile int count = 0;

	CHECK(getcontext(&here) == 0);
	fibonacci(1);
	if (++count < 5)
		setcontext(&here);
	return count;
}

NOINLINE static void everything(void)
{
	CHECK(again() == 5);
	saved_contexts();
	jumps();
	CHECK(again() == 5);
}

NOT_LOGGED int main(int argc, char **argv)
{
	CHECK(argc == 2);
	everything();
	call_log_write(argv[1]);
	puts("call_contexts done");
	return 0;
}
