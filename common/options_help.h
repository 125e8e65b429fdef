/* SPDX-License-Identifier: BSD-2-Clause */
/* The help text of a command line. Internal to the option parser. */
#ifndef PTL_COMMON_OPTIONS_HELP_H
#define PTL_COMMON_OPTIONS_HELP_H

#include <stdio.h>

#include "common/options.h"

/* Usage, summary, the options of line's tables and of standard, and examples: 80 columns wide. */
void ptl_options_print_help(const struct ptl_command_line *line, const struct ptl_option *standard,
			    FILE *file);

/* "a, b or c" in text, of size bytes; cut when it does not fit. */
void ptl_options_join_choices(const char *const *choices, char *text, size_t size);

#endif
