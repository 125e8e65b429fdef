/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path from a root to a node, for exports that write one path after another. Consecutive paths mostly share their
 * beginning, so formatted text of the shared part can be reused.
 */
#ifndef DUMP_EXPORT_PATH_TRAIL_H
#define DUMP_EXPORT_PATH_TRAIL_H

#include "analysis/call/call_path.h"

struct dump_path_step {
	uint32_t node;
	size_t end; /* set by the caller: size of the formatted path up to this step; 0: not set yet */
};

struct dump_path_trail {
	const struct analysis_path_tree *tree;
	uint32_t *depths;             /* depth by node, 0 for roots; owned */
	struct dump_path_step *steps; /* indexed by depth; owned */
	size_t count, capacity;
};

/* Computes the depths. Returns 0 or PTL_NO_MEMORY. Call dump_path_trail_close in any case. */
int dump_path_trail_open(struct dump_path_trail *trail, const struct analysis_path_tree *tree);
void dump_path_trail_close(struct dump_path_trail *trail);
/*
 * Sets the trail to the path of node `at`, which must not be 0. *kept: number of leading steps that did not change.
 * Returns 0 or PTL_NO_MEMORY.
 */
int dump_path_trail_enter(struct dump_path_trail *trail, uint32_t at, size_t *kept);

#endif
