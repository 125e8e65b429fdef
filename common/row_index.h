/* SPDX-License-Identifier: BSD-2-Clause */
/* Index of an array's rows by the key at the start of each row. Needs four bytes a slot and no copy of the keys. */
#ifndef COMMON_ROW_INDEX_H
#define COMMON_ROW_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMON_NO_ROW UINT32_MAX

/*
 * Keyed hashing, as in common/hash_map.h. A zero-initialised index is empty. The array may move, as by realloc. Numbers
 * and keys of indexed rows must not change.
 */
struct common_row_index {
	uint32_t *slots; /* number of the row plus one, or 0 */
	size_t used;
	size_t capacity;
};

/* The array at its current address. */
struct common_rows {
	const void *rows;
	size_t size;     /* bytes of a row */
	size_t key_size; /* bytes of a key, at the start of a row */
};

void common_row_index_free(struct common_row_index *index);
/* Returns the number of the row with this key, or COMMON_NO_ROW. */
uint32_t common_row_index_find(const struct common_row_index *index, const struct common_rows *rows, const void *key);
/* Adds a row whose key is not in the index. PTL_NO_MEMORY. */
int common_row_index_add(struct common_row_index *index, const struct common_rows *rows, uint32_t row);
/* Removes the row with this key. The key must still stand in the row. Nothing happens if no row has the key. */
void common_row_index_remove(struct common_row_index *index, const struct common_rows *rows, const void *key);

#endif
