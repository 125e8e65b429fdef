/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses descriptions in TraceLogging events: the item EVENT_HEADER_EXT_TYPE_EVENT_SCHEMA_TL. */
#include <string.h>

#include "common/error.h"
#include "import/etl/schema/known.h"

#define CHAIN 0x80u      /* another byte follows */
#define COUNT_MASK 0x60u /* kind of element count, in a field's type */
#define COUNT_FIXED 0x20u
#define COUNT_PREFIX 0x40u
#define COUNT_CUSTOM 0x60u
#define TYPE_MASK 0x1fu
#define DEPTH_MAX 8u

struct walk {
	struct common_cursor in;
	struct etl_schema *schema;
	bool bad; /* invalid, or beyond the limits */
};

static const char *take_name(struct walk *walk)
{
	const uint8_t *start = walk->in.data + walk->in.at;
	const size_t left = common_cursor_left(&walk->in);
	const uint8_t *end = left ? memchr(start, 0, left) : NULL;

	if (!end) {
		walk->bad = true;
		return "";
	}
	common_read_bytes(&walk->in, (size_t)(end - start) + 1);
	return etl_schema_text(walk->schema, (const char *)start, (size_t)(end - start));
}

/* Reads tags: seven bits per byte, at most four bytes. */
static uint32_t take_tags(struct walk *walk)
{
	uint32_t tags = 0;
	uint8_t byte;

	for (unsigned i = 0; i < 4; i++) {
		byte = common_read8(&walk->in);
		tags = tags << 7 | (byte & 0x7f);
		if (!(byte & CHAIN))
			break;
	}
	return tags;
}

/* Converts a display type. Values below 19 differ from TDH; from 35 on they are TDH's. */
static uint16_t out_type(uint8_t out)
{
	static const uint16_t types[] = {
		[2] = ETL_OUT_STRING, [3] = ETL_OUT_BOOLEAN,   [4] = ETL_OUT_HEX64,    [7] = ETL_OUT_PORT,
		[8] = ETL_OUT_IPV4,   [9] = ETL_OUT_IPV6,      [10] = ETL_OUT_SOCKET,  [11] = ETL_OUT_XML,
		[12] = ETL_OUT_JSON,  [14] = ETL_OUT_NTSTATUS, [15] = ETL_OUT_HRESULT, [18] = 0,
	};

	return out < sizeof(types) / sizeof(types[0]) ? types[out] : out;
}

/* Converts a type: TraceLogging's binary is preceded by its size. */
static uint16_t in_type(uint8_t type)
{
	return type == ETL_IN_BINARY ? ETL_IN_COUNTED_BINARY : type;
}

static void take_fields(struct walk *walk, unsigned count, unsigned depth);

static void take_field(struct walk *walk, unsigned depth)
{
	const size_t index = walk->schema->field_count;
	struct etl_field *field = etl_schema_field(walk->schema);
	uint8_t type, out = 0;
	const char *name;

	if (!field) {
		walk->bad = true;
		return;
	}
	name = take_name(walk);
	type = common_read8(&walk->in);
	if (type & CHAIN)
		out = common_read8(&walk->in);
	field->name = name;
	field->in = in_type(type & TYPE_MASK);
	field->out = field->in == ETL_IN_STRUCT ? out & 0x7f : out_type(out & 0x7f);
	if (out & CHAIN)
		field->tags = take_tags(walk);
	if ((type & COUNT_MASK) == COUNT_FIXED) {
		field->count_is = ETL_SIZE_FIXED;
		field->count = common_read16(&walk->in);
	} else if ((type & COUNT_MASK) == COUNT_PREFIX) {
		field->count_is = ETL_SIZE_PREFIX;
	} else if ((type & COUNT_MASK) == COUNT_CUSTOM) {
		common_read_bytes(&walk->in, common_read16(&walk->in));
		field->in = ETL_IN_COUNTED_BINARY;
	}
	walk->bad |= walk->in.failed || !name;
	if (walk->bad || field->in != ETL_IN_STRUCT)
		return;
	take_fields(walk, field->out, depth + 1);
	field = &walk->schema->fields[index]; /* the array may have moved */
	field->out = 0;
	field->members = (uint32_t)(walk->schema->field_count - index - 1);
}

static void take_fields(struct walk *walk, unsigned count, unsigned depth)
{
	walk->bad |= depth > DEPTH_MAX;
	for (unsigned i = 0; i < count && !walk->bad; i++)
		take_field(walk, depth);
}

int etl_tracelogging_schema(const uint8_t *text, size_t size, struct etl_schema **made)
{
	struct walk walk = {.in = common_cursor(text, size), .schema = etl_schema_new()};
	const char *name;
	int status;

	*made = NULL;
	if (!walk.schema)
		return common_fail_memory("a schema", sizeof(*walk.schema));
	common_read16(&walk.in); /* size, repeated */
	walk.schema->ptl.tags = take_tags(&walk);
	name = take_name(&walk);
	if (name)
		walk.schema->ptl.event_name = name;
	while (!walk.bad && common_cursor_left(&walk.in))
		take_field(&walk, 0);
	status = walk.bad || !name ? PTL_CORRUPT : etl_schema_finish(walk.schema);
	if (!status)
		*made = walk.schema;
	else
		etl_schema_free(walk.schema);
	return status == PTL_NO_MEMORY ? status : 0;
}
