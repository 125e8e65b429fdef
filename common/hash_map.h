/* SPDX-License-Identifier: BSD-2-Clause */
/* Hash maps from 64-bit keys or byte strings to 64-bit values (an index or a pointer). */
#ifndef COMMON_HASH_MAP_H
#define COMMON_HASH_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Open addressing with keyed hashing, so that hostile keys cannot cause collisions. A zero-initialised map is empty.
 * Each process chooses a new hash key, so the order of a walk differs from run to run.
 */
struct common_hash_map {
	struct common_hash_slot *slots;
	size_t used;
	size_t capacity;
};

void common_hash_map_free(struct common_hash_map *map);

/* Returns the address of the key's value, or NULL. The pointer is valid until the next put. */
uint64_t *common_hash_map_get(const struct common_hash_map *map, uint64_t key);
/* Sets the key's value, whether the key is new or not. PTL_NO_MEMORY. */
int common_hash_map_put(struct common_hash_map *map, uint64_t key, uint64_t value);
/* Removes the key; false if the key was not in the map. */
bool common_hash_map_remove(struct common_hash_map *map, uint64_t key);
/* Walks all pairs in no particular order: start with *at = 0; false at the end. */
bool common_hash_map_next(const struct common_hash_map *map, size_t *at, uint64_t *key, uint64_t *value);

/* A map with byte strings as keys. The map owns copies of the keys. */
struct common_byte_map {
	struct common_byte_slot *slots;
	size_t used;
	size_t capacity;
};

void common_byte_map_free(struct common_byte_map *map);
uint64_t *common_byte_map_get(const struct common_byte_map *map, const void *key, size_t size);
int common_byte_map_put(struct common_byte_map *map, const void *key, size_t size, uint64_t value);

/* Walks all keys in no particular order: start with *at = 0; false at the end. */
bool common_byte_map_next(const struct common_byte_map *map, size_t *at, const void **key, size_t *size);

/* This process's keyed hash of a number, and of a byte string. */
uint64_t common_hash_number(uint64_t key);
uint64_t common_hash_bytes(const void *key, size_t size);

#endif
