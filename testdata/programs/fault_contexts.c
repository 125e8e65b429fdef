/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults whose handlers read and change the context: address of the instruction and of the data, si_code, all
 * registers, flags, vector registers; instructions that are skipped, repeated or replaced.
 */
#include <setjmp.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <ucontext.h>

#include "subtests.h"

static volatile int count, code;
static volatile uintptr_t where, data;
static uintptr_t resume;
static greg_t registers[NGREG];
static void *page;
static sigjmp_buf back;

static void note(siginfo_t *info, ucontext_t *context)
{
	count++;
	code = info->si_code;
	data = (uintptr_t)info->si_addr;
	where = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	memcpy(registers, context->uc_mcontext.gregs, sizeof(registers));
}

static void go_on_at_resume(int number, siginfo_t *info, void *context_)
{
	ucontext_t *context = context_;

	(void)number;
	note(info, context);
	context->uc_mcontext.gregs[REG_RIP] = (greg_t)resume;
}

/* Reads from an address. The faulting instruction is at *at; the next is at `resume`. */
static uint64_t read_at(uintptr_t address, uintptr_t *at)
{
	uint64_t value = 77;

	__asm__ volatile("lea 1f(%%rip), %%rcx\n\t"
			 "mov %%rcx, %1\n\t"
			 "lea 2f(%%rip), %%rcx\n\t"
			 "mov %%rcx, %2\n\t"
			 "1: mov (%3), %0\n\t"
			 "2:"
			 : "+r"(value), "=m"(*at), "=m"(resume)
			 : "r"(address)
			 : "rcx", "memory");
	return value;
}

static void addresses(void)
{
	uintptr_t at;

	install_action(SIGSEGV, go_on_at_resume, 0);
	CHECK(read_at(0x10, &at) == 77);
	CHECK(count == 1 && where == at && data == 0x10 && code == SEGV_MAPERR);
	CHECK(read_at((uintptr_t)page, &at) == 77);
	CHECK(count == 2 && where == at && data == (uintptr_t)page && code == SEGV_ACCERR);
	CHECK(read_at((uintptr_t)1 << 63, &at) == 77);
	CHECK(count == 3 && where == at && data == 0 && code == SI_KERNEL);
}

static void all_registers(void)
{
	install_action(SIGSEGV, go_on_at_resume, 0);
	__asm__ volatile("lea 2f(%%rip), %%rax\n\t"
			 "mov %%rax, %0\n\t"
			 "mov $0x1001, %%r8\n\tmov $0x1002, %%r9\n\tmov $0x1003, %%r10\n\tmov $0x1004, %%r11\n\t"
			 "mov $0x1005, %%r12\n\tmov $0x1006, %%r13\n\tmov $0x1007, %%r14\n\tmov $0x1008, %%r15\n\t"
			 "mov $0x1009, %%rdi\n\tmov $0x100a, %%rsi\n\tmov $0x100b, %%rdx\n\tmov $0x100c, %%rcx\n\t"
			 "mov $0x100d, %%rbx\n\txor %%eax, %%eax\n\tcmp $1, %%rax\n\t"
			 "1: mov %%rbx, (%%rax)\n\t"
			 "2:"
			 : "=m"(resume)
			 :
			 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			   "r15", "memory", "cc");
	for (int i = 0; i < 8; i++)
		CHECK(registers[REG_R8 + i] == 0x1001 + i);
	CHECK(registers[REG_RDI] == 0x1009 && registers[REG_RSI] == 0x100a && registers[REG_RDX] == 0x100b);
	CHECK(registers[REG_RCX] == 0x100c && registers[REG_RBX] == 0x100d && registers[REG_RAX] == 0);
	CHECK((registers[REG_EFL] & 0x8d5) == 0x95); /* CF, AF, SF, PF of 0 - 1 */
}

static void change_registers(int number, siginfo_t *info, void *context_)
{
	ucontext_t *context = context_;
	greg_t *all = context->uc_mcontext.gregs;

	go_on_at_resume(number, info, context);
	all[REG_RAX] = 0x2001;
	all[REG_RBX] = 0x2002;
	all[REG_R15] = 0x2003;
	all[REG_EFL] |= 1;
	memset(&context->uc_mcontext.fpregs->_xmm[3], 0x5a, 16);
}

static void changed_registers(void)
{
	uint64_t a, b, c, x;
	uint8_t carry;

	install_action(SIGSEGV, change_registers, 0);
	__asm__ volatile("lea 2f(%%rip), %%rax\n\tmov %%rax, %5\n\txor %%eax, %%eax\n\tpxor %%xmm3, %%xmm3\n\t"
			 "mov (%%rax), %%rax\n\tud2\n\t"
			 "2: setc %4\n\tmovq %%xmm3, %3"
			 : "=&a"(a), "=&b"(b), "=&r"(c), "=&r"(x), "=&q"(carry), "=m"(resume)
			 :
			 : "r15", "xmm3", "cc", "memory");
	__asm__ volatile("mov %%r15, %0" : "=r"(c));
	CHECK(a == 0x2001 && b == 0x2002 && carry == 1 && x == 0x5a5a5a5a5a5a5a5aull);
}

static void give_access(int number, siginfo_t *info, void *context)
{
	(void)number;
	note(info, context);
	CHECK(mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0);
}

/* The handler repairs the cause, and the instruction runs again. */
static void repeated(void)
{
	install_action(SIGSEGV, give_access, 0);
	for (int i = 0; i < 50; i++) {
		CHECK(mprotect(page, 4096, PROT_NONE) == 0);
		*(volatile int *)page += 1;
		CHECK(count == i + 1);
	}
	CHECK(*(volatile int *)page == 50);
}

/* A fault inside a string instruction: registers show its progress. */
static void in_string(void)
{
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to = two + 4096 - 100;
	uint64_t left = 300;

	page = two + 4096;
	CHECK(mprotect(page, 4096, PROT_NONE) == 0);
	install_action(SIGSEGV, give_access, 0);
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(7) : "memory");
	CHECK(count == 1 && registers[REG_RCX] == 200 && registers[REG_RDI] == (greg_t)page);
	CHECK(left == 0 && two[4095] == 7 && two[4096 + 199] == 7 && two[4096 + 200] == 0);
}

static void leave(int number, siginfo_t *info, void *context)
{
	(void)number;
	note(info, context);
	siglongjmp(back, 1);
}

static void kinds(void)
{
	volatile int zero = 0;

	install_action(SIGFPE, leave, 0);
	install_action(SIGILL, leave, 0);
	install_action(SIGSEGV, leave, 0);
	install_action(SIGBUS, leave, 0);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("idivl %0" ::"m"(zero) : "rax", "rdx", "cc");
	CHECK(count == 1 && code == FPE_INTDIV && data == where);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("ud2");
	CHECK(count == 2 && code == ILL_ILLOPN && data == where);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("hlt");
	CHECK(count == 3 && code == SI_KERNEL);
	if (!sigsetjmp(back, 1))
		((void (*)(void))0x1230)();
	CHECK(count == 4 && where == 0x1230 && data == 0x1230 && code == SEGV_MAPERR);
	if (!sigsetjmp(back, 1))
		((void (*)(void))(uintptr_t)page)();
	CHECK(count == 5 && where == (uintptr_t)page && data == where && code == SEGV_ACCERR);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov $1, %%rax\n\tshl $63, %%rax\n\tjmp *%%rax" ::: "rax");
	CHECK(count == 6 && code == SI_KERNEL);
}

/* A return to an invalid address: the stack shows whether ret was executed, as natively. */
static void bad_return(void)
{
	static uint64_t at;

	install_action(SIGSEGV, leave, 0);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %%rsp, %0\n\tpushq $0x4560\n\tret" : "=m"(at)::"memory");
	CHECK(count == 1 && where == 0x4560 && registers[REG_RSP] == (greg_t)at);
}

static void bad_call(void)
{
	static uint64_t at;

	install_action(SIGSEGV, leave, 0);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %%rsp, %0\n\tmov $0x4560, %%eax\n\tcall *%%rax\n\tud2"
				 : "=m"(at)::"rax", "memory");
	CHECK(count == 1 && where == 0x4560 && registers[REG_RSP] == (greg_t)at - 8);
	/* The operand faults: nothing is pushed. */
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %%rsp, %0\n\txor %%eax, %%eax\n\tcall *8(%%rax)\n\tud2"
				 : "=m"(at)::"rax", "memory");
	CHECK(count == 2 && data == 8 && registers[REG_RSP] == (greg_t)at && registers[REG_RAX] == 0);
}

/* A push or call onto a stack without memory: the program gets the fault, on its alternate stack. */
static void stack_overflow(void)
{
	static char alternate[65536];
	stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
	static uint64_t save;

	CHECK(sigaltstack(&stack, NULL) == 0);
	install_action(SIGSEGV, leave, SA_ONSTACK);
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %%rsp, %0\n\tlea 4096(%1), %%rsp\n\tcall 1f\n1:\tud2"
				 : "=m"(save)
				 : "r"(page)
				 : "memory");
	CHECK(count == 1 && data == (uintptr_t)page + 4088 && registers[REG_RSP] == (greg_t)((uintptr_t)page + 4096));
	if (!sigsetjmp(back, 1))
		__asm__ volatile("mov %%rsp, %0\n\tlea 4096(%1), %%rsp\n\tret"
				 : "=m"(save)
				 : "r"((char *)page - 4096)
				 : "memory");
	CHECK(count == 2 && data == (uintptr_t)page && registers[REG_RSP] == (greg_t)(uintptr_t)page);
}

static void align_check(int number, siginfo_t *info, void *context)
{
	char local[64] __attribute__((aligned(32)));

	(void)number;
	note(info, context);
	__asm__ volatile("movaps %%xmm0, (%0)" ::"r"(local) : "memory");
	CHECK((uintptr_t)local % 32 == 0);
	CHECK(((uintptr_t)__builtin_frame_address(0) & 15) == 0);
}

static void aligned(void)
{
	install_action(SIGUSR1, align_check, 0);
	for (int i = 0; i < 16; i++)
		__asm__ volatile("mov %%rsp, %%r12\n\tsub %3, %%rsp\n\tsyscall\n\tmov %%r12, %%rsp" ::"a"(62),
				 "D"(getpid()), "S"(SIGUSR1), "r"((long)i * 8 + 256)
				 : "rcx", "r11", "r12", "memory");
	CHECK(count == 16);
}

/* Red zone: a handler does not touch the 128 bytes below rsp. */
static void red_zone(void)
{
	uint64_t got;

	install_action(SIGUSR1, align_check, 0);
	__asm__ volatile("movq $0x1234, -8(%%rsp)\n\tmovq $0x5678, -128(%%rsp)\n\tsyscall\n\t"
			 "mov -8(%%rsp), %0\n\tadd -128(%%rsp), %0"
			 : "=a"(got)
			 : "a"(62), "D"(getpid()), "S"(SIGUSR1)
			 : "rcx", "r11", "memory");
	CHECK(count == 1 && got == 0x1234 + 0x5678);
}

/* The processor's alignment check flag: a Java virtual machine sets the flag to detect the processor's age. */
static void alignment_flag(void)
{
	uint64_t before, after, sum = 0;

	for (int i = 0; i < 10; i++) {
		__asm__ volatile(
			"pushfq\n\tpop %0\n\tmov %0, %%rax\n\txor $0x40000, %%rax\n\tpush %%rax\n\tpopfq\n\t"
			"jmp 1f\n1:\tlea 2f(%%rip), %%rax\n\tjmp *%%rax\n2:\tcall 3f\n\tjmp 4f\n3:\tinc %2\n\tret\n"
			"4:\tpushfq\n\tpop %1\n\tpush %0\n\tpopfq"
			: "=&r"(before), "=&r"(after), "+&r"(sum)
			:
			: "rax", "cc", "memory");
		CHECK(((before ^ after) & 0x40000) && sum == (uint64_t)i + 1);
	}
}

static volatile sig_atomic_t counter_faults;

static void skip_read(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	counter_faults++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* rdtsc */
}

/* The program forbids itself to read the time stamp counter. */
static void forbidden_counter(void)
{
	int status;
	pid_t child;

	install_action(SIGSEGV, skip_read, 0);
	CHECK(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	for (int i = 0; i < 20; i++)
		__asm__ volatile("rdtsc" : : : "rax", "rdx");
	CHECK(counter_faults == 20);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		__asm__ volatile("rdtsc" : : : "rax", "rdx");
		_exit(counter_faults == 21 ? 3 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(int argc, char **argv)
{
	static const struct subtest tests[] = {
		SUBTEST(addresses),         SUBTEST(all_registers), SUBTEST(changed_registers), SUBTEST(repeated),
		SUBTEST(in_string),         SUBTEST(kinds),         SUBTEST(bad_return),        SUBTEST(bad_call),
		SUBTEST(stack_overflow),    SUBTEST(aligned),       SUBTEST(red_zone),          SUBTEST(alignment_flag),
		SUBTEST(forbidden_counter),
	};
	char *three = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page = three + 4096;
	CHECK(three != MAP_FAILED);
	return run_subtests(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
