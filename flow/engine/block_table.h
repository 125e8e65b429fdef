/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks made once: an engine's table of all blocks it has met, with their bytes and lengths. */
#ifndef FLOW_ENGINE_BLOCK_TABLE_H
#define FLOW_ENGINE_BLOCK_TABLE_H

#include "common/arena.h"
#include "flow/code/code.h"
#include "flow/engine/flow.h"

/* One per engine. Zero-initialise, then flow_table_start. */
struct flow_table {
	const struct flow_code *code;
	flow_root root; /* of the version of the address space at hand */
	/* Changes with root: blocks of an older one are checked before they are used. */
	uint64_t generation;
	struct flow_slot *slots;
	size_t capacity;
	size_t used;
	struct common_arena arena; /* the entries */
	uint8_t *scratch;          /* bytes and lengths of a block in the making */
	size_t scratch_size;
};

void flow_table_start(struct flow_table *table, const struct flow_code *code);
void flow_table_free(struct flow_table *table);

/* From now on addresses mean those of this version. */
void flow_table_version(struct flow_table *table, flow_root root);
/* Between segments: forgets all blocks if they have become too many. */
void flow_table_trim(struct flow_table *table);

/*
 * The run of instructions from ip on of which last_ip is the last and the count-th, as a block.
 * Returns 0 and the block; PTL_CORRUPT (no text) where the code does not hold such a run;
 * PTL_NO_MEMORY.
 */
int flow_table_get(struct flow_table *table, uint64_t ip, uint64_t last_ip, uint32_t count, uint8_t mode,
		   const struct flow_block **block);

#endif
