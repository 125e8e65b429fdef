/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fast unkeyed hashing, for tables whose keys are not under an attacker's control or whose chains have a limit. Keys
 * that come from a file, such as names, belong into the keyed tables of common/hash_map.h.
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 2^64 divided by the golden ratio: neighbouring keys lie far apart in the high bits of the product. */
#define COMMON_HASH_FACTOR 0x9e3779b97f4a7c15ull

static inline uint64_t common_hash_mix(uint64_t key)
{
	return key * COMMON_HASH_FACTOR;
}

/* Returns the highest `bits` bits (1 to 64) of the mixed key. */
static inline uint64_t common_hash_high(uint64_t key, unsigned bits)
{
	return common_hash_mix(key) >> (64 - bits);
}

/* FNV-1a. Start with COMMON_FNV1A, or continue with the hash of the preceding bytes. */
#define COMMON_FNV1A 0xcbf29ce484222325ull

static inline uint64_t common_fnv1a(uint64_t hash, const void *data, size_t size)
{
	for (const uint8_t *at = data, *end = at + size; at < end; at++)
		hash = (hash ^ *at) * 0x100000001b3ull;
	return hash;
}

#endif
