/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up the paths of calls below the function: an observer of calls, in a second walk over the flow. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "dump/why/why.h"

/* Deeper calls, and calls beyond the number of paths, are part of their callers. */
#define DEPTH_MAX 96
#define NODES_MAX ((size_t)1 << 20)

/* The call of the function that is active on a stack. */
struct active_call {
	size_t depth; /* depth of its frame, plus one; 0: none is active */
	enum dump_why_side side;
	uint64_t number;
};

struct walk {
	struct dump_why *why;
	struct common_hash_map by_path; /* node number by parent and function */
	uint64_t seen;                  /* begins of calls so far, as the set counts */
	struct active_call *active;     /* by stack; owned */
	size_t active_capacity;
};

/* ---- nodes --------------------------------------------------------------------------------------- */

static int add_node(struct walk *walk, uint32_t parent, uint32_t function, uint32_t depth, uint32_t *number)
{
	struct dump_why *why = walk->why;

	if (COMMON_VECTOR_RESERVE(why->nodes, why->node_capacity, why->node_count + 1, "paths of calls"))
		return PTL_NO_MEMORY;
	*number = (uint32_t)why->node_count++;
	why->nodes[*number] = (struct dump_why_node){.function = function, .parent = parent, .depth = depth};
	return *number ? common_hash_map_put(&walk->by_path, (uint64_t)parent << 32 | function, *number) : 0;
}

/* Stores where the path's first call came from. */
static void set_site(struct walk *walk, const struct analysis_call_thread *thread, uint32_t number, uint64_t site)
{
	struct dump_why_node *node = &walk->why->nodes[number];
	struct flow_place place;

	node->site_image = FLOW_NONE;
	if (!site || thread->process == FLOW_NONE ||
	    !flow_timeline_find(walk->why->calls->timeline, thread->process, thread->time, site, &place))
		return;
	node->site_image = place.image;
	node->site = site;
}

/* Finds or adds the node of a callee. *number: 0 beyond a limit. site: return address of the call. */
static int find_node(struct walk *walk, const struct analysis_call_thread *thread, uint32_t parent, uint32_t function,
		     uint64_t site, uint32_t *number)
{
	const uint64_t *known = common_hash_map_get(&walk->by_path, (uint64_t)parent << 32 | function);
	const uint32_t depth = walk->why->nodes[parent].depth + 1;

	*number = known ? (uint32_t)*known : 0;
	if (known || depth > DEPTH_MAX || walk->why->node_count >= NODES_MAX)
		return 0;
	if (add_node(walk, parent, function, depth, number))
		return PTL_NO_MEMORY;
	set_site(walk, thread, *number, site);
	return 0;
}

static void count_call(struct walk *walk, uint32_t number, const struct active_call *active)
{
	struct dump_why_node *node = &walk->why->nodes[number];

	node->sums[active->side].calls++;
	node->sums[active->side].present += node->last != active->number;
	node->last = active->number;
}

/* ---- frames -------------------------------------------------------------------------------------- */

/* A frame's node is in frame->user, plus one. */
#define NO_NODE 0

static int active_of(struct walk *walk, const struct analysis_call_thread *thread, struct active_call **active)
{
	const size_t before = walk->active_capacity, number = thread->stack->number;

	if (COMMON_VECTOR_RESERVE(walk->active, walk->active_capacity, number + 1, "stacks of calls"))
		return PTL_NO_MEMORY;
	memset(walk->active + before, 0, (walk->active_capacity - before) * sizeof(*walk->active));
	*active = &walk->active[number];
	return 0;
}

/* A call of the function begins: its frame has node 0, if the call is in the set. */
static void begin_call(struct walk *walk, const struct analysis_call_thread *thread, struct analysis_frame *frame,
		       struct active_call *active)
{
	const struct analysis_set_call *call = analysis_call_set_find(&walk->why->set, walk->seen);

	if (!call)
		return;
	*active = (struct active_call){
		.depth = analysis_frame_depth(thread, frame) + 1,
		.side = call->slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER,
		.number = call->number,
	};
	frame->user = 1;
	count_call(walk, 0, active);
}

/* A callee begins, or its function became known. */
static int enter_callee(struct walk *walk, const struct analysis_call_thread *thread, struct analysis_frame *frame,
			const struct active_call *active)
{
	uint32_t node = 0;
	int status;

	/* Callees of a frame without a node count for the same caller as the frame. */
	if (frame[-1].user == NO_NODE)
		return 0;
	status = find_node(walk, thread, (uint32_t)(frame[-1].user - 1), frame->function,
			   frame->flags & ANALYSIS_CALL_TAIL ? 0 : frame->return_address, &node);
	if (status < 0)
		return status;
	if (node)
		count_call(walk, node, active);
	else
		walk->why->cut_calls++;
	frame->user = node ? node + 1 : NO_NODE;
	return 0;
}

static int why_enter(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct walk *walk = context;
	struct active_call *active;
	const int begins = analysis_call_set_begins(&walk->why->set.matches, frame);
	const int status = active_of(walk, thread, &active);

	if (begins < 0 || status < 0)
		return begins < 0 ? begins : status;
	walk->seen += begins > 0;
	if (active->depth)
		return enter_callee(walk, thread, frame, active);
	if (begins)
		begin_call(walk, thread, frame, active);
	return 0;
}

static int why_rename(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct walk *walk = context;
	const uint64_t stub = frame->user;
	struct active_call *active;
	int status = active_of(walk, thread, &active);

	if (status < 0 || active->depth == analysis_frame_depth(thread, frame) + 1)
		return status;
	/* The sums have the stub already, and get its function next. */
	if (active->depth && stub != NO_NODE)
		walk->why->nodes[stub - 1].sums[active->side].calls--;
	status = why_enter(context, thread, frame);
	if (status == 0 && active->depth && stub != NO_NODE && frame->user != NO_NODE)
		walk->why->nodes[stub - 1].renamed = (uint32_t)(frame->user - 1);
	return status;
}

static int why_leave(void *context, struct analysis_call_thread *thread, struct analysis_frame *frame)
{
	struct walk *walk = context;
	struct active_call *active;
	const int status = active_of(walk, thread, &active);
	struct analysis_latency_parts parts;
	struct dump_why_node_sum *sum;

	if (status < 0 || !active->depth)
		return status;
	if (frame->user != NO_NODE) {
		parts = analysis_latency_parts_of(frame);
		sum = &walk->why->nodes[frame->user - 1].sums[active->side];
		sum->time += frame->wall;
		sum->instructions += frame->instructions;
		sum->absence.kernel += parts.absence.kernel;
		sum->absence.off += parts.absence.off;
		sum->absence.gap += parts.absence.gap;
	}
	if (active->depth == analysis_frame_depth(thread, frame) + 1)
		active->depth = 0;
	return 0;
}

static int why_leaf(void *context, struct analysis_call_thread *thread, struct analysis_frame *caller,
		    const struct analysis_transfer *leaf)
{
	struct walk *walk = context;
	const int matching = analysis_matches(&walk->why->set.matches, leaf->function);
	struct active_call *active;
	uint32_t node = 0;
	int status = active_of(walk, thread, &active);

	if (matching || status < 0)
		return matching < 0 ? matching : status;
	if (!active->depth || caller->user == NO_NODE)
		return 1;
	status = find_node(walk, thread, (uint32_t)(caller->user - 1), leaf->function, leaf->address, &node);
	if (status < 0)
		return status;
	if (node) {
		count_call(walk, node, active);
		walk->why->nodes[node].sums[active->side].instructions += leaf->inside;
	} else {
		walk->why->cut_calls++;
	}
	return 1;
}

static int why_begin(void *context, struct analysis_call_thread *thread)
{
	struct walk *walk = context;

	(void)thread;
	if (walk->active)
		memset(walk->active, 0, walk->active_capacity * sizeof(*walk->active));
	return 0;
}

/* ---- sums of functions --------------------------------------------------------------------------- */

static void add_sum(struct dump_why_node_sum *sum, const struct dump_why_node_sum *part, int sign)
{
	const uint64_t factor = (uint64_t)(int64_t)sign;

	sum->calls += factor * part->calls;
	sum->time += factor * part->time;
	sum->instructions += factor * part->instructions;
	sum->absence.kernel += factor * part->absence.kernel;
	sum->absence.off += factor * part->absence.off;
	sum->absence.gap += factor * part->absence.gap;
}

static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

/* The dynamic linker, which a stub called, becomes a callee of the stub's function. */
static void move_resolvers(struct dump_why *why)
{
	for (size_t i = 1; i < why->node_count; i++) {
		const struct dump_why_node *stub = &why->nodes[why->nodes[i].parent];

		if (stub->renamed && !stub->sums[DUMP_WHY_SLOW].calls && !stub->sums[DUMP_WHY_OTHER].calls)
			why->nodes[i].parent = stub->renamed;
	}
}

/* Subtracts the callees. A callee's time may exceed the caller's: times are estimates. */
static int find_own_sums(struct dump_why *why)
{
	struct dump_why_node_sum(*callees)[DUMP_WHY_SIDES] = calloc(why->node_count, sizeof(*callees));

	if (!callees)
		return common_fail_memory("paths of calls", why->node_count * sizeof(*callees));
	for (size_t i = 1; i < why->node_count; i++)
		for (int side = 0; side < DUMP_WHY_SIDES; side++)
			add_sum(&callees[why->nodes[i].parent][side], &why->nodes[i].sums[side], 1);
	for (size_t i = 0; i < why->node_count; i++)
		for (int side = 0; side < DUMP_WHY_SIDES; side++) {
			const struct dump_why_node_sum *all = &why->nodes[i].sums[side], *part = &callees[i][side];

			why->nodes[i].own[side] = (struct dump_why_node_sum){
				.calls = all->calls,
				.present = all->present,
				.time = without(all->time, part->time),
				.instructions = without(all->instructions, part->instructions),
				.absence = {without(all->absence.kernel, part->absence.kernel),
					    without(all->absence.off, part->absence.off),
					    without(all->absence.gap, part->absence.gap)},
			};
		}
	free(callees);
	return 0;
}

/* Whether the path has the function further up. */
static bool is_recursive(const struct dump_why *why, uint32_t node)
{
	for (uint32_t at = node; at;) {
		at = why->nodes[at].parent;
		if (why->nodes[at].function == why->nodes[node].function)
			return true;
	}
	return false;
}

static int add_to_function(struct dump_why *why, struct common_hash_map *by_function, uint32_t node)
{
	const struct dump_why_node *path = &why->nodes[node];
	const uint64_t *known = common_hash_map_get(by_function, path->function);
	const size_t at = known ? (size_t)*known : why->function_count;
	struct dump_why_function *function;

	if (!known) {
		if (COMMON_VECTOR_RESERVE(why->functions, why->function_capacity, at + 1, "functions") ||
		    common_hash_map_put(by_function, path->function, at))
			return PTL_NO_MEMORY;
		why->functions[why->function_count++] = (struct dump_why_function){.function = path->function,
										   .node = node};
	}
	function = &why->functions[at];
	for (int side = 0; side < DUMP_WHY_SIDES; side++) {
		add_sum(&function->own[side], &path->own[side], 1);
		if (!is_recursive(why, node))
			add_sum(&function->sums[side], &path->sums[side], 1);
	}
	if (dump_why_node_excess(why, path->sums) > dump_why_node_excess(why, why->nodes[function->node].sums))
		function->node = node;
	return 0;
}

static int compare_functions(const void *a_, const void *b_, void *context)
{
	const struct dump_why *why = context;
	const struct dump_why_function *a = a_, *b = b_;
	const double left = dump_why_node_excess(why, a->sums), right = dump_why_node_excess(why, b->sums);

	if (left != right)
		return left > right ? -1 : 1;
	return a->node < b->node ? -1 : a->node > b->node;
}

static int sum_functions(struct dump_why *why)
{
	struct common_hash_map by_function = {0};
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < why->node_count; i++)
		status = add_to_function(why, &by_function, i);
	common_hash_map_free(&by_function);
	if (status == 0)
		qsort_r(why->functions, why->function_count, sizeof(*why->functions), compare_functions, why);
	return status;
}

int dump_why_paths(struct dump_why *why)
{
	struct walk walk = {.why = why};
	const struct analysis_call_observer observer = {
		.context = &walk,
		.begin = why_begin,
		.enter = why_enter,
		.rename = why_rename,
		.leaf = why_leaf,
		.leave = why_leave,
	};
	uint32_t root;
	int status = add_node(&walk, 0, why->set.matches.first - 1, 0, &root);

	if (status == 0)
		status = analysis_calls_walk(why->calls, &observer);
	common_hash_map_free(&walk.by_path);
	free(walk.active);
	if (status == 0) {
		move_resolvers(why);
		status = find_own_sums(why);
	}
	return status == 0 ? sum_functions(why) : status;
}

uint32_t dump_why_path(const struct dump_why *why)
{
	uint32_t at = 0;

	for (;;) {
		const double enough = dump_why_node_excess(why, why->nodes[at].sums) / 2;
		double largest = 0;
		uint32_t found = 0;

		for (uint32_t i = 1; i < why->node_count; i++) {
			const double excess = why->nodes[i].parent == at ? dump_why_node_excess(why, why->nodes[i].sums)
									 : 0;

			if (excess > largest) {
				largest = excess;
				found = i;
			}
		}
		if (!found || largest < enough)
			return at;
		at = found;
	}
}
