/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks, which Windows writes as events of their own, behind the events that they belong to. */
#ifndef IMPORT_ETL_STACK_H
#define IMPORT_ETL_STACK_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "import/etl/record.h"

/* ---- what the keys of stacks stand for */

/* Zero-initialised is empty. */
struct etl_stack_keys {
	struct etl_stack_key *list;
	size_t count, capacity;
	struct common_hash_map by_key; /* key: index in list of the last one, others follow */
	struct ptl_bytes frames;       /* 8 bytes each */
	bool any;                      /* the file has stacks */
};

void etl_stack_keys_free(struct etl_stack_keys *keys);
/* A stack event of any kind, of which the survey takes what a key stands for. PTL_NO_MEMORY. */
int etl_stack_keys_add(struct etl_stack_keys *keys, const struct etl_record *record);
/* Whether the record is of the class of stacks. */
bool etl_is_stack(const struct etl_record *record);

/* ---- events that wait for their stacks */

struct etl_import;

/* Zero-initialised is empty. */
struct etl_window {
	struct etl_pending *ring;
	struct etl_bucket *buckets;
	size_t first, count;
	size_t bytes;
};

void etl_window_free(struct etl_window *window);
/* Keeps a copy of the event, and writes those that have waited long enough. PTL_NO_MEMORY, and what writing returns. */
int etl_window_push(struct etl_import *import, const struct ptl_event *event, const struct etl_record *record);
/* Gives the stack that a record tells of to the event that it belongs to, if that still waits. PTL_NO_MEMORY. */
int etl_window_stack(struct etl_import *import, const struct etl_record *record, uint32_t cpu);
/* Writes all that wait. */
int etl_window_flush(struct etl_import *import);

#endif
