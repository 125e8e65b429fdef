/* SPDX-License-Identifier: BSD-2-Clause */
/* A compact log of the instructions executed in a stretch of flow, for hashing in order later. */
#ifndef ANALYSIS_PROFILE_ADDRESS_LOG_H
#define ANALYSIS_PROFILE_ADDRESS_LOG_H

#include "common/sha256.h"
#include "flow/engine/flow.h"

/*
 * The log has each distinct block once, with its addresses, and the sequence of blocks. A worker makes the log while
 * decoding. A hash must be computed in order, so the log is handed over instead. Zero-initialised, the log is empty.
 */
struct analysis_address_log {
	uint32_t *sequence;
	size_t count, capacity;
	struct analysis_logged_block *blocks;
	uint32_t block_count, block_capacity;
	uint64_t *addresses; /* addresses of all distinct blocks, in sequence */
	size_t address_count, address_capacity;
	struct analysis_log_slot *slots; /* blocks by pointer */
	size_t slot_count;
};

void analysis_address_log_free(struct analysis_address_log *log);

/* Adds a batch. All batches of a log must be of one segment. Returns PTL_NO_MEMORY. */
int analysis_address_log_add(struct analysis_address_log *log, const struct flow_batch *batch);

/*
 * Calls take with all addresses in order, a few thousand at a time. Stops at a non-zero result, and returns the result.
 */
int analysis_address_log_walk(const struct analysis_address_log *log,
			      int (*take)(void *context, const uint64_t *addresses, size_t count), void *context);

#endif
