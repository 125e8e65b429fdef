/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines as one text that a shell reads back as the same words. */
#ifndef COMMON_TEXT_QUOTE_H
#define COMMON_TEXT_QUOTE_H

#include <stddef.h>

#include "common/bytes.h"

/*
 * Appends word as a shell would have to be given it: unchanged if it is plain, else in single
 * quotes ('it'\''s'). No zero byte is added. A failed allocation is left in out->failed.
 */
void common_quote_word(struct ptl_bytes *out, const char *word);

/* The same of length bytes, none of them zero, with no zero behind them. */
void common_quote_word_n(struct ptl_bytes *out, const char *word, size_t length);

/* Appends count words with a space between, and a zero byte behind the last. */
void common_quote_words(struct ptl_bytes *out, size_t count, const char *const *words);

#endif
