/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums up stacks by path, and reports the sums as calls. */
#include "analysis/sample/sample_fold.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

/* The same limits as for paths of calls: analysis/call/call_path.c. */
#define NODES_MAX ((size_t)1 << 23)
#define THREADS_MAX ((size_t)1 << 20)

_Static_assert(offsetof(struct analysis_sample_node, parent) == offsetof(struct analysis_path_key, parent) &&
		       offsetof(struct analysis_sample_node, function) == offsetof(struct analysis_path_key, what) &&
		       NODES_MAX + 2 * THREADS_MAX <= ANALYSIS_PATH_NUMBER_MAX,
	       "a node begins with its key, and its number has a place in the table");

void analysis_sample_fold_free(struct analysis_sample_fold *fold)
{
	free(fold->threads);
	free(fold->nodes);
	common_byte_map_free(&fold->by_thread);
	analysis_path_table_free(&fold->by_path);
	*fold = (struct analysis_sample_fold){0};
}

/* ---- adding -------------------------------------------------------------------------------------- */

static int add_node(struct analysis_sample_fold *fold, uint32_t parent, uint32_t function, uint32_t *number)
{
	const int status = COMMON_VECTOR_RESERVE(fold->nodes, fold->capacity, fold->count + 2, "paths of calls");

	if (status < 0)
		return status;
	if (!fold->count)
		fold->nodes[fold->count++] = (struct analysis_sample_node){0};
	*number = (uint32_t)fold->count++;
	fold->nodes[*number] = (struct analysis_sample_node){.parent = parent, .function = function};
	return 0;
}

static bool is_same_thread(const struct analysis_sample_thread *a, const struct analysis_sample_thread *b)
{
	return a->process == b->process && a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->program == b->program;
}

static int add_thread(struct analysis_sample_fold *fold, const struct analysis_sample_thread *thread,
		      const uint32_t key[5])
{
	int status = COMMON_VECTOR_RESERVE(fold->threads, fold->thread_capacity, fold->thread_count + 1, "threads");

	if (status == 0)
		status = common_byte_map_put(&fold->by_thread, key, 5 * sizeof(*key), fold->thread_count);
	if (status < 0)
		return status;
	fold->threads[fold->thread_count] = *thread;
	status = add_node(fold, 0, (uint32_t)fold->thread_count, &fold->threads[fold->thread_count].first);
	fold->thread_count += status == 0;
	return status;
}

int analysis_sample_thread(struct analysis_sample_fold *fold, const struct analysis_sample_thread *thread,
			   uint32_t *number)
{
	const uint32_t key[5] = {thread->process, thread->pid, thread->tid, thread->cpu, thread->program};
	const uint64_t *known;
	int status = 0;

	if (fold->last && is_same_thread(&fold->threads[fold->last - 1], thread)) {
		*number = fold->last - 1;
		return 0;
	}
	known = common_byte_map_get(&fold->by_thread, key, sizeof(key));
	if (known)
		*number = (uint32_t)*known;
	else if (fold->thread_count >= THREADS_MAX)
		status = common_fail(PTL_NO_MEMORY, "there are too many threads; --pid shows fewer");
	else
		status = add_thread(fold, thread, key);
	if (!known && status == 0)
		*number = (uint32_t)fold->thread_count - 1;
	if (status == 0)
		fold->last = *number + 1;
	return status;
}

static int find_node(struct analysis_sample_fold *fold, uint32_t parent, uint32_t function, uint32_t *number)
{
	struct analysis_path_nodes nodes = {fold->nodes, sizeof(*fold->nodes)};
	int status;

	*number = analysis_path_table_find(&fold->by_path, nodes, (struct analysis_path_key){parent, function});
	if (*number || (fold->count >= NODES_MAX && function != ANALYSIS_NO_FUNCTION))
		return 0;
	status = add_node(fold, parent, function, number);
	nodes.nodes = fold->nodes;
	return status == 0 ? analysis_path_table_put(&fold->by_path, nodes, *number) : status;
}

int analysis_sample_add(struct analysis_sample_fold *fold, uint32_t thread, const uint32_t *functions, size_t count,
			uint64_t period)
{
	const uint32_t first = fold->threads[thread].first;
	uint32_t at = first, next = first;
	int status = 0;

	for (size_t i = count; status == 0 && next && i-- > 0;) {
		status = find_node(fold, at, functions[i], &next);
		at = next ? next : at;
	}
	fold->cut += !next;
	if (status == 0 && at == first)
		status = find_node(fold, first, ANALYSIS_NO_FUNCTION, &at);
	if (status < 0)
		return status;
	fold->nodes[at].samples++;
	fold->nodes[at].period += period;
	return 0;
}

/* Merges the nodes in order of creation, so new nodes of `fold` are created in the same order. */
static int merge_nodes(struct analysis_sample_fold *fold, const struct analysis_sample_fold *later, uint32_t *places)
{
	for (size_t i = 1; i < later->count; i++) {
		const struct analysis_sample_node *node = &later->nodes[i];
		const uint32_t above = places[node->parent];
		uint32_t number;
		int status = 0;

		if (!node->parent) {
			status = analysis_sample_thread(fold, &later->threads[node->function], &number);
			if (status == 0)
				number = fold->threads[number].first;
		} else {
			status = find_node(fold, above, node->function, &number);
		}
		if (status < 0)
			return status;
		fold->cut += number ? 0 : node->samples;
		/* Samples with no room for any caller's node belong to no known function. */
		if (!number && !fold->nodes[above].parent && node->samples)
			status = find_node(fold, above, ANALYSIS_NO_FUNCTION, &number);
		if (status < 0)
			return status;
		places[i] = number ? number : above;
		fold->nodes[places[i]].samples += node->samples;
		fold->nodes[places[i]].period += node->period;
	}
	return 0;
}

int analysis_sample_merge(struct analysis_sample_fold *fold, const struct analysis_sample_fold *later)
{
	uint32_t *places;
	int status;

	fold->cut += later->cut;
	if (!later->count)
		return 0;
	places = calloc(later->count, sizeof(*places));
	if (!places)
		return common_fail_memory("paths of calls", later->count * sizeof(*places));
	status = merge_nodes(fold, later, places);
	free(places);
	return status;
}

/* ---- showing ------------------------------------------------------------------------------------- */

struct showing {
	struct analysis_sample_fold *fold;
	const struct flow_timeline *timeline;
	const struct analysis_call_observer *observer;
	bool timed;
	uint32_t *owners; /* thread of each node */
	/* by thread: index in `nodes` of the thread's first node; the last entry is the node count */
	size_t *starts;
	uint32_t *places;                    /* number of each node in the piece of its thread */
	struct analysis_summary_node *nodes; /* nodes of all threads, grouped by thread */
};

/* Groups the nodes by thread, each group in order of creation. */
static void divide(struct showing *showing)
{
	struct analysis_sample_fold *fold = showing->fold;
	size_t *next = showing->starts + fold->thread_count + 1;

	for (size_t i = 1; i < fold->count; i++) {
		const struct analysis_sample_node *node = &fold->nodes[i];

		showing->owners[i] = node->parent ? showing->owners[node->parent] : node->function;
		showing->starts[showing->owners[i] + 1]++;
	}
	for (size_t i = 0; i < fold->thread_count; i++)
		showing->starts[i + 1] += showing->starts[i];
	memcpy(next, showing->starts, fold->thread_count * sizeof(*next));
	for (size_t i = 1; i < fold->count; i++) {
		const struct analysis_sample_node *node = &fold->nodes[i];
		const uint32_t owner = showing->owners[i];
		const size_t place = next[owner]++;

		showing->places[i] = (uint32_t)(place - showing->starts[owner]);
		showing->nodes[place] = (struct analysis_summary_node){
			.instructions = node->samples,
			.time = showing->timed ? node->period : 0,
			.calls = node->samples,
			.parent = node->parent ? showing->places[node->parent] : 0,
			.function = node->function,
		};
	}
}

static int compare_threads(const void *a_, const void *b_, void *threads_)
{
	const struct analysis_sample_thread *threads = threads_;
	const struct analysis_sample_thread *a = &threads[*(const uint32_t *)a_], *b = &threads[*(const uint32_t *)b_];
	const uint32_t left[] = {a->process, a->pid, a->tid, a->cpu, a->program};
	const uint32_t right[] = {b->process, b->pid, b->tid, b->cpu, b->program};

	for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++)
		if (left[i] != right[i])
			return left[i] < right[i] ? -1 : 1;
	return 0;
}

static int show_thread(const struct showing *showing, uint32_t number)
{
	const struct analysis_sample_thread *own = &showing->fold->threads[number];
	const struct analysis_call_observer *observer = showing->observer;
	struct analysis_stack stack = {0};
	struct analysis_call_thread thread = {
		.stack = &stack,
		.time = showing->timed,
		.process = own->process,
		.pid = own->pid,
		.thread = FLOW_NONE,
		.tid = own->tid,
		.cpu = own->cpu,
		.program = own->program
				   ? &flow_timeline_process(showing->timeline, own->process)->programs[own->program - 1]
				   : NULL,
	};
	const size_t start = showing->starts[number];
	int status = observer->begin ? observer->begin(observer->context, &thread) : 0;

	if (status == 0)
		status = observer->piece(observer->context, &thread, NULL, showing->nodes + start,
					 showing->starts[number + 1] - start);
	if (status == 0 && observer->end)
		status = observer->end(observer->context, &thread);
	return status;
}

static int show_all(struct showing *showing, uint32_t *order)
{
	struct analysis_sample_fold *fold = showing->fold;
	int status = 0;

	divide(showing);
	for (size_t i = 0; i < fold->thread_count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, fold->thread_count, sizeof(*order), compare_threads, fold->threads);
	for (size_t i = 0; status == 0 && i < fold->thread_count; i++)
		status = show_thread(showing, order[i]);
	return status;
}

int analysis_sample_fold_show(struct analysis_sample_fold *fold, const struct flow_timeline *timeline, bool timed,
			      const struct analysis_call_observer *observer)
{
	struct showing showing = {.fold = fold, .timeline = timeline, .observer = observer, .timed = timed};
	uint32_t *order;
	int status;

	if (!fold->count)
		return 0;
	order = calloc(fold->thread_count, sizeof(*order));
	showing.owners = calloc(fold->count, sizeof(*showing.owners));
	showing.places = calloc(fold->count, sizeof(*showing.places));
	showing.nodes = calloc(fold->count, sizeof(*showing.nodes));
	showing.starts = calloc(2 * fold->thread_count + 1, sizeof(*showing.starts));
	if (order && showing.owners && showing.places && showing.nodes && showing.starts)
		status = show_all(&showing, order);
	else
		status = common_fail_memory("paths of calls", fold->count * sizeof(*showing.nodes));
	free(order);
	free(showing.owners);
	free(showing.places);
	free(showing.nodes);
	free(showing.starts);
	return status;
}
