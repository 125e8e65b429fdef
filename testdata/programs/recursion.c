/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls and returns that do not pair on a 64-entry return stack: recursion far deeper than 64, mutual recursion,
 * longjmp over many frames, tail calls in a ring, returns to another place (pushed address), a call with a popped
 * return address (as in a thunk), and a retpoline.
 */
#include <setjmp.h>
#include <stdint.h>

#include "check.h"

static jmp_buf back;

__attribute__((noipa)) static unsigned descend(unsigned n)
{
	const unsigned sum = n ? descend(n - 1) + n : 0;

	/* prevents a loop in place of the recursion */
	__asm__ volatile("" ::: "memory");
	return sum;
}

__attribute__((noipa)) static unsigned odd(unsigned n);

__attribute__((noipa)) static unsigned even(unsigned n)
{
	unsigned result = n ? odd(n - 1) : 1;

	__asm__ volatile("" ::: "memory");
	return result;
}

__attribute__((noipa)) static unsigned odd(unsigned n)
{
	unsigned result = n ? even(n - 1) : 0;

	__asm__ volatile("" ::: "memory");
	return result;
}

__attribute__((noipa)) static unsigned tree(unsigned n)
{
	return n < 2 ? 1 : tree(n - 1) + tree(n - 2);
}

__attribute__((noipa)) static void jump_back(void)
{
	longjmp(back, 1);
}

__attribute__((noipa)) static void jump_from(unsigned depth)
{
	if (depth)
		jump_from(depth - 1);
	else
		jump_back();
	__asm__ volatile("" ::: "memory");
}

__attribute__((noipa)) static unsigned ring_a(unsigned n, unsigned sum);

__attribute__((noipa)) static unsigned ring_b(unsigned n, unsigned sum)
{
	return n ? ring_a(n - 1, sum * 3 + 1) : sum;
}

__attribute__((noipa)) static unsigned ring_a(unsigned n, unsigned sum)
{
	return n ? ring_b(n - 1, sum + 2) : sum;
}

/* A jump made of push and ret, and a retpoline: the call's own return address is replaced. */
__attribute__((noipa)) static unsigned push_and_return(unsigned x)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "lea 1f(%%rip), %%rax\n\t"
			 "push %%rax\n\t"
			 "ret\n\t"
			 "ud2\n\t"
			 "1: add $5, %0\n\t"
			 "lea 3f(%%rip), %%rax\n\t"
			 "call 2f\n\t"
			 "4: pause\n\t"
			 "jmp 4b\n\t"
			 "2: mov %%rax, (%%rsp)\n\t"
			 "ret\n\t"
			 "3: lea 128(%%rsp), %%rsp"
			 : "+r"(x)
			 :
			 : "rax", "cc", "memory");
	return x;
}

/* The callee drops its return address and jumps to the caller's caller. */
__attribute__((noipa)) static unsigned drop_return(unsigned x)
{
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "call 1f\n\t"
			 "ud2\n\t"
			 "1: pop %%rax\n\t"
			 "add $9, %0\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "+r"(x)
			 :
			 : "rax", "cc", "memory");
	return x;
}

int main(void)
{
	unsigned sum = 0;

	for (unsigned depth = 60; depth < 70; depth++)
		sum += descend(depth);
	CHECK(descend(1000) == 500500);
	CHECK(even(1000) == 1 && odd(333) == 1);
	CHECK(tree(15) == 987);
	for (unsigned depth = 0; depth < 150; depth += 10) {
		if (setjmp(back) == 0) {
			jump_from(depth);
			CHECK(!"longjmp came back");
		}
		sum += descend(70);
	}
	sum += ring_a(300, 1);
	for (unsigned i = 0; i < 100; i++) {
		CHECK(push_and_return(i) == i + 5);
		CHECK(drop_return(i) == i + 9);
		sum += descend(i);
	}
	printf("recursion %u\n", sum);
	return 0;
}
