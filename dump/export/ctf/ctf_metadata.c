/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the metadata of a CTF trace: an event class for each schema. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/hash_map.h"
#include "common/text/guid.h"
#include "common/text/text.h"
#include "common/text/utf8.h"
#include "dump/export/ctf/ctf.h"

#define DEPTH_MAX 16

/* ---- literals and identifiers -------------------------------------------------------------------- */

/* Appends a string literal. Quotes and backslashes are escaped; control characters and invalid UTF-8 become "?". */
static void add_quoted(struct ptl_bytes *text, const char *words)
{
	size_t size = strlen(words), step;

	common_text_add(text, "\"");
	for (; size; words += step, size -= step) {
		uint32_t character;
		const size_t read = common_utf8_read((const uint8_t *)words, size, &character);

		step = read ? read : 1;
		if (!read || character < 32 || character == 127) {
			common_text_add(text, "?");
			continue;
		}
		if (character == '"' || character == '\\')
			common_text_add(text, "\\");
		common_write_bytes(text, words, step);
	}
	common_text_add(text, "\"");
}

/* Names used in one structure. */
struct scope {
	struct common_byte_map names; /* number of uses by name */
};

/* Appends a name as an identifier. The prefix "_", which readers remove, prevents collisions with keywords. */
static void add_identifier(struct ptl_bytes *text, struct scope *scope, const char *name)
{
	struct ptl_bytes plain = {0};
	uint64_t *known;

	for (; *name && plain.size < 1024; name++)
		common_write_le(&plain,
				isascii((unsigned char)*name) && isalnum((unsigned char)*name) ? (uint8_t)*name : '_',
				1);
	known = plain.size ? common_byte_map_get(&scope->names, plain.data, plain.size) : NULL;
	common_text_add(text, "_");
	common_write_bytes(text, plain.data, plain.size);
	if (known)
		common_text_format(text, "_%" PRIu64, ++*known);
	else if (common_byte_map_put(&scope->names, plain.data, plain.size, 1) < 0)
		text->failed = true;
	common_bytes_free(&plain);
}

/* ---- fields -------------------------------------------------------------------------------------- */

/* Returns the CTF type of one element; NULL: bytes. ctf_stream.c must write the same types. */
static const char *type_of(const struct ptl_field *field)
{
	static const char *const types[] = {
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
		[PTL_TYPE_BOOL8] = "u8",
		[PTL_TYPE_BOOL32] = "u32",
		[PTL_TYPE_POINTER] = "x64",
		[PTL_TYPE_TIME] = "i64",
		[PTL_TYPE_WALL_TIME] = "i64",
		[PTL_TYPE_GUID] = "string",
		[PTL_TYPE_UTF8] = "string",
		[PTL_TYPE_UTF16] = "string",
		[PTL_TYPE_UTF8_COUNTED] = "string",
		[PTL_TYPE_UTF16_COUNTED] = "string",
	};

	return field->type < sizeof(types) / sizeof(types[0]) ? types[field->type] : NULL;
}

static void add_indent(struct ptl_bytes *text, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		common_text_add(text, "\t");
}

static size_t add_fields(struct ptl_bytes *text, const struct ptl_schema *schema, size_t first, size_t count,
			 unsigned depth);

/* Appends the type of field i. Returns the index after the field and its nested fields. */
static size_t add_type(struct ptl_bytes *text, const struct ptl_schema *schema, size_t i, unsigned depth)
{
	const struct ptl_field *field = &schema->fields[i];

	/* No payload can have structures nested as deep. */
	if (field->type == PTL_TYPE_STRUCT && depth > DEPTH_MAX) {
		common_text_add(text, "u8 ");
		return i + 1;
	}
	if (field->type == PTL_TYPE_STRUCT) {
		common_text_add(text, "struct {\n");
		i = add_fields(text, schema, i + 1, field->length, depth + 1);
		add_indent(text, depth);
		common_text_add(text, "} ");
		return i;
	}
	common_text_format(text, "%s ", type_of(field) ? type_of(field) : "struct { u32 length; u8 data[length]; }");
	return i + 1;
}

static size_t add_field(struct ptl_bytes *text, struct scope *scope, const struct ptl_schema *schema, size_t i,
			unsigned depth)
{
	const struct ptl_field *field = &schema->fields[i];
	struct ptl_bytes name = {0};

	add_identifier(&name, scope, field->name);
	add_indent(text, depth);
	if (field->array == PTL_ARRAY_COUNTED) {
		common_text_format(text, "u16 _%s_length;\n", common_text_string(&name));
		add_indent(text, depth);
	}
	i = add_type(text, schema, i, depth);
	common_write_bytes(text, name.data, name.size);
	if (field->array == PTL_ARRAY_COUNTED)
		common_text_format(text, "[_%s_length]", common_text_string(&name));
	else if (field->array == PTL_ARRAY_FIXED)
		common_text_format(text, "[%" PRIu32 "]", field->array_length);
	common_text_add(text, ";\n");
	text->failed |= name.failed;
	common_bytes_free(&name);
	return i;
}

/* Appends `count` fields from `first` on, including nested fields. Ends early for a contradictory schema. */
static size_t add_fields(struct ptl_bytes *text, const struct ptl_schema *schema, size_t first, size_t count,
			 unsigned depth)
{
	const size_t end = count < schema->field_count - first ? first + count : schema->field_count;
	struct scope scope = {0};

	while (first < end)
		first = add_field(text, &scope, schema, first, depth);
	common_byte_map_free(&scope.names);
	return first;
}

/* ---- classes ------------------------------------------------------------------------------------- */

static void add_class(struct ptl_bytes *text, uint32_t number, const char *provider, const char *name)
{
	struct ptl_bytes full = {0};

	common_text_add(&full, provider);
	common_text_add(&full, *provider ? ":" : "");
	common_text_add(&full, name);
	common_text_add(text, "event {\n\tname = ");
	add_quoted(text, common_text_string(&full));
	common_text_format(text, ";\n\tid = %" PRIu32 ";\n\tstream_id = 0;\n\tfields := struct {\n", number);
	text->failed |= full.failed;
	common_bytes_free(&full);
}

static void add_classes(const struct ptl_trace *trace, struct ptl_bytes *text)
{
	for (uint32_t i = 0; i < ptl_schema_count(trace); i++) {
		const struct ptl_schema *schema = ptl_schema_at(trace, i);

		add_class(text, i, schema->provider_name, schema->event_name);
		add_fields(text, schema, 0, schema->field_count, 2);
		common_text_add(text, "\t};\n};\n\n");
	}
	add_class(text, dump_ctf_raw_class(trace), "", "unknown");
	common_text_add(text, "\t\tstring _provider;\n\t\tu32 __payload_length;\n\t\tu8 _payload[__payload_length];\n"
			      "\t};\n};\n");
}

/* ---- shared declarations ------------------------------------------------------------------------- */

static const char types[] = "typealias integer { size = 8; align = 8; signed = false; } := u8;\n"
			    "typealias integer { size = 16; align = 8; signed = false; } := u16;\n"
			    "typealias integer { size = 32; align = 8; signed = false; } := u32;\n"
			    "typealias integer { size = 64; align = 8; signed = false; } := u64;\n"
			    "typealias integer { size = 64; align = 8; signed = false; base = 16; } := x64;\n"
			    "typealias integer { size = 8; align = 8; signed = true; } := i8;\n"
			    "typealias integer { size = 16; align = 8; signed = true; } := i16;\n"
			    "typealias integer { size = 32; align = 8; signed = true; } := i32;\n"
			    "typealias integer { size = 64; align = 8; signed = true; } := i64;\n"
			    "typealias floating_point { exp_dig = 8; mant_dig = 24; align = 8; } := f32;\n"
			    "typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } := f64;\n\n";

static const char stream[] = "stream {\n"
			     "\tid = 0;\n"
			     "\tpacket.context := struct {\n"
			     "\t\tclock_time timestamp_begin;\n"
			     "\t\tclock_time timestamp_end;\n"
			     "\t\tu64 content_size;\n"
			     "\t\tu64 packet_size;\n"
			     "\t};\n"
			     "\tevent.header := struct {\n"
			     "\t\tu32 id;\n"
			     "\t\tclock_time timestamp;\n"
			     "\t};\n"
			     "\tevent.context := struct {\n"
			     "\t\tu32 _cpu;\n"
			     "\t\tu32 _pid;\n"
			     "\t\tu32 _tid;\n"
			     "\t\tu16 _id;\n"
			     "\t\tu8 _version;\n"
			     "\t\tu8 _channel;\n"
			     "\t\tu8 _level;\n"
			     "\t\tu8 _opcode;\n"
			     "\t\tu16 _task;\n"
			     "\t\tx64 _keyword;\n"
			     "\t\tstring _activity;\n"
			     "\t\tstring _related;\n"
			     "\t};\n"
			     "};\n\n";

static void add_trace(const struct ptl_trace *trace, struct ptl_bytes *text)
{
	char words[PTL_GUID_TEXT_SIZE];
	struct ptl_guid id;
	int64_t wall;

	ptl_trace_id(trace, &id, &wall);
	common_guid_format(&id, words);
	common_text_format(
		text,
		"trace {\n\tmajor = 1;\n\tminor = 8;\n\tuuid = \"%s\";\n\tbyte_order = le;\n"
		"\tpacket.header := struct {\n\t\tu32 magic;\n\t\tu8 uuid[16];\n\t\tu32 stream_id;\n\t};\n};\n\n",
		words);
}

static void add_environment(const struct ptl_machine *machine, struct ptl_bytes *text)
{
	common_text_add(text, "env {\n\ttracer_name = \"ptl\";\n\thostname = ");
	add_quoted(text, machine->hostname);
	common_text_add(text, ";\n\tkernel_release = ");
	add_quoted(text, machine->kernel);
	common_text_add(text, ";\n\tarchitecture_name = ");
	add_quoted(text, machine->architecture);
	common_text_add(text, ";\n\tcpu_name = ");
	add_quoted(text, machine->cpu_name);
	common_text_add(text, ";\n};\n\n");
}

/* Appends the clock. Times in the stream are of the trace's clock; the offset converts them to times of day. */
static void add_clock(const struct ptl_machine *machine, struct ptl_bytes *text)
{
	const int64_t offset = machine->wall_start ? machine->wall_start - (int64_t)machine->start_time : 0;
	int64_t seconds = offset / 1000000000, rest = offset % 1000000000;

	if (rest < 0) {
		rest += 1000000000;
		seconds--;
	}
	common_text_format(
		text,
		"clock {\n\tname = \"trace\";\n\tdescription = \"the clock of the trace\";\n\tfreq = 1000000000;\n"
		"\toffset_s = %" PRId64 ";\n\toffset = %" PRId64 ";\n};\n\n"
		"typealias integer { size = 64; align = 8; signed = false; map = clock.trace.value; } := "
		"clock_time;\n\n",
		seconds, rest);
}

void dump_ctf_metadata(const struct ptl_trace *trace, struct ptl_bytes *text)
{
	const struct ptl_machine *machine = ptl_trace_machine(trace);

	common_text_add(text, "/* CTF 1.8 */\n\n");
	common_text_add(text, types);
	add_trace(trace, text);
	add_environment(machine, text);
	add_clock(machine, text);
	common_text_add(text, stream);
	add_classes(trace, text);
}
