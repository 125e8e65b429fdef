/* SPDX-License-Identifier: BSD-2-Clause */
/* A tree of paths by name. */
#include "dump/export/flame/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text.h"
#include "common/vector.h"

/* Reversed, each path is a path of its own: its length and their number have to end somewhere. */
#define REVERSE_DEPTH 256
#define NODES_MAX ((size_t)1 << 23)

/* ---- names --------------------------------------------------------------------------------------- */

static int find_name(struct dump_flame_tree *tree, struct ptl_bytes *text, uint32_t *name)
{
	const char *words = common_text_string(text);
	const uint64_t *known = common_byte_map_get(&tree->by_name, words, strlen(words));
	int status;

	if (known) {
		*name = (uint32_t)*known;
		return 0;
	}
	status = COMMON_VECTOR_RESERVE(tree->names, tree->name_capacity, tree->name_count + 1, "names");
	if (status < 0)
		return status;
	tree->names[tree->name_count] = strdup(words);
	if (!tree->names[tree->name_count])
		return common_fail_memory("names", strlen(words));
	*name = (uint32_t)tree->name_count++;
	return common_byte_map_put(&tree->by_name, words, strlen(words), *name);
}

/* ---- nodes --------------------------------------------------------------------------------------- */

static int add_node(struct dump_flame_tree *tree, uint32_t parent, uint32_t name, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(tree->nodes, tree->capacity, tree->count + 1, "paths of calls");

	if (status < 0)
		return status;
	*number = (uint32_t)tree->count++;
	tree->nodes[*number] = (struct dump_flame_node){.name = name, .parent = parent};
	return 0;
}

/* Where there are too many, the parent. */
static int find_node(struct dump_flame_tree *tree, uint32_t parent, uint32_t name, uint32_t *number)
{
	const uint64_t key = (uint64_t)parent << 32 | name;
	const uint64_t *known = common_hash_map_get(&tree->by_path, key);
	int status;

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	if (tree->count >= NODES_MAX) {
		tree->cut_nodes++;
		*number = parent;
		return 0;
	}
	status = add_node(tree, parent, name, number);
	return status == 0 ? common_hash_map_put(&tree->by_path, key, *number) : status;
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* Paths at work. */
struct adding {
	struct dump_flame_tree *tree;
	const struct dump_paths *paths;
	uint32_t *names;  /* of each node */
	uint32_t *places; /* the node of the tree that each has become; reversed, the root that each is of */
	bool second;
};

static uint64_t value_of(const struct adding *adding, size_t at)
{
	const struct dump_path_node *node = &adding->paths->tree.nodes[at];

	return adding->tree->by_time ? node->self_time : node->self_instructions;
}

static int name_node(struct adding *adding, size_t at, struct ptl_bytes *text)
{
	const struct dump_path_node *node = &adding->paths->tree.nodes[at];

	text->size = 0;
	if (node->parent)
		dump_path_function_text(adding->paths, node->function, text);
	else
		dump_path_root_text(adding->paths, node->function, text);
	return find_name(adding->tree, text, &adding->names[at]);
}

/* Parents come first. */
static int add_forward(struct adding *adding, size_t at)
{
	const struct dump_path_node *node = &adding->paths->tree.nodes[at];
	const int status = find_node(adding->tree, node->parent ? adding->places[node->parent] : 0, adding->names[at],
				     &adding->places[at]);

	if (status == 0)
		adding->tree->nodes[adding->places[at]].self[adding->second] += value_of(adding, at);
	return status;
}

/* The callers of what took something; programs stay what a path begins with. */
static int add_reverse(struct adding *adding, size_t at)
{
	const struct dump_path_node *nodes = adding->paths->tree.nodes;
	const uint64_t value = value_of(adding, at);
	const uint32_t root = nodes[at].parent ? adding->places[nodes[at].parent] : (uint32_t)at;
	uint32_t place = 0, depth = 0;
	int status;

	adding->places[at] = root;
	if (!value)
		return 0;
	status = find_node(adding->tree, 0, adding->names[root], &place);
	for (; status == 0 && at != root && depth < REVERSE_DEPTH; at = nodes[at].parent, depth++)
		status = find_node(adding->tree, place, adding->names[at], &place);
	adding->tree->cut_depth += at != root;
	if (status == 0)
		adding->tree->nodes[place].self[adding->second] += value;
	return status;
}

static int add_all(struct adding *adding)
{
	struct ptl_bytes text = {0};
	int status = 0;

	for (size_t i = 1; status == 0 && i < adding->paths->tree.count; i++) {
		status = name_node(adding, i, &text);
		if (status == 0)
			status = adding->tree->reverse ? add_reverse(adding, i) : add_forward(adding, i);
	}
	if (text.failed)
		status = common_fail_memory("names", text.size);
	common_bytes_free(&text);
	return status;
}

int dump_flame_tree_add(struct dump_flame_tree *tree, const struct dump_paths *paths, bool second)
{
	const size_t count = paths->tree.count;
	struct adding adding = {.tree = tree, .paths = paths, .second = second};
	struct ptl_bytes text = {0};
	uint32_t name, root;
	int status = 0;

	if (!tree->count) {
		common_text_add(&text, "all");
		status = find_name(tree, &text, &name);
		if (status == 0)
			status = add_node(tree, 0, name, &root);
		common_bytes_free(&text);
	}
	if (status < 0)
		return status;
	adding.names = calloc(count + 1, sizeof(*adding.names));
	adding.places = calloc(count + 1, sizeof(*adding.places));
	if (adding.names && adding.places)
		status = add_all(&adding);
	else
		status = common_fail_memory("paths of calls", count * sizeof(*adding.places));
	free(adding.names);
	free(adding.places);
	return status;
}

/* ---- order --------------------------------------------------------------------------------------- */

static int compare_nodes(const void *a_, const void *b_, void *context)
{
	const struct dump_flame_tree *tree = context;
	const struct dump_flame_node *a = &tree->nodes[*(const uint32_t *)a_], *b = &tree->nodes[*(const uint32_t *)b_];

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	return strcmp(dump_flame_name(tree, a), dump_flame_name(tree, b));
}

/*
 * Nodes as they are met on a walk, which goes without recursion, since paths may be deep. sorted has those of one parent
 * side by side, and next the place of the first child of each; it is used up.
 */
static void walk(const struct dump_flame_tree *tree, const uint32_t *sorted, uint32_t *next,
		 struct dump_flame_node *nodes)
{
	uint32_t *places = next + tree->count; /* where nodes have gone */
	uint32_t at = 0;
	size_t count = 0;

	nodes[count++] = tree->nodes[0];
	for (;;) {
		const uint32_t child = next[at] < tree->count ? sorted[next[at]] : 0;

		if (child && tree->nodes[child].parent == at) {
			next[at]++;
			nodes[count] = tree->nodes[child];
			nodes[count].parent = places[at];
			nodes[count].depth = nodes[places[at]].depth + 1;
			places[child] = (uint32_t)count++;
			at = child;
		} else if (at) {
			at = tree->nodes[at].parent;
		} else {
			return;
		}
	}
}

static void add_totals(struct dump_flame_node *nodes, size_t count)
{
	for (size_t i = count; i-- > 0;)
		for (size_t side = 0; side < 2; side++) {
			nodes[i].total[side] += nodes[i].self[side];
			if (i)
				nodes[nodes[i].parent].total[side] += nodes[i].total[side];
		}
}

int dump_flame_tree_sort(struct dump_flame_tree *tree)
{
	const size_t count = tree->count;
	uint32_t *sorted = calloc(3 * count + 1, sizeof(*sorted)), *next = sorted ? sorted + count : NULL;
	struct dump_flame_node *nodes = calloc(count + 1, sizeof(*nodes));

	if (!sorted || !nodes) {
		free(sorted);
		free(nodes);
		return common_fail_memory("paths of calls", count * sizeof(*nodes));
	}
	for (size_t i = 0; i < count; i++) {
		sorted[i] = (uint32_t)i;
		next[i] = UINT32_MAX;
	}
	/* The root is its own parent: it stays before its children. */
	if (count > 1)
		qsort_r(sorted + 1, count - 1, sizeof(*sorted), compare_nodes, tree);
	for (size_t i = count; i-- > 1;)
		next[tree->nodes[sorted[i]].parent] = (uint32_t)i;
	if (count)
		walk(tree, sorted, next, nodes);
	add_totals(nodes, count);
	free(sorted);
	free(tree->nodes);
	tree->nodes = nodes;
	tree->capacity = count;
	common_hash_map_free(&tree->by_path);
	return 0;
}

void dump_flame_tree_free(struct dump_flame_tree *tree)
{
	for (size_t i = 0; i < tree->name_count; i++)
		free(tree->names[i]);
	free(tree->names);
	free(tree->nodes);
	common_byte_map_free(&tree->by_name);
	common_hash_map_free(&tree->by_path);
}
