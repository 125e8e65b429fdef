/* SPDX-License-Identifier: BSD-2-Clause */
/* From runs of instructions, as a decoder happens to give them, to blocks in batches. */
#ifndef FLOW_ENGINE_BUILDER_H
#define FLOW_ENGINE_BUILDER_H

#include "flow/engine/engine.h"
#include "flow/engine/block_table.h"

#define FLOW_BATCH_BLOCKS 4096
#define FLOW_BATCH_EVENTS 512

/*
 * Joins runs that follow each other without a branch or a bound event between them, so that blocks
 * are the same whatever decoder gives the runs. About 100 KiB: not for the stack.
 */
struct flow_builder {
	struct flow_table table;
	const struct flow_sink *sink;
	uint8_t last_branch;   /* what the last run ended with */
	struct flow_mark mark; /* time and state of what comes next */
	struct {
		uint64_t ip, last_ip, end;
		uint32_t instructions; /* 0: there is none */
		uint8_t mode;
		struct flow_mark mark;
		const struct flow_block *block; /* NULL: several runs, so not made yet */
	} open;                                 /* a block that has not ended yet */
	size_t block_count, event_count, mark_count;
	uint64_t instructions; /* of the blocks gathered */
	uint32_t branches;
	const struct flow_block *blocks[FLOW_BATCH_BLOCKS];
	struct flow_mark marks[FLOW_BATCH_BLOCKS];
	struct flow_event events[FLOW_BATCH_EVENTS];
};

void flow_builder_start(struct flow_builder *builder, const struct flow_code *code);
void flow_builder_free(struct flow_builder *builder);

/* From now on, code is that of this version of the address space. */
int flow_builder_version(struct flow_builder *builder, flow_root root);
/* A segment begins: its flow goes to sink. */
void flow_begin(struct flow_builder *builder, const struct flow_sink *sink);
/* Time (0: unknown) and state of the runs that follow. */
void flow_state(struct flow_builder *builder, uint64_t time, bool speculative);
/*
 * A run of instructions was executed. PTL_CORRUPT (no text) where the code does not hold it, and
 * nothing is added; PTL_NO_MEMORY; what the sink returned.
 */
int flow_builder_run(struct flow_builder *builder, uint64_t ip, uint64_t last_ip, uint32_t count, uint8_t mode);
/* An event; `before` is filled in. */
int flow_event(struct flow_builder *builder, const struct flow_event *event);
/* The segment ends: whatever is left goes to the sink. */
int flow_end(struct flow_builder *builder);

#endif
