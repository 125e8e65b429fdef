/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule file to its tree: man/ptl-rules.5, GRAMMAR. */
#ifndef RELOG_RULES_PARSE_H
#define RELOG_RULES_PARSE_H

#include "relog/rules/ast.h"

#define RULES_FILE_MAX (4u << 20)

/*
 * Parses and checks size bytes of text. name is the file's, for messages and for the folder of
 * files that the rules name; both are copied. PTL_CORRUPT with "FILE:LINE:COLUMN: expected ...,
 * found ...", PTL_NO_MEMORY. On failure the rules are empty.
 */
int rules_parse(const char *name, const char *text, size_t size, struct rules *rules);
/* The same of a file; also PTL_SYSTEM. */
int rules_read(const char *path, struct rules *rules);
void rules_free(struct rules *rules);

#endif
