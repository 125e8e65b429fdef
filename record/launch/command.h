/* SPDX-License-Identifier: BSD-2-Clause */
/* The command to record: where it is, and whether it can be run here. */
#ifndef RECORD_LAUNCH_COMMAND_H
#define RECORD_LAUNCH_COMMAND_H

#include <stdbool.h>

#include "common/bytes.h"

/* Exit statuses as shells give them. */
#define RECORD_EXIT_NOT_EXECUTABLE 126
#define RECORD_EXIT_NOT_FOUND 127

struct record_command {
	char *path;   /* owned; for execve */
	char *script; /* owned; the text that the shell at path is to run, as in argv; NULL: none */
	char **argv;  /* owned list of strings that are not; ends with NULL */
	/*
	 * What runs then: the program, with symbolic links resolved, or that of the script's first line;
	 * and the arguments that it has, with a zero behind each.
	 */
	char *program;
	struct ptl_bytes words;
};

/*
 * Looks argv[0] up, in $PATH where it has no slash, and checks that execve would run it and, unless
 * `native`, that QEMU can. A text that is neither ELF nor has #! is given to /bin/sh, as execvp does. argv's strings
 * must outlive the result. Returns 0, or the exit status that says what is wrong, RECORD_EXIT_* or
 * COMMON_EXIT_SYSTEM, with the reason as an error chain.
 */
int record_command_find(char *const *argv, bool native, struct record_command *command);
void record_command_free(struct record_command *command);

#endif
