/* SPDX-License-Identifier: BSD-2-Clause */
/* The open piece of a summary: how calls come and go in it. For those who find transfers alone. */
#ifndef DUMP_ANALYSIS_CALL_SUMMARY_STATE_H
#define DUMP_ANALYSIS_CALL_SUMMARY_STATE_H

#include "common/vector.h"
#include "dump/call/call_stack.h"

/* A piece ends that has more: it would be larger than what it saves. */
#define DUMP_PIECE_NODES ((size_t)1 << 16)
#define DUMP_PIECE_FRAMES ((size_t)1 << 16)
#define DUMP_PIECE_TIMES ((size_t)1 << 16)

static inline struct dump_summary_node *dump_summary_node(const struct dump_summary *summary, uint32_t number)
{
	return &summary->nodes[summary->open.node + number];
}

static inline struct dump_summary_frame *dump_summary_top(const struct dump_summary *summary)
{
	return summary->frame_count > summary->open.frame ? &summary->frames[summary->frame_count - 1] : NULL;
}

/* The node of a function that the one at hand calls, but for the one that it called last. PTL_NO_MEMORY. */
int dump_summary_search(struct dump_summary *summary, uint32_t parent, uint32_t function, uint32_t *number);

static inline int dump_summary_child(struct dump_summary *summary, uint32_t parent, uint32_t function, uint32_t *number)
{
	const uint32_t recent = dump_summary_node(summary, parent)->recent;

	if (!recent || dump_summary_node(summary, recent)->function != function)
		return dump_summary_search(summary, parent, function, number);
	*number = recent;
	return 0;
}

/* The time is later. PTL_NO_MEMORY. */
int dump_summary_tick(struct dump_summary *summary, uint64_t time);

/* What was executed up to a transfer. */
static inline int dump_summary_pass(struct dump_summary *summary, uint64_t instructions, uint64_t time)
{
	dump_summary_node(summary, summary->node)->instructions += instructions;
	summary->open.instructions += instructions;
	summary->open.transfers++;
	return time > summary->time ? dump_summary_tick(summary, time) : 0;
}

static inline int dump_summary_push(struct dump_summary *summary, uint32_t function, uint64_t entry,
				    uint64_t return_address, unsigned flags)
{
	struct dump_summary_frame *top;
	uint32_t node;
	int status = COMMON_VECTOR_RESERVE(summary->frames, summary->frame_capacity, summary->frame_count + 1, "calls");

	if (status == 0)
		status = dump_summary_child(summary, summary->node, function, &node);
	if (status < 0)
		return status;
	top = dump_summary_top(summary);
	if (top)
		top->has_called = true;
	dump_summary_node(summary, node)->calls++;
	summary->open.calls++;
	summary->node = node;
	summary->frames[summary->frame_count++] = (struct dump_summary_frame){
		.return_address = return_address,
		.entry = entry,
		.clock = summary->open.instructions,
		.node = node,
		.flags = flags,
	};
	return 0;
}

static inline void dump_summary_pop(struct dump_summary *summary)
{
	summary->node = dump_summary_node(summary, summary->node)->parent;
	summary->frame_count--;
}

static inline bool dump_summary_is_full(const struct dump_summary *summary)
{
	return summary->open.node_count >= DUMP_PIECE_NODES ||
	       summary->frame_count - summary->open.frame >= DUMP_PIECE_FRAMES ||
	       summary->time_count - summary->open.time >= DUMP_PIECE_TIMES;
}

#endif
