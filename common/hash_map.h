/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash map from 64-bit keys, or from byte strings, to 64-bit values (an index or a pointer). */
#ifndef COMMON_HASH_MAP_H
#define COMMON_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Open addressing; keyed hashing, so that hostile keys cannot make it slow. Zero-initialised is
 * empty. The hash key is new in each process, and so is the order of a walk.
 */
struct common_hash_map {
	struct common_hash_slot *slots;
	size_t used;
	size_t capacity;
};

void common_hash_map_free(struct common_hash_map *map);

/* Where key's value is, or NULL. The pointer is valid until the next put. */
uint64_t *common_hash_map_get(const struct common_hash_map *map, uint64_t key);
/* Sets key's value, new or not; PTL_NO_MEMORY. */
int common_hash_map_put(struct common_hash_map *map, uint64_t key, uint64_t value);
/* Removes key; false where it was not there. */
bool common_hash_map_remove(struct common_hash_map *map, uint64_t key);
/* Walks all pairs in no order: start with *at = 0; false at the end. */
bool common_hash_map_next(const struct common_hash_map *map, size_t *at, uint64_t *key, uint64_t *value);

/* The same with byte strings as keys; the map keeps its own copies of them. */
struct common_byte_map {
	struct common_byte_slot *slots;
	size_t used;
	size_t capacity;
};

void common_byte_map_free(struct common_byte_map *map);
uint64_t *common_byte_map_get(const struct common_byte_map *map, const void *key, size_t size);
int common_byte_map_put(struct common_byte_map *map, const void *key, size_t size, uint64_t value);

/* Walks all keys in no order: start with *at = 0; false at the end. */
bool common_byte_map_next(const struct common_byte_map *map, size_t *at, const void **key, size_t *size);

/* The hash that numbers have in this process, and that byte strings have. */
uint64_t common_hash_number(uint64_t key);
uint64_t common_hash_bytes(const void *key, size_t size);

#endif
