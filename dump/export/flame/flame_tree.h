/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree of paths by the names of functions, of one trace or of two that are compared: what flame graphs are made of. */
#ifndef DUMP_EXPORT_FLAME_FLAME_TREE_H
#define DUMP_EXPORT_FLAME_FLAME_TREE_H

#include "dump/call/call_path.h"

/* What a path took in the one trace and in the other. */
struct dump_flame_node {
	/* A struct dump_path_key: */
	uint32_t parent; /* of node 0, which stands for all: itself */
	uint32_t name;

	uint32_t depth; /* of node 0: 0 */
	uint64_t self[2];
	uint64_t total[2];
};

struct dump_flame_tree {
	/* Set by the caller. */
	bool by_time; /* nanoseconds, else instructions */
	bool reverse; /* paths begin with the function that took the time, and lead to who called it */

	struct dump_flame_node *nodes; /* owned; once sorted: each before its children, children by name */
	size_t count, capacity;
	char **names; /* owned, and so is each; printable, UTF-8 */
	size_t name_count, name_capacity;
	uint64_t cut_depth; /* paths that are too deep to be reversed, and end early */
	uint64_t cut_nodes; /* paths that end early since there are too many */
	struct common_byte_map by_name;
	struct dump_path_table by_path; /* all but node 0 */
};

/* Adds the paths of a trace: the first one, or the second one it is compared with. PTL_NO_MEMORY. */
int dump_flame_tree_add(struct dump_flame_tree *tree, const struct dump_paths *paths, bool second);
/* Adds up totals, and puts nodes in order; nothing is added afterwards. PTL_NO_MEMORY. */
int dump_flame_tree_sort(struct dump_flame_tree *tree);
void dump_flame_tree_free(struct dump_flame_tree *tree);

static inline const char *dump_flame_name(const struct dump_flame_tree *tree, const struct dump_flame_node *node)
{
	return tree->names[node->name];
}

#endif
