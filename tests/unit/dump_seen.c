/* SPDX-License-Identifier: BSD-2-Clause */
/* A view for tests that keeps all flow of a trace: addresses of instructions, and events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/dump_seen.h"

static void *seen_grow(void *array, size_t count, size_t *capacity, size_t element)
{
	if (count < *capacity)
		return array;
	*capacity = *capacity ? *capacity * 2 : 64;
	array = realloc(array, *capacity * element);
	assert_non_null(array);
	return array;
}

static void see_ip(struct seen *seen, uint64_t ip)
{
	seen->ips = seen_grow(seen->ips, seen->ip_count, &seen->ip_capacity, sizeof(*seen->ips));
	seen->ips[seen->ip_count++] = ip;
}

static void see_event(struct seen *seen, struct flow_event event)
{
	seen->events = seen_grow(seen->events, seen->event_count, &seen->event_capacity, sizeof(*seen->events));
	event.before = seen->ip_count;
	seen->events[seen->event_count++] = event;
}

void free_seen(struct seen *seen)
{
	free(seen->ips);
	free(seen->events);
	*seen = (struct seen){0};
}

int seen_begin(void *context, const struct flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = calloc(1, sizeof(struct seen));
	return *partial ? 0 : PTL_NO_MEMORY;
}

int seen_consume(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	struct seen *seen = partial;
	uint64_t instructions = 0, branches = 0, size;

	(void)context;
	(void)segment;
	while (flow_batch_next(&cursor)) {
		if (cursor.event) {
			see_event(seen, *cursor.event);
			continue;
		}
		size = 0;
		for (uint32_t i = 0; i < cursor.block->instructions; i++) {
			see_ip(seen, cursor.block->ip + size);
			size += cursor.block->lengths[i];
		}
		if (size != cursor.block->size || cursor.block->last_ip != seen->ips[seen->ip_count - 1])
			return PTL_CORRUPT;
		seen->blocks++;
		seen->branches += cursor.block->branch != FLOW_BRANCH_NONE;
		instructions += cursor.block->instructions;
		branches += cursor.block->branch != FLOW_BRANCH_NONE;
	}
	return instructions == batch->instructions && branches == batch->branches ? 0 : PTL_CORRUPT;
}

static int seen_merge(void *context, void *left, void *right_)
{
	struct seen *right = right_, *sum = left;
	size_t next = 0;

	(void)context;
	for (size_t i = 0; i <= right->ip_count; i++) {
		while (next < right->event_count && right->events[next].before == i)
			see_event(sum, right->events[next++]);
		if (i < right->ip_count)
			see_ip(sum, right->ips[i]);
	}
	sum->blocks += right->blocks;
	sum->branches += right->branches;
	free_seen(right);
	free(right);
	return 0;
}

static int seen_finish(void *context, const struct flow_segment *last, void *result)
{
	(void)last;
	return seen_merge(NULL, context, result);
}

void seen_drop(void *context, void *partial)
{
	(void)context;
	free_seen(partial);
	free(partial);
}

void decode_with(struct ptl_trace *trace, const struct flow_view_options *options, struct seen *seen)
{
	const struct flow_view view = {
		.context = seen,
		.begin = seen_begin,
		.consume = seen_consume,
		.merge = seen_merge,
		.finish = seen_finish,
		.drop = seen_drop,
	};
	struct flow_timeline *timeline;

	*seen = (struct seen){0};
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(flow_view_run(trace, timeline, options, &view), 0);
	flow_timeline_free(timeline);
}

void decode(struct ptl_trace *trace, const struct flow_engine_class *engine, unsigned threads, struct seen *seen)
{
	const struct flow_view_options options = {.engine = engine, .threads = threads};

	decode_with(trace, &options, seen);
}

size_t count_events(const struct seen *seen, uint8_t kind, uint8_t cause)
{
	size_t count = 0;

	for (size_t i = 0; i < seen->event_count; i++)
		count += seen->events[i].kind == kind && (!cause || seen->events[i].cause == cause);
	return count;
}

const struct flow_event *find_gap(const struct seen *seen, uint8_t cause)
{
	for (size_t i = 0; i < seen->event_count; i++) {
		if (seen->events[i].kind == FLOW_GAP &&
		    (cause ? seen->events[i].cause == cause : seen->events[i].cause != FLOW_GAP_OVERFLOW))
			return &seen->events[i];
	}
	return NULL;
}

const struct flow_event *first_gap(const struct seen *seen)
{
	return find_gap(seen, FLOW_GAP_NONE);
}
