/* SPDX-License-Identifier: BSD-2-Clause */
/* Tries a breakpoint of the CPU. Some virtual machines accept the debug registers, and never stop a program at the address. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/signals.h"
#include "record/software/watch_state.h"

__attribute__((noinline)) static void function_with_breakpoint(void)
{
	__asm__ volatile("");
}

/* The child of the trial: stops, calls the function and ends. */
static _Noreturn void call_function(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0 && raise(SIGSTOP) == 0)
		function_with_breakpoint();
	_exit(0);
}

/* Waits for the child. Returns the signal that stopped the child; 0: the child has ended. */
static int wait_for_stop(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Returns whether the breakpoint stops the child. A child that may not be traced gives no answer, and counts as stopped. */
static bool stops_at_breakpoint(pid_t child)
{
	struct watch watch = {.said = true}; /* the caller reports a refused debug register */
	const struct watched thread = {.tid = child, .breakpoints = {(uint64_t)(uintptr_t)function_with_breakpoint}};
	int stop = wait_for_stop(child);

	if (!stop)
		return true;
	software_watch_arm(&watch, &thread);
	ptrace(PTRACE_CONT, child, 0, 0);
	stop = wait_for_stop(child);
	if (stop) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return stop == SIGTRAP;
}

int software_watch_try_breakpoint(void)
{
	sigset_t before;
	pid_t child;
	bool stops;

	/* Signals must not interrupt the wait, and Ctrl-C must not reach the child. */
	common_signal_block_all(&before);
	child = fork();
	if (child == 0)
		call_function();
	stops = child > 0 && stops_at_breakpoint(child);
	common_signal_unblock(&before);
	if (child < 0)
		return common_fail_errno("fork");
	if (stops)
		return 0;
	return common_fail(PTL_UNSUPPORTED,
			   "breakpoints of the CPU stop no program on this machine (some virtual machines lack "
			   "breakpoints)");
}
