/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies selected blocks and events of a batch into another batch. */
#ifndef FLOW_ENGINE_BATCH_COPY_H
#define FLOW_ENGINE_BATCH_COPY_H

#include "flow/engine/flow.h"

/* The copy and its arrays. Initialise with zeroes. The arrays are valid until the next flow_batch_copy_begin. */
struct flow_batch_copy {
	struct flow_batch made;
	const struct flow_block **blocks;
	struct flow_mark *marks;
	size_t block_capacity;
	struct flow_event *events;
	size_t event_capacity;
	struct flow_block_run run;
	const struct flow_block_run *runs[1];
};

/* Begins an empty copy, with room for all blocks and events of the batch. Returns PTL_NO_MEMORY. */
int flow_batch_copy_begin(struct flow_batch_copy *copy, const struct flow_batch *batch);
/* Adds the cursor's current block or event, with its time. */
void flow_batch_copy_add(struct flow_batch_copy *copy, const struct flow_batch_cursor *cursor);
/* Adds an event before the next added block. Returns PTL_NO_MEMORY. */
int flow_batch_copy_add_event(struct flow_batch_copy *copy, const struct flow_event *event);
/* Returns the batch of added blocks and events. */
const struct flow_batch *flow_batch_copy_end(struct flow_batch_copy *copy);
void flow_batch_copy_free(struct flow_batch_copy *copy);

#endif
