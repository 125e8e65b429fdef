/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the rows of an array by the key that each of them begins with: four bytes a row, and no copy of the key. */
#ifndef COMMON_ROW_INDEX_H
#define COMMON_ROW_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMON_NO_ROW UINT32_MAX

/*
 * Keyed hashing, as in common/hash_map.h. Zero-initialised is empty. Rows may move all together, as realloc does, but
 * their numbers and keys stay while they are in the index.
 */
struct common_row_index {
	uint32_t *slots; /* number of the row plus one, or 0 */
	size_t used;
	size_t capacity;
};

/* The array as it lies now. */
struct common_rows {
	const void *rows;
	size_t size;     /* of a row */
	size_t key_size; /* bytes of its key, which come first */
};

void common_row_index_free(struct common_row_index *index);
/* The number of the row with this key; COMMON_NO_ROW: there is none. */
uint32_t common_row_index_find(const struct common_row_index *index, const struct common_rows *rows, const void *key);
/* Adds a row whose key is not there yet; PTL_NO_MEMORY. */
int common_row_index_add(struct common_row_index *index, const struct common_rows *rows, uint32_t row);
/* Takes the row with this key out; its key must still stand in it. Nothing happens where there is none. */
void common_row_index_remove(struct common_row_index *index, const struct common_rows *rows, const void *key);

#endif
