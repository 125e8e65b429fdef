/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks. Windows writes stacks as separate events, mostly behind their events. */
#ifndef IMPORT_ETL_STACK_H
#define IMPORT_ETL_STACK_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/etl/file/record.h"

/* ---- stack keys */

/* Zero-initialised: empty. */
struct etl_stack_keys {
	struct etl_stack_key *list;
	size_t count, capacity;
	struct common_hash_map by_key; /* key: index in list of the last entry; entries are chained */
	struct ptl_bytes frames;       /* 8 bytes per address */
};

void etl_stack_keys_free(struct etl_stack_keys *keys);
/* Handles a stack event of any kind: keeps the addresses of a stack key. Returns PTL_NO_MEMORY. */
int etl_stack_keys_add(struct etl_stack_keys *keys, const struct etl_record *record);

/* ---- stacks of held buffers */

struct etl_import;

#define ETL_STACKS_MAX                                                                                                 \
	3u /* maximum stacks of an event: the kernel's part, the user's part, and the stack of the .NET runtime */

/* Zero-initialised: empty. */
struct etl_stacks {
	bool any; /* the file has stacks; set by the survey */
	struct etl_stack *ring;
	struct etl_stack_bucket *buckets;
	size_t first, count;
	uint8_t *items; /* bytes of the items of the last etl_stacks_take */
	struct etl_runtime_event *runtime;
};

/* Whether the record is a stack of the kernel, or of the .NET runtime. */
bool etl_is_stack(const struct etl_record *record);

/* As etl_is_stack, for an event that was not parsed. */
bool etl_raw_is_stack(const struct etl_raw *raw);

void etl_stacks_free(struct etl_stacks *stacks);
/* Notes the stacks of a buffer, which must stay in memory until etl_stacks_drop. Returns PTL_NO_MEMORY. */
int etl_stacks_find(struct etl_import *import, const struct etl_buffer *buffer, size_t *count);
/* Prefetches the stacks of a time into the CPU's cache. */
void etl_stacks_expect(const struct etl_stacks *stacks, uint64_t ticks);
/* Forgets the `count` oldest stacks. */
void etl_stacks_drop(struct etl_import *import, size_t count);
/*
 * Returns the stacks of an event as extended items, valid until the next call. *count: number of items. Returns
 * PTL_NO_MEMORY.
 */
int etl_stacks_take(struct etl_import *import, const struct etl_record *record, uint32_t cpu,
		    struct ptl_extended items[ETL_STACKS_MAX], size_t *count);

/* Whether all addresses of this stack record were moved to the stack's event. */
bool etl_stacks_gone(const struct etl_import *import, const struct etl_record *record);

#endif
