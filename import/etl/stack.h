/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, which Windows writes as events of their own, mostly behind the events that they belong to. */
#ifndef IMPORT_ETL_STACK_H
#define IMPORT_ETL_STACK_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/etl/file/record.h"

/* ---- what the keys of stacks stand for */

/* Zero-initialised is empty. */
struct etl_stack_keys {
	struct etl_stack_key *list;
	size_t count, capacity;
	struct common_hash_map by_key; /* key: index in list of the last one, others follow */
	struct ptl_bytes frames;       /* 8 bytes each */
};

void etl_stack_keys_free(struct etl_stack_keys *keys);
/* A stack event of any kind, of which the survey takes what a key stands for. PTL_NO_MEMORY. */
int etl_stack_keys_add(struct etl_stack_keys *keys, const struct etl_record *record);

/* ---- stacks of the buffers that are held */

struct etl_import;

#define ETL_STACKS_MAX                                                                                                 \
	3u /* that an event gets: the kernel's part, the user's, what the runtime of .NET says of its own */

/* Zero-initialised is empty. */
struct etl_stacks {
	bool any; /* the file has some: set by the survey */
	struct etl_stack *ring;
	struct etl_stack_bucket *buckets;
	size_t first, count;
	uint8_t *items; /* bytes of those that were taken last */
	struct etl_runtime_event *runtime;
};

/* Whether the record is a stack of the kernel's class, or of the runtime of .NET. */
bool etl_is_stack(const struct etl_record *record);

/* The same, before it is read. */
bool etl_raw_is_stack(const struct etl_raw *raw);

void etl_stacks_free(struct etl_stacks *stacks);
/* Takes note of the stacks in a buffer that stays in memory until they are dropped. PTL_NO_MEMORY. */
int etl_stacks_find(struct etl_import *import, const struct etl_buffer *buffer, size_t *count);
/* Has those of a time brought near to the processor. */
void etl_stacks_expect(const struct etl_stacks *stacks, uint64_t ticks);
/* Forgets the oldest ones. */
void etl_stacks_drop(struct etl_import *import, size_t count);
/*
 * Gives an event the stacks that belong to it, as extended items that live until the next call: *count of them.
 * PTL_NO_MEMORY.
 */
int etl_stacks_take(struct etl_import *import, const struct etl_record *record, uint32_t cpu,
		    struct ptl_extended items[ETL_STACKS_MAX], size_t *count);

/* Whether the addresses of a stack have gone, all of them, to the event that it belongs to. */
bool etl_stacks_gone(const struct etl_import *import, const struct etl_record *record);

#endif
