/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptions of events by merging tools: TRACE_EVENT_INFO and EVENT_MAP_INFO of TDH. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "import/etl/schema/known.h"
#include "import/etl/schema/message.h"

#include <ptl/writer.h>

#define INFO_SIZE 112u
#define PROPERTY_SIZE 24u
#define DEPTH_MAX 8u
#define PROPERTIES_MAX ETL_FIELDS_MAX

enum property_flag {
	PROPERTY_STRUCT = 1,
	PROPERTY_LENGTH_FIELD = 2,
	PROPERTY_COUNT_FIELD = 4,
	PROPERTY_FIXED_LENGTH = 16,
	PROPERTY_FIXED_COUNT = 32,
	PROPERTY_TAGS = 64,
};

struct info {
	const uint8_t *data;
	size_t size;
	size_t properties;
	struct etl_schema *schema;
	uint16_t places[PROPERTIES_MAX]; /* field index of each property */
	bool bad;
};

/* Returns the text whose offset is stored at `at`; "" for offset 0. NULL: no memory. */
static const char *text_at(struct info *info, size_t at)
{
	const uint32_t offset = common_load32(info->data + at);

	if (!offset || offset >= info->size)
		return "";
	return etl_schema_text16(info->schema, info->data + offset, info->size - offset);
}

static void set_sizes(struct info *info, const uint8_t *at, struct etl_field *field)
{
	const uint32_t flags = common_load32(at);
	const uint16_t count = common_load16(at + 16), length = common_load16(at + 18);
	const bool has_length = field->in == ETL_IN_UTF16 || field->in == ETL_IN_ANSI || field->in == ETL_IN_BINARY;

	if (flags & PROPERTY_COUNT_FIELD) {
		field->count_is = ETL_SIZE_FIELD;
		field->count = count < info->properties ? info->places[count] : UINT16_MAX;
	} else if (count != 1 || flags & PROPERTY_FIXED_COUNT) {
		field->count_is = ETL_SIZE_FIXED;
		field->count = count;
	}
	if (flags & PROPERTY_LENGTH_FIELD && has_length) {
		field->length_is = ETL_SIZE_FIELD;
		field->length = length < info->properties ? info->places[length] : UINT16_MAX;
	} else if (length && has_length) {
		field->length_is = ETL_SIZE_FIXED;
		field->length = length;
	}
	/* An IPv6 address has a fixed size, although its type has none. */
	if (field->in == ETL_IN_BINARY && field->out == ETL_OUT_IPV6 && field->length_is == ETL_SIZE_OWN) {
		field->length_is = ETL_SIZE_FIXED;
		field->length = 16;
	}
}

static void take_property(struct info *info, size_t number, unsigned depth)
{
	const uint8_t *at = info->data + INFO_SIZE + PROPERTY_SIZE * number;
	const size_t index = info->schema->field_count;
	struct etl_field *field = etl_schema_field(info->schema);

	if (!field || depth > DEPTH_MAX) {
		info->bad = true;
		return;
	}
	info->places[number] = (uint16_t)index;
	field->name = text_at(info, INFO_SIZE + PROPERTY_SIZE * number + 4);
	if (common_load32(at) & PROPERTY_TAGS)
		field->tags = common_load32(at + 20) & 0x0fffffff;
	if (common_load32(at) & PROPERTY_STRUCT) {
		const size_t first = common_load16(at + 8), count = common_load16(at + 10);

		field->in = ETL_IN_STRUCT;
		set_sizes(info, at, field);
		/* Members must follow the structure, so that the recursion ends. */
		if (first <= number || first + count > info->properties)
			info->bad = true;
		for (size_t i = first; i < first + count && !info->bad; i++)
			take_property(info, i, depth + 1);
		info->schema->fields[index].members = (uint32_t)(info->schema->field_count - index - 1);
		return;
	}
	field->in = common_load16(at + 8);
	field->out = common_load16(at + 10);
	set_sizes(info, at, field);
	if (common_load32(at + 12)) {
		field->map = text_at(info, INFO_SIZE + PROPERTY_SIZE * number + 12);
		if (!field->map || !*field->map)
			field->map = NULL;
	}
	info->bad |= !field->name;
}

/* Names that all providers share begin with "win:". */
static const char *without_prefix(const char *name)
{
	return name && strncmp(name, "win:", 4) == 0 ? name + 4 : name;
}

static void take_names(struct info *info)
{
	struct ptl_schema *schema = &info->schema->ptl;
	const char *message = text_at(info, 76);

	memcpy(schema->provider.bytes, info->data, 16);
	schema->id = common_load16(info->data + 32);
	schema->version = info->data[34];
	schema->channel = info->data[35];
	schema->level = info->data[36];
	schema->opcode = info->data[37];
	schema->task = common_load16(info->data + 38);
	schema->keyword = common_load64(info->data + 40);
	schema->provider_name = text_at(info, 52);
	schema->task_name = text_at(info, 68);
	schema->opcode_name = without_prefix(text_at(info, 72));
	schema->message = message ? etl_message(info->schema, message) : NULL;
	info->bad |= !schema->provider_name || !schema->task_name || !schema->opcode_name || !schema->message;
	if (info->bad)
		return;
	schema->event_name = *schema->task_name ? etl_event_name(info->schema) : "";
	info->bad |= !schema->event_name;
}

int etl_event_info(struct etl_known *known, const uint8_t *data, size_t size)
{
	struct info *info = calloc(1, sizeof(*info));
	int status = 0;

	if (!info)
		return common_fail_memory("EventInfo", sizeof(*info));
	*info = (struct info){.data = data, .size = size};
	memset(info->places, 0xff, sizeof(info->places));
	if (size >= INFO_SIZE)
		info->properties = common_load32(data + 100);
	info->bad = size < INFO_SIZE || info->properties > PROPERTIES_MAX ||
		    info->properties * PROPERTY_SIZE > size - INFO_SIZE || common_load32(data + 104) > info->properties;
	info->schema = info->bad ? NULL : etl_schema_new();
	if (!info->bad && !info->schema)
		status = common_fail_memory("EventInfo", sizeof(*info->schema));
	for (size_t i = 0; info->schema && !info->bad && i < common_load32(data + 104); i++)
		take_property(info, i, 0);
	if (info->schema && !info->bad)
		take_names(info);
	if (info->schema && !info->bad) {
		status = etl_schema_finish(info->schema);
		info->bad = status && status != PTL_NO_MEMORY;
	}
	if (info->schema && !info->bad && !status)
		status = etl_known_add(known, info->schema);
	else
		etl_schema_free(info->schema);
	free(info);
	return status == PTL_NO_MEMORY ? status : 0;
}

/* ---- maps --------------------------------------------------------------------------------------------------- */

#define MAP_AT 16u /* position behind the provider's GUID */
#define MAP_ENTRIES 16u
#define MAP_FLAG_BITS (2u | 16u)
#define MAP_FLAG_PATTERN 4u
#define ENTRIES_MAX 4096u

int etl_map_info(struct etl_known *known, struct ptl_writer *writer, const uint8_t *data, size_t size)
{
	/* Keep texts in a schema, which frees its texts. */
	struct etl_schema *texts = etl_schema_new();
	struct ptl_map_entry *entries = calloc(ENTRIES_MAX, sizeof(*entries));
	struct info info = {.data = data + MAP_AT, .size = size < MAP_AT ? 0 : size - MAP_AT, .schema = texts};
	const uint32_t count = info.size >= MAP_ENTRIES ? common_load32(info.data + 8) : 0;
	struct ptl_map map = {.entries = entries};
	int status = texts && entries ? 0 : common_fail_memory("EventMapInfo", sizeof(*entries) * ENTRIES_MAX);

	if (!status && count && count <= ENTRIES_MAX && count * 8u <= info.size - MAP_ENTRIES &&
	    !(common_load32(info.data + 4) & MAP_FLAG_PATTERN)) {
		memcpy(map.provider.bytes, data, 16);
		map.kind = common_load32(info.data + 4) & MAP_FLAG_BITS ? PTL_MAP_FLAGS : PTL_MAP_VALUES;
		map.name = text_at(&info, 0);
		for (map.count = 0; map.count < count; map.count++) {
			const size_t at = MAP_ENTRIES + 8 * map.count;

			entries[map.count] = (struct ptl_map_entry){common_load32(info.data + at + 4),
								    text_at(&info, at)};
			if (!entries[map.count].name)
				status = common_fail_memory("EventMapInfo", size);
		}
		if (!map.name)
			status = common_fail_memory("EventMapInfo", size);
		if (!status && *map.name)
			status = etl_map_write(&known->budget, writer, &map);
	}
	etl_schema_free(texts);
	free(entries);
	return status;
}
