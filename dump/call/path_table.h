/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table that finds nodes of a tree by parent and name. It stores only numbers of nodes, so more entries fit the
 * cache than with keys. The hash is keyed: a trace controls the call paths.
 */
#ifndef DUMP_CALL_PATH_TABLE_H
#define DUMP_CALL_PATH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/hash_map.h"

/* First members of each node. */
struct dump_path_key {
	uint32_t parent;
	uint32_t what; /* number of a function or name */
};

/* The array of nodes, and the size of a node in bytes, a compile-time constant. */
struct dump_path_nodes {
	const void *nodes;
	size_t size;
};

/* Zero-initialised: empty. */
struct dump_path_table {
	uint32_t *slots; /* owned; node number in the low bits, hash bits above; 0: free */
	uint32_t mask;
	uint32_t used;
};

/* Largest node number that fits a slot. */
#define DUMP_PATH_NUMBER_BITS 24
#define DUMP_PATH_NUMBER_MAX (((uint32_t)1 << DUMP_PATH_NUMBER_BITS) - 1)

void dump_path_table_free(struct dump_path_table *table);
/*
 * Adds a node that dump_path_table_find does not find. number: from 1 to DUMP_PATH_NUMBER_MAX. Returns 0 or
 * PTL_NO_MEMORY.
 */
int dump_path_table_put(struct dump_path_table *table, struct dump_path_nodes nodes, uint32_t number);

static inline uint64_t dump_path_key_word(const struct dump_path_key *key)
{
	uint64_t word;

	memcpy(&word, key, sizeof(word));
	return word;
}

static inline const struct dump_path_key *dump_path_key_of(struct dump_path_nodes nodes, uint32_t number)
{
	return (const void *)((const char *)nodes.nodes + number * nodes.size);
}

/* Returns the number of the node; 0: not found. */
static inline __attribute__((always_inline)) uint32_t dump_path_table_find(const struct dump_path_table *table,
									   struct dump_path_nodes nodes,
									   struct dump_path_key key)
{
	const uint64_t word = dump_path_key_word(&key);
	const uint64_t hash = common_hash_number(word);

	if (!table->slots)
		return 0;
	for (uint64_t at = hash;; at++) {
		const uint32_t slot = table->slots[at & table->mask], number = slot & DUMP_PATH_NUMBER_MAX;

		if (!slot)
			return 0;
		if (slot >> DUMP_PATH_NUMBER_BITS == hash >> (32 + DUMP_PATH_NUMBER_BITS) &&
		    dump_path_key_word(dump_path_key_of(nodes, number)) == word)
			return number;
	}
}

#endif
