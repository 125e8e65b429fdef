/* SPDX-License-Identifier: BSD-2-Clause */
/* Single characters of UTF-8 (RFC 3629). */
#ifndef COMMON_TEXT_UTF8_H
#define COMMON_TEXT_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/*
 * Decodes the character that text, of size bytes, begins with. Returns its bytes (1 to 4); 0 for what is no
 * UTF-8 (overlong forms, surrogates, numbers past U+10FFFF, a cut sequence) and for size 0.
 */
size_t common_utf8_read(const uint8_t *text, size_t size, uint32_t *character);

/*
 * Appends a character. Surrogates are written as if they were characters (generalised UTF-8), numbers past
 * U+10FFFF as U+FFFD. A failed allocation is left in out->failed.
 */
void common_utf8_write(struct ptl_bytes *out, uint32_t character);

/* How many of a text's size bytes fit into max without a character that is cut. */
size_t common_utf8_fit(const void *text, size_t size, size_t max);

/* Columns that a character takes on a terminal: 0, 1 or 2. A control counts as 1. */
unsigned common_utf8_width(uint32_t character);

#endif
