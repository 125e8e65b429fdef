/* SPDX-License-Identifier: BSD-2-Clause */
/* The names under which users look for a program. */
#ifndef COMMON_TEXT_PROGRAM_NAME_H
#define COMMON_TEXT_PROGRAM_NAME_H

#include <stdbool.h>

#include "common/bytes.h"

/*
 * Whether a program is meant by a glob pattern: by its path, or by the name that it was started by, which is the first
 * word of its command line and another one where a symbolic link leads to the program (cc, sh). A pattern without a
 * slash is held against the last component of each. Neither is NULL.
 */
bool common_program_matches(const char *pattern, const char *path, const char *command_line);

/* Appends the first word of a command line, quoted for a shell or in double quotes, and a zero byte. */
void common_first_word(struct ptl_bytes *out, const char *command_line);

#endif
