/* SPDX-License-Identifier: BSD-2-Clause */
/* Which instructions were executed in a stretch of flow, compactly, to be hashed in order later. */
#ifndef FLOW_VIEW_ADDRESS_LOG_H
#define FLOW_VIEW_ADDRESS_LOG_H

#include "common/sha256.h"
#include "flow/engine/flow.h"

/*
 * Each distinct block once with its addresses, and the sequence of blocks. Made by the worker that
 * decodes; a hash is sequential, so the log is what is handed over. Zero-initialised is empty.
 */
struct flow_address_log {
	uint32_t *sequence;
	size_t count, capacity;
	struct flow_logged_block *blocks;
	uint32_t block_count, block_capacity;
	uint64_t *addresses; /* of all distinct blocks, one after the other */
	size_t address_count, address_capacity;
	struct flow_log_slot *slots; /* blocks by pointer */
	size_t slot_count;
};

void flow_address_log_free(struct flow_address_log *log);

/* Adds a batch. All batches of a log are of one segment. PTL_NO_MEMORY. */
int flow_address_log_add(struct flow_address_log *log, const struct flow_batch *batch);

/*
 * Calls take with all addresses in order, some thousand at a time; stops at a non-zero result and
 * returns it.
 */
int flow_address_log_walk(const struct flow_address_log *log,
			  int (*take)(void *context, const uint64_t *addresses, size_t count), void *context);

#endif
