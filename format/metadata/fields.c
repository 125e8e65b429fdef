/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoders and decoders of single metadata fields. */
#include "format/metadata/fields.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

void ptl_field_bytes(struct ptl_bytes *out, unsigned tag, const void *data, size_t size)
{
	ptl_write_varint(out, tag);
	ptl_write_varint(out, size);
	if (size)
		ptl_write_bytes(out, data, size);
}

void ptl_field_number(struct ptl_bytes *out, unsigned tag, uint64_t value)
{
	if (!value)
		return;
	ptl_write_varint(out, tag);
	ptl_write_varint(out, ptl_varint_size(value));
	ptl_write_varint(out, value);
}

void ptl_field_signed(struct ptl_bytes *out, unsigned tag, int64_t value)
{
	ptl_field_number(out, tag, ptl_zigzag(value));
}

void ptl_field_text(struct ptl_bytes *out, unsigned tag, const char *text)
{
	if (text && *text)
		ptl_field_bytes(out, tag, text, strlen(text));
}

int ptl_next_field(struct ptl_cursor *body, struct ptl_tagged *field)
{
	if (!ptl_cursor_left(body))
		return body->failed ? PTL_CORRUPT : 0;
	field->tag = ptl_read_varint(body);
	field->size = ptl_read_varint(body);
	field->data = ptl_read_bytes(body, field->size);
	return field->data ? 1 : ptl_fail(PTL_CORRUPT, "a field does not fit its record");
}

uint64_t ptl_take_number(const struct ptl_tagged *field, uint64_t max, bool *failed)
{
	struct ptl_cursor cursor = ptl_cursor(field->data, field->size);
	const uint64_t value = ptl_read_varint(&cursor);

	if (!cursor.failed && !ptl_cursor_left(&cursor) && value <= max)
		return value;
	*failed = true;
	return 0;
}

int64_t ptl_take_signed(const struct ptl_tagged *field, bool *failed)
{
	return ptl_unzigzag(ptl_take_number(field, UINT64_MAX, failed));
}

const char ptl_no_text[1] = "";

void ptl_text_free(const char *text)
{
	if (text != ptl_no_text)
		free((char *)text);
}

void ptl_take_text(const struct ptl_tagged *field, const char **text, bool *failed)
{
	char *copy;

	if (memchr(field->data, 0, field->size)) {
		*failed = true;
		return;
	}
	if (!field->size) {
		ptl_text_free(*text);
		*text = ptl_no_text;
		return;
	}
	copy = malloc(field->size + 1);
	if (!copy) {
		*failed = true;
		return;
	}
	memcpy(copy, field->data, field->size);
	copy[field->size] = 0;
	ptl_text_free(*text);
	*text = copy;
}

void ptl_take_text_into(const struct ptl_tagged *field, char *text, size_t size, bool *failed)
{
	const size_t length = field->size < size ? field->size : size - 1;

	if (memchr(field->data, 0, field->size)) {
		*failed = true;
		return;
	}
	memcpy(text, field->data, length);
	memset(text + length, 0, size - length);
}
