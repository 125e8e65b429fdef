/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/shared/inject.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "record/software/shared/tracee.h"

/* offset below the new program's stack pointer, inside the stack's mapping */
#define PATH_BELOW 8192u
#define START_BELOW 2048u
#define WALL 0x40000000
#define NO_CALL ((uint64_t)-1)

int64_t software_inject_attach(int32_t tid)
{
	return software_trace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACEEXEC);
}

/*
 * Lets execve complete: the kernel stores the result in RAX after the stop. code: bytes of the program's first
 * instruction.
 */
static bool finish_exec(const struct software_tracee *tracee, uint64_t code)
{
	struct user_regs_struct regs;
	int64_t status;

	if (!software_tracee_poke(tracee, tracee->regs.rip, (code & ~0xffull) | 0xcc) ||
	    software_trace(PTRACE_CONT, tracee->pid, 0, 0))
		return false;
	while ((status = software_tracee_wait(tracee)) >= 0 && status >> 8 != SIGTRAP)
		software_trace(PTRACE_CONT, tracee->pid, 0, 0);
	return status >= 0 && software_trace(PTRACE_GETREGS, tracee->pid, 0, (uint64_t)&regs) == 0;
}

static enum inject_result put_runtime(struct software_tracee *tracee, const struct channel_config *config,
				      struct runtime_start *start)
{
	struct user_regs_struct regs;
	enum inject_result result;
	uint64_t where, code;

	if (!software_tracee_is_64_bit(tracee))
		return INJECT_FORMAT;
	if (software_trace(PTRACE_GETREGS, tracee->pid, 0, (uint64_t)&tracee->regs) ||
	    !software_tracee_peek(tracee, tracee->regs.rip, &code))
		return INJECT_FAILED;
	software_tracee_registers(&tracee->regs, start->registers);
	start->pc = tracee->regs.rip;
	start->flags = tracee->regs.eflags;
	where = (tracee->regs.rsp - START_BELOW) & ~15ull;
	/* syscall; int3 */
	if (!finish_exec(tracee, code) ||
	    !software_tracee_poke(tracee, tracee->regs.rip, (code & ~0xffffffull) | 0xcc050f))
		return INJECT_FAILED;
	result = software_tracee_map_runtime(tracee, config, (tracee->regs.rsp - PATH_BELOW) & ~15ull, &start->arena,
					     &start->base, &start->size);
	if (!software_tracee_poke(tracee, tracee->regs.rip, code))
		return INJECT_FAILED;
	regs = tracee->regs;
	regs.orig_rax = NO_CALL;
	if (result == INJECT_DONE) {
		if (!software_tracee_write(tracee, where, start, sizeof(*start)))
			return INJECT_FAILED;
		regs.rip = start->base + config->runtime_entry;
		regs.rdi = where;
		regs.rsi = RUNTIME_ENTRY_PROGRAM;
	}
	software_trace(PTRACE_SETREGS, tracee->pid, 0, (uint64_t)&regs);
	return result;
}

enum inject_result software_inject_at_exec(const struct channel_config *config, struct runtime_start *start,
					   void (*decided)(enum inject_result result, void *context), void *context)
{
	struct software_tracee tracee = {.pid = -1};
	enum inject_result result;
	uint64_t mask;

	for (;;) {
		int status = 0;
		const int64_t pid = software_inject_syscall(SYS_wait4, (uint64_t)-1, (uint64_t)&status, WALL, 0, 0, 0);
		const int event = status >> 16;

		if (pid == -4)
			continue;
		if (pid < 0 || (status & 0xff) != 0x7f)
			return INJECT_FAILED;
		if (event == PTRACE_EVENT_EXEC) {
			tracee.pid = (int32_t)pid;
			break;
		}
		if (event == PTRACE_EVENT_STOP)
			software_trace(PTRACE_LISTEN, (int32_t)pid, 0, 0);
		else
			software_trace(PTRACE_CONT, (int32_t)pid, 0, (uint64_t)(status >> 8 & 0xff));
	}
	start->arena = start->kept_arena > 0 ? start->kept_arena : -1;
	result = put_runtime(&tracee, config, start);
	if (result != INJECT_DONE && software_trace(PTRACE_GETSIGMASK, tracee.pid, 8, (uint64_t)&mask) == -ESRCH)
		result = INJECT_ENDED;
	if (decided)
		decided(result, context);
	/* All signals are blocked around execve. The runtime sets the program's mask; a program without the runtime gets the mask here. */
	if (result != INJECT_DONE)
		software_trace(PTRACE_SETSIGMASK, tracee.pid, 8, (uint64_t)&start->mask);
	software_trace(PTRACE_DETACH, tracee.pid, 0, 0);
	return result;
}
