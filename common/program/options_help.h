/* SPDX-License-Identifier: BSD-2-Clause */
/* The help text of a command line. Internal to the option parser. */
#ifndef COMMON_PROGRAM_OPTIONS_HELP_H
#define COMMON_PROGRAM_OPTIONS_HELP_H

#include <stdbool.h>
#include <stdio.h>

#include "common/program/options.h"

/* Usage, summary, the options of line's tables and of standard, and examples: 80 columns wide. all: rare options, too. */
void common_options_print_help(const struct common_command_line *line, const struct common_option *standard, bool all,
			       FILE *file);

/* "a, b or c" in text, of size bytes; cut when it does not fit. */
void common_options_join_choices(const char *const *choices, char *text, size_t size);

#endif
