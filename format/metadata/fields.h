/* SPDX-License-Identifier: BSD-2-Clause */
/* Metadata bodies: sequences of tag, length, value (docs/format.md 5). */
#ifndef PTL_FORMAT_METADATA_FIELDS_H
#define PTL_FORMAT_METADATA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* Append one field. A value that equals what absence means (0, "") takes no bytes at all. */
void ptl_field_number(struct ptl_bytes *out, unsigned tag, uint64_t value);
void ptl_field_signed(struct ptl_bytes *out, unsigned tag, int64_t value);
void ptl_field_text(struct ptl_bytes *out, unsigned tag, const char *text);
/* Always written, even when empty. */
void ptl_field_bytes(struct ptl_bytes *out, unsigned tag, const void *data, size_t size);

/* One field as read. */
struct ptl_tagged {
	uint64_t tag;
	const uint8_t *data;
	size_t size;
};

/* The next field: 1; 0 at the end of the body; PTL_CORRUPT where its length does not fit. */
int ptl_next_field(struct ptl_cursor *body, struct ptl_tagged *field);

/* The value as a number of at most max; *failed is set, and 0 returned, where it is none. */
uint64_t ptl_take_number(const struct ptl_tagged *field, uint64_t max, bool *failed);
int64_t ptl_take_signed(const struct ptl_tagged *field, bool *failed);
/*
 * Texts of records are PTL_NO_TEXT, NULL, or memory of their own; ptl_text_free knows which. Empty
 * ones, of which a hostile file may have millions, thus take no memory.
 */
extern const char ptl_no_text[1];
#define PTL_NO_TEXT ptl_no_text
void ptl_text_free(const char *text);
/* The field as a text, which replaces *text; *failed is set for a zero byte or without memory. */
void ptl_take_text(const struct ptl_tagged *field, const char **text, bool *failed);
/* The same into a fixed array of size bytes, cut to fit. */
void ptl_take_text_into(const struct ptl_tagged *field, char *text, size_t size, bool *failed);

#endif
