/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the command under the runtime. */
#ifndef RECORD_SOFTWARE_LAUNCH_H
#define RECORD_SOFTWARE_LAUNCH_H

#include <sys/resource.h>
#include <sys/types.h>

#include "record/channel/channel.h"
#include "record/launch/command.h"
#include "record/software/watch.h"

/*
 * Starts the command as a child with our standard streams, environment and process group, and with the signal actions
 * from before record_signals_start.
 * watch: if not NULL, the command runs natively and is watched. files: the command's limit of descriptors.
 * PTL_SYSTEM: the command could not be started.
 */
int software_launch(const struct record_command *command, const struct channel *channel,
		    const struct software_watch *watch, const struct rlimit *files, pid_t *pid);

#endif
