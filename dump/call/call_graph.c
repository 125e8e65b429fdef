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

/* Whether nothing beyond a caller's node is wanted. */
static bool is_deepest(const struct dump_graph *graph, uint32_t node)
{
	return graph->max_depth && graph->callers.nodes[node].depth >= graph->max_depth;
}

/* What calls by one path took. */
struct taken {
	uint64_t calls, time, self_time, instructions, self_instructions;
};

static struct taken taken_by(const struct dump_frame *frame)
{
	return (struct taken){
		.calls = !(frame->flags & DUMP_CALL_INFERRED),
		.time = frame->time,
		.self_time = frame->time > frame->child_time ? frame->time - frame->child_time : 0,
		.instructions = frame->instructions,
		.self_instructions = frame->instructions - frame->child_instructions,
	};
}

static void add(struct dump_graph_node *node, const struct taken *taken, bool outermost)
{
	node->calls += taken->calls;
	node->self_time += taken->self_time;
	node->self_instructions += taken->self_instructions;
	if (!outermost)
		return;
	node->total_time += taken->time;
	node->total_instructions += taken->instructions;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/*
 * What a frame remembers in `user`, and what is known of a path of a piece: the node of its path, counted from 1, in the low
 * half (0: it has none); whether it is one of the function itself; whether it is, or was called by, one.
 */
#define TARGET ((uint64_t)1 << 32)
#define INSIDE ((uint64_t)1 << 33)

/* The same of a call by that of its caller. */
static int place(struct dump_graph *graph, uint64_t caller, uint32_t function, uint64_t *own)
{
	const uint32_t above = (uint32_t)caller;
	const int target = dump_matches(&graph->matches, function);
	uint32_t node = 0;
	int status = target < 0 ? target : 0;

	*own = target > 0 ? TARGET | INSIDE : caller & INSIDE;
	if (target > 0) {
		status = find_root(&graph->callees);
		if (status == 0)
			status = find_root(&graph->callers);
	}
	if (status < 0)
		return status;
	if (above && (!graph->max_depth || graph->callees.nodes[above - 1].depth < graph->max_depth)) {
		status = find_node(&graph->callees, above - 1, function, &node);
		*own |= node + 1;
	} else if (target && !(caller & INSIDE)) {
		*own |= 1;
	}
	return status;
}

static int enter(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	return place(context, dump_frame_depth(thread, frame) ? frame[-1].user : 0, frame->function, &frame->user);
}

/* What calls took by the path that ends in the function. */
static int add_caller(struct dump_graph *graph, uint32_t function, const struct taken *taken, bool outermost,
		      uint32_t *node)
{
	const int status = find_node(&graph->callers, *node, function, node);

	if (status == 0)
		add(&graph->callers.nodes[*node], taken, outermost);
	return status;
}

/* The same for all callers that are frames: this one, and those that called it. */
static int add_frames(struct dump_graph *graph, const struct dump_call_thread *thread, const struct dump_frame *frame,
		      const struct taken *taken, bool outermost, uint32_t node)
{
	const size_t depth = frame ? dump_frame_depth(thread, frame) + 1 : 0;
	int status = 0;

	for (size_t i = 0; status == 0 && i < depth && !is_deepest(graph, node); i++)
		status = add_caller(graph, frame[-(ptrdiff_t)i].function, taken, outermost, &node);
	return status;
}

/* A call of the function itself. */
static void add_target(struct dump_graph *graph, uint64_t own, const struct taken *taken, bool outermost)
{
	/* One that it has made itself is one of its calls, too. */
	if ((uint32_t)own != 1)
		graph->callees.nodes[0].calls += taken->calls;
	add(&graph->callers.nodes[0], taken, outermost);
}

static int leave(void *context, struct dump_call_thread *thread, struct dump_frame *frame)
{
	struct dump_graph *graph = context;
	const struct dump_frame *caller = dump_frame_depth(thread, frame) ? frame - 1 : NULL;
	const bool outermost = !caller || !(caller->user & INSIDE);
	struct taken taken;

	if (!frame->user)
		return 0;
	taken = taken_by(frame);
	if ((uint32_t)frame->user)
		add(&graph->callees.nodes[(uint32_t)frame->user - 1], &taken, true);
	if (!(frame->user & TARGET))
		return 0;
	graph->timed |= frame->start != 0;
	add_target(graph, frame->user, &taken, outermost);
	return add_frames(graph, thread, caller, &taken, outermost, 0);
}

/* ---- pieces -------------------------------------------------------------------------------------- */

/* What is worked out of a node. */
struct path {
	uint64_t own; /* as in `user` of a frame */
	struct taken taken;
};

static int add_path(struct dump_graph *graph, const struct dump_call_thread *thread, const struct dump_frame *top,
		    const struct dump_summary_node *nodes, const struct path *paths, size_t at)
{
	const struct path *path = &paths[at];
	const bool outermost = !(paths[nodes[at].parent].own & INSIDE);
	uint32_t node = 0;
	int status = 0;

	if ((uint32_t)path->own)
		add(&graph->callees.nodes[(uint32_t)path->own - 1], &path->taken, true);
	/* What only led to another function was no call. */
	if (!(path->own & TARGET) || !(path->taken.calls | path->taken.instructions | path->taken.time))
		return 0;
	graph->timed |= thread->time != 0;
	add_target(graph, path->own, &path->taken, outermost);
	for (at = nodes[at].parent; status == 0 && at && !is_deepest(graph, node); at = nodes[at].parent)
		status = add_caller(graph, nodes[at].function, &path->taken, outermost, &node);
	return status == 0 ? add_frames(graph, thread, top, &path->taken, outermost, node) : status;
}

static int take_piece(void *context, struct dump_call_thread *thread, struct dump_frame *top,
		      const struct dump_summary_node *nodes, size_t count)
{
	struct dump_graph *graph = context;
	struct path *paths = calloc(count, sizeof(*paths));
	int status = paths ? 0 : common_fail_memory("paths of calls", count * sizeof(*paths));

	if (status == 0)
		paths[0].own = top ? top->user : 0;
	for (size_t i = 1; status == 0 && i < count; i++)
		status = place(graph, paths[nodes[i].parent].own, nodes[i].function, &paths[i].own);
	for (size_t i = count; status == 0 && i-- > 1;) {
		struct taken *taken = &paths[i].taken, *above = &paths[nodes[i].parent].taken;

		taken->calls = nodes[i].calls;
		taken->self_time = nodes[i].time;
		taken->self_instructions = nodes[i].instructions;
		above->time += taken->time += taken->self_time;
		above->instructions += taken->instructions += taken->self_instructions;
	}
	for (size_t i = 1; status == 0 && i < count; i++)
		if (paths[i].own)
			status = add_path(graph, thread, top, nodes, paths, i);
	free(paths);
	return status;
}

const struct dump_call_observer dump_graph_observer = {
	.enter = enter,
	.piece = take_piece,
	.rename = enter,
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
	if (!order && left->address != right->address)
		order = left->address < right->address ? -1 : 1;
	/* Code of several processes may have neither name nor file. */
	if (!order && a->self_instructions != b->self_instructions)
		order = a->self_instructions > b->self_instructions ? -1 : 1;
	if (!order && a->total_time != b->total_time)
		order = a->total_time > b->total_time ? -1 : 1;
	return order ? order : (a->self_time < b->self_time) - (a->self_time > b->self_time);
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
