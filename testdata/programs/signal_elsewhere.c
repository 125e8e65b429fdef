/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers that continue the program elsewhere: behind the instruction, or in another function. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define INVALID_SIZE 2 /* bytes of ud2 */

static volatile int count;
static int in_function;

__attribute__((noinline)) static void work(void)
{
	for (int i = 0; i < 10; i++)
		count += i;
}

/* Runs in place of the invalid instruction, and returns behind it. */
__attribute__((noinline)) static void stand_in(void)
{
	work();
}

static void on_invalid(int number, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t behind = (uint64_t)registers[REG_RIP] + INVALID_SIZE;

	(void)number;
	(void)info;
	if (!in_function) {
		registers[REG_RIP] = (greg_t)behind;
		return;
	}
	/* as a call does, below the red zone of the interrupted function */
	registers[REG_RSP] -= 256 + 8;
	memcpy((void *)(uintptr_t)registers[REG_RSP], &behind, sizeof(behind));
	registers[REG_RIP] = (greg_t)(uintptr_t)stand_in;
}

__attribute__((noinline)) static void probe(void)
{
	__asm__ volatile("ud2" ::: "memory");
	work();
}

/* Restores the stack pointer: stand_in has returned to a stack 256 bytes lower. */
__attribute__((noinline)) static void probe_by_call(void)
{
	__asm__ volatile("ud2\n\tadd $256, %%rsp" ::
				 : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc");
	work();
}

int main(void)
{
	struct sigaction action = {.sa_sigaction = on_invalid, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGILL, &action, NULL))
		return 1;
	probe();
	probe();
	in_function = 1;
	probe_by_call();
	work();
	printf("%d\n", count);
	return 0;
}
