/* SPDX-License-Identifier: BSD-2-Clause */
/* Metadata bodies: sequences of tag, length, value (docs/format.md 5). */
#ifndef FORMAT_METADATA_FIELDS_H
#define FORMAT_METADATA_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* Append one field. A value that equals what absence means (0, "") takes no bytes at all. */
void format_field_number(struct ptl_bytes *out, unsigned tag, uint64_t value);
void format_field_signed(struct ptl_bytes *out, unsigned tag, int64_t value);
void format_field_text(struct ptl_bytes *out, unsigned tag, const char *text);
/* The same of no more than max bytes; what is longer is cut. */
void format_field_cut(struct ptl_bytes *out, unsigned tag, const char *text, size_t max);
/* Always written, even when empty. */
void format_field_bytes(struct ptl_bytes *out, unsigned tag, const void *data, size_t size);

/* One field as read. */
struct format_tagged {
	uint64_t tag;
	const uint8_t *data;
	size_t size;
};

/* The next field: 1; 0 at the end of the body; PTL_CORRUPT where its length does not fit. */
int format_next_field(struct common_cursor *body, struct format_tagged *field);

/* The value as a number of at most max; *failed is set, and 0 returned, where it is none. */
uint64_t format_take_number(const struct format_tagged *field, uint64_t max, bool *failed);
int64_t format_take_signed(const struct format_tagged *field, bool *failed);
/*
 * Texts of records are FORMAT_NO_TEXT, NULL, or memory of their own; format_text_free knows which. Empty
 * ones, of which a hostile file may have millions, thus take no memory.
 */
extern const char format_no_text[1];
#define FORMAT_NO_TEXT format_no_text
void format_text_free(const char *text);
/* The field as a text, which replaces *text; *failed is set for a zero byte or without memory. */
void format_take_text(const struct format_tagged *field, const char **text, bool *failed);
/* The same; a text of more than max bytes fails, too. */
void format_take_bounded(const struct format_tagged *field, size_t max, const char **text, bool *failed);
/* The same into a fixed array of size bytes, cut to fit. */
void format_take_text_into(const struct format_tagged *field, char *text, size_t size, bool *failed);

#endif
