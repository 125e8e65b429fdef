/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates a seccomp filter for the system calls of the runtime. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "record/software/runtime/runtime.h"

#define LENGTH_MAX 4096u
#define MEMORY 16u

/* System calls of the runtime. The runtime maps and protects code, too. */
static const struct {
	uint32_t call;
	uint32_t protection; /* third argument */
} needed[] = {
	{.call = SYS_mmap},
	{.call = SYS_munmap},
	{.call = SYS_mprotect},
	{.call = SYS_open},
	{.call = SYS_read},
	{.call = SYS_close},
	{.call = SYS_fstat},
	{.call = SYS_stat},
	{.call = SYS_readlink},
	{.call = SYS_futex},
	{.call = SYS_rt_sigprocmask},
	{.call = SYS_rt_sigaction},
	{.call = SYS_sigaltstack},
	{.call = SYS_rt_tgsigqueueinfo},
	{.call = SYS_rt_sigreturn},
	{.call = SYS_getpid},
	{.call = SYS_gettid},
	{.call = SYS_tkill},
	{.call = SYS_nanosleep},
	{.call = SYS_arch_prctl},
	{.call = SYS_clone},
	{.call = SYS_wait4},
	{.call = SYS_exit},
	{.call = SYS_exit_group},
	{SYS_mmap, PROT_READ | PROT_WRITE | PROT_EXEC},
	{SYS_mprotect, PROT_READ | PROT_EXEC},
	{SYS_mprotect, PROT_READ | PROT_WRITE | PROT_EXEC},
	/* From here on: only of a process that has kept descriptors. See namespace.c. */
	{.call = SYS_openat},
	{.call = SYS_readlinkat},
};

#define NEEDED_IN_NAMESPACES 2u

static bool jump(const struct sock_filter *code, uint32_t a, uint32_t x)
{
	const uint32_t operand = BPF_SRC(code->code) == BPF_X ? x : code->k;

	switch (BPF_OP(code->code)) {
	case BPF_JEQ:
		return a == operand;
	case BPF_JGT:
		return a > operand;
	case BPF_JGE:
		return a >= operand;
	case BPF_JSET:
		return a & operand;
	default:
		return true;
	}
}

static uint32_t calculate(const struct sock_filter *code, uint32_t a, uint32_t x)
{
	const uint32_t operand = BPF_SRC(code->code) == BPF_X ? x : code->k;

	switch (BPF_OP(code->code)) {
	case BPF_ADD:
		return a + operand;
	case BPF_SUB:
		return a - operand;
	case BPF_MUL:
		return a * operand;
	case BPF_DIV:
		return operand ? a / operand : 0;
	case BPF_OR:
		return a | operand;
	case BPF_AND:
		return a & operand;
	case BPF_LSH:
		return operand < 32 ? a << operand : 0;
	case BPF_RSH:
		return operand < 32 ? a >> operand : 0;
	case BPF_XOR:
		return a ^ operand;
	default:
		return 0 - a;
	}
}

/* Returns the filter's action for the data; 0 (kill) for a filter that the kernel would refuse. */
static uint32_t carry_out(const struct sock_filter *filter, uint32_t length, const struct seccomp_data *data)
{
	uint32_t memory[MEMORY] = {0}, a = 0, x = 0;

	for (uint32_t at = 0; at < length; at++) {
		const struct sock_filter *code = &filter[at];
		uint32_t word = 0;

		switch (BPF_CLASS(code->code)) {
		case BPF_LD:
			if (BPF_MODE(code->code) == BPF_ABS && code->k <= sizeof(*data) - 4)
				__builtin_memcpy(&word, (const uint8_t *)data + code->k, 4);
			else if (BPF_MODE(code->code) == BPF_IMM)
				word = code->k;
			else if (BPF_MODE(code->code) == BPF_MEM)
				word = memory[code->k % MEMORY];
			else
				word = sizeof(*data);
			a = word;
			break;
		case BPF_LDX:
			x = BPF_MODE(code->code) == BPF_IMM   ? code->k
			    : BPF_MODE(code->code) == BPF_MEM ? memory[code->k % MEMORY]
							      : (uint32_t)sizeof(*data);
			break;
		case BPF_ST:
			memory[code->k % MEMORY] = a;
			break;
		case BPF_STX:
			memory[code->k % MEMORY] = x;
			break;
		case BPF_ALU:
			a = calculate(code, a, x);
			break;
		case BPF_JMP:
			at += BPF_OP(code->code) == BPF_JA ? code->k : jump(code, a, x) ? code->jt : code->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(code->code) == BPF_A ? a : code->k;
		default:
			if (BPF_MISCOP(code->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	return 0;
}

bool runtime_filter_permits(uint64_t program)
{
	static struct sock_filter filter[LENGTH_MAX];
	static struct runtime_lock lock;
	const size_t count = sizeof(needed) / sizeof(needed[0]) - (runtime.kept_proc > 0 ? 0 : NEEDED_IN_NAMESPACES);
	struct sock_fprog given;
	bool permits = true;

	/* An unreadable filter is left to the kernel, which refuses the filter. */
	if (!runtime_copy(&given, (const void *)program, sizeof(given)) || given.len > LENGTH_MAX)
		return true;
	runtime_lock(&lock);
	if (runtime_copy(filter, given.filter, given.len * sizeof(filter[0])))
		for (size_t i = 0; permits && i < count; i++) {
			const struct seccomp_data data = {
				.nr = (int)needed[i].call,
				.arch = AUDIT_ARCH_X86_64,
				.instruction_pointer = (uint64_t)&runtime_syscall,
				.args = {[2] = needed[i].protection},
			};
			const uint32_t action = carry_out(filter, given.len, &data) & SECCOMP_RET_ACTION_FULL;

			permits = action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
		}
	runtime_unlock(&lock);
	return permits;
}
