/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes typed fields as a payload: the inverse of payload.c. */
#include <ptl/event.h>

#include <string.h>

#include "common/bytes.h"
#include "common/error.h"

#define DEPTH_MAX 8

struct encoder {
	const struct ptl_schema *schema;
	const struct ptl_value *values;
	size_t count;
	size_t at; /* index of the next value */
	struct ptl_bytes *out;
};

static int fail_in(const struct encoder *encoder, const struct ptl_field *field, const char *cause)
{
	return common_fail(PTL_MISUSE, "%s: field %s: %s",
			   encoder->schema->event_name ? encoder->schema->event_name : "event",
			   field->name ? field->name : "without a name", cause);
}

/* Bytes of the integer types; 0 for other types. */
static const struct {
	uint8_t size;
	bool is_signed;
} integers[PTL_TYPE_STRUCT + 1] = {
	[PTL_TYPE_U8] = {1, false},       [PTL_TYPE_I8] = {1, true},       [PTL_TYPE_U16] = {2, false},
	[PTL_TYPE_I16] = {2, true},       [PTL_TYPE_U32] = {4, false},     [PTL_TYPE_I32] = {4, true},
	[PTL_TYPE_U64] = {8, false},      [PTL_TYPE_I64] = {8, true},      [PTL_TYPE_BOOL8] = {1, false},
	[PTL_TYPE_BOOL32] = {4, false},   [PTL_TYPE_POINTER] = {8, false}, [PTL_TYPE_TIME] = {8, false},
	[PTL_TYPE_WALL_TIME] = {8, true},
};

static int put_integer(struct encoder *encoder, const struct ptl_value *value)
{
	unsigned size = integers[value->field->type].size, unused = 64 - 8 * size;
	bool fits = integers[value->field->type].is_signed
			    ? (int64_t)((uint64_t)value->i << unused) >> unused == value->i
			    : value->u << unused >> unused == value->u;

	if (!fits)
		return fail_in(encoder, value->field, "the number does not fit its type");
	common_write_le(encoder->out, value->u, size);
	return 0;
}

static void put_float(struct encoder *encoder, const struct ptl_value *value)
{
	if (value->field->type == PTL_TYPE_F32) {
		float number = (float)value->f;
		uint32_t bits;

		memcpy(&bits, &number, sizeof(bits));
		common_write_le(encoder->out, bits, 4);
	} else {
		common_write_le(encoder->out, value->u, 8);
	}
}

/* Writes text with a terminating zero unit. The text must not contain a zero unit. */
static int put_terminated(struct encoder *encoder, const struct ptl_value *value, size_t unit)
{
	if (value->size % unit)
		return fail_in(encoder, value->field, "half a UTF-16 unit");
	for (size_t i = 0; i < value->size; i += unit)
		if (!common_load_le(value->bytes + i, unit))
			return fail_in(encoder, value->field, "a zero is in the text, which ends with one");
	common_write_bytes(encoder->out, value->bytes, value->size);
	common_write_le(encoder->out, 0, unit);
	return 0;
}

static int put_counted(struct encoder *encoder, const struct ptl_value *value, size_t unit)
{
	if (value->size % unit || value->size / unit > UINT16_MAX)
		return fail_in(encoder, value->field, "more than the 65535 units that its count can tell");
	common_write_le(encoder->out, value->size / unit, 2);
	common_write_bytes(encoder->out, value->bytes, value->size);
	return 0;
}

static int put_sized(struct encoder *encoder, const struct ptl_value *value, size_t size)
{
	if (size && value->size != size)
		return fail_in(encoder, value->field, "not as many bytes as its type has");
	common_write_bytes(encoder->out, value->bytes, value->size);
	return 0;
}

static int put_value(struct encoder *encoder, const struct ptl_value *value)
{
	switch (value->field->type) {
	case PTL_TYPE_F32:
	case PTL_TYPE_F64:
		put_float(encoder, value);
		return 0;
	case PTL_TYPE_GUID:
		return put_sized(encoder, value, 16);
	case PTL_TYPE_UTF8:
		return put_terminated(encoder, value, 1);
	case PTL_TYPE_UTF16:
		return put_terminated(encoder, value, 2);
	case PTL_TYPE_UTF8_COUNTED:
	case PTL_TYPE_BYTES_COUNTED:
		return put_counted(encoder, value, 1);
	case PTL_TYPE_UTF16_COUNTED:
		return put_counted(encoder, value, 2);
	case PTL_TYPE_BYTES:
		return put_sized(encoder, value, value->field->length);
	default:
		return put_integer(encoder, value);
	}
}

static int put_fields(struct encoder *encoder, size_t from, size_t to, unsigned depth);

/*
 * Writes the elements of one field: takes values as long as they belong to the field and their indexes are consecutive.
 */
static int put_elements(struct encoder *encoder, size_t index, size_t members, size_t end, unsigned depth,
			uint32_t *count)
{
	const struct ptl_field *field = &encoder->schema->fields[index];
	int status = 0;

	for (*count = 0; !status && encoder->at < encoder->count; ++*count) {
		const struct ptl_value *value = &encoder->values[encoder->at];

		if (value->field != field || value->index != *count)
			break;
		encoder->at++;
		status = field->type == PTL_TYPE_STRUCT ? put_fields(encoder, members, end, depth + 1)
							: put_value(encoder, value);
		if (field->array == PTL_ARRAY_NONE && ++*count)
			break;
	}
	return status;
}

static int put_field(struct encoder *encoder, size_t index, size_t end, unsigned depth)
{
	const struct ptl_field *field = &encoder->schema->fields[index];
	size_t place = encoder->out->size;
	uint32_t count, wanted = field->array == PTL_ARRAY_FIXED ? field->array_length : 1;
	int status;

	if (field->array == PTL_ARRAY_COUNTED)
		common_write_le(encoder->out, 0, 2);
	status = put_elements(encoder, index, index + 1, end, depth, &count);
	if (status)
		return status;
	if (field->array == PTL_ARRAY_COUNTED) {
		if (count > UINT16_MAX)
			return fail_in(encoder, field, "more than the 65535 elements that its count can tell");
		if (!encoder->out->failed)
			common_store16(encoder->out->data + place, (uint16_t)count);
	} else if (count != wanted) {
		return fail_in(encoder, field, "a value is missing");
	}
	return 0;
}

static int put_fields(struct encoder *encoder, size_t from, size_t to, unsigned depth)
{
	int status = 0;

	for (size_t at = from, end; !status && at < to; at = end) {
		const struct ptl_field *field = &encoder->schema->fields[at];

		end = at + 1;
		if (field->type == 0 || field->type > PTL_TYPE_STRUCT)
			return fail_in(encoder, field, "its type is unknown");
		if (field->type == PTL_TYPE_STRUCT) {
			if (depth == DEPTH_MAX || field->length > to - end)
				return fail_in(encoder, field, "the structure does not fit its schema");
			end += field->length;
		}
		status = put_field(encoder, at, end, depth);
	}
	return status;
}

int ptl_payload_encode(const struct ptl_schema *schema, const struct ptl_value *values, size_t count,
		       struct ptl_bytes *out)
{
	struct encoder encoder = {.schema = schema, .values = values, .count = count, .out = out};
	size_t before = out->size;
	int status = put_fields(&encoder, 0, schema->field_count, 0);

	if (!status && encoder.at < count)
		status = fail_in(&encoder, values[encoder.at].field, "its place is not where its value is");
	if (!status && !out->failed && out->size - before > PTL_PAYLOAD_MAX)
		status = common_fail(PTL_MISUSE, "a payload has at most %u bytes, this one has %zu", PTL_PAYLOAD_MAX,
				     out->size - before);
	if (!status && out->failed)
		status = common_fail_memory("a payload", out->size);
	if (status && !out->failed)
		out->size = before;
	return status;
}
