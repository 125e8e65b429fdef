/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every kind of branch x86-64 has in user code, taken and not taken: conditional (short and near),
 * loop, loope, loopne, jrcxz, jecxz, direct and indirect jump and call through register and memory,
 * return with and without an operand, a jump to the next instruction, a call to the next
 * instruction, and instructions at which an emulator may end a block although they do not branch
 * (cpuid, rdtsc, pause, fences, prefixes).
 */
#include <stdint.h>

#include "check.h"

typedef unsigned (*function)(unsigned);

__attribute__((noipa)) static unsigned add_one(unsigned x)
{
	return x + 1;
}

__attribute__((noipa)) static unsigned twice(unsigned x)
{
	return x * 2;
}

__attribute__((noipa)) static unsigned switched(unsigned x)
{
	switch (x % 9) {
	case 0:
		return x ^ 0x11;
	case 1:
		return x + 0x222;
	case 2:
		return x * 3;
	case 3:
		return x - 77;
	case 4:
		return x << 1;
	case 5:
		return x >> 1;
	case 6:
		return ~x;
	case 7:
		return x | 0x40;
	default:
		return x & 0xfff;
	}
}

static unsigned loops(unsigned n)
{
	unsigned long result = 0;
	unsigned long count = n;

	__asm__ volatile("1: add $3, %0\n\t"
			 "loop 1b\n\t"
			 "mov $5, %%ecx\n\t"
			 "2: inc %0\n\t"
			 "cmp %0, %0\n\t"
			 "loope 2b\n\t"
			 "mov $7, %%ecx\n\t"
			 "3: inc %0\n\t"
			 "test %0, %0\n\t"
			 "loopne 3b\n\t"
			 "jrcxz 4f\n\t"
			 "ud2\n\t"
			 "4: mov $1, %%ecx\n\t"
			 "jrcxz 5f\n\t"
			 "add $100, %0\n\t"
			 "5: jecxz 6f\n\t"
			 "add $1000, %0\n\t"
			 "6:"
			 : "+r"(result), "+c"(count)
			 :
			 : "cc");
	return (unsigned)result;
}

/* A conditional jump to the next instruction executes the same addresses either way. */
static unsigned to_next(unsigned x)
{
	__asm__ volatile("test %0, %0\n\t"
			 "jz 1f\n\t"
			 "1: jnz 2f\n\t"
			 "2: jmp 3f\n\t"
			 "3: add $1, %0\n\t"
			 ".byte 0x0f, 0x85, 0, 0, 0, 0\n\t" /* jnz near, to the next */
			 ".byte 0xe9, 0, 0, 0, 0\n\t"       /* jmp near, to the next */
			 "add $1, %0"
			 : "+r"(x)
			 :
			 : "cc");
	return x;
}

/* call +0 and pop, as in old position-independent code: a call without a return. */
__attribute__((noipa)) static uintptr_t call_next(void)
{
	uintptr_t address;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* keep the red zone */
			 "call 1f\n\t"
			 "1: pop %0\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "=r"(address));
	return address;
}

static unsigned return_with_operand(void)
{
	unsigned result;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "push $42\n\t"
			 "call 1f\n\t"
			 "jmp 2f\n\t"
			 "1: mov 8(%%rsp), %0\n\t"
			 "ret $8\n\t"
			 "2: lea 128(%%rsp), %%rsp"
			 : "=&r"(result));
	return result;
}

static unsigned through_memory(unsigned x)
{
	static const function table[] = {add_one, twice, add_one, switched};
	unsigned result = x;

	for (unsigned i = 0; i < 4; i++)
		__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
				 "call *(%1,%2,8)\n\t"
				 "lea 128(%%rsp), %%rsp"
				 : "=a"(result)
				 : "r"(table), "r"((unsigned long)i), "D"(result)
				 : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "cc", "memory");
	return result;
}

static void no_branches_but_block_ends(void)
{
	unsigned a;
	unsigned b;
	unsigned c;
	unsigned d;
	unsigned long flags;

	for (unsigned i = 0; i < 10; i++) {
		__asm__ volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0), "c"(0));
		__asm__ volatile("rdtsc" : "=a"(a), "=d"(d));
		__asm__ volatile("pause; mfence; lfence; sfence; rep; nop; lock; incl (%0)" : : "r"(&c) : "memory");
		__asm__ volatile("lea -128(%%rsp), %%rsp; pushf; pop %0; lea 128(%%rsp), %%rsp" : "=r"(flags));
	}
}

int main(void)
{
	unsigned sum = 1;

	for (unsigned i = 0; i < 2000; i++)
		sum = switched(sum + i);
	for (unsigned i = 1; i < 50; i++) {
		sum += loops(i) + to_next(i) + return_with_operand();
		sum = through_memory(sum);
		CHECK(call_next() - (uintptr_t)call_next < 64);
	}
	no_branches_but_block_ends();
	CHECK(loops(10) == 30 + 5 + 7 + 1100);
	CHECK(to_next(0) == 2);
	CHECK(return_with_operand() == 42);
	printf("branches %u\n", sum);
	return 0;
}
