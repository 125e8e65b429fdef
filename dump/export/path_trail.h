/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The path from a root to a node, for who writes one node's after the other's: most are of a node just below one of the path before,
 * so that what was made for the others need not be made again.
 */
#ifndef DUMP_EXPORT_PATH_TRAIL_H
#define DUMP_EXPORT_PATH_TRAIL_H

#include "dump/call/call_path.h"

struct dump_path_step {
	uint32_t node;
	size_t end; /* the caller's: what the path up to here takes; 0 before it is set */
};

struct dump_path_trail {
	const struct dump_path_tree *tree;
	uint32_t *depths;             /* of each node, 0 of a root; owned */
	struct dump_path_step *steps; /* by depth; owned */
	size_t count, capacity;
};

/* PTL_NO_MEMORY; close in any case. */
int dump_path_trail_open(struct dump_path_trail *trail, const struct dump_path_tree *tree);
void dump_path_trail_close(struct dump_path_trail *trail);
/* The trail leads to the node, which is not 0: its first *kept steps are as they were. PTL_NO_MEMORY. */
int dump_path_trail_enter(struct dump_path_trail *trail, uint32_t at, size_t *kept);

#endif
