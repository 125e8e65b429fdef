/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes formats as in events/SYSTEM/NAME/format of tracefs. Strings, and arrays with a count, lie behind the fixed part of
 * a sample: their fields have offset and size (__data_loc).
 */
#include "dump/export/perf/perf_tracepoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/text.h"

#define OWN_ID 0x8000u   /* bit of the ids of tracepoints, see perf/tracing.c */
#define COMMON_SIZE 8u   /* type, flags, preempt count, pid */
#define COMMON_FIELDS 2u /* flags and preempt count are the last fields of a schema */
#define FIELDS_MAX 512u
#define RAW_MAX 32768u

struct place {
	uint32_t offset, size;
	bool dynamic;
};

struct dump_perf_tracepoint {
	struct ptl_trace *trace;
	const struct ptl_schema *schema;
	uint32_t number;
	size_t attr;
	uint32_t fixed; /* bytes before the strings */
	struct ptl_bytes name;
	struct place places[]; /* by field */
};

/* ---- fields -------------------------------------------------------------------------------------- */

static const char *const type_names[] = {
	[PTL_TYPE_U8] = "unsigned char", [PTL_TYPE_I8] = "signed char", [PTL_TYPE_U16] = "u16", [PTL_TYPE_I16] = "s16",
	[PTL_TYPE_U32] = "u32",          [PTL_TYPE_I32] = "s32",        [PTL_TYPE_U64] = "u64", [PTL_TYPE_I64] = "s64",
	[PTL_TYPE_BOOL8] = "bool",       [PTL_TYPE_POINTER] = "void *",
};

static bool is_integer(uint8_t type)
{
	return type >= PTL_TYPE_U8 && type <= PTL_TYPE_I64;
}

static uint32_t size_of_type(uint8_t type)
{
	if (is_integer(type))
		return 1u << (type - PTL_TYPE_U8) / 2;
	return type == PTL_TYPE_BOOL8 ? 1 : type == PTL_TYPE_POINTER ? 8 : 0;
}

/* Finds the size of a field in the fixed part. Returns false for a field without a counterpart in formats. */
static bool find_size(const struct ptl_field *field, struct place *place)
{
	*place = (struct place){.size = size_of_type(field->type)};
	if (field->array == PTL_ARRAY_COUNTED || field->type == PTL_TYPE_UTF8 ||
	    field->type == PTL_TYPE_BYTES_COUNTED) {
		place->dynamic = true;
		place->size = 4;
		return field->array == PTL_ARRAY_NONE || (is_integer(field->type) && size_of_type(field->type) > 1);
	}
	if (field->type == PTL_TYPE_BYTES && field->array == PTL_ARRAY_NONE)
		place->size = field->length;
	if (field->array == PTL_ARRAY_FIXED)
		place->size = is_integer(field->type) && field->array_length <= RAW_MAX
				      ? place->size * field->array_length
				      : 0;
	return place->size && place->size <= RAW_MAX;
}

static bool is_word(const char *name)
{
	return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* Whether the last fields are the common fields of tracepoints. */
static bool ends_with_common(const struct ptl_schema *schema)
{
	const struct ptl_field *last = schema->fields + schema->field_count - COMMON_FIELDS;

	return schema->field_count >= COMMON_FIELDS && !strcmp(last[0].name, "common_flags") &&
	       !strcmp(last[1].name, "common_preempt_count") && size_of_type(last[0].type) == 1 &&
	       size_of_type(last[1].type) == 1;
}

bool dump_perf_tracepoint_fits(const struct ptl_schema *schema)
{
	struct ptl_guid provider;
	struct place place;
	uint64_t size = COMMON_SIZE;

	if (!(schema->id & OWN_ID) || schema->opcode || schema->field_count > FIELDS_MAX || !ends_with_common(schema) ||
	    !is_word(schema->provider_name) || !is_word(schema->event_name) ||
	    ptl_guid_from_name(schema->provider_name, &provider) ||
	    memcmp(&provider, &schema->provider, sizeof(provider)) != 0)
		return false;
	for (size_t i = 0; i < schema->field_count; i++) {
		if (!is_word(schema->fields[i].name) || !find_size(&schema->fields[i], &place))
			return false;
		size += place.size;
	}
	return size <= RAW_MAX;
}

void dump_perf_tracepoint_key(const struct ptl_descriptor *descriptor, uint8_t key[DUMP_PERF_TRACEPOINT_KEY])
{
	memcpy(key, &descriptor->provider, sizeof(descriptor->provider));
	common_store16(key + sizeof(descriptor->provider), descriptor->id);
	key[sizeof(descriptor->provider) + 2] = descriptor->version;
	key[sizeof(descriptor->provider) + 3] = descriptor->opcode;
}

int dump_perf_tracepoint_new(struct ptl_trace *trace, const struct ptl_schema *schema, uint32_t number, size_t attr,
			     struct dump_perf_tracepoint **tracepoint)
{
	struct dump_perf_tracepoint *made = calloc(1,
						   sizeof(*made) + (schema->field_count + 1) * sizeof(made->places[0]));
	const size_t own = schema->field_count - COMMON_FIELDS;

	if (!made)
		return common_fail_memory("a tracepoint", sizeof(*made));
	made->trace = trace;
	made->schema = schema;
	made->number = number;
	made->attr = attr;
	made->fixed = COMMON_SIZE;
	for (size_t i = 0; i < own; i++) {
		(void)find_size(&schema->fields[i], &made->places[i]);
		made->places[i].offset = made->fixed;
		made->fixed += made->places[i].size;
	}
	made->places[own] = (struct place){.offset = 2, .size = 1};
	made->places[own + 1] = (struct place){.offset = 3, .size = 1};
	common_text_format(&made->name, "%s:%s", schema->provider_name, schema->event_name);
	*tracepoint = made;
	return made->name.failed ? common_fail_memory("a name", made->name.size) : 0;
}

size_t dump_perf_tracepoint_attr(const struct dump_perf_tracepoint *tracepoint)
{
	return tracepoint->attr;
}

const char *dump_perf_tracepoint_name(struct dump_perf_tracepoint *tracepoint)
{
	return common_text_string(&tracepoint->name);
}

void dump_perf_tracepoint_free(struct dump_perf_tracepoint *tracepoint)
{
	if (tracepoint)
		common_bytes_free(&tracepoint->name);
	free(tracepoint);
}

/* ---- samples ------------------------------------------------------------------------------------- */

/* Reads the bytes of a field from a payload. Returns false if the payload ends before. */
static bool read_field(const struct ptl_field *field, const struct place *place, struct common_cursor *cursor,
		       const uint8_t **bytes, size_t *size)
{
	*size = place->size;
	if (field->type == PTL_TYPE_UTF8) {
		const size_t left = common_cursor_left(cursor);
		const uint8_t *end = left ? memchr(cursor->data + cursor->at, 0, left) : NULL;

		if (!end)
			return false;
		*size = (size_t)(end - (cursor->data + cursor->at)) + 1;
	} else if (place->dynamic) {
		*size = common_read16(cursor) * (field->array == PTL_ARRAY_COUNTED ? size_of_type(field->type) : 1u);
	}
	*bytes = common_read_bytes(cursor, *size);
	return !cursor->failed;
}

bool dump_perf_tracepoint_raw(const struct dump_perf_tracepoint *tracepoint, const struct ptl_event *event,
			      struct ptl_bytes *raw)
{
	struct common_cursor cursor = common_cursor(event->payload, event->payload_size);
	const struct ptl_schema *schema = tracepoint->schema;

	raw->size = 0;
	for (size_t i = 0; i < tracepoint->fixed; i++)
		common_write_le(raw, 0, 1);
	for (size_t i = 0; i < schema->field_count && !raw->failed; i++) {
		const struct place *place = &tracepoint->places[i];
		const uint8_t *bytes;
		size_t size;

		if (!read_field(&schema->fields[i], place, &cursor, &bytes, &size) || raw->size + size > RAW_MAX)
			return false;
		if (!place->dynamic) {
			memcpy(raw->data + place->offset, bytes, size);
			continue;
		}
		common_store32(raw->data + place->offset, (uint32_t)(raw->size | size << 16));
		common_write_bytes(raw, bytes, size);
	}
	if (raw->failed)
		return true;
	common_store16(raw->data, (uint16_t)tracepoint->number);
	common_store32(raw->data + 4, event->tid == PTL_NO_ID ? 0 : event->tid);
	return true;
}

/* ---- formats ------------------------------------------------------------------------------------- */

static void declare(struct ptl_bytes *text, const struct ptl_field *field, const struct place *place)
{
	const bool is_signed = is_integer(field->type) && field->type % 2 == 0;
	const char *type = field->type == PTL_TYPE_UTF8 ? "char"
			   : size_of_type(field->type)  ? type_names[field->type]
							: "u8";

	common_text_format(text, "\tfield:%s%s%s %s", place->dynamic ? "__data_loc " : "", type,
			   place->dynamic ? "[]" : "", field->name);
	if (field->array == PTL_ARRAY_FIXED)
		common_text_format(text, "[%" PRIu32 "]", field->array_length);
	else if (field->type == PTL_TYPE_BYTES)
		common_text_format(text, "[%" PRIu32 "]", field->length);
	common_text_format(text, ";\toffset:%" PRIu32 ";\tsize:%" PRIu32 ";\tsigned:%d;\n", place->offset, place->size,
			   is_signed);
}

/* Returns the map of a field's values that a format can have; NULL: none. */
static const struct ptl_map *map_of(const struct dump_perf_tracepoint *tracepoint, const struct ptl_field *field)
{
	const struct ptl_map *map = field->map && field->array == PTL_ARRAY_NONE && is_integer(field->type)
					    ? ptl_map_of_field(tracepoint->trace, &tracepoint->schema->provider, field)
					    : NULL;

	return map && map->count && (map->kind == PTL_MAP_VALUES || map->kind == PTL_MAP_FLAGS) ? map : NULL;
}

static const char *conversion_of(const struct dump_perf_tracepoint *tracepoint, const struct ptl_field *field)
{
	const bool is_signed = is_integer(field->type) && field->type % 2 == 0,
		   is_long = size_of_type(field->type) == 8;

	if (field->type == PTL_TYPE_UTF8 || field->array != PTL_ARRAY_NONE || !size_of_type(field->type) ||
	    map_of(tracepoint, field))
		return "%s";
	if (field->type == PTL_TYPE_POINTER || field->format == PTL_FORMAT_ADDRESS)
		return "%p";
	if (field->format == PTL_FORMAT_HEX)
		return is_long ? "0x%llx" : "0x%x";
	return is_signed ? is_long ? "%lld" : "%d" : is_long ? "%llu" : "%u";
}

/*
 * Appends {value, "name"} pairs. Names with quotes or backslashes are left out. Of names of bits, perf takes the first that
 * fits: names of several bits come before names of their bits.
 */
static void list_names(struct ptl_bytes *text, const struct ptl_map *map)
{
	for (size_t i = map->count; i > 0; i--) {
		const struct ptl_map_entry *entry = &map->entries[i - 1];

		if (!entry->name[strcspn(entry->name, "\"\\\n")])
			common_text_format(text, ", { 0x%" PRIx64 ", \"%s\" }", entry->value, entry->name);
	}
}

static void give_argument(struct ptl_bytes *text, const struct dump_perf_tracepoint *tracepoint, size_t number)
{
	const struct ptl_field *field = &tracepoint->schema->fields[number];
	const struct ptl_map *map = map_of(tracepoint, field);
	const uint32_t each = size_of_type(field->type);

	if (map) {
		common_text_format(text, ", %s(REC->%s",
				   map->kind == PTL_MAP_FLAGS ? "__print_flags" : "__print_symbolic", field->name);
		common_text_add(text, map->kind == PTL_MAP_FLAGS ? ", \"|\"" : "");
		list_names(text, map);
		common_text_add(text, ")");
	} else if (field->type == PTL_TYPE_UTF8) {
		common_text_format(text, ", __get_str(%s)", field->name);
	} else if (field->array == PTL_ARRAY_COUNTED) {
		common_text_format(text,
				   ", __print_array(__get_dynamic_array(%s), (__get_dynamic_array_len(%s) / %" PRIu32
				   "), %" PRIu32 ")",
				   field->name, field->name, each, each);
	} else if (field->array == PTL_ARRAY_FIXED) {
		common_text_format(text, ", __print_array(REC->%s, %" PRIu32 ", %" PRIu32 ")", field->name,
				   field->array_length, each);
	} else if (field->type == PTL_TYPE_BYTES_COUNTED) {
		common_text_format(text, ", __print_hex(__get_dynamic_array(%s), __get_dynamic_array_len(%s))",
				   field->name, field->name);
	} else if (field->type == PTL_TYPE_BYTES) {
		common_text_format(text, ", __print_hex(REC->%s, %" PRIu32 ")", field->name, field->length);
	} else {
		common_text_format(text, ", REC->%s", field->name);
	}
}

static void describe(const struct dump_perf_tracepoint *tracepoint, struct ptl_bytes *text)
{
	static const char common[] = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				     "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
				     "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
				     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
	const struct ptl_schema *schema = tracepoint->schema;
	const size_t own = schema->field_count - COMMON_FIELDS;

	common_text_format(text, "name: %s\nID: %" PRIu32 "\nformat:\n%s", schema->event_name, tracepoint->number,
			   common);
	for (size_t i = 0; i < own; i++)
		declare(text, &schema->fields[i], &tracepoint->places[i]);
	common_text_add(text, "\nprint fmt: \"");
	for (size_t i = 0; i < own; i++)
		common_text_format(text, "%s%s=%s", i ? " " : "", schema->fields[i].name,
				   conversion_of(tracepoint, &schema->fields[i]));
	common_text_add(text, "\"");
	for (size_t i = 0; i < own; i++)
		give_argument(text, tracepoint, i);
	common_text_add(text, "\n");
}

/* ---- TRACING_DATA -------------------------------------------------------------------------------- */

/* Appends the formats of a system. The first tracepoint of a system comes first. */
static void describe_system(struct dump_perf_tracepoint *const *tracepoints, size_t count, size_t first,
			    struct ptl_bytes *data)
{
	const char *system = tracepoints[first]->schema->provider_name;
	struct ptl_bytes text = {0};
	uint32_t formats = 0;

	for (size_t i = first; i < count; i++)
		formats += !strcmp(tracepoints[i]->schema->provider_name, system);
	common_write_bytes(data, system, strlen(system) + 1);
	common_write_le(data, formats, 4);
	for (size_t i = first; i < count; i++) {
		if (strcmp(tracepoints[i]->schema->provider_name, system) != 0)
			continue;
		text.size = 0;
		describe(tracepoints[i], &text);
		common_write_le(data, text.size, 8);
		common_write_bytes(data, text.data, text.size);
		data->failed |= text.failed;
	}
	common_bytes_free(&text);
}

static bool is_first_of_system(struct dump_perf_tracepoint *const *tracepoints, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (!strcmp(tracepoints[i]->schema->provider_name, tracepoints[number]->schema->provider_name))
			return false;
	return true;
}

/* Appends a name, and a text behind its size. */
static void put_part(struct ptl_bytes *data, const char *name, const char *text)
{
	common_write_bytes(data, name, strlen(name) + 1);
	common_write_le(data, strlen(text), 8);
	common_write_bytes(data, text, strlen(text));
}

void dump_perf_tracepoints_describe(struct dump_perf_tracepoint *const *tracepoints, size_t count,
				    struct ptl_bytes *data)
{
	/* magic, version, byte order, bytes of a long, bytes of a page */
	static const char head[] = "\x17\x08\x44tracing0.6\0\0\x08\0\x10\0";
	/* The layout of ftrace's ring, as in events/header_page. Samples of perf do not use the ring. */
	static const char page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				   "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				   "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
	static const char event[] = "# compressed entry header\n";
	uint32_t systems = 0;

	if (!count)
		return;
	common_write_bytes(data, head, sizeof(head));
	put_part(data, "header_page", page);
	put_part(data, "header_event", event);
	common_write_le(data, 0, 4); /* formats of ftrace itself */
	for (size_t i = 0; i < count; i++)
		systems += is_first_of_system(tracepoints, i);
	common_write_le(data, systems, 4);
	for (size_t i = 0; i < count; i++)
		if (is_first_of_system(tracepoints, i))
			describe_system(tracepoints, count, i, data);
	common_write_le(data, 0, 4); /* kallsyms */
	common_write_le(data, 0, 4); /* formats of trace_printk */
	common_write_le(data, 0, 8); /* names of threads */
}
