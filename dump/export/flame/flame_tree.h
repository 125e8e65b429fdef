/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree of paths by function name, from one trace or from two traces that are compared: the data of flame graphs. */
#ifndef DUMP_EXPORT_FLAME_FLAME_TREE_H
#define DUMP_EXPORT_FLAME_FLAME_TREE_H

#include "analysis/call/call_path.h"

/* A path, with its values in both traces. */
struct dump_flame_node {
	/* Layout of struct analysis_path_key: */
	uint32_t parent; /* node 0, the root of all paths, is its own parent */
	uint32_t name;

	uint32_t depth; /* 0 for node 0 */
	uint64_t self[2];
	uint64_t total[2];
};

struct dump_flame_tree {
	/* Set by the caller. */
	bool by_time; /* values are nanoseconds, else instructions */
	bool reverse; /* paths lead from the function with the self value to its callers */

	/* owned; after sorting: a parent precedes its children, and children are sorted by name */
	struct dump_flame_node *nodes;
	size_t count, capacity;
	char **names; /* owned, each name too; printable UTF-8 */
	size_t name_count, name_capacity;
	uint64_t cut_depth; /* reversed paths that were cut at the maximum depth */
	uint64_t cut_nodes; /* paths that were cut at the maximum number of nodes */
	struct common_byte_map by_name;
	struct analysis_path_table by_path; /* all nodes except node 0 */
};

/* Adds the paths of the first or second trace. Returns 0 or PTL_NO_MEMORY. */
int dump_flame_tree_add(struct dump_flame_tree *tree, const struct analysis_paths *paths, bool second);
/* Computes totals and sorts the nodes. No paths can be added afterwards. Returns 0 or PTL_NO_MEMORY. */
int dump_flame_tree_sort(struct dump_flame_tree *tree);
void dump_flame_tree_free(struct dump_flame_tree *tree);

static inline const char *dump_flame_name(const struct dump_flame_tree *tree, const struct dump_flame_node *node)
{
	return tree->names[node->name];
}

#endif
