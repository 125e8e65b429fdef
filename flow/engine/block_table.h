/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine's table of all executed blocks, with their bytes and lengths. Each block is made once. */
#ifndef FLOW_ENGINE_BLOCK_TABLE_H
#define FLOW_ENGINE_BLOCK_TABLE_H

#include "common/arena.h"
#include "flow/code/code.h"
#include "flow/engine/flow.h"

/* The table; an engine has one table. Initialise with zeroes, then call flow_table_start. */
struct flow_table {
	const struct flow_code *code;
	flow_root root; /* root of the current version of the address space */
	/* Changes together with root. Blocks of an older generation are compared with the code before use. */
	uint64_t generation;
	struct flow_slot *slots;
	size_t capacity;
	size_t used;
	struct common_arena arena; /* memory of the entries */
	uint8_t *scratch;          /* bytes and lengths of the block being made */
	size_t scratch_size;
};

void flow_table_start(struct flow_table *table, const struct flow_code *code);
void flow_table_free(struct flow_table *table);

/* Selects the version of the address space for further calls. */
void flow_table_version(struct flow_table *table, flow_root root);
/* Forgets all blocks if the table is too large. Called between segments. */
void flow_table_trim(struct flow_table *table);

/*
 * Finds or makes the block of `count` instructions from ip to last_ip, the address of the last instruction. Returns 0
 * and the block; PTL_CORRUPT (without an error text) if the code does not hold such a run; PTL_NO_MEMORY.
 */
int flow_table_get(struct flow_table *table, uint64_t ip, uint64_t last_ip, uint32_t count, uint8_t mode,
		   const struct flow_block **block);

#endif
