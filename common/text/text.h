/* SPDX-License-Identifier: BSD-2-Clause */
/* Text made piece by piece in memory: numbers, addresses, times and sizes as ptl-dump shows them. */
#ifndef COMMON_TEXT_TEXT_H
#define COMMON_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/bytes.h"

/* All append to text, add no zero byte, and leave a failed allocation in text->failed. */

void common_text_add(struct ptl_bytes *text, const char *words);
/* At most what fits into 1 KiB. */
void common_text_format(struct ptl_bytes *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Words that come from a trace: control characters, marks that turn the direction of writing, and bytes that
 * are no UTF-8 become \xNN, so that a name can neither drive the terminal nor break a line in two.
 */
void common_text_safe(struct ptl_bytes *text, const char *words);
/* The same for size bytes, zeros among them. */
void common_text_safe_n(struct ptl_bytes *text, const void *words, size_t size);
/*
 * The same for a value in a list of them: as it is if it is one plain word, else in double quotes, in which
 * \" \\ \n \t \r and \xNN stand for what they do in C.
 */
void common_text_quoted(struct ptl_bytes *text, const void *words, size_t size);
/* Lower-case, without 0x. */
void common_text_hex(struct ptl_bytes *text, uint64_t value);
void common_text_hex_bytes(struct ptl_bytes *text, const uint8_t *bytes, size_t size);
void common_text_decimal(struct ptl_bytes *text, uint64_t value);
/* With a comma between thousands: "5,123,456". */
void common_text_count(struct ptl_bytes *text, uint64_t value);
/* Columns that the bytes, which are UTF-8, take on a terminal. */
size_t common_text_width(const void *words, size_t size);
/* Blanks until the text is width columns longer than start; none where it is already. */
void common_text_pad(struct ptl_bytes *text, size_t start, size_t width);
/* Adds value, with blanks before it to make it at least width bytes wide. */
void common_text_decimal_right(struct ptl_bytes *text, uint64_t value, size_t width);
void common_text_hex_right(struct ptl_bytes *text, uint64_t value, size_t width);

/* 1234567 is "1.2 MiB"; below 1024 "12 B". */
void common_text_size(struct ptl_bytes *text, uint64_t bytes);
/* 1234567 is "1.235 ms": four digits and the unit that suits. */
void common_text_duration(struct ptl_bytes *text, uint64_t nanoseconds);
/* numerator / denominator as "99.2 %"; never rounded up to 100 %, nor down to 0. "-" of nothing. */
void common_text_share(struct ptl_bytes *text, uint64_t numerator, uint64_t denominator);
/* Nanoseconds since 1970 as "2026-11-21 08:30:00.123456789 UTC". */
void common_text_wall_time(struct ptl_bytes *text, int64_t nanoseconds);

/*
 * A moment as milliseconds since start with six decimals, so exact to the nanosecond: "12.345678"; "-" for
 * time 0, which is unknown. Right-aligned to COMMON_TIME_WIDTH.
 */
#define COMMON_TIME_WIDTH 14
void common_text_time(struct ptl_bytes *text, uint64_t time, uint64_t start);
/* The same without blanks and with 0 as any other time. */
void common_text_milliseconds(struct ptl_bytes *text, uint64_t time, uint64_t start);

/* A zero behind what is there, not counted in size, for use as a string; "" without memory. */
const char *common_text_string(struct ptl_bytes *text);

/* Writes all of it. Failures are the stream's to remember. */
void common_text_write(const struct ptl_bytes *text, FILE *out);

/*
 * The last component of a path, which may be one of Windows; the whole where there is no slash or nothing behind it, and of a name in
 * brackets, which is no path ("[kworker/0:1]").
 */
const char *common_base_name(const char *path);

#endif
