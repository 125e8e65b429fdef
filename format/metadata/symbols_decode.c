/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes symbol tables and searches in them: docs/format.md, section 10. */
#include <ptl/symbols.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/partition.h"
#include "format/metadata/symbols.h"

struct entry {
	uint64_t address;
	uint64_t size;
	uint64_t covered; /* highest end of this symbol and all preceding symbols */
	uint32_t name;    /* offset in names */
	uint8_t type;
};

struct ptl_symbol_table {
	size_t count;
	struct entry *entries;
	struct ptl_bytes names;
};

/* Least bytes of an encoded symbol: five fields of one byte each. */
#define SYMBOL_SIZE_MIN 5

static int fail_at(const struct common_cursor *cursor, int status, const char *cause)
{
	return common_fail(status, "symbol table: offset %zu: %s", cursor->at, cause);
}

/* Rebuilds a name in table->names. Returns 0 or a failure. */
static int read_name(struct ptl_symbol_table *table, struct common_cursor *cursor, struct entry *entry,
		     const struct entry *last)
{
	size_t prefix = common_read8(cursor);
	uint64_t rest = common_read_varint(cursor);
	const uint8_t *bytes;
	const char *before = last ? (const char *)table->names.data + last->name : "";

	if (cursor->failed)
		return fail_at(cursor, PTL_TRUNCATED, "it ends within a symbol");
	if (prefix > FORMAT_SYMBOL_PREFIX_MAX || rest > FORMAT_SYMBOL_REST_MAX)
		return fail_at(cursor, PTL_CORRUPT, "a name is too long");
	if (prefix > strlen(before))
		return fail_at(cursor, PTL_CORRUPT, "a name shares more than the name before has");
	bytes = common_read_bytes(cursor, (size_t)rest);
	if (!bytes)
		return fail_at(cursor, PTL_TRUNCATED, "it ends within a name");
	if (memchr(bytes, 0, (size_t)rest))
		return fail_at(cursor, PTL_CORRUPT, "a name holds a zero byte");
	if (table->names.size > UINT32_MAX - FORMAT_SYMBOL_PREFIX_MAX - FORMAT_SYMBOL_REST_MAX - 1)
		return fail_at(cursor, PTL_NO_MEMORY, "names take more than 4 GiB");
	entry->name = (uint32_t)table->names.size;
	/* Growing may move the names, so `before` is set again afterwards. */
	if (!common_bytes_grow(&table->names, prefix + (size_t)rest + 1))
		return common_fail_memory("symbol names", table->names.size);
	before = last ? (const char *)table->names.data + last->name : "";
	memcpy(table->names.data + entry->name, before, prefix);
	memcpy(table->names.data + entry->name + prefix, bytes, (size_t)rest);
	table->names.data[entry->name + prefix + rest] = 0;
	return 0;
}

static int read_symbol(struct ptl_symbol_table *table, struct common_cursor *cursor, size_t i)
{
	const struct entry *last = i ? &table->entries[i - 1] : NULL;
	struct entry *entry = &table->entries[i];
	uint64_t delta = common_read_varint(cursor), end;

	*entry = (struct entry){.address = last ? last->address : 0, .size = common_read_varint(cursor)};
	entry->type = common_read8(cursor);
	if (delta > UINT64_MAX - entry->address)
		return fail_at(cursor, PTL_CORRUPT, "addresses pass the end of the address space");
	entry->address += delta;
	end = entry->size > UINT64_MAX - entry->address ? UINT64_MAX : entry->address + entry->size;
	entry->covered = last && last->covered > end ? last->covered : end;
	return read_name(table, cursor, entry, last);
}

int ptl_symbols_decode(const uint8_t *data, size_t size, struct ptl_symbol_table **table)
{
	struct common_cursor cursor = common_cursor(data, size);
	const uint8_t *magic = common_read_bytes(&cursor, FORMAT_SYMBOLS_MAGIC_SIZE);
	struct ptl_symbol_table *made;
	uint64_t count;
	int status = 0;

	*table = NULL;
	if (!magic || memcmp(magic, FORMAT_SYMBOLS_MAGIC, FORMAT_SYMBOLS_MAGIC_SIZE) != 0)
		return common_fail(PTL_NOT_OURS, "symbol table: the magic is not there");
	count = common_read_varint(&cursor);
	if (cursor.failed)
		return fail_at(&cursor, PTL_TRUNCATED, "no count of symbols");
	if (count > common_cursor_left(&cursor) / SYMBOL_SIZE_MIN)
		return fail_at(&cursor, PTL_TRUNCATED, "there are fewer bytes than symbols need");
	made = calloc(1, sizeof(*made));
	if (!made)
		return common_fail_memory("symbol table", sizeof(*made));
	made->count = (size_t)count;
	made->entries = calloc(made->count + 1, sizeof(*made->entries));
	if (!made->entries)
		status = common_fail_memory("symbols", (made->count + 1) * sizeof(*made->entries));
	for (size_t i = 0; !status && i < made->count; i++)
		status = read_symbol(made, &cursor, i);
	if (!status && common_cursor_left(&cursor))
		status = fail_at(&cursor, PTL_CORRUPT, "bytes follow the last symbol");
	if (status < 0) {
		ptl_symbols_free(made);
		return status;
	}
	*table = made;
	return 0;
}

void ptl_symbols_free(struct ptl_symbol_table *table)
{
	if (!table)
		return;
	free(table->entries);
	common_bytes_free(&table->names);
	free(table);
}

size_t ptl_symbols_count(const struct ptl_symbol_table *table)
{
	return table->count;
}

struct ptl_symbol ptl_symbols_get(const struct ptl_symbol_table *table, size_t i)
{
	const struct entry *entry = &table->entries[i];

	return (struct ptl_symbol){
		.address = entry->address,
		.size = entry->size,
		.name = (const char *)table->names.data + entry->name,
		.type = entry->type,
	};
}

/* Returns the number of symbols at or below `address`. */
static size_t upper_bound(const struct ptl_symbol_table *table, uint64_t address)
{
	return COMMON_PARTITION(table->count, at, table->entries[at].address <= address);
}

/* Ranks symbol types for choosing among names of an address: global first, then weak, then the rest. */
static unsigned rank(uint8_t type)
{
	switch (type) {
	case 'T':
		return 0;
	case 'W':
		return 1;
	case 'i':
		return 2;
	case 't':
		return 3;
	default:
		return 4;
	}
}

/*
 * Whether `one` is at least as good a name as `other`. Of equal types, prefers fewer leading underscores, as the name
 * in source code: _exit rather than __GI__exit.
 */
static bool is_as_good(const struct ptl_symbol_table *table, const struct entry *one, const struct entry *other)
{
	const char *names = (const char *)table->names.data;
	const unsigned first = rank(one->type), second = rank(other->type);

	return first != second ? first < second : strspn(names + one->name, "_") <= strspn(names + other->name, "_");
}

static bool covers(const struct entry *entry, uint64_t address, bool is_nearest)
{
	return entry->size ? address - entry->address < entry->size : is_nearest;
}

struct ptl_symbol ptl_symbols_find(const struct ptl_symbol_table *table, uint64_t address)
{
	size_t i = upper_bound(table, address);
	uint64_t nearest = i ? table->entries[i - 1].address : 0;
	size_t best = SIZE_MAX;

	/*
	 * A symbol without a size ends where the next symbol begins, so only such symbols at the nearest address can
	 * cover.
	 */
	while (i-- > 0) {
		const struct entry *entry = &table->entries[i];

		if (best != SIZE_MAX && entry->address != table->entries[best].address)
			break;
		if (covers(entry, address, entry->address == nearest) &&
		    (best == SIZE_MAX || is_as_good(table, entry, &table->entries[best])))
			best = i;
		if (best == SIZE_MAX && entry->address != nearest && entry->covered <= address)
			break;
	}
	return best == SIZE_MAX ? (struct ptl_symbol){0} : ptl_symbols_get(table, best);
}
