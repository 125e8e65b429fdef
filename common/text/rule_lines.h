/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses text with one rule a line, and blank lines and comments between the rules. */
#ifndef COMMON_TEXT_RULE_LINES_H
#define COMMON_TEXT_RULE_LINES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Called with a rule of `size` > 0 bytes, without surrounding blanks and without zero bytes. A result other than 0 ends
 * the visit.
 */
typedef int common_rule_visitor(void *context, const char *rule, size_t size);

/*
 * Visits the rules of a text. "#" starts a comment at the start of a line, and with `anywhere` also behind a rule.
 * Returns the visitor's last result; an error text names the line, as in "name:3: ...". PTL_MISUSE if the text contains
 * a zero byte.
 */
int common_rule_lines(const char *name, const char *text, size_t size, bool anywhere, common_rule_visitor *visit,
		      void *context);
/* As common_rule_lines, for a file of at most 1 MiB. PTL_SYSTEM, PTL_NO_MEMORY. */
int common_rule_file(const char *path, bool anywhere, common_rule_visitor *visit, void *context);

#endif
