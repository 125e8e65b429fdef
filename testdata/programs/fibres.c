/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibres: contexts that switch with swapcontext at various depths of recursion, contexts that end into another
 * context (uc_link), a context restarted by setcontext, and a hand-made switch that returns into another
 * stack.
 */
#include <ucontext.h>

#include "check.h"

#define FIBRES 8
#define ROUNDS 20
#define STACK 65536

static ucontext_t main_context;
static ucontext_t fibre[FIBRES];
static char stacks[FIBRES][STACK];
static int trace[FIBRES * (ROUNDS + 1)];
static int traced;

/*
 * Switches to the next fibre at the bottom of a recursion; each stack has another depth.
 */
__attribute__((noinline)) static void yield_below(int self, int depth)
{
	if (depth) {
		yield_below(self, depth - 1);
		__asm__ volatile("" ::: "memory");
		return;
	}
	trace[traced++] = self;
	CHECK(swapcontext(&fibre[self], &fibre[(self + 1) % FIBRES]) == 0);
}

static void run(int self)
{
	for (int round = 0; round < ROUNDS; round++)
		yield_below(self, (self * 13 + round * 7) % 90);
	trace[traced++] = self;
}

static void swap_round(void)
{
	for (int i = 0; i < FIBRES; i++) {
		CHECK(getcontext(&fibre[i]) == 0);
		fibre[i].uc_stack.ss_sp = stacks[i];
		fibre[i].uc_stack.ss_size = STACK;
		fibre[i].uc_link = i == FIBRES - 1 ? &main_context : &fibre[i + 1];
		makecontext(&fibre[i], (void (*)(void))run, 1, i);
	}
	CHECK(swapcontext(&main_context, &fibre[0]) == 0);
	CHECK(traced == FIBRES * (ROUNDS + 1));
	for (int i = 0; i < traced; i++)
		CHECK(trace[i] == i % FIBRES);
}

static int restart(void)
{
	ucontext_t here;
	volatile int count = 0;

	CHECK(getcontext(&here) == 0);
	if (++count < 50)
		setcontext(&here);
	return count;
}

/* Saves the callee-saved registers and the stack pointer in *from, and returns on the stack `to`. */
void switch_stack(void **from, void *to);
__asm__(".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"	ret\n"
	".size switch_stack, . - switch_stack\n");

static void *main_stack;
static void *other_stack;
static int other_rounds;

static void other(void)
{
	for (;;) {
		other_rounds++;
		switch_stack(&other_stack, main_stack);
	}
}

static void hand_made(void)
{
	static char stack[STACK] __attribute__((aligned(16)));
	void **top = (void **)(stack + STACK) - 2;

	*--top = (void *)other;
	other_stack = top - 6;
	for (int i = 0; i < 100; i++)
		switch_stack(&main_stack, other_stack);
	CHECK(other_rounds == 100);
}

int main(void)
{
	swap_round();
	CHECK(restart() == 50);
	hand_made();
	printf("fibres %d\n", traced);
	return 0;
}
