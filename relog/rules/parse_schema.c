/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses schemas: man/ptl-rules.5, SCHEMAS. */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "relog/rules/parser.h"

#define FIELDS_MAX 16384u /* limit of docs/format.md, section 5 */
#define NESTING_MAX 8u
#define NAMES_MAX 4096u /* names of a field's numbers */

/* indexed by type of ptl/event.h */
static const char *const type_names[PTL_TYPE_STRUCT + 1] = {
	[PTL_TYPE_U8] = "u8",
	[PTL_TYPE_I8] = "i8",
	[PTL_TYPE_U16] = "u16",
	[PTL_TYPE_I16] = "i16",
	[PTL_TYPE_U32] = "u32",
	[PTL_TYPE_I32] = "i32",
	[PTL_TYPE_U64] = "u64",
	[PTL_TYPE_I64] = "i64",
	[PTL_TYPE_F32] = "f32",
	[PTL_TYPE_F64] = "f64",
	[PTL_TYPE_BOOL8] = "bool8",
	[PTL_TYPE_BOOL32] = "bool32",
	[PTL_TYPE_POINTER] = "pointer",
	[PTL_TYPE_TIME] = "time",
	[PTL_TYPE_WALL_TIME] = "wall_time",
	[PTL_TYPE_GUID] = "guid",
	[PTL_TYPE_UTF8] = "utf8",
	[PTL_TYPE_UTF16] = "utf16",
	[PTL_TYPE_UTF8_COUNTED] = "utf8_counted",
	[PTL_TYPE_UTF16_COUNTED] = "utf16_counted",
	[PTL_TYPE_BYTES_COUNTED] = "bytes_counted",
	[PTL_TYPE_BYTES] = "bytes",
	[PTL_TYPE_STRUCT] = "struct",
};

static const char *const formats[] = {
	[PTL_FORMAT_HEX] = "hex",
	[PTL_FORMAT_STRING] = "chars",
	[PTL_FORMAT_ADDRESS] = "address",
	[PTL_FORMAT_HASH] = "hash",
};

/* Fields parsed so far, in the arena. */
struct fields {
	struct rules_schema *schema;
	struct ptl_field *list;
	size_t count;
};

static int add_field(struct query_parser *parser, struct fields *fields, const struct ptl_field *field,
		     struct query_place at)
{
	if (fields->count == FIELDS_MAX)
		return query_refuse(parser, at, "expected at most %u fields in a schema, found more", FIELDS_MAX);
	if (!common_arena_room(parser->arena, &fields->list, fields->count, sizeof(*fields->list)))
		return PTL_NO_MEMORY;
	fields->list[fields->count++] = *field;
	return query_count_one(parser, at);
}

static int parse_length(struct query_parser *parser, struct ptl_field *field)
{
	uint64_t length = 0;
	int status = query_take_symbol(parser, "[");

	if (status <= 0)
		return status;
	if (field->type != PTL_TYPE_BYTES)
		return query_expected(parser, "a name (a number of bytes belongs to the type bytes, and an "
					      "array's to the name)");
	status = query_need_number(parser, "a number of bytes", PTL_PAYLOAD_MAX, &length);
	if (!status && !length)
		return query_refuse(parser, parser->token.at, "expected a number of bytes above 0, found 0");
	field->length = (uint32_t)length;
	return status < 0 ? status : query_need_symbol(parser, "]", NULL);
}

int rules_parse_type(struct query_parser *parser, struct ptl_field *field)
{
	int type = query_find_word(parser, type_names, PTL_TYPE_STRUCT + 1), status;

	if (type <= 0)
		return query_expected(parser, "a type such as u32, pointer, utf8 or struct");
	*field = (struct ptl_field){.type = (uint8_t)type};
	status = query_advance(parser);
	return status < 0 ? status : parse_length(parser, field);
}

static int parse_array(struct query_parser *parser, struct ptl_field *field)
{
	uint64_t length = 0;
	int status = query_take_symbol(parser, "[");

	if (status <= 0)
		return status;
	status = query_take_word(parser, "counted");
	if (status < 0)
		return status;
	field->array = status ? PTL_ARRAY_COUNTED : PTL_ARRAY_FIXED;
	if (field->type == PTL_TYPE_BYTES && !field->length)
		return query_refuse(
			parser, parser->token.at,
			"expected bytes[NUMBER] as the elements of an array, found bytes, the rest of the payload");
	if (!status) {
		status = query_need_number(parser, "a number of elements or counted", PTL_PAYLOAD_MAX, &length);
		if (!status && !length)
			return query_refuse(parser, parser->token.at, "expected a number of elements above 0, found 0");
		field->array_length = (uint32_t)length;
	}
	return status < 0 ? status : query_need_symbol(parser, "]", NULL);
}

/* ---- names of numbers -------------------------------------------------------------------- */

/* Names of a field's numbers so far, in the arena. */
struct names {
	struct ptl_map_entry *list;
	size_t count;
};

static int add_name(struct query_parser *parser, struct names *names, const struct ptl_map_entry *entry,
		    struct query_place at)
{
	for (size_t i = 0; i < names->count; i++)
		if (names->list[i].value == entry->value)
			return query_refuse(parser, at, "expected another number, found one that is named '%.80s'",
					    names->list[i].name);
	if (names->count == NAMES_MAX)
		return query_refuse(parser, at, "expected at most %u names, found more", NAMES_MAX);
	if (!common_arena_room(parser->arena, &names->list, names->count, sizeof(*names->list)))
		return PTL_NO_MEMORY;
	names->list[names->count++] = *entry;
	return query_count_one(parser, at);
}

/* Whether the integer field can have the value. Flags are bits, whether the field is signed or not. */
static bool has_value(const struct ptl_field *field, enum ptl_map_kind kind, bool negative, uint64_t value)
{
	static const uint8_t bits[PTL_TYPE_I64 + 1] = {
		[PTL_TYPE_U8] = 8,   [PTL_TYPE_I8] = 7,   [PTL_TYPE_U16] = 16, [PTL_TYPE_I16] = 15,
		[PTL_TYPE_U32] = 32, [PTL_TYPE_I32] = 31, [PTL_TYPE_U64] = 64, [PTL_TYPE_I64] = 63,
	};
	const bool is_signed = bits[field->type] % 8 != 0;
	const bool is_flag = kind == PTL_MAP_FLAGS;
	const uint64_t most = UINT64_MAX >> (64 - bits[field->type] - (is_signed && is_flag));

	return negative ? !value || (is_signed && !is_flag && value - 1 <= most) : value <= most;
}

static int parse_name(struct query_parser *parser, const struct ptl_field *field, enum ptl_map_kind kind,
		      struct names *names)
{
	struct query_place at = parser->token.at;
	struct ptl_map_entry entry = {0};
	int negative = query_take_symbol(parser, "-"), status = negative;

	if (negative >= 0)
		status = query_need_number(parser, "a number", UINT64_MAX, &entry.value);
	if (!status && !has_value(field, kind, negative > 0, entry.value))
		return query_refuse(parser, at, "expected a number that a field of the type %s can have, found %s%llu",
				    type_names[field->type], negative ? "-" : "", (unsigned long long)entry.value);
	if (negative > 0)
		entry.value = 0 - entry.value;
	if (!status)
		status = query_need_symbol(parser, "=", NULL);
	if (!status)
		status = query_need_string(parser, "the number's name in quotes", &entry.name);
	return status < 0 ? status : add_name(parser, names, &entry, at);
}

/* Returns a text for the map that no other field of the provider has. */
static const char *name_of_map(struct query_parser *parser, const struct fields *fields)
{
	const struct ptl_schema *schema = &fields->schema->schema;
	char text[64];
	const int size = snprintf(text, sizeof(text), "%u.%u.%u.%zu", schema->id, schema->version, schema->opcode,
				  fields->count);

	return common_arena_copy(parser->arena, text, (size_t)size);
}

/* Parses "{ 1 = "ONE", ... }" behind `names` or `flags`. */
static int parse_map(struct query_parser *parser, struct fields *fields, enum ptl_map_kind kind,
		     struct ptl_field *field)
{
	struct rules_map *map = common_arena_zeroed(parser->arena, sizeof(*map));
	struct names names = {0};
	int status = query_need_symbol(parser, "{", NULL);

	if (!map)
		return PTL_NO_MEMORY;
	while (!status && (status = parse_name(parser, field, kind, &names)) == 0 &&
	       (status = query_take_symbol(parser, ",")) > 0)
		status = 0;
	if (!status)
		status = query_need_symbol(parser, "}", "',' or '}'");
	if (status < 0)
		return status;
	field->map = name_of_map(parser, fields);
	if (!field->map)
		return PTL_NO_MEMORY;
	map->map = (struct ptl_map){.kind = kind, .name = field->map, .entries = names.list, .count = names.count};
	map->next = fields->schema->maps;
	fields->schema->maps = map;
	return 0;
}

static bool is_integer(const struct ptl_field *field)
{
	return field->type >= PTL_TYPE_U8 && field->type <= PTL_TYPE_I64;
}

static int parse_format(struct query_parser *parser, struct fields *fields, struct ptl_field *field)
{
	static const char *const maps[] = {"names", "flags"};
	const int map = query_find_word(parser, maps, 2);
	int format = query_find_word(parser, formats, sizeof(formats) / sizeof(formats[0])), status;

	if (map >= 0 && !is_integer(field))
		return query_expected(parser, "';' (only integers have names or flags)");
	if (map >= 0) {
		status = query_advance(parser);
		return status < 0 ? status : parse_map(parser, fields, map ? PTL_MAP_FLAGS : PTL_MAP_VALUES, field);
	}
	if (format > 0) {
		field->format = (uint8_t)format;
		return query_advance(parser);
	}
	if (!query_is_symbol(parser, ";"))
		return query_expected(parser, "';' or a format: hex, chars, address, hash, names or flags");
	return 0;
}

/* ---- members ----------------------------------------------------------------------------- */

static int parse_members(struct query_parser *parser, struct fields *fields, unsigned depth);

/*
 * Members follow their structure in the list. The structure's length is the number of all members, including members of
 * members.
 */
static int parse_struct(struct query_parser *parser, struct fields *fields, struct ptl_field *field,
			struct query_place at, unsigned depth)
{
	size_t own = fields->count;
	int status;

	if (depth == NESTING_MAX)
		return query_refuse(parser, at, "expected structures nested at most %u deep, found more", NESTING_MAX);
	status = add_field(parser, fields, field, at);
	if (!status)
		status = parse_members(parser, fields, depth + 1);
	if (status < 0)
		return status;
	fields->list[own].length = (uint32_t)(fields->count - own - 1);
	if (!fields->list[own].length)
		return query_refuse(parser, at, "expected members in the structure, found none");
	return 0;
}

static int parse_member(struct query_parser *parser, struct fields *fields, size_t first, unsigned depth)
{
	struct query_place at = parser->token.at;
	struct ptl_field field;
	int status = rules_parse_type(parser, &field);

	at = status ? at : parser->token.at;
	if (!status)
		status = query_need_name(parser, "the name of the field", &field.name);
	for (size_t i = first; !status && i < fields->count; i++) {
		if (!strcmp(fields->list[i].name, field.name))
			return query_refuse(parser, at, "expected another name, found a second field '%s'", field.name);
		if (fields->list[i].type == PTL_TYPE_STRUCT)
			i += fields->list[i].length;
	}
	if (!status)
		status = parse_array(parser, &field);
	if (!status && field.type == PTL_TYPE_STRUCT)
		return parse_struct(parser, fields, &field, at, depth);
	if (!status)
		status = parse_format(parser, fields, &field);
	if (!status)
		status = query_need_symbol(parser, ";", NULL);
	return status < 0 ? status : add_field(parser, fields, &field, at);
}

static int parse_members(struct query_parser *parser, struct fields *fields, unsigned depth)
{
	size_t first = fields->count;
	int status = query_need_symbol(parser, "{", NULL);

	while (!status && !query_is_symbol(parser, "}"))
		status = parse_member(parser, fields, first, depth);
	return status < 0 ? status : query_advance(parser);
}

static int parse_identity(struct query_parser *parser, struct ptl_schema *schema)
{
	static const char *const words[] = {"id", "version", "opcode"};
	static const char *const meanings[] = {"an id", "a version", "an opcode"};
	uint64_t numbers[3] = {0};
	bool given[3] = {false};
	int which, status = 0;

	while (!status && (which = query_find_word(parser, words, 3)) >= 0) {
		if (given[which])
			return query_refuse(parser, parser->token.at,
					    "expected each of id, version and opcode once, found "
					    "a second %s",
					    words[which]);
		given[which] = true;
		status = query_advance(parser);
		if (!status)
			status = query_need_number(parser, meanings[which], which ? UINT8_MAX : UINT16_MAX,
						   &numbers[which]);
	}
	schema->id = (uint16_t)numbers[0];
	schema->version = (uint8_t)numbers[1];
	schema->opcode = (uint8_t)numbers[2];
	return status;
}

/* Whether two names of the file mean the same provider, as far as is known without a trace. */
static bool same_provider(const struct rules_provider *a, const struct rules_provider *b)
{
	if (a == b || a->has_guid != b->has_guid)
		return a == b;
	return a->has_guid ? common_guid_equal(&a->guid, &b->guid) : !strcmp(a->name, b->name);
}

static int check_unique(const struct query_parser *parser, const struct rules_schema *schema)
{
	for (const struct rules_schema *s = rules_owner(parser)->rules->schemas; s; s = s->next)
		if (same_provider(s->provider, schema->provider) && s->schema.id == schema->schema.id &&
		    s->schema.version == schema->schema.version && s->schema.opcode == schema->schema.opcode)
			return query_refuse(parser, schema->at,
					    "expected a schema of other events, found a second one for the "
					    "same id, version and opcode (the first is in line %u)",
					    s->at.line);
	return 0;
}

int rules_parse_schema(struct query_parser *parser, struct rules_schema **result)
{
	struct rules_schema *schema = common_arena_zeroed(parser->arena, sizeof(*schema));
	struct fields fields = {.schema = schema};
	int status;

	if (!schema)
		return PTL_NO_MEMORY;
	schema->at = parser->token.at;
	schema->schema = (struct ptl_schema){
		.provider_name = "", .event_name = "", .task_name = "", .opcode_name = "", .message = ""};
	status = rules_need_provider(parser, &schema->provider);
	if (!status)
		status = parse_identity(parser, &schema->schema);
	if (!status && parser->token.kind == QUERY_TOKEN_STRING) {
		schema->schema.event_name = parser->token.text;
		status = query_advance(parser);
	}
	if (!status && !query_is_symbol(parser, "{"))
		return query_expected(parser, "id, version, opcode, the event's name or '{'");
	if (!status)
		status = check_unique(parser, schema);
	if (!status)
		status = parse_members(parser, &fields, 0);
	schema->schema.fields = fields.list;
	schema->schema.field_count = fields.count;
	*result = schema;
	return status;
}
