/* SPDX-License-Identifier: BSD-2-Clause */
/* How often each block ran, which way each conditional branch went, and where indirect ones led. */
#ifndef FLOW_VIEW_PROFILE_H
#define FLOW_VIEW_PROFILE_H

#include "flow/view/missing.h"
#include "flow/view/view.h"

/*
 * Code that a file gave to processes, the same in all of them and in other traces: images of one build id or, without one, of
 * one path. What no image covers is the content FLOW_NONE.
 */
struct flow_content {
	const char *path; /* of the first image; lives as long as the timeline */
	const uint8_t *build_id;
	size_t build_id_size;
	uint32_t image; /* the first one that ran, in the order of the timeline */
};

/* Blocks of the same bytes at the same address of the same content in the same mode, in whatever process. */
struct flow_profile_block {
	uint64_t address; /* in the file's own address space; without a content as it ran */
	uint64_t target;  /* of a direct branch, likewise; 0 */
	uint64_t count;
	uint64_t taken; /* of a conditional branch; what follows is not always known */
	uint64_t not_taken;
	uint32_t content;
	uint32_t image; /* one that it ran in; FLOW_NONE */
	uint32_t instructions;
	uint32_t size;
	uint8_t branch; /* enum flow_branch */
	uint8_t mode;
	bool code_event;
	const uint8_t *code;    /* the size bytes */
	const uint8_t *lengths; /* of the instructions */
};

/* An indirect branch that led from the end of one block to the beginning of another. */
struct flow_profile_edge {
	size_t from; /* indexes of blocks */
	size_t to;
	uint64_t count;
};

struct flow_profile {
	struct flow_content *contents; /* in order of path and build id */
	size_t content_count;
	struct flow_profile_block *blocks; /* in order of content, address, size, bytes and mode */
	size_t block_count;
	uint32_t largest;                /* size of a block */
	struct flow_profile_edge *edges; /* in order of their blocks */
	size_t edge_count;
	uint64_t instructions; /* all that ran */
	struct flow_missing missing;
	struct ptl_bytes *bytes; /* what code and lengths point into: one for each worker */
	size_t byte_count;
};

/*
 * Counts the selection; with `edges` also indirect jumps and calls. It is the fold for all that does without the order of
 * flow: the native engine counts on the way, about as fast as sums (see docs/engine.md), unless there is a window of time;
 * results are the same as of a walk over all blocks. Memory goes by the code that ran, not by how long it did. Free with flow_profile_free, before the timeline.
 */
int flow_profile_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		     const struct flow_view_options *options, bool edges, struct flow_profile *profile);
void flow_profile_free(struct flow_profile *profile);

#endif
