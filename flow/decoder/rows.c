/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds and counts rows by their pair of addresses. */
#include "flow/decoder/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/vector.h"

#define KEY_SIZE (2 * sizeof(uint64_t))

static struct common_rows indexed(const struct decoder_rows *rows)
{
	return (struct common_rows){.rows = rows->rows, .size = sizeof(*rows->rows), .key_size = KEY_SIZE};
}

/* Adds a row. Returns COMMON_NO_ROW if there is no room, or no memory. */
static uint32_t add_row(struct decoder_rows *rows, uint64_t from, uint64_t to)
{
	struct common_rows array;

	if (rows->row_count >= rows->most)
		return COMMON_NO_ROW;
	if (!COMMON_VECTOR_GROW(rows->rows, rows->row_capacity, rows->row_count + 1)) {
		rows->no_memory = true;
		return COMMON_NO_ROW;
	}
	rows->rows[rows->row_count] = (struct ptl_decoder_edge){.from = from, .to = to};
	array = indexed(rows);
	if (common_row_index_add(&rows->index, &array, (uint32_t)rows->row_count) < 0) {
		rows->no_memory = true;
		return COMMON_NO_ROW;
	}
	return (uint32_t)rows->row_count++;
}

static uint32_t look_up(struct decoder_rows *rows, uint64_t from, uint64_t to)
{
	const struct common_rows array = indexed(rows);
	const uint64_t key[2] = {from, to};
	const uint32_t number = common_row_index_find(&rows->index, &array, key);

	return number == COMMON_NO_ROW ? add_row(rows, from, to) : number;
}

uint32_t decoder_rows_find(struct decoder_rows *rows, uint64_t from, uint64_t to)
{
	struct decoder_found_row *found;
	uint32_t number;

	if (!rows->found) {
		rows->found = calloc((size_t)1 << DECODER_FOUND_SHIFT, sizeof(*rows->found));
		rows->no_memory |= !rows->found;
		if (!rows->found)
			return COMMON_NO_ROW;
	}
	found = &rows->found[common_hash_high(from ^ (to << 29 | to >> 35), DECODER_FOUND_SHIFT)];
	if (found->number && found->from == from && found->to == to)
		return found->number - 1;
	number = look_up(rows, from, to);
	if (number != COMMON_NO_ROW)
		*found = (struct decoder_found_row){from, to, number + 1};
	return number;
}

void decoder_rows_count(struct decoder_rows *rows, uint32_t number, uint64_t count)
{
	if (number == COMMON_NO_ROW) {
		rows->lost += count;
		return;
	}
	if (!rows->rows[number].count) {
		if (!COMMON_VECTOR_GROW(rows->counted, rows->counted_capacity, rows->counted_count + 1)) {
			rows->no_memory = true;
			return;
		}
		rows->counted[rows->counted_count++] = number;
	}
	rows->rows[number].count += count;
}

void decoder_rows_begin(struct decoder_rows *rows)
{
	for (size_t i = 0; i < rows->counted_count; i++)
		rows->rows[rows->counted[i]].count = 0;
	rows->counted_count = 0;
	rows->first = rows->row_count;
	rows->lost = 0;
}

void decoder_rows_end(struct decoder_rows *rows)
{
	for (size_t i = 0; i < rows->counted_count; i++)
		rows->rows[rows->counted[i]].total += rows->rows[rows->counted[i]].count;
}

bool decoder_rows_drop(struct decoder_rows *rows)
{
	const struct common_rows array = indexed(rows);
	const size_t first = rows->first;
	const bool dropped = rows->row_count > first;

	for (size_t i = first; i < rows->row_count; i++)
		common_row_index_remove(&rows->index, &array, &rows->rows[i]);
	decoder_rows_begin(rows);
	rows->row_count = rows->first = first;
	rows->no_memory = false;
	if (dropped && rows->found)
		memset(rows->found, 0, sizeof(*rows->found) << DECODER_FOUND_SHIFT);
	return dropped;
}

size_t decoder_rows_memory(const struct decoder_rows *rows)
{
	return rows->row_capacity * sizeof(*rows->rows) + rows->counted_capacity * sizeof(*rows->counted) +
	       rows->index.capacity * sizeof(*rows->index.slots) +
	       (rows->found ? sizeof(*rows->found) << DECODER_FOUND_SHIFT : 0);
}

void decoder_rows_close(struct decoder_rows *rows)
{
	common_row_index_free(&rows->index);
	free(rows->rows);
	free(rows->counted);
	free(rows->found);
	*rows = (struct decoder_rows){0};
}
