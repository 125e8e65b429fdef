/* SPDX-License-Identifier: BSD-2-Clause */
/* The program ptl-dump: selects a command by the command line. */
#ifndef DUMP_COMMAND_PROGRAM_H
#define DUMP_COMMAND_PROGRAM_H

#include "dump/run/command.h"

/*
 * Handles --help and --version, and runs the command named in argv. commands: NULL-terminated. examples: lines for the
 * help. Returns the exit status.
 */
int dump_program_main(const struct dump_command *const *commands, const char *examples, int argc, char **argv);

#endif
