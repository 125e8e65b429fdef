/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums up paths of calls. Each thread has a tree of its own, since frames may be found later below frames that seemed
 * outermost. When the thread ends, its tree is merged into the tree of all threads.
 */
#include "analysis/call/call_path.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "common/vector.h"

/* A node takes about 48 bytes: the limit is 400 MiB, more paths than any viewer shows. */
#define NODES_MAX ((size_t)1 << 23)
/* Formats that repeat the callers of each path grow with the square of the depth. */
#define DEPTH_MAX 512

/*
 * Flag in frame->user above the node number: the frame has no node of its own, and its values are added to its caller's
 * node.
 */
#define CUT ((uint64_t)1 << 32)

/* ---- trees --------------------------------------------------------------------------------------- */

static int add_node(struct analysis_path_tree *tree, uint32_t parent, uint32_t function, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(tree->nodes, tree->capacity, tree->count + 1, "paths of calls");

	if (status < 0)
		return status;
	*number = (uint32_t)tree->count++;
	tree->nodes[*number] = (struct analysis_path_node){
		.function = function,
		.parent = parent,
	};
	return 0;
}

_Static_assert(offsetof(struct analysis_path_node, parent) == offsetof(struct analysis_path_key, parent) &&
		       offsetof(struct analysis_path_node, function) == offsetof(struct analysis_path_key, what),
	       "a node begins with its key");

static struct analysis_path_nodes nodes_of(const struct analysis_path_tree *tree)
{
	return (struct analysis_path_nodes){tree->nodes, sizeof(*tree->nodes)};
}

/*
 * Adds a node to the table. A node with a too large number is left out: its path gets another node later, and the merge
 * joins both nodes.
 */
static int remember_node(struct analysis_path_tree *tree, uint32_t number)
{
	return number <= ANALYSIS_PATH_NUMBER_MAX ? analysis_path_table_put(&tree->by_path, nodes_of(tree), number) : 0;
}

static bool is_node(const struct analysis_path_tree *tree, size_t number, uint32_t parent, uint32_t function)
{
	return number < tree->count && tree->nodes[number].parent == parent && tree->nodes[number].function == function;
}

/*
 * Finds or adds the node of a function below a parent. *number: the node found before, or 0; becomes the node, or 0 if
 * the limit is reached. Paths mostly repeat in the order of their creation, so the node after *number is tried before
 * the table.
 */
static int find_node(const struct analysis_paths *paths, struct analysis_path_tree *tree, uint32_t parent,
		     uint32_t function, uint32_t *number)
{
	const size_t most = paths->max_nodes ? paths->max_nodes : NODES_MAX;
	const struct analysis_path_key key = {parent, function};
	int status;

	if (is_node(tree, (size_t)*number + 1, parent, function)) {
		++*number;
		return 0;
	}
	*number = analysis_path_table_find(&tree->by_path, nodes_of(tree), key);
	if (*number || tree->count >= most)
		return 0;
	status = add_node(tree, parent, function, number);
	return status == 0 ? remember_node(tree, *number) : status;
}

static void empty_thread(struct analysis_paths *paths)
{
	analysis_path_table_free(&paths->thread.by_path);
	free(paths->renamed);
	paths->renamed = NULL;
	paths->renamed_capacity = 0;
	paths->thread.count = 0;
	paths->below_count = 0;
	if (paths->stacks)
		memset(paths->stacks, 0, paths->stack_capacity * sizeof(*paths->stacks));
}

static void free_tree(struct analysis_path_tree *tree)
{
	analysis_path_table_free(&tree->by_path);
	free(tree->nodes);
	*tree = (struct analysis_path_tree){0};
}

/* ---- roots --------------------------------------------------------------------------------------- */

static const char *program_of(const struct analysis_paths *paths, const struct analysis_call_thread *thread)
{
	if (thread->program && *thread->program->path)
		return common_base_name(thread->program->path);
	return flow_timeline_process_name(paths->calls->timeline, thread->process, 0);
}

static struct analysis_path_root root_of(const struct analysis_paths *paths, const struct analysis_call_thread *thread)
{
	struct analysis_path_root root = {.process = FLOW_NONE, .pid = PTL_NO_ID, .tid = PTL_NO_ID, .cpu = PTL_NO_CPU};

	if (paths->group == ANALYSIS_PATH_PROCESS || paths->group == ANALYSIS_PATH_THREAD) {
		root.process = thread->process;
		root.pid = thread->pid;
	}
	if (paths->group == ANALYSIS_PATH_THREAD)
		root.tid = thread->tid;
	if (thread->process == FLOW_NONE && thread->pid == PTL_NO_ID && paths->group != ANALYSIS_PATH_ALL)
		root.cpu = thread->cpu;
	return root;
}

/* Groups by process separate programs too: exec begins another root. */
static int find_group(struct analysis_paths *paths, const struct analysis_call_thread *thread, uint32_t *number)
{
	struct analysis_path_root root = root_of(paths, thread);
	const char *program = paths->group == ANALYSIS_PATH_ALL ? "" : program_of(paths, thread);
	struct ptl_bytes key = {0};
	const uint64_t *known;
	int status = 0;

	common_text_format(&key, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " ", root.process, root.pid, root.tid,
			   root.cpu);
	common_text_add(&key, program);
	known = key.failed ? NULL : common_byte_map_get(&paths->root_names, key.data, key.size);
	if (known) {
		*number = (uint32_t)*known;
	} else {
		status = COMMON_VECTOR_RESERVE(paths->roots, paths->root_capacity, paths->root_count + 1, "programs");
		root.program = status == 0 ? strdup(program) : NULL;
		if (!root.program || key.failed) {
			free(root.program);
			status = common_fail_memory("programs", strlen(program));
		} else {
			*number = (uint32_t)paths->root_count;
			paths->roots[paths->root_count++] = root;
			status = common_byte_map_put(&paths->root_names, key.data, key.size, *number);
		}
	}
	common_bytes_free(&key);
	return status;
}

/* Finds or adds the root's node. Roots are not limited by max_nodes. */
static int find_root(struct analysis_paths *paths, uint32_t group, uint32_t *node)
{
	struct analysis_path_root *root = &paths->roots[group];
	const int status = root->node ? 0 : add_node(&paths->tree, 0, group, &root->node);

	*node = root->node;
	return status;
}

/* ---- merging a thread's tree into the tree of all threads ----------------------------------------- */

/*
 * Returns the function for the merge. The dynamic linker's resolver, called by a stub, becomes a callee of the target
 * function, if all calls of the stub were renamed to the target function.
 */
static uint32_t function_of(const struct analysis_paths *paths, uint32_t at)
{
	const struct analysis_path_node *node = &paths->thread.nodes[at];
	const uint32_t renamed = at < paths->renamed_capacity ? paths->renamed[at] : 0;

	return renamed && !node->calls && !node->self_time && !node->self_instructions ? renamed - 1 : node->function;
}

/* Merges a node of the thread's tree. merged: merged nodes by node of the thread; set for the node's parent. */
static int merge_node(struct analysis_paths *paths, uint32_t *merged, uint32_t at)
{
	const struct analysis_path_node *node = &paths->thread.nodes[at];
	const uint32_t above = merged[node->parent];
	struct analysis_path_node *sum;
	uint32_t number = merged[at - 1];
	int status;

	if (merged[at])
		return 0;
	status = find_node(paths, &paths->tree, above, function_of(paths, at), &number);
	if (status < 0)
		return status;
	if (!number)
		paths->cut_calls += node->calls;
	merged[at] = number ? number : above;
	sum = &paths->tree.nodes[merged[at]];
	sum->calls += number ? node->calls : 0;
	sum->self_time += node->self_time;
	sum->self_instructions += node->self_instructions;
	return 0;
}

static int merge_nodes(struct analysis_paths *paths, uint32_t root, uint32_t *merged)
{
	int status = 0;

	for (size_t i = 0; i < paths->stack_capacity; i++)
		if (paths->stacks[i]) {
			const struct analysis_path_node *node = &paths->thread.nodes[paths->stacks[i]];

			/* Self values of outermost calls beyond the limit. */
			paths->tree.nodes[root].self_time += node->self_time;
			paths->tree.nodes[root].self_instructions += node->self_instructions;
			merged[paths->stacks[i]] = root;
		}
	/* Only for these nodes, the parent has a higher number than the child. */
	for (size_t i = paths->below_count; status == 0 && i-- > 0;)
		status = merge_node(paths, merged, paths->belows[i]);
	for (size_t i = 1; status == 0 && i < paths->thread.count; i++)
		status = merge_node(paths, merged, (uint32_t)i);
	return status;
}

static int merge_thread(struct analysis_paths *paths)
{
	const size_t count = paths->thread.count;
	uint32_t *merged, root;
	int status;

	if (count <= 1)
		return 0;
	merged = calloc(count, sizeof(*merged));
	if (!merged)
		return common_fail_memory("paths of calls", count * sizeof(*merged));
	status = paths->tree.count ? 0 : add_node(&paths->tree, 0, ANALYSIS_NO_FUNCTION, &root);
	if (status == 0)
		status = find_root(paths, paths->thread_group, &root);
	if (status == 0)
		status = merge_nodes(paths, root, merged);
	free(merged);
	empty_thread(paths);
	return status;
}

/* ---- calls --------------------------------------------------------------------------------------- */

/*
 * Finds the root for the thread's current stack. *place: its entry in `stacks`. The thread's tree begins with the
 * unused node 0.
 */
static int find_stack(struct analysis_paths *paths, const struct analysis_call_thread *thread, uint32_t **place)
{
	const size_t number = thread->stack->number, before = paths->stack_capacity;
	uint32_t root;
	int status = COMMON_VECTOR_RESERVE(paths->stacks, paths->stack_capacity, number + 1, "stacks of calls");

	if (status < 0)
		return status;
	memset(paths->stacks + before, 0, (paths->stack_capacity - before) * sizeof(*paths->stacks));
	*place = &paths->stacks[number];
	if (!paths->thread.count) {
		status = add_node(&paths->thread, 0, ANALYSIS_NO_FUNCTION, &root);
		/* Done at the first call: when exec is reported, the thread has another program already. */
		if (status == 0)
			status = find_group(paths, thread, &paths->thread_group);
	}
	if (status == 0 && !**place)
		status = add_node(&paths->thread, 0, ANALYSIS_NO_FUNCTION, *place);
	return status;
}

/* Finds the node of the calling frame, or the root of its stack. */
static int find_caller(struct analysis_paths *paths, const struct analysis_call_thread *thread,
		       const struct analysis_frame *frame, uint64_t *caller)
{
	uint32_t *root;
	int status;

	if (analysis_frame_depth(thread, frame)) {
		*caller = frame[-1].user;
		return 0;
	}
	status = find_stack(paths, thread, &root);
	if (status == 0)
		*caller = *root;
	return status;
}

static size_t depth_limit(const struct analysis_paths *paths)
{
	return paths->max_depth ? paths->max_depth : DEPTH_MAX;
}

static int path_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_paths *paths = context;
	const bool is_call = !(frame->flags & ANALYSIS_CALL_INFERRED);
	uint32_t node = 0;
	uint64_t caller = 0;
	int status = find_caller(paths, thread, frame, &caller);

	if (status == 0 && !(caller & CUT) && analysis_frame_depth(thread, frame) < depth_limit(paths))
		status = find_node(paths, &paths->thread, (uint32_t)caller, frame->function, &node);
	if (status < 0)
		return status;
	if (node)
		paths->thread.nodes[node].calls += is_call;
	else
		paths->cut_calls += is_call;
	frame->user = node ? node : caller | CUT;
	return 0;
}

static int rename_node(struct analysis_paths *paths, uint32_t node, uint32_t function)
{
	const size_t before = paths->renamed_capacity;
	const int status = COMMON_VECTOR_RESERVE(paths->renamed, paths->renamed_capacity, (size_t)node + 1,
						 "paths of calls");

	if (status < 0)
		return status;
	memset(paths->renamed + before, 0, (paths->renamed_capacity - before) * sizeof(*paths->renamed));
	paths->renamed[node] = function + 1;
	return 0;
}

/* Adds a path of a piece. place[-1] holds the path before, caller the caller's path. */
static int add_path(struct analysis_paths *paths, const struct analysis_summary_node *node,
		    const struct analysis_path_place *caller, struct analysis_path_place *place)
{
	struct analysis_path_node *sum;
	uint32_t number = 0;
	int status = 0;

	if (!(caller->node & CUT) && caller->depth < depth_limit(paths)) {
		number = (uint32_t)place[-1].node;
		status = find_node(paths, &paths->thread, (uint32_t)caller->node, node->function, &number);
	}
	if (status == 0 && number && node->renamed)
		status = rename_node(paths, number, node->renamed - 1);
	if (status < 0)
		return status;
	place->node = number ? number : caller->node | CUT;
	place->depth = caller->depth + 1;
	sum = &paths->thread.nodes[(uint32_t)place->node];
	if (number)
		sum->calls += node->calls;
	else
		paths->cut_calls += node->calls;
	sum->self_time += node->time;
	sum->self_instructions += node->instructions;
	return 0;
}

static int take_piece(void *context, struct analysis_call_thread *thread, struct analysis_frame *top,
		      const struct analysis_summary_node *nodes, size_t count)
{
	struct analysis_paths *paths = context;
	struct analysis_path_place *places;
	uint32_t *root;
	int status = COMMON_VECTOR_RESERVE(paths->places, paths->place_capacity, count, "paths of calls");

	if (status < 0)
		return status;
	places = paths->places;
	places[0] = (struct analysis_path_place){0};
	if (top) {
		places[0].node = top->user;
		places[0].depth = analysis_frame_depth(thread, top) + 1;
	} else {
		status = find_stack(paths, thread, &root);
		if (status == 0)
			places[0].node = *root;
	}
	for (size_t i = 1; status == 0 && i < count; i++)
		status = add_path(paths, &nodes[i], &places[nodes[i].parent], &places[i]);
	paths->timed |= thread->time != 0;
	return status;
}

static int rename_call(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_paths *paths = context;
	const bool is_call = !(frame->flags & ANALYSIS_CALL_INFERRED);
	int status = 0;

	if (frame->user & CUT) {
		paths->cut_calls -= is_call;
	} else {
		paths->thread.nodes[frame->user].calls -= is_call;
		status = rename_node(paths, (uint32_t)frame->user, frame->function);
	}
	return status == 0 ? path_enter(context, thread, frame) : status;
}

static int path_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_paths *paths = context;
	struct analysis_path_node *node = &paths->thread.nodes[(uint32_t)frame->user];

	(void)thread;
	node->self_time += frame->time > frame->child_time ? frame->time - frame->child_time : 0;
	node->self_instructions += frame->instructions - frame->child_instructions;
	paths->timed |= frame->start != 0;
	return 0;
}

/*
 * A frame was found below all frames of the stack: the root becomes the frame's node, so the whole subtree lies below
 * the frame. Creates a new root.
 */
static int path_below(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct analysis_paths *paths = context;
	uint32_t *place, before, root;
	int status = find_stack(paths, thread, &place);

	if (status == 0)
		status = COMMON_VECTOR_RESERVE(paths->belows, paths->below_capacity, paths->below_count + 1,
					       "paths of calls");
	if (status == 0)
		status = add_node(&paths->thread, 0, ANALYSIS_NO_FUNCTION, &root);
	if (status < 0)
		return status;
	before = *place;
	paths->belows[paths->below_count++] = before;
	paths->thread.nodes[before].function = frame->function;
	paths->thread.nodes[before].parent = root;
	frame->user = before;
	*place = root;
	return remember_node(&paths->thread, before);
}

static int path_lose(void *context, struct analysis_call_thread *thread)
{
	struct analysis_paths *paths = context;

	(void)thread;
	paths->gaps++;
	return 0;
}

static int path_end_thread(void *context, struct analysis_call_thread *thread)
{
	(void)thread;
	return merge_thread(context);
}

const struct analysis_call_observer analysis_paths_observer = {
	.end = path_end_thread,
	.enter = path_enter,
	.piece = take_piece,
	.rename = rename_call,
	.leave = path_leave,
	.below = path_below,
	.exec = path_end_thread,
	.gap = path_lose,
};

void analysis_paths_free(struct analysis_paths *paths)
{
	for (size_t i = 0; i < paths->root_count; i++)
		free(paths->roots[i].program);
	free(paths->roots);
	free(paths->stacks);
	free(paths->belows);
	free(paths->renamed);
	free(paths->places);
	free_tree(&paths->tree);
	free_tree(&paths->thread);
	common_byte_map_free(&paths->root_names);
}

/* ---- names --------------------------------------------------------------------------------------- */

void analysis_path_root_text(const struct analysis_paths *paths, uint32_t number, struct ptl_bytes *text)
{
	const struct analysis_path_root *root = &paths->roots[number];

	if (*root->program)
		common_text_safe(text, root->program);
	else
		common_text_add(text, paths->group == ANALYSIS_PATH_ALL ? "all" : "[unknown]");
	if (root->pid != PTL_NO_ID && root->tid != PTL_NO_ID)
		common_text_format(text, " (%" PRIu32 "/%" PRIu32 ")", root->pid, root->tid);
	else if (root->pid != PTL_NO_ID)
		common_text_format(text, " (%" PRIu32 ")", root->pid);
	else if (root->cpu != PTL_NO_CPU)
		common_text_format(text, " (cpu %" PRIu32 ")", root->cpu);
}

void analysis_path_function_text(const struct analysis_paths *paths, uint32_t function, struct ptl_bytes *text)
{
	const struct analysis_function *data = analysis_function(paths->calls->functions, function);

	if (!*data->name && *data->path)
		common_text_safe(text, data->image);
	analysis_function_text(data, text);
}

/* ---- numbers of functions ------------------------------------------------------------------------ */

int analysis_path_numbers_open(struct analysis_path_numbers *numbers, const struct analysis_paths *paths)
{
	numbers->count = analysis_functions_count(paths->calls->functions);
	numbers->numbers = calloc(numbers->count + 1, sizeof(*numbers->numbers));
	return numbers->numbers ? 0 : common_fail_memory("functions", numbers->count * sizeof(*numbers->numbers));
}

void analysis_path_numbers_close(struct analysis_path_numbers *numbers)
{
	free(numbers->numbers);
	*numbers = (struct analysis_path_numbers){0};
}
