/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of counters: makes counters, collects counts, and gives the counts to the sink. */
#include "flow/native/cache/counter.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

#define FIRST_COUNTERS (NATIVE_HUGE_PAGE / sizeof(struct native_counter))
#define TARGETS ((size_t)1 << NATIVE_COUNT_TARGETS_SHIFT)
#define EDGES ((size_t)1 << NATIVE_COUNT_EDGES_SHIFT)

_Static_assert(sizeof(struct native_counter) == 32, "half a cache line");

/* ---- making counters -------------------------------------------------------------------------------------- */

static bool grow_counters(struct native_counters *counters)
{
	const uint32_t capacity = counters->capacity ? counters->capacity * 2 : (uint32_t)FIRST_COUNTERS;
	struct native_counter *table = capacity <= NATIVE_COUNTER_CALLS / sizeof(*table)
					       ? native_pages_take(capacity * sizeof(*table))
					       : NULL;

	if (!table)
		return false;
	if (counters->table)
		memcpy(table, counters->table, counters->capacity * sizeof(*table));
	native_pages_free(counters->table, counters->capacity * sizeof(*table));
	counters->table = table;
	counters->capacity = capacity;
	return true;
}

uint32_t native_counter_make(struct native_code *code, struct native_region *region)
{
	struct native_counters *counters = &code->counters;
	const struct native_run *run = &region->run;
	const uint32_t index = counters->count + 1;

	if (!counters->targets)
		counters->targets = calloc(TARGETS, sizeof(*counters->targets));
	if (!counters->targets || (index >= counters->capacity && !grow_counters(counters)) ||
	    !COMMON_VECTOR_GROW(counters->counted, counters->counted_capacity, (size_t)index + 1))
		return 0;
	counters->count = index;
	counters->table[index] = (struct native_counter){
		.decision = region->decision,
		.sums = run->run.instructions + run->run.count * NATIVE_COUNTER_BLOCK,
	};
	counters->counted[index] = (struct native_counted){.region = region, .run = run->run};
	region->counter = index * (uint32_t)sizeof(*counters->table);
	return region->counter;
}

/* Stores the list of a run's calls. Returns the value for `push`; 0 without memory. */
static uint32_t list_calls(struct native_counters *counters, const struct native_run *run)
{
	const uint32_t first = counters->call_count;
	const size_t size = (size_t)first + run->push_count + 1;

	if (size > NATIVE_COUNTER_CALLS || !COMMON_VECTOR_GROW(counters->calls, counters->call_capacity, size))
		return 0;
	for (uint32_t i = 0; i < run->push_count; i++)
		counters->calls[first + i] = run->pushes[i]->region->counter;
	counters->calls[first + run->push_count] = 0;
	counters->call_count = (uint32_t)size;
	return first | NATIVE_COUNTER_CALLS;
}

void native_counter_make_plain(struct native_counters *counters, const struct native_region *region)
{
	const struct native_run *run = &region->run;
	struct native_counter *counter = native_counter_at(counters->table, region->counter);

	if (counter->plain || run->run.branches != run->run.count || region->decision >= NATIVE_CONTINUE)
		return;
	if (run->push_count > 1)
		counter->push = list_calls(counters, run);
	else if (run->push_count)
		counter->push = run->pushes[0]->region->counter;
	counter->plain = counter->push || !run->push_count;
}

void native_counters_leave(struct native_counters *counters, struct native_region *region)
{
	struct native_counter *counter;
	struct native_count_target *target;

	if (!region->counter)
		return;
	/* Later edges must lead to the region's new blocks. */
	target = native_counters_target(counters, region->here.ip);
	if (target->to == region->counter)
		*target = (struct native_count_target){0};
	counter = native_counter_at(counters->table, region->counter);
	counter->next[0] = counter->next[1] = 0;
	counter->push = 0;
	counter->plain = false;
	region->counter = 0;
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

static void move_counts(struct native_counters *counters)
{
	for (uint32_t i = 1; i <= counters->count; i++) {
		struct native_counter *counter = &counters->table[i];

		for (unsigned way = 0; way < 2; way++) {
			counters->counted[i].count[way] += counter->count[way];
			counter->count[way] = 0;
		}
	}
	counters->steps = 0;
}

void native_counters_steps(struct native_counters *counters, uint32_t steps)
{
	counters->steps += steps;
	if (counters->steps > UINT32_MAX - NATIVE_COUNTER_STEPS)
		move_counts(counters);
}

static bool keep_edge(struct native_counters *counters, const struct native_count_edge *edge)
{
	const uint64_t key = (uint64_t)edge->from << 32 | edge->to;
	uint64_t *known;

	if (!counters->sink || !edge->count ||
	    native_counter_at(counters->table, edge->from)->decision != NATIVE_INDIRECT)
		return true;
	known = common_hash_map_get(&counters->more_edges, key);
	if (!known)
		return common_hash_map_put(&counters->more_edges, key, edge->count) == 0;
	*known += edge->count;
	return true;
}

struct native_count_edge *native_counters_edge_place(struct native_counters *counters, uint32_t from, uint64_t ip)
{
	if (!counters->edges)
		counters->edges = native_pages_take(EDGES * sizeof(*counters->edges));
	if (!counters->edges)
		return NULL;
	return &counters->edges[common_hash_high(ip ^ (uint64_t)from << 40 ^ from, NATIVE_COUNT_EDGES_SHIFT)];
}

bool native_counters_edge_put(struct native_counters *counters, struct native_count_edge *place,
			      const struct native_count_edge *edge)
{
	if (place->from && !keep_edge(counters, place))
		return false;
	*place = *edge;
	return true;
}

/* ---- giving counts to the sink ---------------------------------------------------------------------------- */

static int flush_regions(struct native_counters *counters)
{
	const struct flow_count_sink *sink = counters->sink;
	int status = 0;

	move_counts(counters);
	for (uint32_t i = 1; !status && i <= counters->count; i++) {
		struct native_counted *counted = &counters->counted[i];
		const uint64_t taken = counted->count[1], all = counted->count[0] + taken;

		counted->count[0] = counted->count[1] = 0;
		if (all)
			status = sink->run(sink->context, &counted->run, all, taken);
	}
	return status;
}

static int flush_edge(const struct native_counters *counters, uint64_t key, uint64_t count)
{
	const struct flow_block_run *from = &native_counters_counted(counters, (uint32_t)(key >> 32))->run,
				    *to = &native_counters_counted(counters, (uint32_t)key)->run;

	if (!from->count || !to->count)
		return 0;
	return counters->sink->edge(counters->sink->context, from->blocks[from->count - 1], to->blocks[0], count);
}

static int flush_edges(struct native_counters *counters)
{
	uint64_t key, count;
	size_t at = 0;
	int status = 0;

	for (size_t i = 0; counters->edges && i < EDGES; i++) {
		if (counters->edges[i].from && !keep_edge(counters, &counters->edges[i]))
			return common_fail_memory("counts of branches", EDGES);
		counters->edges[i].count = 0;
	}
	while (!status && common_hash_map_next(&counters->more_edges, &at, &key, &count))
		status = flush_edge(counters, key, count);
	common_hash_map_free(&counters->more_edges);
	return status;
}

int native_counters_flush(struct native_counters *counters)
{
	int status = counters->status;

	if (counters->sink && !status)
		status = flush_regions(counters);
	if (counters->sink && !status)
		status = flush_edges(counters);
	return status;
}

/* ---- as one of the caches ---------------------------------------------------------------------------------- */

static void close_counters(struct native_code *code)
{
	struct native_counters *counters = &code->counters;

	native_pages_free(counters->table, counters->capacity * sizeof(*counters->table));
	native_pages_free(counters->edges, EDGES * sizeof(*counters->edges));
	free(counters->counted);
	free(counters->calls);
	free(counters->targets);
	common_hash_map_free(&counters->more_edges);
	*counters = (struct native_counters){0};
}

/* Regions are cleared together with counters, and so are the regions' links to counters. */
static void clear_counters(struct native_code *code)
{
	struct native_counters *counters = &code->counters;

	counters->status = native_counters_flush(counters);
	counters->count = counters->call_count = 0;
	if (counters->targets)
		memset(counters->targets, 0, TARGETS * sizeof(*counters->targets));
	if (counters->edges)
		memset(counters->edges, 0, EDGES * sizeof(*counters->edges));
}

static size_t size(const struct native_code *code)
{
	return code->counters.count * (sizeof(struct native_counter) + sizeof(struct native_counted)) +
	       code->counters.call_count * sizeof(*code->counters.calls);
}

const struct native_cache native_cache_counters = {.close = close_counters, .clear = clear_counters, .size = size};
