/* SPDX-License-Identifier: BSD-2-Clause */
/* Bodies of metadata records: sequences of tag, length, value (docs/format.md 5). */
#ifndef FORMAT_METADATA_FIELDS_H
#define FORMAT_METADATA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* The format_field functions append a field. A value equal to the default of a missing field (0, "") is not written. */
void format_field_number(struct ptl_bytes *out, unsigned tag, uint64_t value);
void format_field_signed(struct ptl_bytes *out, unsigned tag, int64_t value);
void format_field_text(struct ptl_bytes *out, unsigned tag, const char *text);
/* As format_field_text, but cuts the text to `max` bytes. */
void format_field_cut(struct ptl_bytes *out, unsigned tag, const char *text, size_t max);
/* Appends a field even if the value is empty. */
void format_field_bytes(struct ptl_bytes *out, unsigned tag, const void *data, size_t size);

/* A field as read. */
struct format_tagged {
	uint64_t tag;
	const uint8_t *data;
	size_t size;
};

/* Reads the next field. Returns 1; 0 at the end of the body; PTL_CORRUPT if the field's length does not fit. */
int format_next_field(struct common_cursor *body, struct format_tagged *field);

/* Returns the value as a number of at most `max`. If the value is no such number, sets *failed and returns 0. */
uint64_t format_take_number(const struct format_tagged *field, uint64_t max, bool *failed);
int64_t format_take_signed(const struct format_tagged *field, bool *failed);
/*
 * Texts of records are FORMAT_NO_TEXT, NULL, or allocated memory; format_text_free distinguishes them. So empty texts,
 * of which a hostile file may have millions, need no memory.
 */
extern const char format_no_text[1];
#define FORMAT_NO_TEXT format_no_text
void format_text_free(const char *text);
/* Replaces *text by the field's text. Sets *failed if the text has a zero byte, or without memory. */
void format_take_text(const struct format_tagged *field, const char **text, bool *failed);
/* As format_take_text, but a text of more than `max` bytes also fails. */
void format_take_bounded(const struct format_tagged *field, size_t max, const char **text, bool *failed);
/* As format_take_text, into an array of `size` bytes; cuts the text to fit. */
void format_take_text_into(const struct format_tagged *field, char *text, size_t size, bool *failed);

#endif
