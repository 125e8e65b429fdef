/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared parts of redaction: tokens, and finding text to redact. */
#ifndef RELOG_REDACT_PARTS_H
#define RELOG_REDACT_PARTS_H

#include "relog/redact/text.h"

#define RELOG_WORD_MIN 3u /* minimum bytes of a word that is redacted everywhere */

/* token.c; functions return PTL_NO_MEMORY. */
/* Fills token with `length` characters that stand for the text. */
int relog_token_fill(const struct relog_redactor *redactor, const void *data, size_t size, char *token, size_t length);
/* Appends the token of a text. */
int relog_token_write(const struct relog_redactor *redactor, const char *text, size_t size, struct ptl_bytes *out);

/* text.c */
/* Whether all systems use this path component, such as "home". */
bool relog_is_common_name(const char *word, size_t size);
/* Whether a zero-terminated text begins like a Windows path: with a drive, a device or a server. */
bool relog_is_windows_path(const char *text);
/* Whether the rules redact the zero-terminated path. */
bool relog_is_redacted_path(const struct relog_redactor *redactor, const char *path);
/* Returns how many characters at the start of a text may belong to a word, or to a path (with_slashes). */
size_t relog_run_length(const char *text, size_t size, bool with_slashes);
/* Returns how many bytes at the start of a word are a learnt word: the whole word, or its stem. 0: no learnt word. */
size_t relog_known_part(const struct relog_redactor *redactor, const char *word, size_t size);
/*
 * Finds the first match of any rule at or behind `from`. text has `size` bytes and a terminating zero. Returns false
 * without a match.
 */
bool relog_find_match(const struct relog_redactor *redactor, const char *text, size_t size, size_t from, size_t *first,
		      size_t *length);
/* Marks the rule as matched. */
void relog_rule_met(const struct relog_redactor *redactor, struct relog_redact_text *rule);

#endif
