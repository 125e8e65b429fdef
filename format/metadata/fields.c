/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoders and decoders of metadata fields. */
#include "format/metadata/fields.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/utf8.h"
#include "format/metadata/metadata.h"

void format_field_bytes(struct ptl_bytes *out, unsigned tag, const void *data, size_t size)
{
	common_write_varint(out, tag);
	common_write_varint(out, size);
	if (size)
		common_write_bytes(out, data, size);
}

void format_field_number(struct ptl_bytes *out, unsigned tag, uint64_t value)
{
	if (!value)
		return;
	common_write_varint(out, tag);
	common_write_varint(out, common_varint_size(value));
	common_write_varint(out, value);
}

void format_field_signed(struct ptl_bytes *out, unsigned tag, int64_t value)
{
	format_field_number(out, tag, common_zigzag(value));
}

void format_field_text(struct ptl_bytes *out, unsigned tag, const char *text)
{
	if (text && *text)
		format_field_bytes(out, tag, text, strlen(text));
}

void format_field_cut(struct ptl_bytes *out, unsigned tag, const char *text, size_t max)
{
	if (text && *text)
		format_field_bytes(out, tag, text, common_utf8_fit(text, strlen(text), max));
}

int format_next_field(struct common_cursor *body, struct format_tagged *field)
{
	if (!common_cursor_left(body))
		return body->failed ? PTL_CORRUPT : 0;
	field->tag = common_read_varint(body);
	field->size = common_read_varint(body);
	field->data = common_read_bytes(body, field->size);
	return field->data ? 1 : common_fail(PTL_CORRUPT, "a field does not fit its record");
}

uint64_t format_record_items(uint64_t type, const uint8_t *data, size_t size)
{
	/* Tags of repeated fields, by record type. */
	static const uint8_t tags[] = {
		[FORMAT_RECORD_SCHEMA] = 10, [FORMAT_RECORD_MAP] = 4, [FORMAT_RECORD_PROVENANCE] = 6};
	const uint64_t tag = type < sizeof(tags) ? tags[type] : 0;
	struct common_cursor body = common_cursor(data, size);
	struct format_tagged field;
	uint64_t items = 1;

	while (tag && format_next_field(&body, &field) > 0)
		items += field.tag == tag;
	return items;
}

uint64_t format_take_number(const struct format_tagged *field, uint64_t max, bool *failed)
{
	struct common_cursor cursor = common_cursor(field->data, field->size);
	const uint64_t value = common_read_varint(&cursor);

	if (!cursor.failed && !common_cursor_left(&cursor) && value <= max)
		return value;
	*failed = true;
	return 0;
}

int64_t format_take_signed(const struct format_tagged *field, bool *failed)
{
	return common_unzigzag(format_take_number(field, UINT64_MAX, failed));
}

const char format_no_text[1] = "";

void format_text_free(const char *text)
{
	if (text != format_no_text)
		free((char *)text);
}

void format_take_text(const struct format_tagged *field, const char **text, bool *failed)
{
	char *copy;

	if (memchr(field->data, 0, field->size)) {
		*failed = true;
		return;
	}
	if (!field->size) {
		format_text_free(*text);
		*text = format_no_text;
		return;
	}
	copy = malloc(field->size + 1);
	if (!copy) {
		*failed = true;
		return;
	}
	memcpy(copy, field->data, field->size);
	copy[field->size] = 0;
	format_text_free(*text);
	*text = copy;
}

void format_take_bounded(const struct format_tagged *field, size_t max, const char **text, bool *failed)
{
	if (field->size > max)
		*failed = true;
	else
		format_take_text(field, text, failed);
}

void format_take_text_into(const struct format_tagged *field, char *text, size_t size, bool *failed)
{
	const size_t length = field->size < size ? field->size : size - 1;

	if (memchr(field->data, 0, field->size)) {
		*failed = true;
		return;
	}
	memcpy(text, field->data, length);
	memset(text + length, 0, size - length);
}
