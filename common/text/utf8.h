/* SPDX-License-Identifier: BSD-2-Clause */
/* Single characters of UTF-8 (RFC 3629). */
#ifndef COMMON_TEXT_UTF8_H
#define COMMON_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/*
 * Decodes the first character of `text`, of `size` bytes. Returns its length (1 to 4 bytes); 0 for invalid UTF-8
 * (overlong forms, surrogates, numbers above U+10FFFF, a cut sequence) and for size 0.
 */
size_t common_utf8_read(const uint8_t *text, size_t size, uint32_t *character);

/*
 * Appends a character. Surrogates are written like characters (generalised UTF-8), and numbers above U+10FFFF as
 * U+FFFD. Without memory, sets out->failed.
 */
void common_utf8_write(struct ptl_bytes *out, uint32_t character);

/* Returns how many of a text's `size` bytes fit into `max` bytes without cutting a character. */
size_t common_utf8_fit(const void *text, size_t size, size_t max);

/* Returns the terminal columns of a character: 0, 1 or 2. A control character counts as 1. */
unsigned common_utf8_width(uint32_t character);

#endif
