/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/signals.h"
#include "record/proc/status.h"
#include "record/software/denied.h"
#include "record/software/stopped.h"

/* Number of tries, and pause between tries, to attach to a process that another recording has just left. */
#define BUSY_TRIES 8u
#define BUSY_WAIT_NS 150000000l

/* What the attaching process reports. */
struct report {
	bool done;
	char text[512];
};

/* ---- what can be known before ---------------------------------------------------------------- */

static bool has_several_threads(uint32_t pid)
{
	char path[64];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	return stat(path, &info) == 0 && info.st_nlink > 2 + 1;
}

int software_attach_check(uint32_t pid, bool *is_stopped)
{
	char path[64];
	struct record_proc_status status, own;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (!record_proc_status(path, &status) || !record_proc_status("/proc/self/status", &own))
		return common_fail(PTL_SYSTEM, "there is no process %u", pid);
	if (status.leader != pid)
		return common_fail(PTL_UNSUPPORTED, "%u is a thread of process %u: --pid %u records all its threads",
				   pid, status.leader, status.leader);
	if (pid == (uint32_t)getpid())
		return common_fail(PTL_UNSUPPORTED, "process %u is ptl-record itself", pid);
	if (status.state == 'Z' && has_several_threads(pid))
		return common_fail(PTL_UNSUPPORTED, SOFTWARE_NO_MAIN_THREAD, (pid_t)pid);
	if (status.state == 'Z' || status.state == 'X')
		return common_fail(PTL_SYSTEM, "process %u has ended: its parent has not taken its exit status yet",
				   pid);
	if (!status.has_memory)
		return common_fail(PTL_UNSUPPORTED, "process %u is a thread of the kernel, and executes no program",
				   pid);
	if (status.tracer)
		return common_fail(PTL_SYSTEM,
				   "process %u is traced by process %u (a debugger or strace): detach that first", pid,
				   status.tracer);
	/*
	 * If this process has the same filters, as in a container, they permit the runtime's calls: the recorder makes
	 * the same calls.
	 */
	if (status.seccomp && (status.seccomp != own.seccomp || status.filters != own.filters))
		return common_fail(
			PTL_UNSUPPORTED,
			"process %u has a seccomp filter, which may forbid what the software source calls: record the "
			"program from its start, or with --source intel_pt",
			pid);
	if (status.has_shadow_stack)
		return common_fail(PTL_UNSUPPORTED,
				   "process %u has a shadow stack: start the program with "
				   "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off",
				   pid);
	*is_stopped = status.state == 'T';
	return 0;
}

/* ---- the process that attaches --------------------------------------------------------------- */

static _Noreturn void attach_and_end(const struct channel *channel, uint32_t pid, int out)
{
	const struct timespec interval = {0, BUSY_WAIT_NS};
	struct software_stopped stopped = {.pid = (pid_t)pid};
	struct report report = {0};

	for (unsigned i = 0; i < BUSY_TRIES && !report.done; i++) {
		if (stopped.busy)
			nanosleep(&interval, NULL);
		stopped.busy = false;
		report.done = software_stop_threads(&stopped, PTRACE_O_TRACESYSGOOD) &&
			      software_stopped_inject(&stopped, &channel->config);
		software_stopped_release(&stopped);
		if (!stopped.busy)
			break;
	}
	memcpy(report.text, stopped.text, sizeof(report.text));
	_exit(write(out, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

static bool read_report(int fd, struct report *report)
{
	ssize_t size;

	do
		size = read(fd, report, sizeof(*report));
	while (size < 0 && errno == EINTR);
	return size == sizeof(*report);
}

int software_attach(const struct channel *channel, uint32_t pid)
{
	struct report report;
	sigset_t before;
	bool read, is_stopped = false;
	int ends[2], status = software_attach_check(pid, &is_stopped);
	pid_t child;

	if (status < 0)
		return status;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_fail_errno("pipe");
	/* Ctrl-C must reach the recorder, not the child. */
	common_signal_block_all(&before);
	child = fork();
	if (child == 0)
		attach_and_end(channel, pid, ends[1]);
	common_signal_unblock(&before);
	close(ends[1]);
	if (child < 0) {
		close(ends[0]);
		return common_fail_errno("fork");
	}
	read = read_report(ends[0], &report);
	close(ends[0]);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (!read)
		return common_fail(PTL_SYSTEM, "the process that attaches to process %u was killed", pid);
	report.text[sizeof(report.text) - 1] = 0;
	if (!report.done)
		return common_fail(PTL_SYSTEM, "%s", report.text);
	if (is_stopped) {
		common_message_warning("process %u is stopped by a signal, and executes nothing until SIGCONT", pid);
		common_message_hint("kill -CONT %u", pid);
	}
	return 0;
}
