/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breakpoints in the program's code, for machines whose CPU has no breakpoints: int3 replaces the function's first byte
 * in the memory of each watched process, until the function is reached or the process is let go. A forked process
 * inherits the bytes. All functions need a stopped thread.
 */
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "record/software/watch_state.h"

#define INT3 0xcc
/* A thread that waits for a vfork child, or has ended before its process, does not stop. */
#define STOP_INTERVAL_NS 200000l
#define STOP_INTERVALS 5000u

/* Replaces the byte at the address if the byte is `from`. */
static void replace_byte(pid_t tid, uint64_t address, uint8_t from, uint8_t to)
{
	const unsigned shift = (unsigned)(address & 7) * 8;
	const uint64_t place = address & ~7ull;
	uint64_t word;

	errno = 0;
	word = (uint64_t)ptrace(PTRACE_PEEKDATA, tid, place, 0);
	if (errno || (uint8_t)(word >> shift) != from)
		return;
	word = (word & ~(0xffull << shift)) | (uint64_t)to << shift;
	ptrace(PTRACE_POKEDATA, tid, place, word);
}

void software_watch_plant(const struct watched *thread)
{
	for (unsigned i = 0; i < WATCH_BREAKPOINTS; i++)
		if (thread->breakpoints[i])
			replace_byte(thread->tid, thread->breakpoints[i], thread->bytes[i], INT3);
}

void software_watch_clear(const struct watched *thread)
{
	for (unsigned i = 0; i < WATCH_BREAKPOINTS; i++)
		if (thread->breakpoints[i])
			replace_byte(thread->tid, thread->breakpoints[i], INT3, thread->bytes[i]);
}

bool software_watch_step_back(const struct watched *thread)
{
	struct user_regs_struct regs;
	siginfo_t info;

	if (ptrace(PTRACE_GETSIGINFO, thread->tid, 0, &info) < 0 || info.si_signo != SIGTRAP ||
	    info.si_code != SI_KERNEL || ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) < 0)
		return false;
	for (unsigned i = 0; i < WATCH_BREAKPOINTS; i++)
		if (thread->breakpoints[i] && thread->bytes[i] != INT3 && regs.rip == thread->breakpoints[i] + 1) {
			regs.rip--;
			return ptrace(PTRACE_SETREGS, thread->tid, 0, &regs) == 0;
		}
	return false;
}

bool software_watch_step_over(const struct watched *thread)
{
	uint64_t signal = 0;
	int status = 0;

	software_watch_clear(thread);
	for (;;) {
		if (ptrace(PTRACE_SINGLESTEP, thread->tid, 0, signal) < 0 ||
		    waitpid(thread->tid, &status, __WALL) != thread->tid || !WIFSTOPPED(status))
			return false;
		/* The step has ended. After another signal, the step ends in the handler, which returns to the breakpoint. */
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP)
			break;
		signal = status >> 16 ? 0 : (uint64_t)WSTOPSIG(status);
	}
	software_watch_plant(thread);
	return true;
}

bool software_watch_stop_thread(const struct watched *thread)
{
	const struct timespec interval = {0, STOP_INTERVAL_NS};

	ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
	for (unsigned i = 0; i < STOP_INTERVALS; i++) {
		int status = 0;
		const pid_t tid = waitpid(thread->tid, &status, __WALL | WNOHANG);
		const int event = status >> 16;

		if (tid == 0) {
			nanosleep(&interval, NULL);
			continue;
		}
		if (tid < 0 || !WIFSTOPPED(status))
			return false;
		if (event == PTRACE_EVENT_STOP)
			return true;
		/* A breakpoint, a signal or an event came first. Any stop clears a pending interruption. */
		ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0);
		ptrace(PTRACE_CONT, thread->tid, 0, event || software_watch_step_back(thread) ? 0 : WSTOPSIG(status));
	}
	return false;
}
