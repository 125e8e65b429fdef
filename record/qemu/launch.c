/* SPDX-License-Identifier: BSD-2-Clause */
/* The step from the recorder into QEMU. */
#include "record/qemu/launch.h"

#include <errno.h>
#include <unistd.h>

#include "common/error.h"
#include "record/launch/launch.h"
#include "record/qemu/shared/command.h"

extern char **environ;

int record_qemu_launch(const struct record_command *command, const struct qemu_channel *channel,
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
	struct qemu_command qemu;
	int status = qemu_command_make(&qemu, &channel->config, command->path, command->argv, environ, NULL);

	if (status > 0)
		return common_fail(PTL_SYSTEM, "%s changed while it was being started", command->path);
	if (status < 0) {
		errno = -status;
		return common_fail_errno("cannot run %s", command->path);
	}
	launch.path = qemu.path;
	launch.argv = qemu.argv;
	launch.envp = qemu.envp;
	status = record_launch(&launch, pid);
	qemu_command_free(&qemu);
	return status;
}
