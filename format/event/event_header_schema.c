/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts EventHeader descriptions: names, encodings and formats become fields and steps. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/event/event_header.h"
#include "format/container/layout.h"
#include "common/vector.h"

/* Encodings, in the low bits of a byte with three flags. */
enum encoding {
	ENCODING_STRUCT = 1,
	ENCODING_VALUE8,
	ENCODING_VALUE16,
	ENCODING_VALUE32,
	ENCODING_VALUE64,
	ENCODING_VALUE128,
	ENCODING_ZERO_ENDED8,
	ENCODING_ZERO_ENDED16,
	ENCODING_ZERO_ENDED32,
	ENCODING_COUNTED8,
	ENCODING_COUNTED16,
	ENCODING_COUNTED32,
	ENCODING_BINARY,
};
#define ENCODING_MASK 0x1fu
#define ENCODING_FIXED 0x20u   /* array with its count in the description */
#define ENCODING_COUNTED 0x40u /* array with its count in the payload */
#define ENCODING_CHAIN 0x80u   /* a format byte follows */

enum format {
	FORMAT_DEFAULT,
	FORMAT_UNSIGNED,
	FORMAT_SIGNED,
	FORMAT_HEX,
	FORMAT_ERRNO,
	FORMAT_PID,
	FORMAT_TIME,
	FORMAT_BOOLEAN,
	FORMAT_FLOAT,
	FORMAT_BYTES,
	FORMAT_STRING8,
	FORMAT_UTF,
	FORMAT_UTF_MARK,
	FORMAT_XML,
	FORMAT_JSON,
	FORMAT_UUID,
	FORMAT_PORT,
	FORMAT_IP,
	FORMAT_IP6,
};
#define FORMAT_MASK 0x7fu
#define FORMAT_CHAIN 0x80u /* a tag follows */

#define DEPTH_MAX 8

struct description {
	struct common_cursor in;
	bool big_endian;
	struct ptl_field *fields;
	struct format_header_step *steps;
	size_t count;
	bool has_unknown; /* an encoding of unknown size was found, so later fields cannot be located */
};

/* ---- types of values ------------------------------------------------------------------------------- */

static void choose_action(struct ptl_field *field, struct format_header_step *step, uint8_t type, uint8_t format,
			  enum format_header_action action, unsigned unit)
{
	field->type = type;
	field->format = format;
	*step = (struct format_header_step){.action = (uint8_t)action, .unit = (uint8_t)unit};
}

static void choose_bytes(struct ptl_field *field, struct format_header_step *step, uint8_t format, unsigned size)
{
	choose_action(field, step, PTL_TYPE_BYTES, format, FORMAT_HEADER_COPY, size);
	field->length = size;
}

/* Returns the type of a number of 1, 2, 4 or 8 bytes. */
static uint8_t number_type(unsigned size, bool is_signed)
{
	const uint8_t type = size == 1   ? PTL_TYPE_U8
			     : size == 2 ? PTL_TYPE_U16
			     : size == 4 ? PTL_TYPE_U32
					 : PTL_TYPE_U64;

	return (uint8_t)(type + is_signed);
}

static void choose_number(struct ptl_field *field, struct format_header_step *step, unsigned size, bool is_signed,
			  uint8_t format)
{
	choose_action(field, step, number_type(size, is_signed), format, FORMAT_HEADER_NUMBER, size);
}

/* Handles formats that only some sizes support. Returns false if this size does not support the format. */
static bool choose_special(struct ptl_field *field, struct format_header_step *step, unsigned size, unsigned format)
{
	if (format == FORMAT_TIME && size >= 4)
		choose_action(field, step, PTL_TYPE_WALL_TIME, 0, FORMAT_HEADER_SECONDS, size);
	else if (format == FORMAT_FLOAT && size >= 4)
		choose_action(field, step, size == 4 ? PTL_TYPE_F32 : PTL_TYPE_F64, 0, FORMAT_HEADER_NUMBER, size);
	else if (format == FORMAT_BOOLEAN && size == 2)
		choose_action(field, step, PTL_TYPE_BOOL32, 0, FORMAT_HEADER_BOOL16, size);
	else if (format == FORMAT_BOOLEAN && size <= 4)
		choose_action(field, step, size == 1 ? PTL_TYPE_BOOL8 : PTL_TYPE_BOOL32, 0, FORMAT_HEADER_NUMBER, size);
	else if (format == FORMAT_STRING8 && size == 1)
		choose_number(field, step, size, false, PTL_FORMAT_LATIN1);
	else if (format == FORMAT_UTF && size <= 4)
		choose_number(field, step, size, false, PTL_FORMAT_STRING);
	else if (format == FORMAT_PORT && size == 2)
		choose_action(field, step, PTL_TYPE_U16, PTL_FORMAT_PORT, FORMAT_HEADER_COPY, size);
	else if ((format == FORMAT_IP || format == FORMAT_IP6) && size == 4)
		choose_action(field, step, PTL_TYPE_U32, PTL_FORMAT_IP, FORMAT_HEADER_COPY, size);
	else
		return false;
	return true;
}

static void choose_value(struct ptl_field *field, struct format_header_step *step, unsigned size, unsigned format)
{
	if (format == FORMAT_BYTES)
		choose_bytes(field, step, 0, size);
	else if (format == FORMAT_SIGNED || format == FORMAT_PID)
		choose_number(field, step, size, true, 0);
	else if (format == FORMAT_ERRNO)
		choose_number(field, step, size, true, PTL_FORMAT_ERRNO);
	else if (format == FORMAT_HEX)
		choose_number(field, step, size, false, PTL_FORMAT_HEX);
	else if (!choose_special(field, step, size, format))
		choose_number(field, step, size, false, 0);
}

static void choose_value128(struct ptl_field *field, struct format_header_step *step, unsigned format)
{
	if (format == FORMAT_UUID)
		choose_action(field, step, PTL_TYPE_GUID, 0, FORMAT_HEADER_UUID, 16);
	else if (format == FORMAT_IP || format == FORMAT_IP6)
		choose_bytes(field, step, PTL_FORMAT_IP, 16);
	else
		choose_bytes(field, step, 0, 16);
}

/* Returns the display format of characters. */
static uint8_t text_format(unsigned format, unsigned unit)
{
	if (format == FORMAT_STRING8 && unit == 1)
		return PTL_FORMAT_LATIN1;
	return format == FORMAT_XML ? PTL_FORMAT_XML : format == FORMAT_JSON ? PTL_FORMAT_JSON : PTL_FORMAT_DEFAULT;
}

static void choose_text(struct ptl_field *field, struct format_header_step *step, unsigned encoding, unsigned format)
{
	const bool counted = encoding >= ENCODING_COUNTED8;
	const unsigned unit = 1u << (encoding - (counted ? ENCODING_COUNTED8 : ENCODING_ZERO_ENDED8));
	const uint8_t narrow = counted ? PTL_TYPE_UTF8_COUNTED : PTL_TYPE_UTF8;
	const uint8_t wide = counted ? PTL_TYPE_UTF16_COUNTED : PTL_TYPE_UTF16;

	choose_action(field, step, unit == 2 ? wide : narrow, text_format(format, unit),
		      counted ? FORMAT_HEADER_COUNTED : FORMAT_HEADER_ZERO_ENDED, unit);
	step->as_bytes = format == FORMAT_BYTES;
	step->has_mark = format == FORMAT_UTF_MARK || format == FORMAT_XML || format == FORMAT_JSON;
	if (step->as_bytes)
		field->type = PTL_TYPE_BYTES_COUNTED;
}

/* Counted bytes, unless the format gives another type. */
static void choose_binary(struct ptl_field *field, struct format_header_step *step, unsigned format)
{
	const bool is_text = format >= FORMAT_STRING8 && format <= FORMAT_JSON;

	choose_text(field, step, ENCODING_COUNTED8, is_text ? format : FORMAT_BYTES);
	if (format == FORMAT_IP || format == FORMAT_IP6)
		field->format = PTL_FORMAT_IP;
}

/* ---- reader ---------------------------------------------------------------------------------------- */

static int fail_schema(const char *cause)
{
	return common_fail(PTL_CORRUPT, "an EventHeader description: %s", cause);
}

static uint16_t take16(struct description *description)
{
	const uint16_t value = common_read16(&description->in);

	return description->big_endian ? __builtin_bswap16(value) : value;
}

/* Reads a name up to its zero byte, and drops the attributes after ";". The caller frees the name. */
static int take_name(struct description *description, const char **name)
{
	struct common_cursor *in = &description->in;
	const char *text = (const char *)in->data + in->at;
	const size_t length = strnlen(text, common_cursor_left(in));

	if (length == common_cursor_left(in))
		return fail_schema("a name does not end");
	common_read_bytes(in, length + 1);
	*name = strndup(text, strcspn(text, ";"));
	return *name ? 0 : common_fail_memory("a name", length);
}

/* Appends an empty field and step. */
static int add_field(struct description *description)
{
	const size_t count = description->count;

	if (count == FORMAT_RECORD_ITEMS_MAX)
		return fail_schema("there are too many fields");
	if (!common_vector_room(&description->fields, count, sizeof(*description->fields)) ||
	    !common_vector_room(&description->steps, count, sizeof(*description->steps)))
		return common_fail_memory("fields", count * sizeof(*description->fields));
	description->fields[count] = (struct ptl_field){0};
	description->steps[count] = (struct format_header_step){0};
	description->count++;
	return 0;
}

/* Reads the array's length, which follows format and tag. */
static int take_array(struct description *description, unsigned flags, struct ptl_field *field)
{
	if ((flags & ENCODING_FIXED) && (flags & ENCODING_COUNTED))
		return fail_schema("an array has two counts");
	if (flags & ENCODING_COUNTED)
		field->array = PTL_ARRAY_COUNTED;
	if (flags & ENCODING_FIXED) {
		field->array = PTL_ARRAY_FIXED;
		field->array_length = take16(description);
		if (!field->array_length)
			return fail_schema("an array has no elements");
	}
	return description->in.failed ? fail_schema("it ends within a field") : 0;
}

static int take_fields(struct description *description, size_t limit, unsigned depth);

static int take_members(struct description *description, size_t number, unsigned members, unsigned depth)
{
	const size_t first = description->count;
	int status;

	if (depth == DEPTH_MAX)
		return fail_schema("structures are nested too deep");
	description->steps[number].action = FORMAT_HEADER_STRUCT;
	description->fields[number].type = PTL_TYPE_STRUCT;
	status = take_fields(description, members, depth + 1);
	/* An array of elements without bytes would let a small payload have any number of elements. */
	if (!status && description->count == first)
		status = fail_schema("a structure has no members");
	description->fields[number].length = (uint32_t)(description->count - first);
	return status;
}

static int take_field(struct description *description, unsigned depth)
{
	const size_t number = description->count;
	unsigned encoding, format = 0, kind;
	struct format_header_step *step;
	struct ptl_field *field;
	int status = add_field(description);

	if (status)
		return status;
	field = &description->fields[number];
	step = &description->steps[number];
	status = take_name(description, &field->name);
	if (status)
		return status;
	encoding = common_read8(&description->in);
	if (encoding & ENCODING_CHAIN)
		format = common_read8(&description->in);
	if (format & FORMAT_CHAIN)
		field->tags = take16(description);
	status = take_array(description, encoding, field);
	format &= FORMAT_MASK;
	kind = encoding & ENCODING_MASK;
	if (status || kind == ENCODING_STRUCT)
		return status ? status : take_members(description, number, format, depth);
	if (kind >= ENCODING_VALUE8 && kind <= ENCODING_VALUE64)
		choose_value(field, step, 1u << (kind - ENCODING_VALUE8), format);
	else if (kind == ENCODING_VALUE128)
		choose_value128(field, step, format);
	else if (kind >= ENCODING_ZERO_ENDED8 && kind <= ENCODING_COUNTED32)
		choose_text(field, step, kind, format);
	else if (kind == ENCODING_BINARY)
		choose_binary(field, step, format);
	else if (kind)
		description->has_unknown = true;
	else
		return fail_schema("a field has no encoding");
	return 0;
}

static void drop_from(struct description *description, size_t first)
{
	for (size_t i = first; i < description->count; i++)
		free((char *)description->fields[i].name);
	description->count = first;
}

/* Makes the top-level field with the unknown encoding take all remaining bytes. */
static void make_rest(struct description *description, size_t number)
{
	struct ptl_field *field = &description->fields[number];

	drop_from(description, number + 1);
	*field = (struct ptl_field){.name = field->name, .type = PTL_TYPE_BYTES, .tags = field->tags};
	description->steps[number] = (struct format_header_step){.action = FORMAT_HEADER_REST};
}

/* Reads up to `limit` fields (not counting their members), or to the end of the description. */
static int take_fields(struct description *description, size_t limit, unsigned depth)
{
	for (size_t i = 0; i < limit && common_cursor_left(&description->in) && !description->has_unknown; i++) {
		const size_t number = description->count;
		const int status = take_field(description, depth);

		if (status)
			return status;
		if (description->has_unknown && !depth)
			make_rest(description, number);
	}
	return 0;
}

int format_header_describe(const uint8_t *data, size_t size, bool big_endian, struct ptl_schema *schema,
			   struct format_header_plan *plan)
{
	struct description description = {.in = common_cursor(data, size), .big_endian = big_endian};
	const char *name = NULL;
	int status = take_name(&description, &name);

	if (!status)
		status = take_fields(&description, SIZE_MAX, 0);
	if (status) {
		drop_from(&description, 0);
		free(description.fields);
		free(description.steps);
		free((char *)name);
		return status;
	}
	schema->event_name = name;
	schema->fields = description.fields;
	schema->field_count = description.count;
	*plan = (struct format_header_plan){description.steps, big_endian};
	return 0;
}

void format_header_forget(struct ptl_schema *schema, struct format_header_plan *plan)
{
	for (size_t i = 0; i < schema->field_count; i++)
		free((char *)schema->fields[i].name);
	free((void *)schema->fields);
	free((char *)schema->event_name);
	free(plan->steps);
}
