/* SPDX-License-Identifier: BSD-2-Clause */
/* The counts of one worker: a table of the blocks that it has met, found by what they are. */
#ifndef FLOW_VIEW_PROFILE_TABLE_H
#define FLOW_VIEW_PROFILE_TABLE_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "flow/engine/flow.h"

/* What makes a block the same again: the bytes of an image's file are known by their place, others by a hash. */
struct flow_block_id {
	uint64_t ip;
	uint64_t code; /* hash of its bytes where a code event gave them, or 0; with the mode that they ran in */
	uint32_t image;
	uint32_t size;
};

struct flow_profile_entry {
	struct flow_block_id id;
	uint64_t target;
	uint64_t count, taken, not_taken;
	size_t bytes; /* in the table's bytes: its code, and the lengths behind it */
	uint32_t instructions;
	uint32_t next; /* another entry whose id has the same hash; FLOW_NONE */
	uint8_t branch, mode;
	bool code_event;
};

#define FLOW_PROFILE_CACHE 8192 /* a power of two */

/* Zero-initialised is empty. */
struct flow_profile_table {
	struct common_hash_map places; /* of entries, by the hash of their ids: no entry is looked at for nothing */
	struct flow_profile_entry *entries;
	size_t count;
	struct ptl_bytes bytes;
	struct common_hash_map edges; /* from << 32 | to, both indexes: how often */
	/* Entries by the engine's own blocks, which stay where they are for a while: index + 1. */
	struct {
		const struct flow_block *block;
		uint32_t entry;
	} cache[FLOW_PROFILE_CACHE];
};

/* Whether where the branch leads is counted as an edge. */
static inline bool flow_profile_is_edge(uint8_t branch)
{
	return branch == FLOW_BRANCH_JUMP_INDIRECT || branch == FLOW_BRANCH_CALL_INDIRECT;
}

void flow_profile_table_free(struct flow_profile_table *table);
/* The index of the entry with this id; FLOW_NONE: there is none. */
uint32_t flow_profile_table_find(const struct flow_profile_table *table, const struct flow_block_id *id);
/* The index of the block's entry, which is made if need be. PTL_NO_MEMORY. */
int flow_profile_find(struct flow_profile_table *table, const struct flow_block *block, uint32_t *index);
/* PTL_NO_MEMORY. */
int flow_profile_edge(struct flow_profile_table *table, uint32_t from, uint32_t to, uint64_t count);

#endif
