/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes payloads into typed fields by their schema: docs/format.md, section 6.2. */
#include <ptl/bytes.h>
#include <ptl/event.h>

#include <string.h>

#include "common/bytes.h"
#include "common/error.h"

#define DEPTH_MAX 8
#define STEPS_MAX (4u << 20) /* limit for the fields of a payload, where each array element counts */
/* limit for fields without bytes, which an empty payload could otherwise have in any number */
#define EMPTY_MAX 16u

struct walk {
	const struct ptl_schema *schema;
	struct common_cursor cursor;
	int (*visit)(void *context, enum ptl_step step, const struct ptl_value *value);
	void *context;
	uint32_t steps;
	unsigned empty; /* steps that consumed no bytes */
};

static int fail_in(const struct walk *walk, const struct ptl_field *field, int status, const char *cause)
{
	return common_fail(status, "%s: field %s: %s", walk->schema->event_name ? walk->schema->event_name : "event",
			   field->name ? field->name : "without a name", cause);
}

enum shape { SHAPE_NONE, SHAPE_UNSIGNED, SHAPE_SIGNED, SHAPE_FLOAT, SHAPE_BYTES };

/* Types of fixed size. */
static const struct {
	uint8_t size;
	uint8_t shape;
} scalars[] = {
	[PTL_TYPE_U8] = {1, SHAPE_UNSIGNED},      [PTL_TYPE_I8] = {1, SHAPE_SIGNED},
	[PTL_TYPE_U16] = {2, SHAPE_UNSIGNED},     [PTL_TYPE_I16] = {2, SHAPE_SIGNED},
	[PTL_TYPE_U32] = {4, SHAPE_UNSIGNED},     [PTL_TYPE_I32] = {4, SHAPE_SIGNED},
	[PTL_TYPE_U64] = {8, SHAPE_UNSIGNED},     [PTL_TYPE_I64] = {8, SHAPE_SIGNED},
	[PTL_TYPE_F32] = {4, SHAPE_FLOAT},        [PTL_TYPE_F64] = {8, SHAPE_FLOAT},
	[PTL_TYPE_BOOL8] = {1, SHAPE_UNSIGNED},   [PTL_TYPE_BOOL32] = {4, SHAPE_UNSIGNED},
	[PTL_TYPE_POINTER] = {8, SHAPE_UNSIGNED}, [PTL_TYPE_TIME] = {8, SHAPE_UNSIGNED},
	[PTL_TYPE_WALL_TIME] = {8, SHAPE_SIGNED}, [PTL_TYPE_GUID] = {16, SHAPE_BYTES},
};

static void set_number(struct ptl_value *value, unsigned size, enum shape shape)
{
	uint64_t bits = common_load_le(value->bytes, size);
	unsigned unused = 64 - 8 * size;

	if (shape == SHAPE_UNSIGNED) {
		value->u = bits;
	} else if (shape == SHAPE_SIGNED) {
		value->i = (int64_t)(bits << unused) >> unused;
	} else if (size == 4) {
		uint32_t word = (uint32_t)bits;
		float number;

		memcpy(&number, &word, sizeof(number));
		value->f = (double)number;
	} else {
		memcpy(&value->f, &bits, sizeof(value->f));
	}
}

static bool read_scalar(struct walk *walk, struct ptl_value *value)
{
	unsigned size = scalars[value->field->type].size;

	value->bytes = common_read_bytes(&walk->cursor, size);
	value->size = size;
	if (value->bytes && scalars[value->field->type].shape != SHAPE_BYTES)
		set_number(value, size, scalars[value->field->type].shape);
	return value->bytes != NULL;
}

/* Reads units of `unit` bytes up to a zero unit, which is consumed but not counted. */
static bool read_terminated(struct walk *walk, struct ptl_value *value, size_t unit)
{
	const uint8_t *start = walk->cursor.data + walk->cursor.at;
	size_t left = common_cursor_left(&walk->cursor), size = 0;

	while (size + unit <= left && common_load_le(start + size, unit))
		size += unit;
	if (size + unit > left)
		return false;
	common_read_bytes(&walk->cursor, size + unit);
	value->bytes = start;
	value->size = size;
	return true;
}

static bool read_sized(struct walk *walk, struct ptl_value *value, size_t size)
{
	value->bytes = common_read_bytes(&walk->cursor, size);
	value->size = size;
	return value->bytes || (!size && !walk->cursor.failed);
}

/* Reads one element other than a structure. Returns false if the payload ends within the element. */
static bool read_value(struct walk *walk, struct ptl_value *value)
{
	const struct ptl_field *field = value->field;

	switch (field->type) {
	case PTL_TYPE_UTF8:
		return read_terminated(walk, value, 1);
	case PTL_TYPE_UTF16:
		return read_terminated(walk, value, 2);
	case PTL_TYPE_UTF8_COUNTED:
	case PTL_TYPE_BYTES_COUNTED:
		return read_sized(walk, value, common_read16(&walk->cursor));
	case PTL_TYPE_UTF16_COUNTED:
		return read_sized(walk, value, 2 * (size_t)common_read16(&walk->cursor));
	case PTL_TYPE_BYTES:
		return read_sized(walk, value, field->length ? field->length : common_cursor_left(&walk->cursor));
	default:
		return read_scalar(walk, value);
	}
}

/* Reads the number of elements of a field. Returns false if the payload ends within the count. */
static bool read_count(struct walk *walk, const struct ptl_field *field, uint32_t *count)
{
	*count = 1;
	if (field->array == PTL_ARRAY_FIXED)
		*count = field->array_length;
	else if (field->array == PTL_ARRAY_COUNTED)
		*count = common_read16(&walk->cursor);
	return !walk->cursor.failed;
}

/*
 * Finds the index after a field and, for a structure, after its members, including nested members. Checks that the
 * members exist.
 */
static int field_end(const struct walk *walk, size_t at, size_t limit, unsigned depth, size_t *end)
{
	const struct ptl_field *field = &walk->schema->fields[at];
	size_t next = at + 1;

	if (field->type == 0 || field->type > PTL_TYPE_STRUCT)
		return fail_in(walk, field, PTL_UNSUPPORTED, "its type is unknown");
	if (field->type == PTL_TYPE_STRUCT) {
		if (depth == DEPTH_MAX)
			return fail_in(walk, field, PTL_CORRUPT, "structures are nested too deep");
		if (field->length > limit - next)
			return fail_in(walk, field, PTL_CORRUPT, "the structure has more members than there are");
		next += field->length;
	}
	*end = next;
	return 0;
}

static int walk_fields(struct walk *walk, size_t from, size_t to, unsigned depth);

static int walk_element(struct walk *walk, const struct ptl_field *field, uint32_t index, size_t members, size_t end,
			unsigned depth)
{
	struct ptl_value value = {.field = field, .depth = depth, .index = index};
	int status;

	if (field->type != PTL_TYPE_STRUCT) {
		if (!read_value(walk, &value))
			return fail_in(walk, field, PTL_TRUNCATED, "the payload ends in it");
		return walk->visit(walk->context, PTL_STEP_VALUE, &value);
	}
	status = walk->visit(walk->context, PTL_STEP_STRUCT, &value);
	if (!status)
		status = walk_fields(walk, members, end, depth + 1);
	return status ? status : walk->visit(walk->context, PTL_STEP_STRUCT_END, &value);
}

static int walk_elements(struct walk *walk, const struct ptl_field *field, size_t members, size_t end, unsigned depth)
{
	struct ptl_value array = {.field = field, .depth = depth};
	uint32_t count;
	int status = 0;

	if (!read_count(walk, field, &count))
		return fail_in(walk, field, PTL_TRUNCATED, "the payload ends in its count");
	array.u = count;
	if (field->array)
		status = walk->visit(walk->context, PTL_STEP_ARRAY, &array);
	for (uint32_t i = 0; i < count && !status; i++) {
		const size_t before = walk->cursor.at;

		status = walk_element(walk, field, i, members, end, depth);
		/* An array of elements without bytes would let a small payload have any number of elements. */
		if (!status && field->array && walk->cursor.at == before)
			return fail_in(walk, field, PTL_CORRUPT, "an element of the array takes no bytes");
	}
	if (!status && field->array)
		status = walk->visit(walk->context, PTL_STEP_ARRAY_END, &array);
	return status;
}

static int walk_fields(struct walk *walk, size_t from, size_t to, unsigned depth)
{
	size_t at = from;

	while (at < to) {
		const size_t before = walk->cursor.at;
		size_t end = to;
		int status = field_end(walk, at, to, depth, &end);

		if (!status && ++walk->steps > STEPS_MAX)
			status = fail_in(walk, &walk->schema->fields[at], PTL_CORRUPT, "there are too many fields");
		if (!status)
			status = walk_elements(walk, &walk->schema->fields[at], at + 1, end, depth);
		if (!status && walk->cursor.at == before && ++walk->empty > EMPTY_MAX)
			status = fail_in(walk, &walk->schema->fields[at], PTL_CORRUPT, "too many fields take no bytes");
		if (status)
			return status;
		at = end;
	}
	return 0;
}

int ptl_payload_walk(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
		     int (*visit)(void *context, enum ptl_step step, const struct ptl_value *value), void *context,
		     size_t *rest)
{
	struct walk walk = {
		.schema = schema,
		.cursor = common_cursor(payload, size),
		.visit = visit,
		.context = context,
	};
	int status = walk_fields(&walk, 0, schema->field_count, 0);

	if (rest)
		*rest = common_cursor_left(&walk.cursor);
	return status;
}

struct values_only {
	int (*visit)(void *context, const struct ptl_value *value);
	void *context;
};

static int pass_value(void *context, enum ptl_step step, const struct ptl_value *value)
{
	const struct values_only *only = context;

	return step == PTL_STEP_VALUE || step == PTL_STEP_STRUCT ? only->visit(only->context, value) : 0;
}

bool ptl_event_is_raw(const struct ptl_event *event)
{
	for (size_t i = 0; i < event->extended_count; i++)
		if (event->extended[i].type == PTL_EXTENDED_RAW)
			return true;
	return false;
}

int ptl_payload_decode(const struct ptl_schema *schema, const uint8_t *payload, size_t size,
		       int (*visit)(void *context, const struct ptl_value *value), void *context, size_t *rest)
{
	struct values_only only = {visit, context};

	return ptl_payload_walk(schema, payload, size, pass_value, &only, rest);
}

void ptl_bytes_free(struct ptl_bytes *bytes)
{
	common_bytes_free(bytes);
}
