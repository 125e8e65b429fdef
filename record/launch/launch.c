/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts a program, and says why it could not be. */
#include "record/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <unistd.h>

#include "common/error.h"
#include "record/launch/command.h"
#include "record/launch/signals.h"

/* In the child: becomes the program, or reports to the parent why not. */
static void become(const struct record_launch *launch, int report)
{
	int error;

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

int record_launch(const struct record_launch *launch, pid_t *pid)
{
	int ends[2], error = 0;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_fail_errno("cannot make a pipe");
	*pid = fork();
	if (*pid == 0)
		become(launch, ends[1]);
	close(ends[1]);
	if (*pid < 0) {
		close(ends[0]);
		return common_fail_errno("cannot start a process");
	}
	/* The pipe closes when the program is there. */
	do
		n = read(ends[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(ends[0]);
	if (n != sizeof(error))
		return 0;
	errno = error;
	return common_fail_errno("cannot run %s", launch->path);
}
