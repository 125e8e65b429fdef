/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads a jitdump record by record; skips the code itself. */
#include "elf/jitdump.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/hash_map.h"
#include "common/partition.h"
#include "common/vector.h"

#define MAGIC 0x4a695444u
#define MAGIC_SWAPPED 0x4454694au
#define VERSION 1u
#define HEADER_SIZE 40u
#define RECORD_SIZE 16u      /* bytes: id, size, time */
#define LOAD_SIZE 40u        /* bytes after the record header: pid, tid, two addresses, size, index */
#define MOVE_SIZE 48u        /* bytes after the record header: as LOAD, with a third address */
#define DEBUG_SIZE 16u       /* bytes after the record header: address, number of entries */
#define DEBUG_ENTRY_SIZE 16u /* bytes: address, line, discriminator; a name follows */
#define DEBUG_MAX (16u << 20)

enum { JIT_CODE_LOAD, JIT_CODE_MOVE, JIT_CODE_DEBUG_INFO };

struct reader {
	const char *name;
	const struct elf_symbol_source *source;
	struct elf_made_list *made;
	struct common_hash_map loaded; /* index of code -> index of symbol */
	size_t pending;                /* index of the first line whose code has not been loaded yet */
	uint64_t pending_address;
	uint64_t moved_lines; /* bytes of copied lines, of moved functions */
	uint64_t size;
	/* The current record: */
	uint64_t offset;
	uint64_t time;
	uint32_t record_size;
};

static int failure(const struct reader *reader, int status, const char *what)
{
	return common_fail(status, "%s: offset %llu: %s", reader->name, (unsigned long long)reader->offset, what);
}

static int read_at(const struct reader *reader, uint64_t offset, void *data, size_t size)
{
	const struct elf_symbol_source *source = reader->source;

	if (offset > reader->size || size > reader->size - offset)
		return failure(reader, PTL_TRUNCATED, "the file ends within a record");
	if (source->fd >= 0)
		return common_read_at(source->fd, data, size, offset);
	memcpy(data, source->data + offset, size);
	return 0;
}

static uint64_t size_of(const struct elf_symbol_source *source)
{
	struct stat info;

	if (source->fd < 0)
		return source->size;
	return fstat(source->fd, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

bool elf_is_jitdump(const struct elf_symbol_source *source)
{
	const struct reader reader = {.name = "", .source = source, .size = size_of(source)};
	uint8_t magic[4];

	return reader.size >= sizeof(magic) && read_at(&reader, 0, magic, sizeof(magic)) == 0 &&
	       (common_load32(magic) == MAGIC || common_load32(magic) == MAGIC_SWAPPED);
}

/* ---- code ---------------------------------------------------------------------------------------- */

static int add_symbol(struct reader *reader, uint64_t index, struct ptl_symbol *symbol)
{
	int status;

	symbol->type = 'T';
	if (!symbol->size || symbol->size - 1 > UINT64_MAX - symbol->address)
		return failure(reader, PTL_CORRUPT, "code without an end");
	if (!elf_symbol_list_wants(&reader->made->symbols, symbol->address))
		return 0;
	status = elf_made_list_add(reader->made, symbol, reader->time);
	return status ? status : common_hash_map_put(&reader->loaded, index, reader->made->symbols.count - 1);
}

/* Assigns the pending lines to this code. Drops lines of another address. */
static int end_lines(struct reader *reader, const struct ptl_symbol *symbol)
{
	const struct elf_symbol_list *symbols = &reader->made->symbols;
	struct elf_line_list *lines = &reader->made->lines;
	const uint64_t end = symbol->address + symbol->size;
	size_t count = reader->pending;

	if (reader->pending_address != symbol->address || !symbols->count ||
	    symbols->list[symbols->count - 1].address != symbol->address)
		lines->count = reader->pending;
	for (size_t i = reader->pending; i < lines->count; i++) {
		if (lines->list[i].address - symbol->address >= symbol->size)
			continue;
		lines->list[count] = lines->list[i];
		lines->list[count++].symbol = (uint32_t)(symbols->count - 1);
	}
	lines->count = count;
	if (count > reader->pending) {
		if (COMMON_VECTOR_RESERVE(lines->list, lines->capacity, count + 1, "lines"))
			return PTL_NO_MEMORY;
		lines->list[count] = (struct elf_line){.address = end, .symbol = lines->list[count - 1].symbol};
		lines->count++;
	}
	reader->pending = lines->count;
	return 0;
}

static int read_load(struct reader *reader)
{
	const uint64_t at = reader->offset + RECORD_SIZE + LOAD_SIZE;
	const uint32_t rest = reader->record_size - RECORD_SIZE - LOAD_SIZE;
	const size_t room = rest < ELF_SYMBOL_NAME_MAX ? rest : ELF_SYMBOL_NAME_MAX;
	uint8_t fields[LOAD_SIZE];
	struct ptl_symbol symbol = {0};
	char *name = malloc(room + 1);
	size_t size = 0;
	int status = name ? read_at(reader, reader->offset + RECORD_SIZE, fields, sizeof(fields))
			  : common_fail_memory("name", room);

	if (!status)
		status = read_at(reader, at, name, room);
	if (!status) {
		size = strnlen(name, room);
		if (!size || (size == room && room < ELF_SYMBOL_NAME_MAX))
			status = failure(reader, PTL_CORRUPT, "code without a name");
	}
	if (!status) {
		symbol.address = common_load64(fields + 16);
		symbol.size = common_load64(fields + 24);
		symbol.name = elf_symbol_list_name(&reader->made->symbols, name, size, "");
		status = symbol.name ? add_symbol(reader, common_load64(fields + 32), &symbol) : PTL_NO_MEMORY;
	}
	free(name);
	return status ? status : end_lines(reader, &symbol);
}

/* Copies the lines of a symbol to the newest symbol. The file's size bounds the number of copies. */
static int move_lines(struct reader *reader, size_t from)
{
	const struct elf_symbol_list *symbols = &reader->made->symbols;
	struct elf_line_list *lines = &reader->made->lines;
	const struct ptl_symbol *old = &symbols->list[from], *moved = &symbols->list[symbols->count - 1];
	size_t at;

	lines->count = reader->pending;
	at = COMMON_PARTITION(lines->count, i, lines->list[i].symbol < from);
	for (; at < reader->pending && lines->list[at].symbol == from; at++) {
		struct elf_line line = lines->list[at];

		if (line.address - old->address > moved->size || reader->moved_lines >= reader->size)
			continue;
		reader->moved_lines += DEBUG_ENTRY_SIZE;
		line.address += moved->address - old->address;
		line.symbol = (uint32_t)(symbols->count - 1);
		if (COMMON_VECTOR_RESERVE(lines->list, lines->capacity, lines->count + 1, "lines"))
			return PTL_NO_MEMORY;
		lines->list[lines->count++] = line;
	}
	reader->pending = lines->count;
	return 0;
}

/* Moved code keeps its name and lines. */
static int read_move(struct reader *reader)
{
	const size_t count = reader->made->symbols.count;
	uint8_t fields[MOVE_SIZE];
	struct ptl_symbol symbol;
	const uint64_t *known;
	size_t from;
	int status = read_at(reader, reader->offset + RECORD_SIZE, fields, sizeof(fields));

	known = status ? NULL : common_hash_map_get(&reader->loaded, common_load64(fields + 40));
	if (!known)
		return status;
	from = *known;
	symbol = reader->made->symbols.list[from];
	symbol.address = common_load64(fields + 24);
	symbol.size = common_load64(fields + 32);
	status = add_symbol(reader, common_load64(fields + 40), &symbol);
	return status || reader->made->symbols.count == count ? status : move_lines(reader, from);
}

/* ---- lines --------------------------------------------------------------------------------------- */

/*
 * Adds the lines of entries in memory, followed by a zero byte. The name "\xff" repeats the name of the preceding
 * entry.
 */
static int add_lines(struct reader *reader, const uint8_t *entries, size_t size, uint64_t count)
{
	struct elf_line_list *lines = &reader->made->lines;
	const char *file = NULL;
	size_t at = 0;

	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *entry = entries + at;
		const char *name;
		size_t length;

		if (size - at <= DEBUG_ENTRY_SIZE)
			return failure(reader, PTL_CORRUPT, "lines end within an entry");
		name = (const char *)entry + DEBUG_ENTRY_SIZE;
		length = strlen(name);
		if (length >= size - at - DEBUG_ENTRY_SIZE)
			return failure(reader, PTL_CORRUPT, "the name of a source file has no end");
		at += DEBUG_ENTRY_SIZE + length + 1;
		if (strcmp(name, "\xff") != 0 && (!file || strcmp(name, file) != 0))
			file = elf_symbol_list_name(&reader->made->symbols, name, length, "");
		if (!file && strcmp(name, "\xff") != 0)
			return PTL_NO_MEMORY;
		if (!file || !*file || !common_load32(entry + 8))
			continue;
		if (COMMON_VECTOR_RESERVE(lines->list, lines->capacity, lines->count + 1, "lines"))
			return PTL_NO_MEMORY;
		lines->list[lines->count++] = (struct elf_line){
			.address = common_load64(entry), .file = file, .line = common_load32(entry + 8)};
	}
	return 0;
}

static int read_debug(struct reader *reader)
{
	const size_t size = reader->record_size - RECORD_SIZE;
	uint8_t *body;
	int status;

	if (size > DEBUG_MAX)
		return 0;
	reader->made->lines.count = reader->pending;
	body = malloc(size + 1);
	if (!body)
		return common_fail_memory("lines", size);
	status = read_at(reader, reader->offset + RECORD_SIZE, body, size);
	if (!status) {
		body[size] = 0;
		reader->pending_address = common_load64(body);
		status = add_lines(reader, body + DEBUG_SIZE, size - DEBUG_SIZE, common_load64(body + 8));
	}
	free(body);
	return status;
}

/* ---- the file ------------------------------------------------------------------------------------ */

static const struct {
	uint32_t least; /* least size of the record's body, in bytes */
	int (*read)(struct reader *reader);
} records[] = {
	[JIT_CODE_LOAD] = {LOAD_SIZE + 1, read_load},
	[JIT_CODE_MOVE] = {MOVE_SIZE, read_move},
	[JIT_CODE_DEBUG_INFO] = {DEBUG_SIZE, read_debug},
};

static int read_header(struct reader *reader, uint32_t *pid)
{
	uint8_t header[HEADER_SIZE];
	int status = read_at(reader, 0, header, sizeof(header));

	if (status < 0)
		return status;
	if (common_load32(header) == MAGIC_SWAPPED)
		return failure(reader, PTL_UNSUPPORTED, "a jitdump of a machine with the other byte order");
	if (common_load32(header) != MAGIC)
		return failure(reader, PTL_NOT_OURS, "not a jitdump");
	if (common_load32(header + 4) != VERSION)
		return failure(reader, PTL_UNSUPPORTED, "a jitdump of another version than 1");
	if (common_load32(header + 8) < HEADER_SIZE)
		return failure(reader, PTL_CORRUPT, "the header is too small");
	reader->offset = common_load32(header + 8);
	if (pid)
		*pid = common_load32(header + 20);
	return 0;
}

static int read_record(struct reader *reader)
{
	uint8_t header[RECORD_SIZE];
	uint32_t id;
	int status = read_at(reader, reader->offset, header, sizeof(header));

	if (status < 0)
		return status;
	id = common_load32(header);
	reader->record_size = common_load32(header + 4);
	reader->time = common_load64(header + 8);
	if (reader->record_size < RECORD_SIZE)
		return failure(reader, PTL_CORRUPT, "a record that is smaller than its header");
	if (reader->record_size > reader->size - reader->offset)
		return failure(reader, PTL_TRUNCATED, "the file ends within a record");
	if (id < sizeof(records) / sizeof(records[0])) {
		if (reader->record_size - RECORD_SIZE < records[id].least)
			return failure(reader, PTL_CORRUPT, "a record that is too small for what it is");
		status = records[id].read(reader);
	}
	reader->offset += reader->record_size;
	return status;
}

int elf_jitdump_read(const char *name, const struct elf_symbol_source *source, struct elf_made_list *made,
		     uint32_t *pid)
{
	struct reader reader = {
		.name = name, .source = source, .made = made, .pending = made->lines.count, .size = size_of(source)};
	int status = read_header(&reader, pid);

	while (!status && reader.offset < reader.size)
		status = read_record(&reader);
	made->lines.count = reader.pending;
	common_hash_map_free(&reader.loaded);
	return status;
}

/* ---- the list ------------------------------------------------------------------------------------ */

int elf_made_list_add(struct elf_made_list *made, const struct ptl_symbol *symbol, uint64_t place)
{
	const size_t count = made->symbols.count;

	if (COMMON_VECTOR_RESERVE(made->places, made->place_capacity, count + 1, "places of functions"))
		return PTL_NO_MEMORY;
	made->places[count] = (struct elf_made_place){.at = place};
	return elf_symbol_list_add(&made->symbols, symbol);
}

void elf_made_list_free(struct elf_made_list *made)
{
	elf_symbol_list_free(&made->symbols);
	free(made->places);
	free(made->lines.list);
	*made = (struct elf_made_list){0};
}
