/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a program, and says why it could not be. */
#include "record/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "record/launch/command.h"
#include "record/launch/signals.h"

/* A byte says that the program may begin; without one the parent has given up, or is gone. */
static bool may_begin(int go)
{
	char byte;
	ssize_t n;

	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* In the child: becomes the program, or reports to the parent why not. */
static void become(const struct record_launch *launch, int report, const int go[2])
{
	int error;

	close(go[1]);
	if (!may_begin(go[0]))
		_exit(RECORD_EXIT_NOT_FOUND);
	record_signals_stop();
	setrlimit(RLIMIT_NOFILE, launch->files);
	if (launch->fixed_addresses)
		personality(ADDR_NO_RANDOMIZE);
	execve(launch->path, launch->argv, launch->envp);
	error = errno;
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(RECORD_EXIT_NOT_FOUND);
}

/* Lets the child begin once it is attached to; else it ends, and is waited for. */
static int release(const struct record_launch *launch, pid_t pid, int go)
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

/* The pipe closes when the program is there; else the error comes through it. */
static int wait_for_program(const struct record_launch *launch, int report)
{
	int error = 0;
	ssize_t n;

	do
		n = read(report, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(error))
		return 0;
	errno = error;
	return common_fail_errno("cannot run %s", launch->path);
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
		status = release(launch, *pid, go[1]);
	}
	if (status == 0)
		status = wait_for_program(launch, ends[0]);
	close(ends[0]);
	return status;
}
