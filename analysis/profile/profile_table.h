/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts of one worker: a table of executed blocks, by id. */
#ifndef ANALYSIS_PROFILE_PROFILE_TABLE_H
#define ANALYSIS_PROFILE_PROFILE_TABLE_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "flow/engine/flow.h"

/* Id of a block. Bytes of an image's file are identified by their place, other bytes by a hash. */
struct analysis_block_id {
	uint64_t ip;
	uint64_t code; /* hash of the bytes from a code event, or 0; combined with the mode */
	uint32_t image;
	uint32_t size;
};

struct analysis_profile_entry {
	struct analysis_block_id id;
	uint64_t target;
	uint64_t count, taken, not_taken;
	size_t bytes; /* offset in the table's bytes: the code, then the lengths */
	uint32_t instructions;
	uint32_t next; /* next entry with an equal hash; FLOW_NONE */
	uint8_t branch, mode;
	bool code_event;
};

#define ANALYSIS_PROFILE_CACHE 8192 /* a power of two */

/* The table. Zero-initialised, the table is empty. */
struct analysis_profile_table {
	struct common_hash_map places; /* by hash of the id: first entry */
	struct analysis_profile_entry *entries;
	size_t count;
	struct ptl_bytes bytes;
	struct common_hash_map edges; /* by from << 32 | to, indexes of entries: count */
	/* Entries by the engine's blocks, whose pointers stay valid for a while. */
	struct {
		const struct flow_block *block;
		uint32_t entry;
	} cache[ANALYSIS_PROFILE_CACHE];
};

/* Checks whether the branch's target is counted as an edge. */
static inline bool analysis_profile_is_edge(uint8_t branch)
{
	return branch == FLOW_BRANCH_JUMP_INDIRECT || branch == FLOW_BRANCH_CALL_INDIRECT;
}

void analysis_profile_table_free(struct analysis_profile_table *table);
/* Returns the index of the entry with this id; FLOW_NONE: not found. */
uint32_t analysis_profile_table_find(const struct analysis_profile_table *table, const struct analysis_block_id *id);
/* Finds or adds the block's entry. *index: index of the entry. Returns PTL_NO_MEMORY. */
int analysis_profile_find(struct analysis_profile_table *table, const struct flow_block *block, uint32_t *index);
/* Adds to the count of an edge. Returns PTL_NO_MEMORY. */
int analysis_profile_edge(struct analysis_profile_table *table, uint32_t from, uint32_t to, uint64_t count);

#endif
