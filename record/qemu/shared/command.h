/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line that runs a program in QEMU: for the recorder, and at execve. */

#ifndef RECORD_QEMU_SHARED_COMMAND_H
#define RECORD_QEMU_SHARED_COMMAND_H

#include <stddef.h>
#include <stdint.h>

#include "record/qemu/shared/channel.h"

/* For execve(path, argv, envp). */
struct qemu_command {
	char *path;
	char **argv;
	char **envp;
};

/* What a program started by a traced process's execve goes on with. */
struct qemu_continue {
	uint32_t process;
	int64_t slot; /* -1: none of the old one's */
	uint64_t time;
	uint64_t epoch;
};

/*
 * Makes the command that runs `file` (a path: PATH is not searched) with these arguments and this
 * environment, as execve would; `from` is NULL for the first program. Variables named QEMU_... and G_SLICE
 * reach the program but not QEMU; one whose value has a comma is dropped, because QEMU has no way
 * to pass it on. Returns 0, or what record_target_find() returns, or -ENOMEM. qemu_command_free() frees
 * all of it.
 */
int qemu_command_make(struct qemu_command *command, const struct qemu_channel_config *config, const char *file,
		      char *const argv[], char *const envp[], const struct qemu_continue *from);

void qemu_command_free(struct qemu_command *command);

#endif
