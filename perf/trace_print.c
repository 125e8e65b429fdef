/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the print format of a tracepoint: a printf format with C arguments. Uses only arguments that name a single
 * field, and value names among the arguments.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "perf/trace_format.h"

#define CONVERSIONS_MAX 64
#define ENTRIES_MAX 1024
#define RECORD "REC->"

/* A conversion, such as "%08lx" or "%pI4": its letter, and the letter behind a p. */
struct conversion {
	char letter;
	char more;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static const char *skip_space(const char *text)
{
	return text + strspn(text, " \t\n");
}

/* Returns the position behind the string literal at text; the end of text without a closing quote. */
static const char *skip_string(const char *text)
{
	for (text++; *text && *text != '"'; text++)
		if (*text == '\\' && text[1])
			text++;
	return *text ? text + 1 : text;
}

/* Returns the end of the argument at text: a comma, or an unmatched closing bracket. */
static const char *end_of_argument(const char *text)
{
	unsigned depth = 0;

	while (*text) {
		if (*text == '"') {
			text = skip_string(text);
			continue;
		}
		if (strchr("([{", *text))
			depth++;
		else if (strchr(")]}", *text) && !depth--)
			break;
		else if (*text == ',' && !depth)
			break;
		text++;
	}
	return text;
}

/* Finds the field named at *text, and moves *text behind the name. SIZE_MAX: no field. */
static size_t find_field(const struct perf_trace_format *format, const char **text)
{
	size_t length = 0;

	if (strncmp(*text, RECORD, strlen(RECORD)))
		return SIZE_MAX;
	*text += strlen(RECORD);
	while (is_word((*text)[length]))
		length++;
	for (size_t i = 0; i < format->field_count; i++) {
		const char *name = format->described[i].name;

		if (strlen(name) == length && !memcmp(name, *text, length)) {
			*text += length;
			return i;
		}
	}
	return SIZE_MAX;
}

/* Skips opening brackets and casts. Closing brackets remain, which is harmless. */
static const char *skip_brackets(const char *text)
{
	for (;;) {
		const char *at = skip_space(text);

		if (*at != '(')
			return at;
		text = at + 1;
		at = skip_space(text);
		if (!is_word(*at) || !strncmp(at, RECORD, strlen(RECORD)))
			continue;
		while (is_word(*at) || isspace((unsigned char)*at) || *at == '*')
			at++;
		if (*at == ')')
			text = at + 1;
	}
}

/* ---- display of numbers ------------------------------------------------------------------------------ */

static size_t read_conversions(const char *text, const char *end, struct conversion *found)
{
	size_t count = 0;

	for (; text < end && count < CONVERSIONS_MAX; text++) {
		if (*text != '%')
			continue;
		text++;
		if (*text == '%')
			continue;
		while (text < end && *text && strchr("0123456789.+-# hlLqjzt*", *text)) {
			if (*text == '*' && count < CONVERSIONS_MAX - 1)
				found[count++] = (struct conversion){'*', 0};
			text++;
		}
		found[count++] = (struct conversion){*text, text < end ? text[1] : 0};
	}
	return count;
}

static void set_look(struct ptl_field *field, const struct perf_trace_field *place, const struct conversion *conversion)
{
	const bool is_number = field->type >= PTL_TYPE_U8 && field->type <= PTL_TYPE_I64;

	if (is_number && !place->is_signed && (conversion->letter == 'x' || conversion->letter == 'X'))
		field->format = PTL_FORMAT_HEX;
	else if (is_number && conversion->letter == 'p' &&
		 (!is_word(conversion->more) || strchr("SsBFfKx", conversion->more)))
		field->format = PTL_FORMAT_ADDRESS;
	else if (field->type == PTL_TYPE_BYTES && conversion->letter == 'p' &&
		 (conversion->more == 'I' || conversion->more == 'i') && (field->length == 4 || field->length == 16))
		field->format = PTL_FORMAT_IP;
}

static void read_looks(const char *text, struct perf_trace_format *format)
{
	struct conversion conversions[CONVERSIONS_MAX];
	const char *end = skip_string(text);
	const size_t count = read_conversions(text, end, conversions);

	text = skip_space(end);
	for (size_t i = 0; i < count && *text == ','; i++) {
		const char *argument = skip_brackets(text + 1);
		const size_t field = find_field(format, &argument);

		text = end_of_argument(text + 1);
		argument += strspn(argument, ") \t\n");
		if (field != SIZE_MAX && argument == text)
			set_look(&format->described[field], &format->fields[field], &conversions[i]);
	}
}

/* ---- names of numbers -------------------------------------------------------------------------------- */

/* Truncates or sign-extends a value to the width of the field. */
static uint64_t fit(const struct perf_trace_field *field, uint64_t value)
{
	const unsigned spare = 64 - 8 * field->size;

	return field->is_signed ? (uint64_t)((int64_t)(value << spare) >> spare) : value << spare >> spare;
}

/*
 * Parses { number, "name" }, ... up to a closing bracket. Terminates names in a copy of the print format, so that
 * parsing can go on. Returns the number of entries.
 */
static size_t read_entries(const char *at, const struct perf_trace_field *field, char *copy, const char *text,
			   struct ptl_map_entry *entries)
{
	size_t count = 0;

	while (count < ENTRIES_MAX) {
		const char *begin = skip_space(at), *close, *name, *end;
		uint64_t value;

		if (*begin != '{')
			break;
		at = begin + 1;
		close = end_of_argument(at); /* a comma, or the end of the entry */
		name = skip_space(close + (*close == ','));
		end = *name == '"' ? skip_string(name) : name;
		if (perf_trace_number(&at, &value) && skip_space(at) == close && *close == ',' && end > name + 2) {
			entries[count++] = (struct ptl_map_entry){fit(field, value), copy + (name + 1 - text)};
			copy[end - 1 - text] = 0;
		}
		while (*close == ',')
			close = end_of_argument(close + 1);
		if (*close != '}')
			break;
		at = skip_space(close + 1);
		at += *at == ',';
	}
	return count;
}

static int add_map(struct perf_trace_format *format, size_t field, uint32_t kind, const struct ptl_map_entry *entries,
		   size_t count)
{
	struct perf_trace_map *added;
	struct ptl_map_entry *kept = calloc(count, sizeof(*kept));
	char *name = NULL;

	if (!kept || !common_vector_room(&format->maps, format->map_count, sizeof(*format->maps)) ||
	    asprintf(&name, "%s.%s", format->name, format->described[field].name) < 0) {
		free(kept);
		return common_fail_memory("names of a tracepoint", count * sizeof(*entries));
	}
	memcpy(kept, entries, count * sizeof(*entries));
	added = &format->maps[format->map_count++];
	*added = (struct perf_trace_map){.field = field, .name = name};
	added->map = (struct ptl_map){.kind = kind, .name = name, .entries = kept, .count = count};
	format->described[field].map = name;
	return 0;
}

/*
 * Parses the arguments of __print_flags(REC->field & mask, "|", {...}, ...) or __print_symbolic(REC->field, {...},
 * ...). at: behind the opening bracket.
 */
static int read_names(const char *text, const char *at, bool is_flags, struct perf_trace_format *format,
		      struct ptl_map_entry *entries)
{
	const char *argument = skip_brackets(at), *end = end_of_argument(at);
	const size_t field = find_field(format, &argument);
	const struct ptl_field *described = field == SIZE_MAX ? NULL : &format->described[field];
	size_t count;

	if (!described || described->map || *end != ',' || described->array || described->type < PTL_TYPE_U8 ||
	    described->type > PTL_TYPE_I64)
		return 0;
	argument += strspn(argument, ") \t\n");
	/* The mask is not needed. Any other expression is not the field's value. */
	if (argument != end && !(is_flags && *argument == '&'))
		return 0;
	if (is_flags)
		end = end_of_argument(end + 1); /* skip the separator */
	if (*end != ',')
		return 0;
	count = read_entries(end + 1, &format->fields[field], format->names, text, entries);
	return count ? add_map(format, field, is_flags ? PTL_MAP_FLAGS : PTL_MAP_VALUES, entries, count) : 0;
}

int perf_trace_print_parse(const char *text, struct perf_trace_format *format)
{
	static const char flags[] = "__print_flags(", symbolic[] = "__print_symbolic(";
	struct ptl_map_entry *entries;
	int status = 0;

	if (*text != '"')
		return 0;
	read_looks(text, format);
	entries = calloc(ENTRIES_MAX, sizeof(*entries));
	format->names = strdup(text);
	if (!entries || !format->names)
		status = common_fail_memory("names of a tracepoint", ENTRIES_MAX * sizeof(*entries));
	for (const char *at = skip_string(text); !status && *at; at++) {
		if (*at != '_' || is_word(at[-1]))
			continue;
		if (!strncmp(at, flags, strlen(flags)))
			status = read_names(text, at + strlen(flags), true, format, entries);
		else if (!strncmp(at, symbolic, strlen(symbolic)))
			status = read_names(text, at + strlen(symbolic), false, format, entries);
	}
	free(entries);
	return status;
}
