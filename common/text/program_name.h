/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches a program by the names that users know. */
#ifndef COMMON_TEXT_PROGRAM_NAME_H
#define COMMON_TEXT_PROGRAM_NAME_H

#include <stdbool.h>

#include "common/bytes.h"

/*
 * Whether a program matches a glob pattern, by its path or by the first word of its command line, the name used to
 * start the program. The two names differ if a symbolic link leads to the program (cc, sh). A pattern without a slash
 * is matched against the last path component of each name. No argument may be NULL.
 */
bool common_program_matches(const char *pattern, const char *path, const char *command_line);

/* Appends the first word of a command line, whose words are quoted for a shell or in double quotes, and a zero byte. */
void common_first_word(struct ptl_bytes *out, const char *command_line);

#endif
