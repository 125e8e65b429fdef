/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a program, and reports a failed start. */
#include "record/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "record/launch/command.h"
#include "record/launch/signals.h"

/* Waits for the parent's byte. Returns false if the parent has given up, or is gone. */
static bool may_begin(int go)
{
	char byte;
	ssize_t n;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Runs in the child: executes the program, or reports the error to the parent. */
static void become(const struct record_launch *launch, int report, const int go[2])
{
	int error;

	close(go[1]);
	if (!may_begin(go[0]))
		_exit(RECORD_EXIT_NOT_FOUND);
	record_signals_stop();
	record_signals_repeat();
	setrlimit(RLIMIT_NOFILE, launch->files);
	if (launch->fixed_addresses)
		personality(ADDR_NO_RANDOMIZE);
	/* A negative error is one of prepare. */
	error = launch->prepare ? -launch->prepare(launch->context) : 0;
	if (!error) {
		execve(launch->path, launch->argv, launch->envp);
		error = errno;
	}
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(RECORD_EXIT_NOT_FOUND);
}

/* Attaches to the child, and lets the child begin. After a failure, the child ends and is waited for. */
static int release_child(const struct record_launch *launch, pid_t pid, int go)
{
	int status = launch->attach ? launch->attach(launch->context, pid) : 0;

	if (status == 0 && write(go, "", 1) != 1)
		status = common_fail_errno("cannot start a process");
	close(go);
	if (status != 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	return status;
}

/* Waits for execve: the pipe closes if execve succeeds, and delivers the errno otherwise. */
static int wait_for_program(const struct record_launch *launch, int report)
{
	int error = 0;
	ssize_t n;

	do
		n = read(report, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return 0;
	errno = error < 0 ? -error : error;
	if (error == -EPERM)
		return common_fail_errno("cannot attach to %s, as under strace -f or gdb, or where ptrace is forbidden",
					 launch->path);
	return common_fail_errno(error < 0 ? "cannot attach to %s" : "cannot run %s", launch->path);
}

int record_launch(const struct record_launch *launch, pid_t *pid)
{
	int ends[2], go[2], status;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_fail_errno("cannot make a pipe");
	if (pipe2(go, O_CLOEXEC) < 0) {
		status = common_fail_errno("cannot make a pipe");
		close(ends[0]);
		close(ends[1]);
		return status;
	}
	*pid = fork();
	if (*pid == 0)
		become(launch, ends[1], go);
	close(ends[1]);
	close(go[0]);
	if (*pid < 0) {
		status = common_fail_errno("cannot start a process");
		close(go[1]);
	} else {
		status = release_child(launch, *pid, go[1]);
	}
	if (status == 0)
		status = wait_for_program(launch, ends[0]);
	close(ends[0]);
	if (status < 0)
		*pid = 0;
	return status;
}
