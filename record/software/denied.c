/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/denied.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/proc/status.h"

static bool read_status(pid_t pid, pid_t tid, struct record_proc_status *status)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, tid);
	return record_proc_status(path, status);
}

bool software_denied_has_ended(pid_t pid, pid_t tid)
{
	struct record_proc_status status;

	return !read_status(pid, tid, &status) || status.state == 'Z' || status.state == 'X';
}

/* The kernel gives the files of a process that forbids access to root. */
static bool is_undumpable(pid_t pid, const struct record_proc_status *status)
{
	char path[64];
	struct stat info;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return stat(path, &info) == 0 && info.st_uid != status->effective_user;
}

/* Returns Yama's restriction of ptrace; 0: none. */
static int yama_scope(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%d", &scope) != 1)
		scope = 0;
	fclose(file);
	return scope;
}

bool software_denied_forbids(pid_t pid)
{
	struct record_proc_status status;

	return read_status(pid, pid, &status) && status.effective_user && is_undumpable(pid, &status);
}

void software_denied_explain(pid_t pid, pid_t tid, char *text, size_t size)
{
	struct record_proc_status status;
	const bool known = read_status(pid, tid, &status);
	const int scope = yama_scope();

	if (known && status.tracer)
		snprintf(text, size,
			 "thread %d of process %d is traced by process %u (a debugger or strace): detach that first",
			 tid, pid, status.tracer);
	else if (known && geteuid() && (status.real_user != getuid() || status.effective_user != geteuid()))
		snprintf(text, size,
			 "process %d may not be traced, because its user is %u: run ptl-record as this user", pid,
			 status.effective_user);
	else if (known && geteuid() && is_undumpable(pid, &status))
		snprintf(text, size,
			 "process %d may not be traced, because it forbids access by its own user (PR_SET_DUMPABLE 0, "
			 "a change of its user or group, or a program file without read permission): record the "
			 "program from its start",
			 pid);
	else if (scope == 1)
		snprintf(text, size,
			 "process %d may not be traced, because Yama permits a user to trace only descendants: record "
			 "the program from its start, or set /proc/sys/kernel/yama/ptrace_scope to 0",
			 pid);
	else if (scope > 1)
		snprintf(text, size, "process %d may not be traced: /proc/sys/kernel/yama/ptrace_scope is %d, which %s",
			 pid, scope,
			 scope == 2 ? "permits tracing by root only" : "forbids all tracing until the next boot");
	else
		snprintf(text, size,
			 "process %d may not be traced: ptl-record lacks CAP_SYS_PTRACE, or a security policy "
			 "(SELinux, AppArmor, a container's seccomp filter) forbids ptrace",
			 pid);
}
