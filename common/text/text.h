/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds text in memory: numbers, addresses, times and sizes in the format of ptl-dump. */
#ifndef COMMON_TEXT_TEXT_H
#define COMMON_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/bytes.h"

/* All functions append to `text` and add no zero byte. Without memory, they set text->failed. */

void common_text_add(struct ptl_bytes *text, const char *words);
/* Appends formatted text, cut at 1023 bytes. */
void common_text_format(struct ptl_bytes *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Appends untrusted text from a trace. Control characters, marks that change the writing direction, and invalid UTF-8
 * become \xNN, so that a name can neither control the terminal nor break a line in two.
 */
void common_text_safe(struct ptl_bytes *text, const char *words);
/* As common_text_safe, for `size` bytes that may contain zeros. */
void common_text_safe_n(struct ptl_bytes *text, const void *words, size_t size);
/*
 * Appends a value of a list: unchanged if the value is one plain word, else in double quotes with the C escapes \" \\
 * \n \t \r and \xNN.
 */
void common_text_quoted(struct ptl_bytes *text, const void *words, size_t size);
/* Appends lower-case hexadecimal digits, without 0x. */
void common_text_hex(struct ptl_bytes *text, uint64_t value);
void common_text_hex_bytes(struct ptl_bytes *text, const uint8_t *bytes, size_t size);
void common_text_decimal(struct ptl_bytes *text, uint64_t value);
/* Appends a number with a comma between thousands: "5,123,456". */
void common_text_count(struct ptl_bytes *text, uint64_t value);
/* Returns the number of terminal columns of UTF-8 text. */
size_t common_text_width(const void *words, size_t size);
/* Appends blanks until the text from offset `start` on is `width` columns wide. Appends nothing to wider text. */
void common_text_pad(struct ptl_bytes *text, size_t start, size_t width);
/* Appends a number, right-aligned to at least `width` bytes. */
void common_text_decimal_right(struct ptl_bytes *text, uint64_t value, size_t width);
void common_text_hex_right(struct ptl_bytes *text, uint64_t value, size_t width);

/* Appends a size in bytes: 1234567 is "1.2 MiB"; below 1024, "12 B". */
void common_text_size(struct ptl_bytes *text, uint64_t bytes);
/* Appends a duration with four digits and a suitable unit: 1234567 is "1.235 ms". */
void common_text_duration(struct ptl_bytes *text, uint64_t nanoseconds);
/*
 * Appends numerator / denominator as "99.2 %". Never rounds up to 100 % nor down to 0. Appends "-" if the denominator
 * is 0.
 */
void common_text_share(struct ptl_bytes *text, uint64_t numerator, uint64_t denominator);
/* Appends nanoseconds since 1970 as "2026-11-21 08:30:00.123456789 UTC". */
void common_text_wall_time(struct ptl_bytes *text, int64_t nanoseconds);

/*
 * Appends a time as milliseconds since `start` with six decimals, so exact to the nanosecond: "12.345678". Time 0,
 * which is unknown, is "-". Right-aligned to COMMON_TIME_WIDTH.
 */
#define COMMON_TIME_WIDTH 14
void common_text_time(struct ptl_bytes *text, uint64_t time, uint64_t start);
/* As common_text_time, but without blanks, and time 0 is a time like any other. */
void common_text_milliseconds(struct ptl_bytes *text, uint64_t time, uint64_t start);

/* Returns the text as a string, with a terminating zero that `size` does not count; "" without memory. */
const char *common_text_string(struct ptl_bytes *text);

/* Writes the whole text. The stream records failures. */
void common_text_write(const struct ptl_bytes *text, FILE *out);

/*
 * Returns the last component of a path, which may be a Windows path. Returns the whole name if no slash is in the path
 * or nothing follows the last slash, or if the name is in brackets: "[kworker/0:1]" is no path.
 */
const char *common_base_name(const char *path);

/* Returns the '(' of the pair of brackets that ends the text: of "f(a)(b)", that before b. NULL: no pair ends the text. */
char *common_text_last_brackets(char *text);

#endif
