/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handled faults in the middle of a basic block: a load and a store on a protected page (repaired with mprotect, so
 * that the instruction runs again), a division by zero and ud2 (skipped), int3 and int $3 (traps, already past), a
 * jump and returns to addresses without code, a fault left by siglongjmp, a fault on the alternate stack, and a fault inside a
 * handler.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"

#define PAGE 4096u

static uint8_t *page;
static volatile int faults;
static volatile int traps;
static sigjmp_buf back;

static greg_t *registers(void *context)
{
	return ((ucontext_t *)context)->uc_mcontext.gregs;
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};

	CHECK(sigaction(signal, &action, NULL) == 0);
}

static void repair(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	faults++;
	CHECK(info->si_addr == page);
	CHECK(mprotect(page, PAGE, PROT_READ | PROT_WRITE) == 0);
}

/* ud2 and the divl below are two bytes long. */
static void skip_two(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	faults++;
	registers(context)[REG_RIP] += 2;
}

static void pass(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	traps++;
}

static void leave(int signal, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	faults++;
	siglongjmp(back, signal);
}

static void fault_in_handler(int signal, siginfo_t *info, void *context)
{
	(void)info;
	faults++;
	*(volatile uint8_t *)page = 1; /* SIGSEGV within: repaired */
	skip_two(signal, info, context);
}

/*
 * Handles a call of an address without code: returns to the caller by the pushed return address.
 */
static void return_to_caller(int signal, siginfo_t *info, void *context)
{
	greg_t *r = registers(context);

	(void)signal;
	(void)info;
	faults++;
	r[REG_RIP] = *(greg_t *)r[REG_RSP];
	r[REG_RSP] += 8;
}

static void protect(void)
{
	CHECK(mprotect(page, PAGE, PROT_NONE) == 0);
}

static void test_memory(void)
{
	install(SIGSEGV, repair, SA_ONSTACK);
	for (unsigned i = 0; i < 10; i++) {
		unsigned long a = 1;
		unsigned long b = 2;

		protect();
		__asm__ volatile("add $1, %0\n\t"
				 "add $1, %1\n\t"
				 "mov (%2), %%eax\n\t"
				 "add %0, %1\n\t"
				 "add $3, %0"
				 : "+r"(a), "+r"(b)
				 : "r"(page)
				 : "eax", "cc");
		CHECK(a == 5 && b == 5);
		protect();
		__asm__ volatile("add $1, %0\n\t"
				 "movb $7, (%1)\n\t"
				 "add $1, %0"
				 : "+r"(a)
				 : "r"(page)
				 : "memory", "cc");
		CHECK(a == 7 && page[0] == 7);
		/* The first instruction of a block faults. */
		protect();
		__asm__ volatile("jmp 1f\n\t"
				 "1: incb (%0)"
				 :
				 : "r"(page)
				 : "memory", "cc");
		CHECK(page[0] == 8);
		/* The last instruction of a block faults: a return address is pushed to the page. */
		protect();
		__asm__ volatile("mov %%rsp, %%rbx\n\t"
				 "lea 8(%0), %%rsp\n\t"
				 "call 1f\n\t"
				 "1: mov %%rbx, %%rsp"
				 :
				 : "r"(page)
				 : "rbx", "memory");
	}
}

static void test_instructions(void)
{
	install(SIGFPE, skip_two, 0);
	install(SIGILL, skip_two, 0);
	install(SIGTRAP, pass, 0);
	for (unsigned i = 0; i < 10; i++) {
		unsigned a = 1;

		__asm__ volatile("add $1, %0\n\t"
				 "ud2\n\t"
				 "add $1, %0\n\t"
				 "int3\n\t"
				 "add $1, %0\n\t"
				 ".byte 0xcd, 3\n\t"
				 "add $1, %0"
				 : "+r"(a)
				 :
				 : "cc");
		CHECK(a == 5);
		__asm__ volatile("mov $0, %%ecx\n\t"
				 "mov $0, %%edx\n\t"
				 "divl %%ecx\n\t"
				 "add $1, %0"
				 : "+r"(a)
				 :
				 : "eax", "ecx", "edx", "cc");
		CHECK(a == 6);
	}
	CHECK(traps == 20);
}

static void test_leaving(void)
{
	install(SIGSEGV, leave, SA_ONSTACK);
	for (unsigned i = 0; i < 10; i++) {
		protect();
		if (sigsetjmp(back, 1) == 0) {
			*(volatile uint8_t *)page = 1;
			CHECK(!"no fault");
		}
	}
}

static void test_nested(void)
{
	install(SIGSEGV, repair, SA_ONSTACK);
	install(SIGILL, fault_in_handler, SA_ONSTACK);
	for (unsigned i = 0; i < 10; i++) {
		protect();
		__asm__ volatile("nop; ud2; nop");
	}
}

static void test_jump_to_nothing(void)
{
	install(SIGSEGV, return_to_caller, 0);
	for (unsigned i = 0; i < 10; i++) {
		protect();
		((void (*)(void))page)();
	}
}

/* The handler goes on at the address in RBX. */
static void resume(int signal, siginfo_t *info, void *context)
{
	greg_t *r = registers(context);

	(void)signal;
	(void)info;
	faults++;
	CHECK(r[REG_RIP] == r[REG_RCX]);
	r[REG_RIP] = r[REG_RBX];
}

static void test_return_to_nothing(void)
{
	static const uint64_t targets[] = {UINT64_MAX, UINT64_MAX - 1, 0, 1, 0xffff800000000000, 0xffffffff80000000};

	install(SIGSEGV, resume, SA_ONSTACK);
	for (unsigned i = 0; i < 60; i++) {
		const uint64_t target = targets[i % 6];

		/* The first return has no call: a CPU's return stack no longer matches, and the second return is alone. */
		__asm__ volatile("lea 2f(%%rip), %%rbx\n\t"
				 "lea 1f(%%rip), %%rax\n\t"
				 "lea -128(%%rsp), %%rsp\n\t"
				 "push %%rax\n\t"
				 "ret\n\t"
				 "1: push %%rcx\n\t"
				 "ret\n\t"
				 "2: lea 128(%%rsp), %%rsp"
				 :
				 : "c"(target)
				 : "rax", "rbx", "memory");
	}
}

int main(void)
{
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};

	CHECK(sigaltstack(&stack, NULL) == 0);
	page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	test_memory();
	test_instructions();
	test_leaving();
	test_nested();
	test_jump_to_nothing();
	test_return_to_nothing();
	CHECK(faults == 40 + 20 + 10 + 30 + 10 + 60);
	printf("faults %d, traps %d\n", faults, traps);
	return 0;
}
