/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An address belongs to a file from opening or naming the file until closing or deleting the file. A name in rundown,
 * or in the event that ends the name, also holds before, unless the address had another file.
 */
#include "import/etl/file_name.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/vector.h"

#define COUNT_MAX 1000000u
#define NAMES_MAX (48u << 20)
/* maximum units of a name; a longer name is dropped, because each event of the file would repeat the name */
#define UNITS_MAX 2048u

/* opcodes of FileIO */
#define NAME 0u
#define FILE_CREATE 32u
#define FILE_DELETE 35u
#define FILE_RUNDOWN 36u
#define CREATE 64u
#define CLOSE 66u

enum change { BEGINS, WAS_THERE, ENDS_NAMED, ENDS };

struct etl_file_name {
	uint64_t address, time;
	uint32_t name, units; /* position of the name in names */
	enum change change;
};

void etl_file_names_free(struct etl_file_names *names)
{
	free(names->list);
	common_bytes_free(&names->names);
	*names = (struct etl_file_names){0};
}

static int forget_old_names(struct etl_file_names *names, uint64_t time)
{
	if (!names->end || time < names->end)
		names->end = time ? time : 1;
	return 0;
}

static int add_file_name(struct etl_file_names *names, const struct etl_file_name *entry, const uint8_t *text)
{
	struct etl_file_name *added;

	if (names->count == COUNT_MAX || names->names.size + 2 * entry->units > NAMES_MAX)
		return forget_old_names(names, entry->time);
	if (COMMON_VECTOR_RESERVE(names->list, names->capacity, names->count + 1, "names of files"))
		return PTL_NO_MEMORY;
	added = &names->list[names->count++];
	*added = *entry;
	added->name = (uint32_t)names->names.size;
	if (entry->units)
		common_write_bytes(&names->names, text, 2 * (size_t)entry->units);
	return names->names.failed ? common_fail_memory("names of files", names->names.size) : 0;
}

/* Reads the string at the cursor, up to its zero or the end. */
static const uint8_t *read_name(struct common_cursor *cursor, struct etl_file_name *entry)
{
	const uint8_t *text = cursor->data + cursor->at;
	const size_t left = common_cursor_left(cursor) / 2;
	size_t units = 0;

	while (units < left && units <= UNITS_MAX && common_load16(text + 2 * units))
		units++;
	entry->units = units <= UNITS_MAX ? (uint32_t)units : 0;
	return text;
}

/* Reads the file's address in a Create event, and skips the fields before the path. */
static void read_create(struct common_cursor *cursor, const struct etl_record *record, struct etl_file_name *entry)
{
	const bool has_short_thread = record->descriptor.version >= 3;

	common_read_le(cursor, record->pointer_size); /* IrpPtr */
	if (!has_short_thread)
		common_read_le(cursor, record->pointer_size); /* TTID */
	entry->address = common_read_le(cursor, record->pointer_size);
	if (has_short_thread)
		common_read32(cursor);
	common_read_bytes(cursor, 12); /* options, attributes, sharing */
}

static int add_close(struct etl_file_names *names, const struct etl_record *record, struct etl_file_name *entry)
{
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);

	common_read_le(&cursor, record->pointer_size);
	if (record->descriptor.version < 3)
		common_read_le(&cursor, record->pointer_size);
	entry->address = common_read_le(&cursor, record->pointer_size);
	/* The event that opened the file may lie in a later buffer of another CPU, so keep the close event. */
	if (cursor.failed || !entry->address)
		return 0;
	entry->change = ENDS;
	return add_file_name(names, entry, NULL);
}

int etl_file_names_add(struct etl_file_names *names, const struct etl_record *record)
{
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);
	const uint8_t opcode = record->descriptor.opcode;
	struct etl_file_name entry = {.time = record->time};
	const uint8_t *text;

	if (!record->has_time)
		return 0;
	if (opcode == CLOSE || opcode == CREATE)
		/* Layouts before version 2 are unknown. */
		if (record->descriptor.version < 2)
			return 0;
	if (opcode == CLOSE)
		return add_close(names, record, &entry);
	if (opcode == CREATE)
		read_create(&cursor, record, &entry);
	else
		entry.address = common_read_le(&cursor, record->pointer_size);
	text = read_name(&cursor, &entry);
	if (cursor.failed || !entry.address)
		return 0;
	entry.change = opcode == FILE_DELETE                       ? ENDS_NAMED
		       : opcode == FILE_CREATE || opcode == CREATE ? BEGINS
								   : WAS_THERE;
	return add_file_name(names, &entry, text);
}

static bool is_end(const struct etl_file_name *entry)
{
	return entry->change == ENDS || entry->change == ENDS_NAMED;
}

static int compare_file_names(const void *left, const void *right)
{
	const struct etl_file_name *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (is_end(a) != is_end(b))
		return is_end(b) ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

void etl_file_names_sort(struct etl_file_names *names)
{
	if (names->count)
		qsort(names->list, names->count, sizeof(*names->list), compare_file_names);
}

/* Whether the entry has taken effect. The event that ends a name still has the name. */
static bool is_past(const struct etl_file_name *entry, uint64_t address, uint64_t time)
{
	if (entry->address != address)
		return entry->address < address;
	return is_end(entry) ? entry->time < time : entry->time <= time;
}

size_t etl_file_names_find(const struct etl_file_names *names, uint64_t address, uint64_t time, const uint8_t **name)
{
	const struct etl_file_name *found = NULL;
	size_t low = 0, high = names->count;

	if (!address || (names->end && time >= names->end))
		return 0;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (is_past(&names->list[middle], address, time))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && names->list[low - 1].address == address && !is_end(&names->list[low - 1]))
		found = &names->list[low - 1];
	else if (low < names->count && names->list[low].address == address &&
		 (names->list[low].change == WAS_THERE || names->list[low].change == ENDS_NAMED))
		found = &names->list[low];
	if (!found || !found->units)
		return 0;
	*name = names->names.data + found->name;
	return found->units;
}
