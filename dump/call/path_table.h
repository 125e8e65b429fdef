/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nodes of a tree by their parent and by what they are below it: a hash table of numbers alone, which stays in a cache where one
 * with keys would not. Hashing is keyed, since a trace chooses what calls what.
 */
#ifndef DUMP_CALL_PATH_TABLE_H
#define DUMP_CALL_PATH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/hash_map.h"

/* What each node begins with. */
struct dump_path_key {
	uint32_t parent;
	uint32_t what; /* a function, or a name */
};

/* The nodes and their size, which is a constant. */
struct dump_path_nodes {
	const void *nodes;
	size_t size;
};

/* Zero-initialised is empty. */
struct dump_path_table {
	uint32_t *slots; /* owned; a number, and above it bits of the hash; 0: free */
	uint32_t mask;
	uint32_t used;
};

/* Numbers up to this one have a place in a slot. */
#define DUMP_PATH_NUMBER_BITS 24
#define DUMP_PATH_NUMBER_MAX (((uint32_t)1 << DUMP_PATH_NUMBER_BITS) - 1)

void dump_path_table_free(struct dump_path_table *table);
/* Adds a node that is none that dump_path_table_find finds; not 0, and at most DUMP_PATH_NUMBER_MAX. PTL_NO_MEMORY. */
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

/* The node; 0: there is none. */
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
