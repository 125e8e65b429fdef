/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads symbols in lines: as nm prints them, and perf maps. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "relog/rules/symbols.h"

#define SHOWN_MAX 32
#define NAME_MAX_BYTES 65535u /* as docs/format.md, section 10, has it */

struct reader {
	const char *name;
	char *text; /* the file's, which is cut into names */
	size_t size;
	size_t at;
	size_t line_start;
	size_t ended; /* where the name that was read ends */
	unsigned line;
	struct rules_symbol_list *symbols;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool at_end(const struct reader *reader)
{
	return reader->at == reader->size || reader->text[reader->at] == '\n';
}

static void skip_blanks(struct reader *reader)
{
	while (!at_end(reader) && is_blank(reader->text[reader->at]))
		reader->at++;
}

static int expected(const struct reader *reader, const char *what)
{
	char shown[SHOWN_MAX + 1];
	size_t n = 0;

	for (size_t i = reader->at; i < reader->size && n < SHOWN_MAX && !is_blank(reader->text[i]) &&
				    reader->text[i] != '\n';
	     i++)
		shown[n++] = reader->text[i] > ' ' && reader->text[i] < 0x7f ? reader->text[i] : '?';
	shown[n] = '\0';
	return ptl_fail(PTL_CORRUPT, "%s:%u:%zu: expected %s, found %s%s%s", reader->name, reader->line,
			reader->at - reader->line_start + 1, what, n ? "'" : "the end of the line", shown,
			n ? "'" : "");
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* True and moves over it, for a hexadecimal number with a blank behind it. */
static bool take_hex(struct reader *reader, uint64_t *value)
{
	size_t at = reader->at, first;

	*value = 0;
	if (reader->size - at > 2 && reader->text[at] == '0' && (reader->text[at + 1] | 0x20) == 'x')
		at += 2;
	for (first = at; at < reader->size && digit_of(reader->text[at]) >= 0; at++) {
		if (*value >> 60)
			return false;
		*value = *value << 4 | (uint64_t)digit_of(reader->text[at]);
	}
	if (at == first || at == reader->size || !is_blank(reader->text[at]))
		return false;
	reader->at = at;
	skip_blanks(reader);
	return true;
}

/* The rest of the line, without blanks at its end; zero-terminated where it stands. */
static int take_name(struct reader *reader, const char **name)
{
	size_t start = reader->at, end;

	while (!at_end(reader)) {
		if (!reader->text[reader->at])
			return expected(reader, "a name without a zero byte");
		reader->at++;
	}
	for (end = reader->at; end > start && is_blank(reader->text[end - 1]);)
		end--;
	if (end == start)
		return expected(reader, "a name");
	if (end - start > NAME_MAX_BYTES)
		return ptl_fail(PTL_CORRUPT, "%s:%u:%zu: expected a name of at most %u bytes, found %zu",
				reader->name, reader->line, start - reader->line_start + 1, NAME_MAX_BYTES,
				end - start);
	reader->ended = end;
	*name = reader->text + start;
	return 0;
}

static int add(struct reader *reader, const struct ptl_symbol *symbol)
{
	struct rules_symbol_list *symbols = reader->symbols;

	if (!(symbols->count & (symbols->count - 1))) {
		size_t bytes = (symbols->count ? 2 * symbols->count : 1) * sizeof(*symbol);
		struct ptl_symbol *list = realloc(symbols->list, bytes);

		if (!list)
			return ptl_fail_memory("symbols", bytes);
		symbols->list = list;
	}
	symbols->list[symbols->count++] = *symbol;
	return 0;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* A type of code: T t W w i; others are left out. */
static int take_type(struct reader *reader, uint8_t *type)
{
	char c = at_end(reader) ? '\0' : reader->text[reader->at];
	bool alone = reader->size - reader->at < 2 || is_blank(reader->text[reader->at + 1]) ||
		     reader->text[reader->at + 1] == '\n';
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '?';

	if (!letter || !alone)
		return expected(reader, "a size or the letter of a type, such as T");
	*type = strchr("TtWi", c) ? (uint8_t)c : c == 'w' ? 'W' : 0;
	reader->at++;
	skip_blanks(reader);
	return 0;
}

static int read_nm(struct reader *reader, struct ptl_symbol *symbol)
{
	int status;

	/* "    U printf": it has no address. */
	if (reader->at > reader->line_start && !at_end(reader) && strchr("Uwv", reader->text[reader->at]) &&
	    reader->size - reader->at > 1 && is_blank(reader->text[reader->at + 1])) {
		while (!at_end(reader))
			reader->at++;
		return 0;
	}
	if (!take_hex(reader, &symbol->address))
		return expected(reader, "a hexadecimal address");
	/* nm pads sizes; a single letter such as b or d is a type. */
	if (reader->size - reader->at > 1 && !is_blank(reader->text[reader->at + 1]))
		take_hex(reader, &symbol->size);
	status = take_type(reader, &symbol->type);
	return status < 0 ? status : take_name(reader, &symbol->name);
}

static int read_perf_map(struct reader *reader, struct ptl_symbol *symbol)
{
	if (!take_hex(reader, &symbol->address))
		return expected(reader, "a hexadecimal address");
	if (!take_hex(reader, &symbol->size))
		return expected(reader, "a hexadecimal size");
	symbol->type = 'T';
	return take_name(reader, &symbol->name);
}

static int read_line(struct reader *reader, int (*read)(struct reader *, struct ptl_symbol *))
{
	struct ptl_symbol symbol = {0};
	int status;

	skip_blanks(reader);
	if (at_end(reader) || reader->text[reader->at] == '#') {
		while (!at_end(reader))
			reader->at++;
		return 0;
	}
	status = read(reader, &symbol);
	if (!status && symbol.name && symbol.type) {
		reader->text[reader->ended] = '\0';
		status = add(reader, &symbol);
	}
	return status;
}

static int read_all(const char *name, const uint8_t *data, size_t size,
		    int (*read)(struct reader *, struct ptl_symbol *), struct rules_symbol_list *symbols)
{
	struct reader reader = {.name = name, .size = size, .line = 1, .symbols = symbols};
	int status = 0;

	*symbols = (struct rules_symbol_list){.names = malloc(size + 1)};
	if (!symbols->names)
		return ptl_fail_memory("symbols", size);
	if (size)
		memcpy(symbols->names, data, size);
	reader.text = symbols->names;
	while (!status && reader.at < size) {
		status = read_line(&reader, read);
		/* Names are ended where the line end was, so that is not looked for again. */
		reader.at += reader.at < size;
		reader.line_start = reader.at;
		reader.line++;
	}
	if (status < 0)
		rules_symbols_free(symbols);
	return status;
}

int rules_symbols_nm(const char *name, const uint8_t *data, size_t size, struct rules_symbol_list *symbols)
{
	return read_all(name, data, size, read_nm, symbols);
}

int rules_symbols_perf_map(const char *name, const uint8_t *data, size_t size,
			   struct rules_symbol_list *symbols)
{
	return read_all(name, data, size, read_perf_map, symbols);
}
