/* SPDX-License-Identifier: BSD-2-Clause */
/* The step from the recorder into QEMU. */
#include "record/qemu_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/personality.h>
#include <unistd.h>

#include "common/error.h"
#include "record/qemu/both_command.h"
#include "record/signals.h"

extern char **environ;

/* In the child: becomes QEMU, or tells the parent why not. */
static void become(const struct pq_command *qemu, const struct ptl_channel *channel,
		   const struct rlimit *files, int report)
{
	int error;

	record_signals_stop();
	setrlimit(RLIMIT_NOFILE, files);
	/*
	 * The same addresses in each run; otherwise the virtual clock would not make runs the same.
	 */
	if (channel->config.clock == PTL_CLOCK_VIRTUAL)
		personality(ADDR_NO_RANDOMIZE);
	execve(qemu->path, qemu->argv, qemu->envp);
	error = errno;
	while (write(report, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(RECORD_EXIT_NOT_FOUND);
}

static int start(const struct pq_command *qemu, const struct ptl_channel *channel,
		 const struct rlimit *files, pid_t *pid)
{
	int ends[2], error = 0;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return ptl_fail_errno("cannot make a pipe");
	*pid = fork();
	if (*pid == 0)
		become(qemu, channel, files, ends[1]);
	close(ends[1]);
	if (*pid < 0) {
		close(ends[0]);
		return ptl_fail_errno("cannot start a process");
	}
	/* The pipe closes when the program is there. */
	do
		n = read(ends[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(ends[0]);
	if (n != sizeof(error))
		return 0;
	errno = error;
	return ptl_fail_errno("cannot run %s", qemu->path);
}

int record_qemu_launch(const struct record_command *command, const struct ptl_channel *channel,
		       const struct rlimit *files, pid_t *pid)
{
	struct pq_command qemu;
	int status = pq_command_make(&qemu, &channel->config, command->path, command->argv, environ,
				     NULL);

	if (status > 0)
		return ptl_fail(PTL_SYSTEM, "%s changed while it was being started", command->path);
	if (status < 0) {
		errno = -status;
		return ptl_fail_errno("cannot run %s", command->path);
	}
	status = start(&qemu, channel, files, pid);
	pq_command_free(&qemu);
	return status;
}
