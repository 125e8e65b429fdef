/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers for keys: a hash table over an array of elements, each of which begins with its key of several 64-bit words.
 * Number 0 is never in the table. Hostile keys can only make the table forget: an element not found within
 * COMMON_NUMBER_PROBES slots is added again.
 */
#ifndef COMMON_NUMBER_TABLE_H
#define COMMON_NUMBER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/hash.h"

/* A zero-initialised table is empty and has no room. */
struct common_number_table {
	uint32_t *slots; /* owned; numbers of elements, 0: free slot */
	uint32_t mask;
	uint32_t room; /* number of elements the table has room for */
};

#define COMMON_NUMBER_PROBES 32

/* The array of elements. size: bytes of an element; words: 64-bit words of a key. Pass constants for size and words. */
struct common_numbered {
	const void *elements;
	size_t size;
	size_t words;
};

void common_number_table_free(struct common_number_table *table);
/* Removes all entries; keeps the memory. */
void common_number_table_clear(struct common_number_table *table);
/*
 * Makes room for one more element than `count`. The table then covers the first `count` elements of the array. False
 * without memory.
 */
bool common_number_table_grow(struct common_number_table *table, struct common_numbered array, uint32_t count);

static inline const void *common_number_element(struct common_numbered array, uint32_t number)
{
	return (const char *)array.elements + number * array.size;
}

static inline uint64_t common_number_word(const void *key, size_t word)
{
	uint64_t value;

	memcpy(&value, (const char *)key + word * sizeof(value), sizeof(value));
	return value;
}

static inline uint64_t common_number_hash(const void *key, size_t words)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < words; i++) {
		hash = common_hash_mix(hash ^ common_number_word(key, i));
		hash ^= hash >> 32;
	}
	return hash;
}

/* Returns the slot of the element with this key, or a free slot; NULL if COMMON_NUMBER_PROBES slots hold neither. */
static inline __attribute__((always_inline)) uint32_t *common_number_slot(const struct common_number_table *table,
									  struct common_numbered array, const void *key)
{
	uint64_t at = common_number_hash(key, array.words);

	for (unsigned i = 0; i < COMMON_NUMBER_PROBES; i++, at++) {
		uint32_t *slot = &table->slots[at & table->mask];
		const void *known = common_number_element(array, *slot);

		if (!*slot || !memcmp(known, key, array.words * sizeof(uint64_t)))
			return slot;
	}
	return NULL;
}

/*
 * Returns the number of the element with this key. Returns `count` if the first `count` elements lack the key: the
 * caller then stores the new element at `count`. 0 without memory.
 */
static inline __attribute__((always_inline)) uint32_t common_number_of(struct common_number_table *table,
								       struct common_numbered array, uint32_t count,
								       const void *key)
{
	uint32_t *slot;

	if (!common_number_table_grow(table, array, count))
		return 0;
	slot = common_number_slot(table, array, key);
	if (!slot)
		return count;
	if (!*slot)
		*slot = count;
	return *slot;
}

#endif
