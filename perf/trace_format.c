/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses formats of tracepoints. */
#include "perf/trace_format.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/event/integer_type.h"

#define COMMON "common_"
#define COMMON_TYPE "common_type" /* number of the tracepoint */
#define COMMON_FLAGS "common_flags"
#define COMMON_PID "common_pid" /* tid, which samples have, too */
#define RECORD_MAX 65536u

void perf_trace_format_free(struct perf_trace_format *format)
{
	for (size_t i = 0; i < format->map_count; i++) {
		free((void *)(uintptr_t)format->maps[i].map.entries);
		free(format->maps[i].name);
	}
	free(format->maps);
	free(format->fields);
	free(format->steps);
	free(format->described);
	free(format->text);
	free(format->names);
	*format = (struct perf_trace_format){0};
}

/* ---- declarations ------------------------------------------------------------------------------ */

/*
 * A field declaration: "TYPE NAME", "TYPE NAME[COUNT]", "__data_loc TYPE[] NAME". type and name are zero-terminated
 * within the text.
 */
struct declaration {
	char *type;
	char *name;
	bool is_dynamic, is_relative, is_array;
};

static char *trim(char *text)
{
	size_t length;

	while (isspace((unsigned char)*text))
		text++;
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		text[--length] = 0;
	return text;
}

static bool take_prefix(char **text, const char *prefix)
{
	const size_t length = strlen(prefix);

	if (strncmp(*text, prefix, length))
		return false;
	*text = trim(*text + length);
	return true;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Removes "[...]" from the end of text. */
static bool cut_brackets(char *text)
{
	const size_t length = strlen(text);
	char *open = strrchr(text, '[');

	if (!length || text[length - 1] != ']' || !open)
		return false;
	*open = 0;
	return true;
}

static bool parse_declaration(char *text, struct declaration *declaration)
{
	size_t at;

	text = trim(text);
	*declaration = (struct declaration){0};
	declaration->is_relative = take_prefix(&text, "__rel_loc ");
	declaration->is_dynamic = declaration->is_relative || take_prefix(&text, "__data_loc ");
	declaration->is_array = !declaration->is_dynamic && cut_brackets(text);
	text = trim(text);
	at = strlen(text);
	while (at && is_word(text[at - 1]))
		at--;
	if (!at || !text[at])
		return false;
	declaration->name = text + at;
	/* Type and name are separated by a space; pointers as "void *p". */
	if (isspace((unsigned char)text[at - 1]))
		text[at - 1] = 0;
	else
		return false;
	if (declaration->is_dynamic)
		cut_brackets(text);
	declaration->type = trim(text);
	return *declaration->type != 0;
}

/* ---- types ---------------------------------------------------------------------------------------- */

/* Returns the size of a dynamic array's element type, which formats do not give. */
static size_t size_of_type(const char *type)
{
	static const struct {
		const char *name;
		size_t size;
	} sizes[] = {
		{"u8", 1},
		{"s8", 1},
		{"__u8", 1},
		{"__s8", 1},
		{"unsigned char", 1},
		{"uint8_t", 1},
		{"bool", 1},
		{"u16", 2},
		{"s16", 2},
		{"__u16", 2},
		{"__s16", 2},
		{"short", 2},
		{"unsigned short", 2},
		{"uint16_t", 2},
		{"u32", 4},
		{"s32", 4},
		{"__u32", 4},
		{"__s32", 4},
		{"int", 4},
		{"unsigned", 4},
		{"unsigned int", 4},
		{"uint32_t", 4},
		{"u64", 8},
		{"s64", 8},
		{"__u64", 8},
		{"__s64", 8},
		{"long", 8},
		{"unsigned long", 8},
		{"long long", 8},
		{"unsigned long long", 8},
		{"uint64_t", 8},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!strcmp(sizes[i].name, type))
			return sizes[i].size;
	return 0;
}

static size_t size_of_number(uint8_t type)
{
	return (size_t)1 << (type - PTL_TYPE_U8) / 2;
}

static bool is_text(const char *type)
{
	return !strcmp(type, "char") || !strcmp(type, "const char");
}

static void describe_dynamic(const struct declaration *declaration, const struct perf_trace_field *field,
			     struct ptl_field *described)
{
	const size_t size = size_of_type(declaration->type);

	if (is_text(declaration->type)) {
		described->type = PTL_TYPE_UTF8;
	} else if (size > 1) {
		described->type = format_integer_type(size, field->is_signed);
		described->array = PTL_ARRAY_COUNTED;
	} else {
		described->type = PTL_TYPE_BYTES_COUNTED;
	}
}

static void describe_array(const struct declaration *declaration, const struct perf_trace_field *field,
			   struct ptl_field *described)
{
	const size_t size = size_of_type(declaration->type);

	if (is_text(declaration->type)) {
		described->type = PTL_TYPE_UTF8;
	} else if (size > 1 && field->size && field->size % size == 0) {
		described->type = format_integer_type(size, field->is_signed);
		described->array = PTL_ARRAY_FIXED;
		described->array_length = (uint32_t)(field->size / size);
	} else {
		described->type = PTL_TYPE_BYTES;
		described->length = field->size;
	}
}

static void describe_field(const struct declaration *declaration, const struct perf_trace_field *field,
			   struct ptl_field *described)
{
	*described = (struct ptl_field){.name = declaration->name};
	if (declaration->is_dynamic) {
		describe_dynamic(declaration, field, described);
	} else if (declaration->is_array) {
		describe_array(declaration, field, described);
	} else if (strchr(declaration->type, '*') && field->size == 8) {
		described->type = PTL_TYPE_POINTER;
	} else if (!strcmp(declaration->type, "bool") && field->size == 1) {
		described->type = PTL_TYPE_BOOL8;
	} else {
		described->type = format_integer_type(field->size, field->is_signed);
		if (!described->type) {
			described->type = PTL_TYPE_BYTES;
			described->length = field->size;
		}
	}
}

/* ---- lines ------------------------------------------------------------------------------------------- */

/* Parses "KEY:NUMBER;". */
static bool take_number(char **text, const char *key, uint32_t *number)
{
	char *at = strstr(*text, key), *end;
	unsigned long value;

	if (!at)
		return false;
	at += strlen(key);
	if (!isdigit((unsigned char)*at))
		return false;
	value = strtoul(at, &end, 10);
	if (*end != ';' || value >= RECORD_MAX)
		return false;
	*number = (uint32_t)value;
	*text = end + 1;
	return true;
}

/* Adds a field. Common fields are sorted to the end later. */
static int add_field(struct perf_trace_format *format, char *line)
{
	struct perf_trace_field *field = &format->fields[format->field_count];
	char *rest = strchr(line, ';');
	struct declaration declaration;
	uint32_t is_signed = 0;

	if (!rest || format->field_count == PERF_TRACE_FIELDS_MAX)
		return common_fail(PTL_CORRUPT, "a tracepoint's field that cannot be");
	*rest++ = 0;
	*field = (struct perf_trace_field){0};
	if (!take_number(&rest, "offset:", &field->offset) || !take_number(&rest, "size:", &field->size) ||
	    !parse_declaration(line, &declaration))
		return common_fail(PTL_CORRUPT, "a tracepoint's field that cannot be");
	take_number(&rest, "signed:", &is_signed);
	if (declaration.is_dynamic && field->size != 4)
		return common_fail(PTL_CORRUPT, "a tracepoint's field whose place has %u bytes", field->size);
	/* Only one field may have no size: an array that extends to the end of the record. */
	for (size_t i = 0; i <= format->field_count && !field->size; i++)
		if (!declaration.is_array || (i < format->field_count && !format->fields[i].size))
			return common_fail(PTL_CORRUPT, "a tracepoint's field without bytes");
	if (!strcmp(declaration.name, COMMON_TYPE) || !strcmp(declaration.name, COMMON_PID))
		return 0;
	field->is_dynamic = declaration.is_dynamic;
	field->is_relative = declaration.is_relative;
	field->is_signed = is_signed;
	describe_field(&declaration, field, &format->described[format->field_count]);
	if (!strcmp(declaration.name, COMMON_FLAGS) && field->size <= 8)
		format->described[format->field_count].format = PTL_FORMAT_HEX;
	format->field_count++;
	return 0;
}

/* Returns the sort rank: own fields, then common fields, then the field that extends to the end. */
static int rank(const struct perf_trace_format *format, size_t i)
{
	if (!format->fields[i].size)
		return 2;
	return !strncmp(format->described[i].name, COMMON, strlen(COMMON));
}

static void sort_fields(struct perf_trace_format *format)
{
	for (size_t i = 1; i < format->field_count; i++)
		for (size_t k = i; k && rank(format, k - 1) > rank(format, k); k--) {
			const struct perf_trace_field field = format->fields[k];
			const struct ptl_field described = format->described[k];

			format->fields[k] = format->fields[k - 1];
			format->described[k] = format->described[k - 1];
			format->fields[k - 1] = field;
			format->described[k - 1] = described;
		}
}

static int parse_lines(struct perf_trace_format *format)
{
	char *next = format->text, *print = NULL;
	bool has_id = false;
	int status = 0;

	while (!status && next && !print) {
		char *line = next, *end;

		/* The print format is free text, and is the last line. */
		line += strspn(line, " \t");
		if (take_prefix(&line, "print fmt:")) {
			print = line;
			break;
		}
		end = strchr(line, '\n');
		next = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		if (take_prefix(&line, "name:"))
			format->name = line;
		else if (take_prefix(&line, "ID:"))
			has_id = isdigit((unsigned char)*line) &&
				 (format->id = (uint32_t)strtoul(line, NULL, 10)) < RECORD_MAX;
		else if (take_prefix(&line, "field:"))
			status = add_field(format, line);
	}
	if (!status && (!format->name || !*format->name || !has_id))
		status = common_fail(PTL_CORRUPT, "a tracepoint's format without name or number");
	if (!status)
		sort_fields(format);
	return !status && print ? perf_trace_print_parse(print, format) : status;
}

/* Whether the field's bytes are copied unchanged to the payload. */
static bool is_plain(const struct perf_trace_field *field, const struct ptl_field *described)
{
	return field->size && !field->is_dynamic && described->type != PTL_TYPE_UTF8;
}

/* Plans the payload: adjacent plain fields become one copy. */
static int plan_payload(struct perf_trace_format *format)
{
	format->steps = calloc(format->field_count + 1, sizeof(*format->steps));
	if (!format->steps)
		return common_fail_memory("a tracepoint's format", format->field_count * sizeof(*format->steps));
	for (size_t i = 0; i < format->field_count; i++) {
		const struct perf_trace_field *field = &format->fields[i];
		struct perf_trace_step *last = format->step_count ? &format->steps[format->step_count - 1] : NULL;
		const bool plain = is_plain(field, &format->described[i]);

		if (plain && last && last->field == PERF_TRACE_COPY && last->offset + last->size == field->offset)
			last->size += field->size;
		else
			format->steps[format->step_count++] = (struct perf_trace_step){
				field->offset, field->size, plain ? PERF_TRACE_COPY : (uint32_t)i};
	}
	return 0;
}

int perf_trace_format_parse(const char *text, size_t size, struct perf_trace_format *format)
{
	int status;

	*format = (struct perf_trace_format){0};
	if (size > PERF_TRACE_TEXT_MAX)
		return common_fail(PTL_CORRUPT, "a tracepoint's format of %zu bytes", size);
	format->text = malloc(size + 1);
	format->fields = calloc(PERF_TRACE_FIELDS_MAX, sizeof(*format->fields));
	format->described = calloc(PERF_TRACE_FIELDS_MAX, sizeof(*format->described));
	if (!format->text || !format->fields || !format->described)
		return common_fail_memory("a tracepoint's format", size);
	memcpy(format->text, text, size);
	format->text[size] = 0;
	status = parse_lines(format);
	return status == 0 ? plan_payload(format) : status;
}

/* ---- records -------------------------------------------------------------------------------------------- */

/* Finds the bytes of a field. Returns false if the bytes lie outside the record. */
static bool find_bytes(const struct perf_trace_field *field, const uint8_t *raw, size_t size, const uint8_t **bytes,
		       size_t *length)
{
	size_t offset = field->offset;

	*length = field->size;
	if (offset > size || field->size > size - offset)
		return false;
	if (!field->size)
		*length = size - offset;
	if (field->is_dynamic) {
		const uint32_t place = common_load32(raw + offset);

		*length = place >> 16;
		offset = (place & 0xffff) + (field->is_relative ? offset + 4 : 0);
		if (offset > size || *length > size - offset)
			return false;
	}
	*bytes = raw + offset;
	return true;
}

/* Writes a field that is not copied unchanged. Returns false if the bytes lie outside the record. */
static bool write_field(const struct perf_trace_field *field, const struct ptl_field *described, const uint8_t *raw,
			size_t size, struct ptl_bytes *payload)
{
	const uint8_t *bytes;
	size_t length;

	if (!find_bytes(field, raw, size, &bytes, &length))
		return false;
	if (described->type == PTL_TYPE_UTF8) {
		common_write_bytes(payload, bytes, strnlen((const char *)bytes, length));
		common_write_le(payload, 0, 1);
		return true;
	}
	if (described->type == PTL_TYPE_BYTES_COUNTED)
		common_write_le(payload, length, 2);
	if (described->array == PTL_ARRAY_COUNTED) {
		const size_t each = size_of_number(described->type);

		common_write_le(payload, length / each, 2);
		length -= length % each;
	}
	common_write_bytes(payload, bytes, length);
	return true;
}

bool perf_trace_format_payload(const struct perf_trace_format *format, const uint8_t *raw, size_t size,
			       struct ptl_bytes *payload)
{
	for (size_t i = 0; i < format->step_count; i++) {
		const struct perf_trace_step *step = &format->steps[i];

		if (payload->size > PTL_PAYLOAD_MAX)
			return false;
		if (step->field != PERF_TRACE_COPY) {
			if (!write_field(&format->fields[step->field], &format->described[step->field], raw, size,
					 payload))
				return false;
			continue;
		}
		if (step->offset > size || step->size > size - step->offset)
			return false;
		common_write_bytes(payload, raw + step->offset, step->size);
	}
	return payload->size <= PTL_PAYLOAD_MAX;
}
