/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibres that go on where getcontext or setjmp returned, not where a switch was called, with a log of their calls.
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
#define MAIN FIBRES /* the program's own stack, in all tables */
#define STACK 65536

static char stacks[FIBRES][STACK];
static volatile int returned;

/* Stack 0 of the log is the program's. */
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

/* All stacks are left, and gone on with, in this one function. */
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

NOINLINE static void go_below(int from, int to, int depth)
{
	if (depth)
		go_below(from, to, depth - 1);
	else
		go(from, to);
	fibonacci(2);
}

static void saved_fibre(int self)
{
	for (int round = 0; round < ROUNDS; round++) {
		/* To the program's stack or, in odd rounds, to the next fibre, which comes back to it in the end. */
		go_below(self, round % 2 && self + 1 < FIBRES ? self + 1 : MAIN, (self * 3 + round) % 5);
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
		go_below(MAIN, round % FIBRES, round % 7);
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

NOINLINE static void jump_below(int from, int to, int depth)
{
	if (depth)
		jump_below(from, to, depth - 1);
	else
		jump(from, to);
	fibonacci(2);
}

static jmp_buf errors[FIBRES + 1];

/* Goes over to another stack, which fails as well in the meantime, before it fails. */
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
	/* Back to who began it, but not by that context. */
	if (sigsetjmp(places[self], 0) == 0) {
		log_on(MAIN);
		siglongjmp(places[MAIN], 1);
	}
	log_on(self);
	for (int round = 0; round < ROUNDS; round++) {
		jump_below(self, MAIN, (self + round) % 4);
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
	for (int round = 0; returned < FIBRES; round++) {
		jump_below(MAIN, round % FIBRES, round % 5);
		if (round % 3 == 0 && returned == 0)
			try(MAIN, round % FIBRES, round % 2);
	}
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
