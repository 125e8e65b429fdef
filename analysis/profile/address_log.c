/* SPDX-License-Identifier: BSD-2-Clause */
/* The log of executed addresses: distinct blocks, and the order of their execution. */
#include "analysis/profile/address_log.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"

/* number of addresses passed in one call */
#define WALK_ADDRESSES 4096

struct analysis_logged_block {
	size_t first; /* index in addresses */
	uint32_t count;
};

struct analysis_log_slot {
	const struct flow_block *block; /* NULL: free */
	uint32_t number;
};

void analysis_address_log_free(struct analysis_address_log *log)
{
	free(log->sequence);
	free(log->blocks);
	free(log->addresses);
	free(log->slots);
	*log = (struct analysis_address_log){0};
}

static size_t slot_of(const struct analysis_address_log *log, const struct flow_block *block)
{
	size_t at = (common_hash_mix((uintptr_t)block) >> 20) & (log->slot_count - 1);

	while (log->slots[at].block && log->slots[at].block != block)
		at = (at + 1) & (log->slot_count - 1);
	return at;
}

static int grow_slots(struct analysis_address_log *log)
{
	struct analysis_log_slot *old = log->slots;
	size_t count = log->slot_count;

	log->slot_count = count ? count * 2 : 256;
	log->slots = calloc(log->slot_count, sizeof(*log->slots));
	if (!log->slots) {
		free(old);
		log->slot_count = 0;
		return common_fail_memory("log of addresses", count * 2 * sizeof(*old));
	}
	for (size_t i = 0; i < count; i++) {
		if (old[i].block)
			log->slots[slot_of(log, old[i].block)] = old[i];
	}
	free(old);
	return 0;
}

/* Adds a new block to the log, and numbers the block. */
static int log_add_block(struct analysis_address_log *log, const struct flow_block *block, uint32_t *number)
{
	int status = COMMON_VECTOR_RESERVE(log->blocks, log->block_capacity, (size_t)log->block_count + 1,
					   "log of addresses");

	if (!status)
		status = COMMON_VECTOR_RESERVE(log->addresses, log->address_capacity,
					       log->address_count + block->instructions, "log of addresses");
	if (!status && (log->block_count + 1) * (size_t)2 > log->slot_count)
		status = grow_slots(log);
	if (status < 0)
		return status;
	*number = log->block_count;
	log->blocks[log->block_count++] = (struct analysis_logged_block){log->address_count, block->instructions};
	flow_block_addresses(block, log->addresses + log->address_count);
	log->address_count += block->instructions;
	log->slots[slot_of(log, block)] = (struct analysis_log_slot){block, *number};
	return 0;
}

static int add_run(struct analysis_address_log *log, const struct flow_block_run *run)
{
	for (uint32_t i = 0; i < run->count; i++) {
		const struct flow_block *block = run->blocks[i];
		const struct analysis_log_slot *slot = log->slot_count ? &log->slots[slot_of(log, block)] : NULL;
		uint32_t number;

		if (slot && slot->block) {
			number = slot->number;
		} else {
			int status = log_add_block(log, block, &number);

			if (status < 0)
				return status;
		}
		log->sequence[log->count++] = number;
	}
	return 0;
}

int analysis_address_log_add(struct analysis_address_log *log, const struct flow_batch *batch)
{
	int status = COMMON_VECTOR_RESERVE(log->sequence, log->capacity, log->count + batch->block_count,
					   "log of addresses");

	for (size_t i = 0; !status && i < batch->run_count; i++)
		status = add_run(log, batch->runs[i]);
	return status;
}

int analysis_address_log_walk(const struct analysis_address_log *log,
			      int (*take)(void *context, const uint64_t *addresses, size_t count), void *context)
{
	uint64_t gathered[WALK_ADDRESSES];
	size_t have = 0;
	int status = 0;

	for (size_t i = 0; !status && i < log->count; i++) {
		const struct analysis_logged_block *block = &log->blocks[log->sequence[i]];

		if (have + block->count > WALK_ADDRESSES) {
			status = take(context, gathered, have);
			have = 0;
		}
		if (!status && block->count > WALK_ADDRESSES) {
			status = take(context, log->addresses + block->first, block->count);
			continue;
		}
		memcpy(gathered + have, log->addresses + block->first, block->count * sizeof(uint64_t));
		have += block->count;
	}
	return !status && have ? take(context, gathered, have) : status;
}
