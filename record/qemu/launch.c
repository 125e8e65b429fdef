/* SPDX-License-Identifier: BSD-2-Clause */
/* The step from the recorder into QEMU. */
#include "record/qemu/launch.h"

#include <errno.h>
#include <unistd.h>

#include "common/error.h"
#include "record/launch/launch.h"
#include "record/qemu/shared/command.h"

extern char **environ;

int record_qemu_launch(const struct record_command *command, const struct ptl_channel *channel,
		       const struct rlimit *files, pid_t *pid)
{
	struct record_launch launch = {
		/*
		 * The same addresses in each run; otherwise the virtual clock would not make runs
		 * the same.
		 */
		.fixed_addresses = channel->config.clock == PTL_CLOCK_VIRTUAL,
		.files = files,
	};
	struct pq_command qemu;
	int status = pq_command_make(&qemu, &channel->config, command->path, command->argv, environ,
				     NULL);

	if (status > 0)
		return ptl_fail(PTL_SYSTEM, "%s changed while it was being started", command->path);
	if (status < 0) {
		errno = -status;
		return ptl_fail_errno("cannot run %s", command->path);
	}
	launch.path = qemu.path;
	launch.argv = qemu.argv;
	launch.envp = qemu.envp;
	status = record_launch(&launch, pid);
	pq_command_free(&qemu);
	return status;
}
