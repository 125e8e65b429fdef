/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses memory maps strictly: any deviation from the syntax is an error with line and column. */
#include "import/raw/memory_map.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

struct parser {
	const char *name;
	const char *text;
	size_t size;
	size_t at;
	size_t line_start;
	unsigned line;
	uint64_t memory_size;
};

/* Position of a number, for later messages. */
struct place {
	unsigned line;
	size_t column;
};

#define SHOWN_MAX 32 /* bytes of a wrong word in a message */

static struct place here(const struct parser *parser)
{
	return (struct place){parser->line, parser->at - parser->line_start + 1};
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool ends_word(char c)
{
	return is_blank(c) || c == '\n' || c == '#';
}

static void skip_blanks(struct parser *parser)
{
	while (parser->at < parser->size && is_blank(parser->text[parser->at]))
		parser->at++;
}

static bool at_line_end(const struct parser *parser)
{
	return parser->at == parser->size || parser->text[parser->at] == '\n' || parser->text[parser->at] == '#';
}

static void next_line(struct parser *parser)
{
	while (parser->at < parser->size && parser->text[parser->at] != '\n')
		parser->at++;
	if (parser->at < parser->size)
		parser->at++;
	parser->line_start = parser->at;
	parser->line++;
}

/* Returns the word at the cursor for a message: truncated, without control characters. */
static const char *shown_word(const struct parser *parser, char shown[SHOWN_MAX + 1])
{
	size_t n = 0;

	for (size_t i = parser->at; i < parser->size && n < SHOWN_MAX && !ends_word(parser->text[i]); i++) {
		char c = parser->text[i];

		shown[n++] = c > ' ' && c < 0x7f ? c : '?';
	}
	shown[n] = '\0';
	return shown;
}

static int expected(const struct parser *parser, const char *what)
{
	struct place place = here(parser);
	char shown[SHOWN_MAX + 1];

	if (at_line_end(parser))
		return common_fail(PTL_CORRUPT, "%s:%u:%zu: expected %s, found the end of the line", parser->name,
				   place.line, place.column, what);
	return common_fail(PTL_CORRUPT, "%s:%u:%zu: expected %s, found '%s'", parser->name, place.line, place.column,
			   what, shown_word(parser, shown));
}

/* Returns the value of a digit; 16 for any other character. */
static unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned)(c - 'a' + 10);
	if (c >= 'A' && c <= 'F')
		return (unsigned)(c - 'A' + 10);
	return 16;
}

/*
 * Parses a number. what: description for messages, such as "a base address". Moves the cursor only over a valid number.
 */
static int parse_number(struct parser *parser, const char *what, uint64_t *value)
{
	const char *text = parser->text;
	size_t at = parser->at;
	unsigned radix = 10;
	uint64_t sum = 0;
	size_t first;

	if (parser->size - at > 2 && text[at] == '0' && (text[at + 1] == 'x' || text[at + 1] == 'X')) {
		radix = 16;
		at += 2;
	}
	for (first = at; at < parser->size && digit_value(text[at]) < radix; at++) {
		uint64_t digit = digit_value(text[at]);

		if (sum > (UINT64_MAX - digit) / radix)
			return expected(parser, "a number of at most 64 bits");
		sum = sum * radix + digit;
	}
	if (at == first || (at < parser->size && !ends_word(text[at])))
		return expected(parser, what);
	parser->at = at;
	*value = sum;
	return 0;
}

static int check_range(const struct parser *parser, const struct import_memory_range *range, struct place size,
		       struct place offset)
{
	if (range->size == 0)
		return common_fail(PTL_CORRUPT, "%s:%u:%zu: expected a size above 0", parser->name, size.line,
				   size.column);
	if (range->size - 1 > UINT64_MAX - range->base)
		return common_fail(PTL_CORRUPT,
				   "%s:%u:%zu: expected a size of at most 0x%" PRIx64 ", found 0x%" PRIx64
				   ": the range would pass the end of the address space",
				   parser->name, size.line, size.column, UINT64_MAX - range->base + 1, range->size);
	if (range->offset > parser->memory_size || range->size > parser->memory_size - range->offset)
		return common_fail(PTL_CORRUPT,
				   "%s:%u:%zu: expected a range within the memory file of %" PRIu64
				   " bytes, found offset 0x%" PRIx64 " and size 0x%" PRIx64,
				   parser->name, offset.line, offset.column, parser->memory_size, range->offset,
				   range->size);
	return 0;
}

static int parse_line(struct parser *parser, struct import_memory_range *range)
{
	struct place size;
	struct place offset;
	int status;

	range->line = parser->line;
	status = parse_number(parser, "a base address (decimal or 0x...)", &range->base);
	if (status)
		return status;
	skip_blanks(parser);
	size = here(parser);
	status = parse_number(parser, "a size in bytes (decimal or 0x...)", &range->size);
	if (status)
		return status;
	skip_blanks(parser);
	offset = here(parser);
	status = parse_number(parser, "an offset in the memory file (decimal or 0x...)", &range->offset);
	if (status)
		return status;
	skip_blanks(parser);
	if (!at_line_end(parser))
		return expected(parser, "the end of the line");
	return check_range(parser, range, size, offset);
}

static int append_memory_range(struct import_memory_map *map, size_t *capacity, const struct import_memory_range *range)
{
	if (COMMON_VECTOR_RESERVE(map->ranges, *capacity, map->count + 1, "memory map"))
		return PTL_NO_MEMORY;
	map->ranges[map->count++] = *range;
	return 0;
}

static int by_base(const void *left, const void *right)
{
	const struct import_memory_range *a = left;
	const struct import_memory_range *b = right;

	if (a->base != b->base)
		return a->base < b->base ? -1 : 1;
	return a->line < b->line ? -1 : 1;
}

static int check_overlaps(const char *name, const struct import_memory_map *map)
{
	for (size_t i = 1; i < map->count; i++) {
		const struct import_memory_range *low = &map->ranges[i - 1];
		const struct import_memory_range *high = &map->ranges[i];

		if (high->base - low->base < low->size) {
			/* Report the later of the two lines. */
			const struct import_memory_range *late = high->line > low->line ? high : low;
			const struct import_memory_range *early = late == high ? low : high;

			return common_fail(PTL_CORRUPT,
					   "%s:%u:1: expected addresses of their own, found 0x%" PRIx64
					   ", size 0x%" PRIx64 ", which overlaps the range of line %u",
					   name, late->line, late->base, late->size, early->line);
		}
	}
	return 0;
}

static int parse_lines(struct parser *parser, struct import_memory_map *map)
{
	size_t capacity = 0;

	for (; parser->at < parser->size; next_line(parser)) {
		struct import_memory_range range;
		int status;

		skip_blanks(parser);
		if (at_line_end(parser))
			continue;
		status = parse_line(parser, &range);
		if (!status)
			status = append_memory_range(map, &capacity, &range);
		if (status)
			return status;
	}
	if (map->count == 0)
		return common_fail(PTL_CORRUPT, "%s:%u:1: expected at least one range, found none", parser->name,
				   parser->line);
	return 0;
}

int import_memory_map_parse(const char *name, const char *text, size_t text_size, uint64_t memory_size,
			    struct import_memory_map *map)
{
	struct parser parser = {
		.name = name,
		.text = text,
		.size = text_size,
		.line = 1,
		.memory_size = memory_size,
	};
	int status;

	*map = (struct import_memory_map){0};
	status = parse_lines(&parser, map);
	if (!status) {
		qsort(map->ranges, map->count, sizeof(*map->ranges), by_base);
		status = check_overlaps(name, map);
	}
	if (status)
		import_memory_map_free(map);
	return status;
}

void import_memory_map_free(struct import_memory_map *map)
{
	free(map->ranges);
	*map = (struct import_memory_map){0};
}
