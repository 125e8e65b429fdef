/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts the command in QEMU with the plugin. */
#ifndef RECORD_QEMU_LAUNCH_H
#define RECORD_QEMU_LAUNCH_H

#include <sys/resource.h>
#include <sys/types.h>

#include "record/launch/command.h"
#include "record/qemu/channel.h"

/*
 * Starts it as a child with our standard streams, environment, process group, and the signals as
 * they were before record_signals_start. files: the limit of descriptors that the command shall
 * have. PTL_SYSTEM: could not be started.
 */
int record_qemu_launch(const struct record_command *command, const struct qemu_channel *channel,
		       const struct rlimit *files, pid_t *pid);

#endif
