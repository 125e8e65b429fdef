/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts of each block, of both ways of each conditional branch, and of the targets of indirect branches. */
#ifndef ANALYSIS_PROFILE_PROFILE_H
#define ANALYSIS_PROFILE_PROFILE_H

#include "analysis/profile/missing.h"
#include "flow/view/view.h"

/*
 * Content: code from one file, equal in all processes and in other traces. Images with one build id or, without a build
 * id, with one path have a common content. Code without an image has the content FLOW_NONE.
 * Generated code with names has a content for each process and each layer of names.
 */
struct analysis_content {
	const char *path; /* path of the first image; valid as long as the timeline */
	const uint8_t *build_id;
	size_t build_id_size;
	uint32_t image; /* first executed image, in the order of the timeline */
	uint32_t maker; /* flow_timeline_maker of the image */
	uint32_t layer; /* layer of the image */
};

/* A block of one content, of all processes: equal bytes, address and mode. */
struct analysis_profile_block {
	uint64_t address; /* in the file's address space; without a content, the executed address */
	uint64_t target;  /* target of a direct branch, in the same address space; 0: no direct branch */
	uint64_t count;
	uint64_t taken; /* counts of a conditional branch; the way is not always known */
	uint64_t not_taken;
	uint32_t content;
	uint32_t image; /* an image in which the block was executed; FLOW_NONE */
	uint32_t instructions;
	uint32_t size;
	uint8_t branch; /* enum flow_branch */
	uint8_t mode;
	bool code_event;
	const uint8_t *code;    /* `size` bytes */
	const uint8_t *lengths; /* lengths of the instructions */
};

/* An indirect branch from the end of one block to the beginning of another block. */
struct analysis_profile_edge {
	size_t from; /* indexes of blocks */
	size_t to;
	uint64_t count;
};

struct analysis_profile {
	struct analysis_content *contents; /* ordered by path and build id */
	size_t content_count;
	struct analysis_profile_block *blocks; /* ordered by content, address, size, bytes and mode */
	size_t block_count;
	uint32_t largest;                    /* size of the largest block */
	struct analysis_profile_edge *edges; /* ordered by their blocks */
	size_t edge_count;
	uint64_t instructions; /* number of all executed instructions */
	struct analysis_missing missing;
	struct ptl_bytes *bytes; /* memory of code and lengths: one element for each worker */
	size_t byte_count;
};

/*
 * Counts the selected flow. edges: also counts the targets of indirect jumps and calls. For all results that need no
 * order of flow: the native engine counts while decoding, about as fast as sums (see docs/engine.md), unless a time
 * window is selected. The results equal those of a walk over all blocks. The memory depends on the amount of executed
 * code, not on the length of the flow. Free with analysis_profile_free, before the timeline.
 */
int analysis_profile_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
			 const struct flow_view_options *options, bool edges, struct analysis_profile *profile);
void analysis_profile_free(struct analysis_profile *profile);

#endif
