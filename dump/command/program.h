/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump as a whole: from its command line to one of its commands. */
#ifndef DUMP_COMMAND_PROGRAM_H
#define DUMP_COMMAND_PROGRAM_H

#include "dump/session/command.h"

/*
 * Serves --help and --version, and runs the command that argv names. commands is NULL-ended; examples are
 * lines for the help. Returns the exit status.
 */
int dump_program_main(const struct dump_command *const *commands, const char *examples, int argc, char **argv);

#endif
