/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up calls by path. */
#include "analysis/call/call_graph.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* ---- trees --------------------------------------------------------------------------------------- */

static int add_node(struct analysis_graph_tree *tree, uint32_t parent, uint32_t function, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(tree->nodes, tree->capacity, tree->count + 1, "paths of calls");

	if (status < 0)
		return status;
	if (tree->count == UINT32_MAX)
		return common_fail(PTL_NO_MEMORY, "there are too many paths of calls; --depth shows fewer");
	*number = (uint32_t)tree->count++;
	tree->nodes[*number] = (struct analysis_graph_node){
		.function = function,
		.parent = parent,
		.depth = *number ? tree->nodes[parent].depth + 1 : 0,
	};
	return 0;
}

/* Finds or adds the node of a function below a parent. */
static int find_node(struct analysis_graph_tree *tree, uint32_t parent, uint32_t function, uint32_t *number)
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

static int find_root(struct analysis_graph_tree *tree)
{
	uint32_t root;

	return tree->count ? 0 : add_node(tree, 0, ANALYSIS_NO_FUNCTION, &root);
}

/* Whether the callers' tree has its maximum depth at this node. */
static bool is_deepest(const struct analysis_graph *graph, uint32_t node)
{
	return graph->max_depth && graph->callers.nodes[node].depth >= graph->max_depth;
}

/* Sums of calls by one path. */
struct taken {
	uint64_t calls, time, self_time, instructions, self_instructions;
};

static struct taken taken_by(const struct analysis_frame *frame)
{
	return (struct taken){
		.calls = !(frame->flags & ANALYSIS_CALL_INFERRED),
		.time = frame->time,
		.self_time = frame->time > frame->child_time ? frame->time - frame->child_time : 0,
		.instructions = frame->instructions,
		.self_instructions = frame->instructions - frame->child_instructions,
	};
}

static void add_taken(struct analysis_graph_node *node, const struct taken *taken, bool outermost)
{
	node->calls += taken->calls;
	node->self_time += taken->self_time;
	node->self_instructions += taken->self_instructions;
	if (!outermost)
		return;
	node->total_time += taken->time;
	node->total_instructions += taken->instructions;
}

/* ---- totals of outermost calls, by stack ---------------------------------------------------------- */

#define OF_CALLEES 0x80000000u /* flag in a node number: the node belongs to the callees' tree */
#define NO_SPAN UINT32_MAX

static void forget_spans(struct analysis_graph *graph)
{
	common_hash_map_free(&graph->span_of);
	common_hash_map_free(&graph->of_stack);
	graph->span_count = 0;
	graph->program++;
}

static struct analysis_graph_node *node_of(const struct analysis_graph *graph, uint32_t number)
{
	return number & OF_CALLEES ? &graph->callees.nodes[number & ~OF_CALLEES] : &graph->callers.nodes[number];
}

static int add_span(struct analysis_graph *graph, uint64_t key, uint32_t *index)
{
	const uint32_t stack = (uint32_t)(key >> 32);
	const uint64_t *last = common_hash_map_get(&graph->of_stack, stack);
	const uint32_t next = last ? (uint32_t)*last : NO_SPAN;
	int status = COMMON_VECTOR_RESERVE(graph->spans, graph->span_capacity, graph->span_count + 1, "paths of calls");

	if (status < 0 || graph->span_count >= NO_SPAN)
		return common_fail_memory("paths of calls", graph->span_count);
	*index = (uint32_t)graph->span_count;
	graph->spans[graph->span_count++] = (struct analysis_graph_span){.key = key, .next = next};
	status = common_hash_map_put(&graph->span_of, key, *index);
	return status == 0 ? common_hash_map_put(&graph->of_stack, stack, *index) : status;
}

/* Adds the totals of an outermost call to the span of its stack. */
static int note_outermost(struct analysis_graph *graph, const struct analysis_call_thread *thread, uint32_t number,
			  uint64_t time, uint64_t instructions)
{
	const uint32_t stack = thread->stack->number;
	const uint64_t key = (uint64_t)stack << 32 | number;
	struct analysis_graph_node *node = node_of(graph, number);
	int status = 0;

	if (node->span_program != graph->program || node->span_stack != stack) {
		const uint64_t *known = common_hash_map_get(&graph->span_of, key);

		if (known)
			node->span = (uint32_t)*known;
		else
			status = add_span(graph, key, &node->span);
		node->span_stack = stack;
		node->span_program = graph->program;
	}
	if (status < 0)
		return status;
	graph->spans[node->span].time += time;
	graph->spans[node->span].instructions += instructions;
	return 0;
}

/*
 * A call was found below all frames of the stack: calls counted as outermost lie within the new call. Subtracts their
 * totals.
 */
static void take_back(struct analysis_graph *graph, uint32_t stack)
{
	const uint64_t *last = common_hash_map_get(&graph->of_stack, stack);

	for (uint32_t i = last ? (uint32_t)*last : NO_SPAN; i != NO_SPAN; i = graph->spans[i].next) {
		const struct analysis_graph_span *span = &graph->spans[i];
		struct analysis_graph_node *node = node_of(graph, (uint32_t)span->key);

		node->total_time -= span->time;
		node->total_instructions -= span->instructions;
		node->span_program = 0;
		common_hash_map_remove(&graph->span_of, span->key);
	}
	common_hash_map_remove(&graph->of_stack, stack);
}

static int graph_begin_thread(void *context, struct analysis_call_thread *thread)
{
	(void)thread;
	forget_spans(context);
	return 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/*
 * State of a call in frame->user and in paths of pieces. Low half: node number in the callees' tree, from 1 (0: no
 * node). TARGET: a call of the function itself. INSIDE: the function, or called by it.
 */
#define TARGET ((uint64_t)1 << 32)
#define INSIDE ((uint64_t)1 << 33)

/* Derives a call's state from its caller's state. */
static int place_call(struct analysis_graph *graph, uint64_t caller, uint32_t function, uint64_t *own)
{
	const uint32_t above = (uint32_t)caller;
	const int target = analysis_matches(&graph->matches, function);
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

static int graph_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	return place_call(context, analysis_frame_depth(thread, frame) ? frame[-1].user : 0, frame->function,
			  &frame->user);
}

static int graph_below(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	const int status = graph_enter(context, thread, frame);

	if (status == 0 && frame->user & TARGET)
		take_back(context, thread->stack->number);
	return status;
}

/* Adds calls to the callers' node of the next outer function. */
static int add_caller(struct analysis_graph *graph, const struct analysis_call_thread *thread, uint32_t function,
		      const struct taken *taken, bool outermost, uint32_t *node)
{
	const int status = find_node(&graph->callers, *node, function, node);

	if (status < 0)
		return status;
	add_taken(&graph->callers.nodes[*node], taken, outermost);
	return outermost ? note_outermost(graph, thread, *node, taken->time, taken->instructions) : 0;
}

/* Adds calls to the callers' nodes of the frame and of all its callers. */
static int add_frames(struct analysis_graph *graph, const struct analysis_call_thread *thread,
		      const struct analysis_frame *frame, const struct taken *taken, bool outermost, uint32_t node)
{
	const size_t depth = frame ? analysis_frame_depth(thread, frame) + 1 : 0;
	int status = 0;

	for (size_t i = 0; status == 0 && i < depth && !is_deepest(graph, node); i++)
		status = add_caller(graph, thread, frame[-(ptrdiff_t)i].function, taken, outermost, &node);
	return status;
}

/* Adds calls of the function itself. */
static int add_target(struct analysis_graph *graph, const struct analysis_call_thread *thread, uint64_t own,
		      const struct taken *taken, bool outermost)
{
	int status = 0;

	/* A recursive call counts in the callees' tree too. */
	if ((uint32_t)own != 1)
		graph->callees.nodes[0].calls += taken->calls;
	add_taken(&graph->callers.nodes[0], taken, outermost);
	if (outermost)
		status = note_outermost(graph, thread, 0, taken->time, taken->instructions);
	/* The root of the callees' tree has this total already, but its span needs the total too. */
	if (status == 0 && outermost && (uint32_t)own == 1)
		status = note_outermost(graph, thread, OF_CALLEES, taken->time, taken->instructions);
	return status;
}

static int graph_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_graph *graph = context;
	const struct analysis_frame *caller = analysis_frame_depth(thread, frame) ? frame - 1 : NULL;
	const bool outermost = !caller || !(caller->user & INSIDE);
	struct taken taken;
	int status;

	if (!frame->user)
		return 0;
	taken = taken_by(frame);
	if ((uint32_t)frame->user)
		add_taken(&graph->callees.nodes[(uint32_t)frame->user - 1], &taken, true);
	if (!(frame->user & TARGET))
		return 0;
	graph->timed |= frame->start != 0;
	status = add_target(graph, thread, frame->user, &taken, outermost);
	return status == 0 ? add_frames(graph, thread, caller, &taken, outermost, 0) : status;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

/* State and sums of a summary node. */
struct path {
	uint64_t own; /* state as in frame->user */
	struct taken taken;
};

static int add_path(struct analysis_graph *graph, const struct analysis_call_thread *thread,
		    const struct analysis_frame *top, const struct analysis_summary_node *nodes,
		    const struct path *paths, size_t at)
{
	const struct path *path = &paths[at];
	const bool outermost = !(paths[nodes[at].parent].own & INSIDE);
	uint32_t node = 0;
	int status = 0;

	if ((uint32_t)path->own)
		add_taken(&graph->callees.nodes[(uint32_t)path->own - 1], &path->taken, true);
	/* A stub that only led to another function was no call. */
	if (!(path->own & TARGET) || !(path->taken.calls | path->taken.instructions | path->taken.time))
		return 0;
	graph->timed |= thread->time != 0;
	status = add_target(graph, thread, path->own, &path->taken, outermost);
	for (at = nodes[at].parent; status == 0 && at && !is_deepest(graph, node); at = nodes[at].parent)
		status = add_caller(graph, thread, nodes[at].function, &path->taken, outermost, &node);
	return status == 0 ? add_frames(graph, thread, top, &path->taken, outermost, node) : status;
}

static int take_piece(void *context, struct analysis_call_thread *thread, struct analysis_frame *top,
		      const struct analysis_summary_node *nodes, size_t count)
{
	struct analysis_graph *graph = context;
	struct path *paths = calloc(count, sizeof(*paths));
	int status = paths ? 0 : common_fail_memory("paths of calls", count * sizeof(*paths));

	if (status == 0)
		paths[0].own = top ? top->user : 0;
	for (size_t i = 1; status == 0 && i < count; i++)
		status = place_call(graph, paths[nodes[i].parent].own, nodes[i].function, &paths[i].own);
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

const struct analysis_call_observer analysis_graph_observer = {
	.begin = graph_begin_thread,
	.exec = graph_begin_thread,
	.enter = graph_enter,
	.piece = take_piece,
	.rename = graph_enter,
	.leave = graph_leave,
	.below = graph_below,
};

void analysis_graph_free(struct analysis_graph *graph)
{
	free(graph->callers.nodes);
	free(graph->callees.nodes);
	common_hash_map_free(&graph->callers.by_path);
	common_hash_map_free(&graph->callees.by_path);
	free(graph->spans);
	common_hash_map_free(&graph->span_of);
	common_hash_map_free(&graph->of_stack);
	analysis_matches_free(&graph->matches);
}

/* ---- order --------------------------------------------------------------------------------------- */

struct sorting {
	const struct analysis_graph *graph;
	const struct analysis_graph_tree *tree;
};

/* Sorts by parent, then by size, then by name. */
static int compare_nodes(const void *a_, const void *b_, void *context)
{
	const struct sorting *sorting = context;
	const struct analysis_function_table *functions = sorting->graph->matches.calls->functions;
	const struct analysis_graph_node *a = &sorting->tree->nodes[*(const uint32_t *)a_];
	const struct analysis_graph_node *b = &sorting->tree->nodes[*(const uint32_t *)b_];
	const struct analysis_function *left = analysis_function(functions, a->function);
	const struct analysis_function *right = analysis_function(functions, b->function);
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

/* Lists nodes depth first; `sorted` groups siblings. Iterative: recursion could overflow for hostile depths. */
static void list_nodes(const struct analysis_graph_tree *tree, const uint32_t *sorted, const uint32_t *firsts,
		       uint32_t *order)
{
	uint32_t *next = order + tree->count; /* by node: index in `sorted` of its next child */
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

int analysis_graph_order(const struct analysis_graph *graph, const struct analysis_graph_tree *tree, uint32_t **result)
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
	/* The root is its own parent, so the sort leaves out the root. */
	if (count > 1)
		qsort_r(sorted + 1, count - 1, sizeof(*sorted), compare_nodes, &sorting);
	for (size_t i = 0; i < count; i++)
		firsts[i] = UINT32_MAX;
	for (size_t i = count; i-- > 1;)
		firsts[tree->nodes[sorted[i]].parent] = (uint32_t)i;
	if (count)
		list_nodes(tree, sorted, firsts, order);
	free(sorted);
	*result = order;
	return 0;
}
