/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds up calls by path. */
#include "dump/call/call_graph.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- trees --------------------------------------------------------------------------------------- */

static int add_node(struct dump_graph_tree *tree, uint32_t parent, uint32_t function, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(tree->nodes, tree->capacity, tree->count + 1, "paths of calls");

	if (status < 0)
		return status;
	if (tree->count == UINT32_MAX)
		return common_fail(PTL_NO_MEMORY, "there are too many paths of calls; --depth shows fewer");
	*number = (uint32_t)tree->count++;
	tree->nodes[*number] = (struct dump_graph_node){
		.function = function,
		.parent = parent,
		.depth = *number ? tree->nodes[parent].depth + 1 : 0,
	};
	return 0;
}

/* The node of a function below another one, made where there is none. */
static int find_node(struct dump_graph_tree *tree, uint32_t parent, uint32_t function, uint32_t *number)
{
	const uint64_t key = (uint64_t)parent << 32 | function;
	const uint64_t *known = common_hash_map_get(&tree->by_path, key);
	int status;

	if (known) {
		*number = (uint32_t)*known;
		return 0;
	}
	status = add_node(tree, parent, function, number);
	return status == 0 ? common_hash_map_put(&tree->by_path, key, *number) : status;
}

static int find_root(struct dump_graph_tree *tree)
{
	uint32_t root;

	return tree->count ? 0 : add_node(tree, 0, DUMP_NO_FUNCTION, &root);
}

static void add_call(struct dump_graph_node *node, const struct dump_frame *frame, bool outermost)
{
	node->calls += !(frame->flags & DUMP_CALL_INFERRED);
	node->self_time += frame->time > frame->child_time ? frame->time - frame->child_time : 0;
	node->self_instructions += frame->instructions - frame->child_instructions;
	if (!outermost)
		return;
	node->total_time += frame->time;
	node->total_instructions += frame->instructions;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/*
 * What a frame remembers in `user`: 0 for one that does not matter; else the node of its path, counted from 1, in the low
 * half; and in the high half 1 where it is one of the function itself.
 */
#define TARGET ((uint64_t)1 << 32)

static bool is_target(const struct dump_frame *frame)
{
	return frame->user & TARGET;
}

/* The frame's node in the tree of callees. */
static int place(struct dump_graph *graph, const struct dump_call_thread *thread, struct dump_frame *frame, bool target)
{
	const struct dump_frame *caller = dump_frame_depth(thread, frame) ? frame - 1 : NULL;
	const uint32_t above = caller ? (uint32_t)caller->user : 0;
	uint32_t node;
	int status;

	frame->user = target ? TARGET : 0;
	if (above) {
		if (graph->max_depth && graph->callees.nodes[above - 1].depth >= graph->max_depth)
			return 0;
		status = find_node(&graph->callees, above - 1, frame->function, &node);
		if (status < 0)
			return status;
		frame->user |= node + 1;
	} else if (target && graph->active == 1) {
		frame->user |= 1;
	}
	return 0;
}

static int enter(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_graph *graph = context;
	const int target = dump_matches(&graph->matches, frame->function);
	int status;

	if (target < 0)
		return target;
	frame->user = 0;
	if (target) {
		graph->active++;
		status = find_root(&graph->callees);
		if (status == 0)
			status = find_root(&graph->callers);
		if (status < 0)
			return status;
	}
	return graph->active ? place(graph, thread, frame, target) : 0;
}

static int rename_call(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_graph *graph = context;

	if (is_target(frame))
		graph->active--;
	return enter(context, thread, frame);
}

/* The path by which the function was called. */
static int add_callers(struct dump_graph *graph, const struct dump_call_thread *thread, const struct dump_frame *frame,
		       bool outermost)
{
	struct dump_graph_tree *tree = &graph->callers;
	const size_t depth = dump_frame_depth(thread, frame);
	uint32_t node = 0;

	add_call(&tree->nodes[0], frame, outermost);
	for (size_t i = 1; i <= depth && (!graph->max_depth || i <= graph->max_depth); i++) {
		const int status = find_node(tree, node, frame[-(ptrdiff_t)i].function, &node);

		if (status < 0)
			return status;
		add_call(&tree->nodes[node], frame, outermost);
	}
	return 0;
}

static int leave(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_graph *graph = context;
	const uint32_t node = (uint32_t)frame->user;
	bool outermost;

	if (node)
		add_call(&graph->callees.nodes[node - 1], frame, true);
	if (!is_target(frame))
		return 0;
	graph->timed |= frame->start != 0;
	outermost = --graph->active == 0;
	/* A call of the function by itself is one of its calls, too. */
	if (node != 1)
		graph->callees.nodes[0].calls += !(frame->flags & DUMP_CALL_INFERRED);
	return add_callers(graph, thread, frame, outermost);
}

static int end(void *context, struct dump_call_thread *thread)
{
	struct dump_graph *graph = context;

	(void)thread;
	graph->active = 0;
	return 0;
}

const struct dump_call_observer dump_graph_observer = {
	.end = end,
	.enter = enter,
	.rename = rename_call,
	.leave = leave,
	.below = enter,
};

void dump_graph_free(struct dump_graph *graph)
{
	free(graph->callers.nodes);
	free(graph->callees.nodes);
	common_hash_map_free(&graph->callers.by_path);
	common_hash_map_free(&graph->callees.by_path);
	dump_matches_free(&graph->matches);
}

/* ---- order --------------------------------------------------------------------------------------- */

struct sorting {
	const struct dump_graph *graph;
	const struct dump_graph_tree *tree;
};

/* By what is above, then by size, then by name. */
static int compare_nodes(const void *a_, const void *b_, void *context)
{
	const struct sorting *sorting = context;
	const struct dump_function_table *functions = sorting->graph->matches.calls->functions;
	const struct dump_graph_node *a = &sorting->tree->nodes[*(const uint32_t *)a_];
	const struct dump_graph_node *b = &sorting->tree->nodes[*(const uint32_t *)b_];
	const struct dump_function *left = dump_function(functions, a->function);
	const struct dump_function *right = dump_function(functions, b->function);
	int order;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	if (a->total_instructions != b->total_instructions)
		return a->total_instructions > b->total_instructions ? -1 : 1;
	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	order = strcmp(left->name, right->name);
	if (!order)
		order = strcmp(left->path, right->path);
	return order ? order : (left->address > right->address) - (left->address < right->address);
}

/* Children of each node lie together; walks them without recursion, which hostile depths would not allow. */
static void walk(const struct dump_graph_tree *tree, const uint32_t *sorted, const uint32_t *firsts, uint32_t *order)
{
	uint32_t *next = order + tree->count; /* for each node the place of the child that comes next */
	size_t count = 0;
	uint32_t at = 0;

	memcpy(next, firsts, tree->count * sizeof(*next));
	order[count++] = 0;
	for (;;) {
		const uint32_t place_ = next[at];

		if (place_ < tree->count && sorted[place_] && tree->nodes[sorted[place_]].parent == at) {
			next[at]++;
			at = sorted[place_];
			order[count++] = at;
		} else if (at) {
			at = tree->nodes[at].parent;
		} else {
			return;
		}
	}
}

int dump_graph_order(const struct dump_graph *graph, const struct dump_graph_tree *tree, uint32_t **result)
{
	struct sorting sorting = {graph, tree};
	const size_t count = tree->count;
	uint32_t *order = calloc(2 * count + 1, sizeof(*order)), *sorted = calloc(2 * count + 1, sizeof(*sorted));
	uint32_t *firsts = sorted ? sorted + count : NULL;

	if (!order || !sorted) {
		free(order);
		free(sorted);
		return common_fail_memory("paths of calls", count * sizeof(*order));
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = (uint32_t)i;
	/* The root is its own parent: it stays before its children. */
	if (count > 1)
		qsort_r(sorted + 1, count - 1, sizeof(*sorted), compare_nodes, &sorting);
	for (size_t i = 0; i < count; i++)
		firsts[i] = UINT32_MAX;
	for (size_t i = count; i-- > 1;)
		firsts[tree->nodes[sorted[i]].parent] = (uint32_t)i;
	if (count)
		walk(tree, sorted, firsts, order);
	free(sorted);
	*result = order;
	return 0;
}
