/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a rule file to a tree. The grammar is in docs/rules.md. */
#ifndef RELOG_RULES_PARSE_H
#define RELOG_RULES_PARSE_H

#include "relog/rules/ast.h"

#define RULES_FILE_MAX (4u << 20)

/*
 * Parses and checks `size` bytes of text. name: file name, for messages and for the folder of files named in rules.
 * Both are copied. Returns PTL_CORRUPT with "FILE:LINE:COLUMN: expected ..., found ..."; PTL_NO_MEMORY. After a failure
 * the rules are empty.
 */
int rules_parse(const char *name, const char *text, size_t size, struct rules *rules);
void rules_free(struct rules *rules);

#endif
