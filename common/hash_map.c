/* SPDX-License-Identifier: BSD-2-Clause */
/* Open addressing with linear probing, at most three quarters full, and keyed hashes. */
#include "common/hash.h"
#include "common/hash_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "common/bytes.h"
#include "common/error.h"

#define FIRST_CAPACITY 16

struct common_hash_slot {
	uint64_t key;
	uint64_t value;
	bool used;
};

struct common_byte_slot {
	uint64_t hash;
	uint64_t value;
	uint8_t *key; /* owned; NULL in a free slot */
	size_t size;
};

/* ---- hashing --------------------------------------------------------------------------------- */

/*
 * Hash key, chosen when the process starts: the author of a trace cannot predict which keys collide. A constructor sets
 * the key, so that no look-up has to check for initialisation.
 */
static uint64_t secret[2];

__attribute__((constructor)) static void choose_secret(void)
{
	if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != (ssize_t)sizeof(secret)) {
		/*
		 * Early at boot, getrandom may have no entropy. Addresses are random, and the exact clock is hard to
		 * guess.
		 */
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		secret[0] = (uint64_t)(uintptr_t)&now * COMMON_HASH_FACTOR;
		secret[1] = (uint64_t)now.tv_nsec * 0xd6e8feb86659fd93;
	}
	secret[1] |= 1;
}

/* XORs both halves of a product with a secret factor, so that every bit of the key affects the low bits. */
uint64_t common_hash_number(uint64_t key)
{
	unsigned __int128 product;

	product = (unsigned __int128)(key ^ secret[0]) * secret[1];
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

/* SipHash-1-3 (Aumasson, Bernstein): designed for tables whose keys come from untrusted input. */
uint64_t common_hash_bytes(const void *key, size_t size)
{
	const uint8_t *data = key;
	uint64_t v[4], last = (uint64_t)size << 56;
	size_t at = 0;

	v[0] = secret[0] ^ 0x736f6d6570736575;
	v[1] = secret[1] ^ 0x646f72616e646f6d;
	v[2] = secret[0] ^ 0x6c7967656e657261;
	v[3] = secret[1] ^ 0x7465646279746573;
	for (; size - at >= 8; at += 8) {
		const uint64_t word = common_load64(data + at);

		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	if (size > at)
		last |= common_load_le(data + at, size - at);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Whether one more entry would fill more than three quarters of `capacity` (a power of two). */
static bool is_full(size_t used, size_t capacity)
{
	return used >= capacity - capacity / 4;
}

/* ---- numbers as keys ------------------------------------------------------------------------- */

void common_hash_map_free(struct common_hash_map *map)
{
	free(map->slots);
	*map = (struct common_hash_map){0};
}

/* Returns the slot of the key, or the free slot for inserting the key. A free slot always exists. */
static size_t find_number(const struct common_hash_map *map, uint64_t key)
{
	size_t at = common_hash_number(key) & (map->capacity - 1);

	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return at;
}

uint64_t *common_hash_map_get(const struct common_hash_map *map, uint64_t key)
{
	size_t at;

	if (!map->capacity)
		return NULL;
	at = find_number(map, key);
	return map->slots[at].used ? &map->slots[at].value : NULL;
}

static int grow_numbers(struct common_hash_map *map)
{
	const size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
	struct common_hash_map bigger = {.used = map->used, .capacity = capacity};

	bigger.slots = calloc(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return common_fail_memory("a hash map", capacity * sizeof(*bigger.slots));
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].used)
			bigger.slots[find_number(&bigger, map->slots[i].key)] = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

int common_hash_map_put(struct common_hash_map *map, uint64_t key, uint64_t value)
{
	uint64_t *present = common_hash_map_get(map, key);
	int status;

	if (present) {
		*present = value;
		return 0;
	}
	if (is_full(map->used, map->capacity)) {
		status = grow_numbers(map);
		if (status < 0)
			return status;
	}
	map->slots[find_number(map, key)] = (struct common_hash_slot){key, value, true};
	map->used++;
	return 0;
}

bool common_hash_map_remove(struct common_hash_map *map, uint64_t key)
{
	const size_t mask = map->capacity - 1;
	size_t hole, at;

	if (!map->capacity)
		return false;
	hole = find_number(map, key);
	if (!map->slots[hole].used)
		return false;
	/* Moves back each later entry of the run whose search would now end at the hole. */
	for (at = (hole + 1) & mask; map->slots[at].used; at = (at + 1) & mask) {
		const size_t home_slot = common_hash_number(map->slots[at].key) & mask;

		if (((at - home_slot) & mask) >= ((at - hole) & mask)) {
			map->slots[hole] = map->slots[at];
			hole = at;
		}
	}
	map->slots[hole].used = false;
	map->used--;
	return true;
}

bool common_hash_map_next(const struct common_hash_map *map, size_t *at, uint64_t *key, uint64_t *value)
{
	for (; *at < map->capacity; ++*at) {
		const struct common_hash_slot *slot = &map->slots[*at];

		if (slot->used) {
			*key = slot->key;
			*value = slot->value;
			++*at;
			return true;
		}
	}
	return false;
}

/* ---- byte strings as keys -------------------------------------------------------------------- */

bool common_byte_map_next(const struct common_byte_map *map, size_t *at, const void **key, size_t *size)
{
	while (*at < map->capacity) {
		const struct common_byte_slot *slot = &map->slots[(*at)++];

		if (!slot->key)
			continue;
		*key = slot->key;
		*size = slot->size;
		return true;
	}
	return false;
}

void common_byte_map_free(struct common_byte_map *map)
{
	for (size_t i = 0; i < map->capacity; i++)
		free(map->slots[i].key);
	free(map->slots);
	*map = (struct common_byte_map){0};
}

static size_t find_bytes(const struct common_byte_map *map, uint64_t hash, const void *key, size_t size)
{
	size_t at = hash & (map->capacity - 1);

	for (;; at = (at + 1) & (map->capacity - 1)) {
		const struct common_byte_slot *slot = &map->slots[at];

		if (!slot->key ||
		    (slot->hash == hash && slot->size == size && (!size || memcmp(slot->key, key, size) == 0)))
			return at;
	}
}

uint64_t *common_byte_map_get(const struct common_byte_map *map, const void *key, size_t size)
{
	size_t at;

	if (!map->capacity)
		return NULL;
	at = find_bytes(map, common_hash_bytes(key, size), key, size);
	return map->slots[at].key ? &map->slots[at].value : NULL;
}

static int grow_bytes(struct common_byte_map *map)
{
	const size_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
	struct common_byte_map bigger = {.used = map->used, .capacity = capacity};

	bigger.slots = calloc(capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return common_fail_memory("a hash map", capacity * sizeof(*bigger.slots));
	for (size_t i = 0; i < map->capacity; i++) {
		const struct common_byte_slot *old = &map->slots[i];

		if (old->key)
			bigger.slots[find_bytes(&bigger, old->hash, old->key, old->size)] = *old;
	}
	free(map->slots);
	*map = bigger;
	return 0;
}

int common_byte_map_put(struct common_byte_map *map, const void *key, size_t size, uint64_t value)
{
	const uint64_t hash = common_hash_bytes(key, size);
	uint8_t *copy;

	if (map->capacity) {
		struct common_byte_slot *slot = &map->slots[find_bytes(map, hash, key, size)];

		if (slot->key) {
			slot->value = value;
			return 0;
		}
	}
	if (is_full(map->used, map->capacity) && grow_bytes(map) < 0)
		return PTL_NO_MEMORY;
	copy = malloc(size ? size : 1);
	if (!copy)
		return common_fail_memory("a key", size);
	if (size)
		memcpy(copy, key, size);
	map->slots[find_bytes(map, hash, key, size)] = (struct common_byte_slot){hash, value, copy, size};
	map->used++;
	return 0;
}
