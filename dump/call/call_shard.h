/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers in files of shards. Few places make nearly all transfers, so that each is written as the number of its shape, the
 * instructions before it, and how much later it came.
 */
#ifndef DUMP_CALL_CALL_SHARD_H
#define DUMP_CALL_CALL_SHARD_H

#include "common/bytes.h"
#include "common/hash_map.h"
#include "dump/call/transfer.h"

#define DUMP_CALL_SHAPES_CACHE 4096 /* a power of two */

/* The shapes that one shard has written. Zero-initialised is empty. */
struct dump_call_shapes {
	struct common_byte_map numbers;
	struct dump_call_shape_cached {
		struct dump_transfer transfer; /* but for its time and instructions */
		uint32_t process, number;      /* number + 1; 0: nothing */
	} * cache;                             /* owned; those met last, by place; NULL at first */
};

/* The shapes that have been read of one source. Zero-initialised is empty. */
struct dump_call_shapes_read {
	struct dump_transfer *list; /* of a shape; time and instructions are 0; owned */
	size_t count;
};

void dump_call_shapes_free(struct dump_call_shapes *shapes);
void dump_call_shapes_read_free(struct dump_call_shapes_read *shapes);

/* Appends what a segment has. PTL_NO_MEMORY. */
int dump_call_shard_write(struct dump_call_shapes *shapes, const struct flow_segment *segment,
			  const struct dump_transfers *transfers, const struct dump_tracker *tracker,
			  struct ptl_bytes *record);
/* Adds what a segment has. PTL_NO_MEMORY; the cursor fails where nothing that was written can be like this. */
int dump_call_shard_read(struct dump_call_shapes_read *shapes, const struct flow_segment *segment,
			 const struct flow_timeline *timeline, struct dump_function_table *functions,
			 struct common_cursor *record, struct dump_transfers *transfers, struct dump_tracker *tracker);

#endif
