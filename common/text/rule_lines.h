/* SPDX-License-Identifier: BSD-2-Clause */
/* Text with a rule in each line, blank lines and comments between them. */
#ifndef COMMON_TEXT_RULE_LINES_H
#define COMMON_TEXT_RULE_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A rule without the blanks around it; size is not 0, and there is no zero byte in it. Not 0 ends. */
typedef int common_rule_visitor(void *context, const char *rule, size_t size);

/*
 * Visits the rules of text. "#" begins a comment, with `anywhere` also behind a rule. What the visitor returns; an error
 * names the line, as "name:3: ...". PTL_MISUSE where there is a zero byte.
 */
int common_rule_lines(const char *name, const char *text, size_t size, bool anywhere, common_rule_visitor *visit,
		      void *context);
/* The same of a file of at most 1 MiB. PTL_SYSTEM, PTL_NO_MEMORY. */
int common_rule_file(const char *path, bool anywhere, common_rule_visitor *visit, void *context);

#endif
