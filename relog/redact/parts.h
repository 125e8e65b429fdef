/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of redaction share: tokens, and what of a text is to go. */
#ifndef RELOG_REDACT_PARTS_H
#define RELOG_REDACT_PARTS_H

#include "relog/redact/text.h"

#define RELOG_WORD_MIN 3u /* bytes of a word that goes wherever it stands */

/* token.c; PTL_NO_MEMORY. */
/* Any number of characters that stand for a text. */
int relog_token_fill(const struct relog_redactor *redactor, const void *data, size_t size, char *token, size_t length);
/* Appends the token of a text. */
int relog_token_write(const struct relog_redactor *redactor, const char *text, size_t size, struct ptl_bytes *out);

/* text.c */
/* A component of paths that is the same everywhere, such as home. */
bool relog_is_common_name(const char *word, size_t size);
/* Whether a text, which ends with a zero, begins as a path of Windows does: with a drive, a device or a server. */
bool relog_is_windows_path(const char *text);
/* Whether the rules redact a path, which ends with a zero. */
bool relog_is_redacted_path(const struct relog_redactor *redactor, const char *path);
/* How many characters from the start of a text on may be of one word, or of a path. */
size_t relog_run_length(const char *text, size_t size, bool with_slashes);
/* How many bytes at the start of a word are one that is redacted: all of it, or its stem; 0: none. */
size_t relog_known_part(const struct relog_redactor *redactor, const char *word, size_t size);
/* The first match of any rule at or behind `from` in text, which has size bytes and ends with a zero; false: none. */
bool relog_find_match(const struct relog_redactor *redactor, const char *text, size_t size, size_t from, size_t *first,
		      size_t *length);
/* Notes that something was as a rule says. */
void relog_rule_met(const struct relog_redactor *redactor, struct relog_redact_text *rule);

#endif
