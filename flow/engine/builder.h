/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns runs of instructions, as a decoder gives them, into batches of blocks. */
#ifndef FLOW_ENGINE_BUILDER_H
#define FLOW_ENGINE_BUILDER_H

#include "flow/engine/engine.h"
#include "flow/engine/block_table.h"

#define FLOW_BATCH_BLOCKS 4096
#define FLOW_BATCH_EVENTS 512

/*
 * The builder joins consecutive runs if neither a branch nor a bound event lies in between. So the blocks do not depend
 * on the decoder's runs. About 100 KiB: too large for the stack.
 */
struct flow_builder {
	struct flow_table table;
	const struct flow_sink *sink;
	uint8_t last_branch;   /* branch at the end of the last run */
	struct flow_mark mark; /* time and state of the next run */
	struct {
		uint64_t ip, last_ip, end;
		uint32_t instructions; /* 0: no block is open */
		uint8_t mode;
		struct flow_mark mark;
		const struct flow_block *block; /* NULL: the block has several runs, and is not made yet */
	} open;                                 /* the current block, which has not ended yet */
	size_t block_count, event_count, mark_count;
	uint64_t instructions; /* number of instructions in the collected blocks */
	uint32_t branches;
	const struct flow_block *blocks[FLOW_BATCH_BLOCKS];
	struct flow_mark marks[FLOW_BATCH_BLOCKS];
	struct flow_event events[FLOW_BATCH_EVENTS];
};

void flow_builder_start(struct flow_builder *builder, const struct flow_code *code);
void flow_builder_free(struct flow_builder *builder);

/* Selects the version of the address space for further runs. */
int flow_builder_version(struct flow_builder *builder, flow_root root);
/* Begins a segment whose flow goes to sink. */
void flow_begin(struct flow_builder *builder, const struct flow_sink *sink);
/* Sets the time (0: unknown) and state of the next runs. */
void flow_state(struct flow_builder *builder, uint64_t time, bool speculative);
/*
 * Adds an executed run of instructions. Returns PTL_CORRUPT (without an error text) if the code does not hold the run:
 * then nothing is added. Returns PTL_NO_MEMORY, or the sink's result.
 */
int flow_builder_run(struct flow_builder *builder, uint64_t ip, uint64_t last_ip, uint32_t count, uint8_t mode);
/* Adds an event, and fills in its `before`. */
int flow_event(struct flow_builder *builder, const struct flow_event *event);
/* Ends the segment: gives the remaining flow to the sink. */
int flow_end(struct flow_builder *builder);

#endif
