/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of units with requested addresses, flattened into sorted arrays of changes of the innermost function. */
#include "flow/symbol/scope_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/partition.h"
#include "common/vector.h"
#include "flow/symbol/scope_reader.h"
#include "flow/symbol/unit_map.h"

/* A row. Valid from its address to the next row's address. */
struct row {
	uint64_t address;
	const struct flow_scope *scope; /* NULL: unknown from here on */
};

/* The rows of a cluster of units. */
struct piece {
	atomic_bool made;
	struct row *rows;
	size_t row_count, row_capacity;
};

struct unit_ranges {
	bool read;
	struct flow_scope_range *list; /* sorted ranges */
	size_t count;
};

struct flow_scope_table {
	struct flow_unit_map map;
	struct piece *pieces; /* by cluster */
	/* rows of units that do not tell their addresses; if any unit is in a .dwo file, rows of all units */
	struct piece rest;
	pthread_mutex_t lock; /* protects unfinished pieces, and the following members */
	struct unit_ranges *units;
	struct flow_scope_reader reader;
};

static void free_unit_ranges(struct flow_scope_table *table)
{
	for (size_t i = 0; table->units && i < table->map.unit_count; i++)
		free(table->units[i].list);
	free(table->units);
	table->units = NULL;
}

void flow_scopes_free(struct flow_scope_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; table->pieces && i < table->map.cluster_count; i++)
		free(table->pieces[i].rows);
	free(table->pieces);
	free(table->rest.rows);
	free_unit_ranges(table);
	flow_unit_map_free(&table->map);
	flow_scope_reader_free(&table->reader);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static int compare_ranges(const void *left, const void *right)
{
	const struct flow_scope_range *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

/* Begins a row at the address. Addresses never decrease between calls. */
static bool add_row(struct piece *piece, uint64_t address, const struct flow_scope *scope)
{
	if (piece->row_count && piece->rows[piece->row_count - 1].address == address)
		piece->row_count--;
	else if (!COMMON_VECTOR_GROW(piece->rows, piece->row_capacity, piece->row_count + 1))
		return false;
	piece->rows[piece->row_count++] = (struct row){address, scope};
	return true;
}

/*
 * Makes rows from nested ranges. The ranges that enclose the current address are stored at the beginning of the array
 * `ranges`, and never need more room than the ranges already read.
 */
static bool make_rows(struct piece *piece, struct flow_scope_range *ranges, size_t count)
{
	size_t open = 0;
	bool room = true;

	if (count)
		qsort(ranges, count, sizeof(*ranges), compare_ranges);
	for (size_t i = 0; room && i <= count; i++) {
		struct flow_scope_range range = i < count ? ranges[i] : (struct flow_scope_range){.first = UINT64_MAX};

		while (room && open && ranges[open - 1].end <= range.first) {
			const uint64_t end = ranges[--open].end;

			room = add_row(piece, end, open ? ranges[open - 1].scope : NULL);
		}
		if (i == count)
			break;
		if (open && range.end > ranges[open - 1].end)
			range.end = ranges[open - 1].end;
		room = room && add_row(piece, range.first, range.scope);
		ranges[open++] = range;
	}
	return room;
}

/* ---- units --------------------------------------------------------------------------------------- */

/* Joined ranges of several units. */
struct ranges {
	struct flow_scope_range *list;
	size_t count, capacity;
};

static const struct unit_ranges *read_unit(struct flow_scope_table *table, uint32_t number)
{
	struct unit_ranges *const unit = &table->units[number];
	struct flow_scope_reader *const reader = &table->reader;

	if (!unit->read) {
		unit->read = true;
		flow_scope_reader_add(reader, &table->map.units[number]);
		if (reader->range_count)
			qsort(reader->ranges, reader->range_count, sizeof(*reader->ranges), compare_ranges);
		unit->list = reader->ranges;
		unit->count = reader->range_count;
		reader->ranges = NULL;
		reader->range_count = reader->range_capacity = 0;
	}
	return unit;
}

/* Adds a unit's ranges that begin in [first, end). */
static bool take_ranges(struct flow_scope_table *table, uint32_t number, uint64_t first, uint64_t end,
			struct ranges *ranges)
{
	const struct unit_ranges *const unit = read_unit(table, number);
	const size_t low = COMMON_PARTITION(unit->count, at, unit->list[at].first < first);
	const size_t high = COMMON_PARTITION(unit->count, at, unit->list[at].first < end);

	if (low == high)
		return true;
	if (!COMMON_VECTOR_GROW(ranges->list, ranges->capacity, ranges->count + (high - low)))
		return false;
	memcpy(ranges->list + ranges->count, unit->list + low, (high - low) * sizeof(*ranges->list));
	ranges->count += high - low;
	return true;
}

static int compare_numbers(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/*
 * Adds each unit of the cluster once, in the order of the file: if two units describe one address, the last unit
 * counts.
 */
static bool take_cluster(struct flow_scope_table *table, const struct flow_unit_cluster *cluster, struct ranges *ranges)
{
	uint32_t *const numbers = malloc(cluster->extent_count * sizeof(*numbers));
	bool room = numbers != NULL;

	for (size_t i = 0; room && i < cluster->extent_count; i++)
		numbers[i] = table->map.extents[cluster->extent + i].unit;
	if (room)
		qsort(numbers, cluster->extent_count, sizeof(*numbers), compare_numbers);
	for (size_t i = 0; room && i < cluster->extent_count; i++)
		if (!i || numbers[i] != numbers[i - 1])
			room = take_ranges(table, numbers[i], cluster->first, cluster->end, ranges);
	free(numbers);
	return room;
}

static bool take_rest(struct flow_scope_table *table, struct ranges *ranges)
{
	bool room = true;

	for (size_t i = 0; room && i < table->map.unit_count; i++)
		if (table->map.units[i].anywhere || table->map.split)
			room = take_ranges(table, (uint32_t)i, 0, UINT64_MAX, ranges);
	return room;
}

/* Makes the rows of a cluster. cluster NULL: makes the rest. Without memory, scopes are unknown. */
static void make_piece(struct flow_scope_table *table, const struct flow_unit_cluster *cluster, struct piece *piece)
{
	struct ranges ranges = {0};

	if (!(cluster ? take_cluster(table, cluster, &ranges) : take_rest(table, &ranges)) ||
	    !make_rows(piece, ranges.list, ranges.count))
		piece->row_count = 0;
	free(ranges.list);
}

/* ---- the table ----------------------------------------------------------------------------------- */

/* Reads all units at once: a .dwo file is open only while its unit is read, and missing files must be known early. */
static void read_split(struct flow_scope_table *table)
{
	make_piece(table, NULL, &table->rest);
	atomic_store(&table->rest.made, true);
	flow_scope_reader_end(&table->reader);
	free_unit_ranges(table);
}

struct flow_scope_table *flow_scopes_make(Dwarf *dwarf, struct flow_split_source *split)
{
	struct flow_scope_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	pthread_mutex_init(&table->lock, NULL);
	table->reader.dwarf = dwarf;
	table->reader.source = split;
	if (flow_unit_map_make(dwarf, &table->map) && table->map.unit_count) {
		table->pieces = calloc(table->map.cluster_count + 1, sizeof(*table->pieces));
		table->units = calloc(table->map.unit_count, sizeof(*table->units));
	}
	if (!table->pieces || !table->units) {
		flow_scopes_free(table);
		return NULL;
	}
	if (table->map.split)
		read_split(table);
	table->reader.source = NULL;
	return table;
}

bool flow_scopes_keep_dwarf(const struct flow_scope_table *table)
{
	return !table->map.split;
}

static const struct flow_scope *find_in(struct flow_scope_table *table, const struct flow_unit_cluster *cluster,
					struct piece *piece, uint64_t address)
{
	size_t low;

	if (!atomic_load_explicit(&piece->made, memory_order_acquire)) {
		pthread_mutex_lock(&table->lock);
		if (!atomic_load(&piece->made)) {
			make_piece(table, cluster, piece);
			atomic_store_explicit(&piece->made, true, memory_order_release);
		}
		pthread_mutex_unlock(&table->lock);
	}
	/* number of rows at or before address */
	low = COMMON_PARTITION(piece->row_count, at, piece->rows[at].address <= address);
	return low ? piece->rows[low - 1].scope : NULL;
}

const struct flow_scope *flow_scopes_find(struct flow_scope_table *table, uint64_t address)
{
	const struct flow_unit_cluster *const cluster = table->map.split ? NULL
									 : flow_unit_map_find(&table->map, address);
	const struct flow_scope *scope = cluster ? find_in(table, cluster,
							   &table->pieces[cluster - table->map.clusters], address)
						 : NULL;

	return scope ? scope : find_in(table, NULL, &table->rest, address);
}
