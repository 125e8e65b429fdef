/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines as one text that a shell splits into the same words. */
#ifndef COMMON_TEXT_QUOTE_H
#define COMMON_TEXT_QUOTE_H

#include <stddef.h>

#include "common/bytes.h"

/*
 * Appends a word as a shell needs to read it: unchanged if plain, else in single quotes ('it'\''s'). Adds no zero byte.
 * Without memory, sets out->failed.
 */
void common_quote_word(struct ptl_bytes *out, const char *word);

/* As common_quote_word, for `length` bytes without a zero byte among or behind them. */
void common_quote_word_n(struct ptl_bytes *out, const char *word, size_t length);

/* Appends `count` words separated by spaces, and a zero byte at the end. */
void common_quote_words(struct ptl_bytes *out, size_t count, const char *const *words);

#endif
