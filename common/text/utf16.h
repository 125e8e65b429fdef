/* SPDX-License-Identifier: BSD-2-Clause */
/* Lossless conversion of any bytes to UTF-16 and back: docs/format.md, section 11. */
#ifndef COMMON_TEXT_UTF16_H
#define COMMON_TEXT_UTF16_H

#include "common/bytes.h"

/*
 * Writes text, usually UTF-8, as UTF-16 with a terminating zero unit. An invalid byte becomes the lone unit DC00 +
 * byte.
 */
void common_write_utf16(struct ptl_bytes *out, const char *text);

/*
 * Reads UTF-16 up to the zero unit and writes the original bytes with a terminating zero. A lone surrogate that
 * common_write_utf16 would not have written becomes three bytes, as in generalised UTF-8. Sets cursor->failed if the
 * zero unit is missing.
 */
void common_read_utf16(struct common_cursor *cursor, struct ptl_bytes *out);

/* As common_read_utf16, for `count` units that may contain zeros, and without a terminating zero. */
void common_read_utf16_units(const uint8_t *units, size_t count, struct ptl_bytes *out);

#endif
