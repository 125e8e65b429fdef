/* SPDX-License-Identifier: BSD-2-Clause */
/* Open addressing with linear probing, at most three quarters full. */
#include "common/row_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"

#define FIRST_CAPACITY 16

static const uint8_t *key_of(const struct common_rows *rows, uint32_t slot)
{
	return (const uint8_t *)rows->rows + (size_t)(slot - 1) * rows->size;
}

void common_row_index_free(struct common_row_index *index)
{
	free(index->slots);
	*index = (struct common_row_index){0};
}

/* Returns the slot of the row with this key, or the free slot for inserting the row. A free slot always exists. */
static size_t find_slot(const struct common_row_index *index, const struct common_rows *rows, const void *key)
{
	const size_t mask = index->capacity - 1;
	size_t at = common_hash_bytes(key, rows->key_size) & mask;

	while (index->slots[at] && memcmp(key_of(rows, index->slots[at]), key, rows->key_size) != 0)
		at = (at + 1) & mask;
	return at;
}

uint32_t common_row_index_find(const struct common_row_index *index, const struct common_rows *rows, const void *key)
{
	uint32_t slot;

	if (!index->capacity)
		return COMMON_NO_ROW;
	slot = index->slots[find_slot(index, rows, key)];
	return slot ? slot - 1 : COMMON_NO_ROW;
}

static int grow_slots(struct common_row_index *index, const struct common_rows *rows)
{
	const size_t capacity = index->capacity ? 2 * index->capacity : FIRST_CAPACITY;
	struct common_row_index bigger = {.used = index->used, .capacity = capacity};

	bigger.slots = calloc(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return common_fail_memory("an index of rows", capacity * sizeof(*bigger.slots));
	for (size_t i = 0; i < index->capacity; i++)
		if (index->slots[i])
			bigger.slots[find_slot(&bigger, rows, key_of(rows, index->slots[i]))] = index->slots[i];
	free(index->slots);
	*index = bigger;
	return 0;
}

int common_row_index_add(struct common_row_index *index, const struct common_rows *rows, uint32_t row)
{
	int status = 0;

	if (index->used >= index->capacity - index->capacity / 4)
		status = grow_slots(index, rows);
	if (status)
		return status;
	index->slots[find_slot(index, rows, key_of(rows, row + 1))] = row + 1;
	index->used++;
	return 0;
}

void common_row_index_remove(struct common_row_index *index, const struct common_rows *rows, const void *key)
{
	const size_t mask = index->capacity - 1;
	size_t hole, at;

	if (!index->capacity)
		return;
	hole = find_slot(index, rows, key);
	if (!index->slots[hole])
		return;
	/* Moves back each later entry of the run whose search would now end at the hole. */
	for (at = (hole + 1) & mask; index->slots[at]; at = (at + 1) & mask) {
		const size_t home_slot = common_hash_bytes(key_of(rows, index->slots[at]), rows->key_size) & mask;

		if (((at - home_slot) & mask) >= ((at - hole) & mask)) {
			index->slots[hole] = index->slots[at];
			hole = at;
		}
	}
	index->slots[hole] = 0;
	index->used--;
}
