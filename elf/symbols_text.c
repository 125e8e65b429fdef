/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads symbols line by line: output of nm, and perf maps. Holds only a line and the wanted symbols in memory, as the
 * perf map of a large program may have hundreds of megabytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "elf/jitdump.h"

#define SHOWN_MAX 32
#define LINE_MAX_BYTES 131072u

struct reader {
	const char *name;
	const struct elf_symbol_source *source;
	struct elf_made_list *made;
	/* Buffered input, including the data behind the current line: */
	char *buffer;
	size_t start, end;
	size_t taken; /* bytes consumed of a source in memory */
	bool ended;
	/* The current line: */
	const char *text;
	size_t size;
	size_t at;
	unsigned line;
	uint64_t position; /* bytes of the file up to the end of the line */
};

/* A symbol whose name points into the line. */
struct found {
	struct ptl_symbol symbol;
	size_t name_size;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool at_end(const struct reader *reader)
{
	return reader->at == reader->size;
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

	for (size_t i = reader->at; i < reader->size && n < SHOWN_MAX && !is_blank(reader->text[i]); i++)
		shown[n++] = reader->text[i] > ' ' && reader->text[i] < 0x7f ? reader->text[i] : '?';
	shown[n] = '\0';
	return common_fail(PTL_CORRUPT, "%s:%u:%zu: expected %s, found %s%s%s", reader->name, reader->line,
			   reader->at + 1, what, n ? "'" : "the end of the line", shown, n ? "'" : "");
}

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parses a hexadecimal number followed by a blank, and moves past both. False if the text does not match. */
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

/* Takes the rest of the line, without trailing blanks, as the name. */
static int take_name(struct reader *reader, struct found *found)
{
	const size_t start = reader->at;
	const char *zero = memchr(reader->text + start, '\0', reader->size - start);
	size_t end = reader->size;

	if (zero) {
		reader->at = (size_t)(zero - reader->text);
		return expected(reader, "a name without a zero byte");
	}
	while (end > start && is_blank(reader->text[end - 1]))
		end--;
	if (end == start) {
		reader->at = reader->size;
		return expected(reader, "a name");
	}
	if (end - start > ELF_SYMBOL_NAME_MAX)
		return common_fail(PTL_CORRUPT, "%s:%u:%zu: expected a name of at most %u bytes, found %zu",
				   reader->name, reader->line, start + 1, ELF_SYMBOL_NAME_MAX, end - start);
	found->symbol.name = reader->text + start;
	found->name_size = end - start;
	return 0;
}

static int add_symbol(struct reader *reader, const struct found *found)
{
	struct elf_symbol_list *symbols = &reader->made->symbols;
	struct ptl_symbol symbol = found->symbol;

	if (!symbol.name || !symbol.type || !elf_symbol_list_wants(symbols, symbol.address))
		return 0;
	symbol.name = elf_symbol_list_name(symbols, symbol.name, found->name_size, "");
	return symbol.name ? elf_made_list_add(reader->made, &symbol, reader->position) : PTL_NO_MEMORY;
}

/* ---- lines ------------------------------------------------------------------------------- */

/* Parses a type letter. T t W w i are functions; other types give 0. */
static int take_type(struct reader *reader, uint8_t *type)
{
	char c = at_end(reader) ? '\0' : reader->text[reader->at];
	bool alone = reader->size - reader->at < 2 || is_blank(reader->text[reader->at + 1]);
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '?';

	if (!letter || !alone)
		return expected(reader, "a size or the letter of a type, such as T");
	*type = strchr("TtWi", c) ? (uint8_t)c : c == 'w' ? 'W' : 0;
	reader->at++;
	skip_blanks(reader);
	return 0;
}

static int read_nm(struct reader *reader, struct found *found)
{
	int status;

	/* Undefined symbols have no address: "         U printf". */
	if (reader->at && !at_end(reader) && strchr("Uwv", reader->text[reader->at]) && reader->size - reader->at > 1 &&
	    is_blank(reader->text[reader->at + 1]))
		return 0;
	if (!take_hex(reader, &found->symbol.address))
		return expected(reader, "a hexadecimal address");
	/* nm pads sizes to several digits; a single letter such as b or d is a type. */
	if (reader->size - reader->at > 1 && !is_blank(reader->text[reader->at + 1]))
		take_hex(reader, &found->symbol.size);
	status = take_type(reader, &found->symbol.type);
	return status < 0 ? status : take_name(reader, found);
}

static int read_perf_map(struct reader *reader, struct found *found)
{
	if (!take_hex(reader, &found->symbol.address))
		return expected(reader, "a hexadecimal address");
	if (!take_hex(reader, &found->symbol.size))
		return expected(reader, "a hexadecimal size");
	found->symbol.type = 'T';
	return take_name(reader, found);
}

/* ---- the file ---------------------------------------------------------------------------- */

/* Reads more input into the buffer. Returns 0 or a status. */
static int read_more(struct reader *reader)
{
	const struct elf_symbol_source *source = reader->source;
	size_t room;
	ssize_t got;

	memmove(reader->buffer, reader->buffer + reader->start, reader->end - reader->start);
	reader->end -= reader->start;
	reader->start = 0;
	room = LINE_MAX_BYTES - reader->end;
	if (source->fd < 0) {
		got = (ssize_t)(source->size - reader->taken < room ? source->size - reader->taken : room);
		if (got)
			memcpy(reader->buffer + reader->end, source->data + reader->taken, (size_t)got);
		reader->taken += (size_t)got;
	} else {
		do
			got = read(source->fd, reader->buffer + reader->end, room);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return common_fail_errno("%s", reader->name);
	}
	reader->ended = !got;
	reader->end += (size_t)got;
	return 0;
}

/* Takes the next line, without its newline. *there: false at the end of the file. */
static int next_line(struct reader *reader, bool *there)
{
	const char *end = NULL;
	int status = 0;

	while (!status && !(end = memchr(reader->buffer + reader->start, '\n', reader->end - reader->start)) &&
	       !reader->ended) {
		if (reader->end - reader->start == LINE_MAX_BYTES)
			return common_fail(PTL_CORRUPT,
					   "%s:%u: expected a line of at most %u bytes, found a longer one",
					   reader->name, reader->line, LINE_MAX_BYTES - 1);
		status = read_more(reader);
	}
	reader->text = reader->buffer + reader->start;
	reader->at = 0;
	reader->size = end ? (size_t)(end - reader->text) : reader->end - reader->start;
	reader->start += reader->size + (end != NULL);
	reader->position += reader->size + (end != NULL);
	*there = end || reader->size;
	return status;
}

static int read_all(const char *name, const struct elf_symbol_source *source,
		    int (*read)(struct reader *, struct found *), struct elf_made_list *made)
{
	struct reader reader = {.name = name, .source = source, .made = made, .line = 1};
	bool there = true;
	int status = 0;

	reader.buffer = malloc(LINE_MAX_BYTES);
	if (!reader.buffer)
		return common_fail_memory("symbols", LINE_MAX_BYTES);
	for (; !status && there; reader.line++) {
		struct found found = {0};

		status = next_line(&reader, &there);
		skip_blanks(&reader);
		if (status < 0 || !there || at_end(&reader) || reader.text[reader.at] == '#')
			continue;
		status = read(&reader, &found);
		if (!status)
			status = add_symbol(&reader, &found);
	}
	free(reader.buffer);
	return status;
}

int elf_perf_map_read(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made)
{
	return read_all(name, source, read_perf_map, made);
}

/* Appends functions to the list. */
static int read_into(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols,
		     int (*read)(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made))
{
	struct elf_made_list made = {.symbols = *symbols};
	int status;

	if (COMMON_VECTOR_RESERVE(made.places, made.place_capacity, symbols->count, "places of functions"))
		return PTL_NO_MEMORY;
	status = read(name, source, &made);
	*symbols = made.symbols;
	made.symbols = (struct elf_symbol_list){0};
	elf_made_list_free(&made);
	return status;
}

static int read_nm_file(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made)
{
	return read_all(name, source, read_nm, made);
}

static int read_compiler_file(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made)
{
	return elf_is_jitdump(source) ? elf_jitdump_read(name, source, made, NULL)
				      : elf_perf_map_read(name, source, made);
}

int elf_symbols_nm(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols)
{
	return read_into(name, source, symbols, read_nm_file);
}

int elf_symbols_perf_map(const char *name, const struct elf_symbol_source *source, struct elf_symbol_list *symbols)
{
	const size_t first = symbols->count;
	const int status = read_into(name, source, symbols, read_compiler_file);
	/* Later code may reuse the memory of discarded code. */
	const int latest = status == PTL_NO_MEMORY ? status : elf_symbols_latest(symbols, first);

	return latest ? latest : status;
}
