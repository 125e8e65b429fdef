/* SPDX-License-Identifier: BSD-2-Clause */
/* The help text of a command line. Internal to the option parser. */
#ifndef COMMON_PROGRAM_OPTIONS_HELP_H
#define COMMON_PROGRAM_OPTIONS_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "common/program/options.h"

/*
 * Prints usage, summary, the options of the line's tables and of `standard`, and examples, 80 columns wide. all: with
 * rare options.
 */
void common_options_print_help(const struct common_command_line *line, const struct common_option *standard, bool all,
			       FILE *file);

/* Formats "a, b or c" into `text`, of `size` bytes; cuts a list that does not fit. */
void common_options_join_choices(const char *const *choices, char *text, size_t size);

#endif
