/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as UTF-16 and back without loss: docs/format.md, section 11. */
#ifndef COMMON_TEXT_UTF16_H
#define COMMON_TEXT_UTF16_H

#include "common/bytes.h"

/*
 * Writes text, UTF-8 by custom, as UTF-16 with a zero unit at its end. A byte that is not part of valid UTF-8
 * becomes the lone unit DC00 + byte.
 */
void common_write_utf16(struct ptl_bytes *out, const char *text);

/*
 * Reads UTF-16 up to its zero unit, and writes what it was made of, with a zero byte at its end. A lone surrogate
 * that common_write_utf16 would not have made becomes three bytes, as in generalised UTF-8. Fails the cursor
 * where there is no zero unit.
 */
void common_read_utf16(struct common_cursor *cursor, struct ptl_bytes *out);

/* The same for count units, zero ones among them, and without a zero byte at the end. */
void common_read_utf16_units(const uint8_t *units, size_t count, struct ptl_bytes *out);

#endif
