/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transfers in partial results of shards. Few places make nearly all transfers, so a transfer is written as the number
 * of its shape, the instructions before it, and the time since the last transfer.
 */
#ifndef ANALYSIS_CALL_CALL_SHARD_H
#define ANALYSIS_CALL_CALL_SHARD_H

#include "analysis/call/transfer.h"
#include "common/bytes.h"
#include "common/hash_map.h"

#define ANALYSIS_CALL_SHAPES_CACHE 4096 /* a power of two */

/* Shapes that a shard has written. Zero-initialised: empty. */
struct analysis_call_shapes {
	struct common_byte_map numbers;
	struct analysis_call_shape_cached {
		struct analysis_transfer transfer; /* without time and instructions */
		uint32_t process, number;          /* number: from 1; 0: empty entry */
	} * cache;                                 /* recent shapes by hash; NULL at first; owned */
};

/* Shapes read from one source. Zero-initialised: empty. */
struct analysis_call_shapes_read {
	struct analysis_transfer *list; /* a transfer for each shape, with time and instructions 0; owned */
	size_t count;
};

void analysis_call_shapes_free(struct analysis_call_shapes *shapes);
void analysis_call_shapes_read_free(struct analysis_call_shapes_read *shapes);

/* Appends the transfers and the tracker of a segment. Returns 0 or PTL_NO_MEMORY. */
int analysis_call_shard_write(struct analysis_call_shapes *shapes, const struct flow_segment *segment,
			      const struct analysis_transfers *transfers, const struct analysis_tracker *tracker,
			      struct ptl_bytes *record);
/*
 * Reads the transfers and the tracker of a segment. Returns 0 or PTL_NO_MEMORY. Sets record->failed for invalid data.
 */
int analysis_call_shard_read(struct analysis_call_shapes_read *shapes, const struct flow_segment *segment,
			     const struct flow_timeline *timeline, struct analysis_function_table *functions,
			     struct common_cursor *record, struct analysis_transfers *transfers,
			     struct analysis_tracker *tracker);

#endif
