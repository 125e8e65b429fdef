/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds a tree of paths by name. */
#include "dump/export/flame/flame_tree.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

/* Reversed paths share little, so their length and the number of nodes must be limited. */
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

_Static_assert(offsetof(struct dump_flame_node, parent) == offsetof(struct analysis_path_key, parent) &&
		       offsetof(struct dump_flame_node, name) == offsetof(struct analysis_path_key, what) &&
		       NODES_MAX <= ANALYSIS_PATH_NUMBER_MAX,
	       "a node begins with its key, and its number has a place in the table");

static struct analysis_path_nodes nodes_of(const struct dump_flame_tree *tree)
{
	return (struct analysis_path_nodes){tree->nodes, sizeof(*tree->nodes)};
}

static int add_node(struct dump_flame_tree *tree, uint32_t parent, uint32_t name, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(tree->nodes, tree->capacity, tree->count + 1, "paths of calls");

	if (status < 0)
		return status;
	*number = (uint32_t)tree->count++;
	tree->nodes[*number] = (struct dump_flame_node){.name = name, .parent = parent};
	return 0;
}

/* Finds or adds a node. Beyond the limit, *number is the parent. */
static int find_node(struct dump_flame_tree *tree, uint32_t parent, uint32_t name, uint32_t *number)
{
	const struct analysis_path_key key = {parent, name};
	int status;

	*number = analysis_path_table_find(&tree->by_path, nodes_of(tree), key);
	if (*number)
		return 0;
	if (tree->count >= NODES_MAX) {
		tree->cut_nodes++;
		*number = parent;
		return 0;
	}
	status = add_node(tree, parent, name, number);
	return status == 0 ? analysis_path_table_put(&tree->by_path, nodes_of(tree), *number) : status;
}

/* ---- paths --------------------------------------------------------------------------------------- */

/* Context for adding the paths of a trace. */
struct adding {
	struct dump_flame_tree *tree;
	const struct analysis_paths *paths;
	struct analysis_path_numbers functions; /* names by function, from 1 */
	uint32_t *names;                        /* name by node */
	uint32_t *places; /* node of the flame tree by node of the paths; if reversed: root of each node */
	bool second;
};

static uint64_t value_of(const struct adding *adding, size_t at)
{
	const struct analysis_path_node *node = &adding->paths->tree.nodes[at];

	return adding->tree->by_time ? node->self_time : node->self_instructions;
}

static int name_function(struct adding *adding, uint32_t function, struct ptl_bytes *text, uint32_t *name)
{
	uint32_t *known = analysis_path_number(&adding->functions, function);
	int status;

	if (!*known) {
		text->size = 0;
		analysis_path_function_text(adding->paths, function, text);
		status = find_name(adding->tree, text, name);
		if (status < 0)
			return status;
		*known = *name + 1;
	}
	*name = *known - 1;
	return 0;
}

static int name_node(struct adding *adding, size_t at, struct ptl_bytes *text)
{
	const struct analysis_path_node *node = &adding->paths->tree.nodes[at];

	if (node->parent)
		return name_function(adding, node->function, text, &adding->names[at]);
	text->size = 0;
	analysis_path_root_text(adding->paths, node->function, text);
	return find_name(adding->tree, text, &adding->names[at]);
}

/* Adds a node. Its parent was added before. */
static int add_forward(struct adding *adding, size_t at)
{
	const struct analysis_path_node *node = &adding->paths->tree.nodes[at];
	const int status = find_node(adding->tree, node->parent ? adding->places[node->parent] : 0, adding->names[at],
				     &adding->places[at]);

	if (status == 0)
		adding->tree->nodes[adding->places[at]].self[adding->second] += value_of(adding, at);
	return status;
}

/* Adds the reversed path of a node with a self value. The program remains the first part of the path. */
static int add_reverse(struct adding *adding, size_t at)
{
	const struct analysis_path_node *nodes = adding->paths->tree.nodes;
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

int dump_flame_tree_add(struct dump_flame_tree *tree, const struct analysis_paths *paths, bool second)
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
	status = adding.names && adding.places ? analysis_path_numbers_open(&adding.functions, paths)
					       : common_fail_memory("paths of calls", count * sizeof(*adding.places));
	if (status == 0)
		status = add_all(&adding);
	analysis_path_numbers_close(&adding.functions);
	free(adding.names);
	free(adding.places);
	return status;
}

/* ---- order --------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b, void *names_)
{
	char *const *names = names_;

	return strcmp(names[*(const uint32_t *)a], names[*(const uint32_t *)b]);
}

/* Computes the rank of each name in alphabetical order. */
static int rank_names(const struct dump_flame_tree *tree, uint32_t *ranks)
{
	const size_t count = tree->name_count;
	uint32_t *sorted = malloc((count + 1) * sizeof(*sorted));

	if (!sorted)
		return common_fail_memory("names", count * sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = (uint32_t)i;
	if (count)
		qsort_r(sorted, count, sizeof(*sorted), compare_names, tree->names);
	for (size_t i = 0; i < count; i++)
		ranks[sorted[i]] = (uint32_t)i;
	free(sorted);
	return 0;
}

/* Sorts nodes by the rank of their name (counting sort). next: room for name_count + 1 numbers. */
static void sort_by_name(const struct dump_flame_tree *tree, const uint32_t *ranks, uint32_t *next, uint32_t *sorted)
{
	memset(next, 0, (tree->name_count + 1) * sizeof(*next));
	for (size_t i = 1; i < tree->count; i++)
		next[ranks[tree->nodes[i].name] + 1]++;
	for (size_t i = 1; i < tree->name_count; i++)
		next[i] += next[i - 1];
	for (size_t i = 1; i < tree->count; i++)
		sorted[next[ranks[tree->nodes[i].name]]++] = (uint32_t)i;
}

/* Links between nodes: first child and next sibling; 0: none. */
struct order {
	uint32_t *firsts, *nexts;
	uint32_t *places; /* new position of each node */
};

/* Links each node as the first child of its parent, in reverse order of names. sorted: all nodes but node 0. */
static void link_nodes(const struct dump_flame_tree *tree, const uint32_t *sorted, struct order *order)
{
	for (size_t i = tree->count - 1; i-- > 0;) {
		uint32_t *first = &order->firsts[tree->nodes[sorted[i]].parent];

		order->nexts[sorted[i]] = *first;
		*first = sorted[i];
	}
}

/* Lists the nodes depth first. Iterative, since paths may be deep. */
static void list_nodes(const struct dump_flame_tree *tree, const struct order *order, struct dump_flame_node *nodes)
{
	uint32_t at = 0;

	order->places[0] = 0;
	nodes[0] = tree->nodes[0];
	for (size_t count = 1; count < tree->count; count++) {
		if (order->firsts[at]) {
			at = order->firsts[at];
		} else {
			while (!order->nexts[at])
				at = tree->nodes[at].parent;
			at = order->nexts[at];
		}
		nodes[count] = tree->nodes[at];
		nodes[count].parent = order->places[tree->nodes[at].parent];
		nodes[count].depth = nodes[nodes[count].parent].depth + 1;
		order->places[at] = (uint32_t)count;
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

/* Sorts the nodes of a tree with at least node 0. room: three numbers per node, two per name, and one more. */
static int sort_nodes(struct dump_flame_tree *tree, uint32_t *room, struct dump_flame_node *nodes)
{
	const size_t count = tree->count;
	struct order order = {.firsts = room, .nexts = room + count, .places = room + 2 * count};
	uint32_t *const ranks = room + 3 * count, *const next = ranks + tree->name_count;
	const int status = rank_names(tree, ranks);

	if (status < 0)
		return status;
	/* `places` is free until the walk. */
	sort_by_name(tree, ranks, next, order.places);
	link_nodes(tree, order.places, &order);
	list_nodes(tree, &order, nodes);
	add_totals(nodes, count);
	return 0;
}

int dump_flame_tree_sort(struct dump_flame_tree *tree)
{
	const size_t count = tree->count;
	uint32_t *room;
	struct dump_flame_node *nodes;
	int status;

	analysis_path_table_free(&tree->by_path);
	if (!count)
		return 0;
	room = calloc(3 * count + 2 * tree->name_count + 1, sizeof(*room));
	nodes = malloc(count * sizeof(*nodes));
	status = room && nodes ? sort_nodes(tree, room, nodes)
			       : common_fail_memory("paths of calls", count * sizeof(*nodes));
	free(room);
	if (status < 0) {
		free(nodes);
		return status;
	}
	free(tree->nodes);
	tree->nodes = nodes;
	tree->capacity = count;
	return 0;
}

void dump_flame_tree_free(struct dump_flame_tree *tree)
{
	for (size_t i = 0; i < tree->name_count; i++)
		free(tree->names[i]);
	free(tree->names);
	free(tree->nodes);
	common_byte_map_free(&tree->by_name);
	analysis_path_table_free(&tree->by_path);
}
