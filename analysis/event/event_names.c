/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds names for numbers in the schemas and maps of a trace. */
#include "analysis/event/event_names.h"

#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"

#define FLAGS_MAX 4096 /* map entries visited for a value: a hostile map must not slow down each event */

int analysis_names_load(struct analysis_names *names, const struct ptl_trace *trace)
{
	names->trace = trace;
	for (size_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);
		const uint8_t *guid = schema->provider.bytes;

		if (!*schema->provider_name || common_byte_map_get(&names->providers, guid, 16))
			continue;
		if (common_byte_map_put(&names->providers, guid, 16, (uintptr_t)schema) < 0)
			return common_fail_memory("names", ptl_schema_count(trace));
	}
	return 0;
}

void analysis_names_free(struct analysis_names *names)
{
	common_byte_map_free(&names->providers);
	common_hash_map_free(&names->fields);
	common_hash_map_free(&names->schemas);
}

const struct ptl_map *analysis_names_map(struct analysis_names *names, const struct ptl_schema *schema,
					 const struct ptl_field *field)
{
	const struct ptl_map *map;
	const uint64_t *known;

	if (!names || !names->trace || !field->map || !*field->map)
		return NULL;
	known = common_hash_map_get(&names->fields, (uintptr_t)field);
	if (known)
		return (const struct ptl_map *)(uintptr_t)*known;
	map = ptl_map_of_field(names->trace, &schema->provider, field);
	/* Without memory for the cache, the map is looked up again for the next value. */
	(void)common_hash_map_put(&names->fields, (uintptr_t)field, (uintptr_t)map);
	return map;
}

static bool has_same_names(const struct ptl_schema *schema)
{
	struct common_byte_map seen = {0};
	bool found = false;

	for (size_t i = 0; i < schema->field_count && !found; i++) {
		const char *name = schema->fields[i].name;
		const size_t size = strlen(name);

		found = common_byte_map_get(&seen, name, size) || common_byte_map_put(&seen, name, size, 1) < 0;
	}
	common_byte_map_free(&seen);
	return found;
}

size_t analysis_names_before(struct analysis_names *names, const struct ptl_schema *schema,
			     const struct ptl_field *field)
{
	const uint64_t *known = names ? common_hash_map_get(&names->schemas, (uintptr_t)schema) : NULL;
	bool same = known && *known;
	size_t before = 0;

	if (!names)
		return 0;
	if (!known) {
		same = has_same_names(schema);
		/* Without memory for the cache, the answer is computed again for the next field. */
		(void)common_hash_map_put(&names->schemas, (uintptr_t)schema, same);
	}
	for (const struct ptl_field *other = schema->fields; same && other < field; other++)
		before += strcmp(other->name, field->name) == 0;
	return before;
}

const char *analysis_names_provider(const struct analysis_names *names, const struct ptl_guid *provider)
{
	const uint64_t *known = common_byte_map_get(&names->providers, provider->bytes, sizeof(provider->bytes));

	return known ? ((const struct ptl_schema *)(uintptr_t)*known)->provider_name : NULL;
}

const char *analysis_names_of(const struct analysis_names *names, const struct ptl_guid *provider, uint32_t kind,
			      uint64_t value)
{
	const char *name;

	if (!names->trace || !ptl_map_count(names->trace))
		return NULL;
	name = ptl_map_name(ptl_map_find(names->trace, provider, kind, ""), value);
	return name && *name ? name : NULL;
}

const char *analysis_names_task(const struct analysis_names *names, const struct ptl_descriptor *descriptor,
				const struct ptl_schema *schema)
{
	if (schema && *schema->task_name)
		return schema->task_name;
	return analysis_names_of(names, &descriptor->provider, PTL_MAP_TASKS, descriptor->task);
}

const char *analysis_names_opcode(const struct analysis_names *names, const struct ptl_descriptor *descriptor,
				  const struct ptl_schema *schema)
{
	if (schema && *schema->opcode_name)
		return schema->opcode_name;
	return analysis_names_of(names, &descriptor->provider, PTL_MAP_OPCODES, descriptor->opcode);
}

const char *analysis_level_name(uint8_t level)
{
	static const char *const levels[] = {"LogAlways", "Critical", "Error", "Warning", "Informational", "Verbose"};

	return level < sizeof(levels) / sizeof(levels[0]) ? levels[level] : NULL;
}

const char *analysis_names_level(const struct analysis_names *names, const struct ptl_descriptor *descriptor)
{
	const char *name = analysis_names_of(names, &descriptor->provider, PTL_MAP_LEVELS, descriptor->level);

	return name ? name : analysis_level_name(descriptor->level);
}

void analysis_text_event_name(struct ptl_bytes *text, const struct analysis_names *names,
			      const struct ptl_descriptor *descriptor, const struct ptl_schema *schema)
{
	const char *task = analysis_names_task(names, descriptor, schema);
	const char *opcode = analysis_names_opcode(names, descriptor, schema);

	if (task && opcode && descriptor->opcode) {
		common_text_safe(text, task);
		common_text_add(text, "/");
		common_text_safe(text, opcode);
	} else if (schema && *schema->event_name) {
		common_text_safe(text, schema->event_name);
	} else {
		common_text_format(text, "EventID(%u)", descriptor->id);
		if (descriptor->opcode)
			common_text_format(text, "/Opcode(%u)", descriptor->opcode);
	}
}

void analysis_text_full_name(struct ptl_bytes *text, const struct analysis_names *names,
			     const struct ptl_descriptor *descriptor, const struct ptl_schema *schema)
{
	const char *provider = schema && *schema->provider_name ? schema->provider_name
								: analysis_names_provider(names, &descriptor->provider);
	char guid[PTL_GUID_TEXT_SIZE];

	if (provider) {
		common_text_safe(text, provider);
	} else {
		common_guid_format(&descriptor->provider, guid);
		common_text_format(text, "{%s}", guid);
	}
	common_text_add(text, "/");
	analysis_text_event_name(text, names, descriptor, schema);
}

void analysis_text_flags(struct ptl_bytes *text, const struct ptl_map *map, uint64_t value)
{
	const char *name = ptl_map_name(map, value);
	const size_t start = text->size;
	uint64_t left = value;

	if (name && *name) {
		common_text_add(text, name);
		return;
	}
	for (size_t i = 0; map && i < map->count && i < FLAGS_MAX && map->entries[i].value <= value; i++) {
		const uint64_t bits = map->entries[i].value;

		if ((value & bits) != bits || !(left & bits) || !*map->entries[i].name)
			continue;
		if (text->size > start)
			common_text_add(text, "|");
		common_text_add(text, map->entries[i].name);
		left &= ~bits;
	}
	if (!left && value)
		return;
	if (text->size > start)
		common_text_add(text, "|");
	common_text_add(text, value ? "0x" : "");
	common_text_hex(text, left);
}
