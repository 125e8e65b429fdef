/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table that finds nodes of a tree by parent and name. It stores only numbers of nodes, so more entries fit the
 * cache than with keys. The hash is keyed: a trace controls the call paths.
 */
#ifndef ANALYSIS_CALL_PATH_TABLE_H
#define ANALYSIS_CALL_PATH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/hash_map.h"

/* First members of each node. */
struct analysis_path_key {
	uint32_t parent;
	uint32_t what; /* number of a function or name */
};

/* The array of nodes, and the size of a node in bytes, a compile-time constant. */
struct analysis_path_nodes {
	const void *nodes;
	size_t size;
};

/* Zero-initialised: empty. */
struct analysis_path_table {
	uint32_t *slots; /* owned; node number in the low bits, hash bits above; 0: free */
	uint32_t mask;
	uint32_t used;
};

/* Largest node number that fits a slot. */
#define ANALYSIS_PATH_NUMBER_BITS 24
#define ANALYSIS_PATH_NUMBER_MAX (((uint32_t)1 << ANALYSIS_PATH_NUMBER_BITS) - 1)

void analysis_path_table_free(struct analysis_path_table *table);
/*
 * Adds a node that analysis_path_table_find does not find. number: from 1 to ANALYSIS_PATH_NUMBER_MAX. Returns 0 or
 * PTL_NO_MEMORY.
 */
int analysis_path_table_put(struct analysis_path_table *table, struct analysis_path_nodes nodes, uint32_t number);

static inline uint64_t analysis_path_key_word(const struct analysis_path_key *key)
{
	uint64_t word;

	memcpy(&word, key, sizeof(word));
	return word;
}

static inline const struct analysis_path_key *analysis_path_key_of(struct analysis_path_nodes nodes, uint32_t number)
{
	return (const void *)((const char *)nodes.nodes + number * nodes.size);
}

/* Returns the number of the node; 0: not found. */
static inline __attribute__((always_inline)) uint32_t analysis_path_table_find(const struct analysis_path_table *table,
									       struct analysis_path_nodes nodes,
									       struct analysis_path_key key)
{
	const uint64_t word = analysis_path_key_word(&key);
	const uint64_t hash = common_hash_number(word);

	if (!table->slots)
		return 0;
	for (uint64_t at = hash;; at++) {
		const uint32_t slot = table->slots[at & table->mask], number = slot & ANALYSIS_PATH_NUMBER_MAX;

		if (!slot)
			return 0;
		if (slot >> ANALYSIS_PATH_NUMBER_BITS == hash >> (32 + ANALYSIS_PATH_NUMBER_BITS) &&
		    analysis_path_key_word(analysis_path_key_of(nodes, number)) == word)
			return number;
	}
}

#endif
