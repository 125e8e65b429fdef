/* SPDX-License-Identifier: BSD-2-Clause */
/* The command to record: its location, and whether this machine can run the command. */
#ifndef RECORD_LAUNCH_COMMAND_H
#define RECORD_LAUNCH_COMMAND_H

#include <stdbool.h>

#include "common/bytes.h"

/* Exit statuses of shells. */
#define RECORD_EXIT_NOT_EXECUTABLE 126
#define RECORD_EXIT_NOT_FOUND 127

struct record_command {
	char *path;   /* owned; for execve */
	char *script; /* owned; text for the shell at path, as in argv; NULL without */
	char **argv;  /* owned list of borrowed strings; ends with NULL */
	/*
	 * The program that runs: the command without symbolic links, or the program of the script's first line. words:
	 * zero-terminated arguments.
	 */
	char *program;
	struct ptl_bytes words;
};

/*
 * Searches argv[0], in $PATH if without a slash, and checks that execve would run the program. native: accepts any
 * program; otherwise only x86-64 programs. Like execvp, runs a text that is neither ELF nor begins with #! by /bin/sh.
 * argv: its strings outlive the result.
 * Returns 0, or an exit status with the cause as error chain: RECORD_EXIT_* or COMMON_EXIT_SYSTEM.
 */
int record_command_find(char *const *argv, bool native, struct record_command *command);
void record_command_free(struct record_command *command);

#endif
