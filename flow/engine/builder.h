/* SPDX-License-Identifier: BSD-2-Clause */
/* From runs of instructions, as a decoder happens to give them, to blocks in batches. */
#ifndef PTL_FLOW_ENGINE_BUILDER_H
#define PTL_FLOW_ENGINE_BUILDER_H

#include "flow/engine/engine.h"
#include "flow/engine/block_table.h"

#define PTL_BATCH_BLOCKS 4096
#define PTL_BATCH_EVENTS 512

/*
 * Joins runs that follow each other without a branch or a bound event between them, so that blocks
 * are the same whatever decoder gives the runs. About 100 KiB: not for the stack.
 */
struct ptl_flow_builder {
	struct ptl_flow_table table;
	const struct ptl_flow_sink *sink;
	uint8_t last_branch;  /* what the last run ended with */
	struct ptl_mark mark; /* time and state of what comes next */
	struct {
		uint64_t ip, last_ip, end;
		uint32_t instructions; /* 0: there is none */
		uint8_t mode;
		struct ptl_mark mark;
		const struct ptl_block *block; /* NULL: several runs, so not made yet */
	} open;                                /* a block that has not ended yet */
	size_t block_count, event_count, mark_count;
	uint64_t instructions; /* of the blocks gathered */
	uint32_t branches;
	const struct ptl_block *blocks[PTL_BATCH_BLOCKS];
	struct ptl_mark marks[PTL_BATCH_BLOCKS];
	struct ptl_flow_event events[PTL_BATCH_EVENTS];
};

void ptl_flow_builder_start(struct ptl_flow_builder *builder, const struct ptl_code *code);
void ptl_flow_builder_free(struct ptl_flow_builder *builder);

/* From now on, code is that of this version of the address space. */
int ptl_flow_version(struct ptl_flow_builder *builder, uint32_t root);
/* A segment begins: its flow goes to sink. */
void ptl_flow_begin(struct ptl_flow_builder *builder, const struct ptl_flow_sink *sink);
/* Time (0: unknown) and state of the runs that follow. */
void ptl_flow_state(struct ptl_flow_builder *builder, uint64_t time, bool speculative);
/*
 * A run of instructions was executed. PTL_CORRUPT (no text) where the code does not hold it, and
 * nothing is added; PTL_NO_MEMORY; what the sink returned.
 */
int ptl_flow_run(struct ptl_flow_builder *builder, uint64_t ip, uint64_t last_ip, uint32_t count,
		 uint8_t mode);
/* An event; `before` is filled in. */
int ptl_flow_event(struct ptl_flow_builder *builder, const struct ptl_flow_event *event);
/* The segment ends: whatever is left goes to the sink. */
int ptl_flow_end(struct ptl_flow_builder *builder);

#endif
