/* SPDX-License-Identifier: BSD-2-Clause */
/* Distributes instructions between two times over spans, which grow with the lifetime of a thread. */
#include "dump/export/html/counters.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/segment/segment.h"

#define FIRST_SPAN 1000u /* nanoseconds */

static void halve(struct dump_counter_series *series)
{
	for (size_t i = 0; i < DUMP_COUNTER_SPANS / 2; i++) {
		series->instructions[i] = series->instructions[2 * i] + series->instructions[2 * i + 1];
		series->bytes[i] = series->bytes[2 * i] + series->bytes[2 * i + 1];
	}
	for (size_t i = DUMP_COUNTER_SPANS / 2; i < DUMP_COUNTER_SPANS; i++)
		series->instructions[i] = series->bytes[i] = 0;
	series->count = (series->count + 1) / 2;
	series->span *= 2;
}

/*
 * Distributes an amount evenly over a time range, as whole numbers with the same sum. The range must not begin before
 * the series.
 */
static void spread(struct dump_counter_series *series, uint64_t *values, uint64_t from, uint64_t to, uint64_t amount)
{
	size_t first, last;
	uint64_t given = 0;

	while ((to - series->start) / series->span >= DUMP_COUNTER_SPANS)
		halve(series);
	first = (size_t)((from - series->start) / series->span);
	last = (size_t)((to - series->start) / series->span);
	for (size_t i = first; i < last; i++) {
		const uint64_t end = series->start + (i + 1) * series->span;
		const uint64_t until = (uint64_t)((unsigned __int128)amount * (end - from) / (to - from));

		values[i] += until - given;
		given = until;
	}
	values[last] += amount - given;
	if (last >= series->count)
		series->count = last + 1;
}

/* ---- instructions -------------------------------------------------------------------------------- */

int dump_counters_begin(struct dump_counters *counters, const struct analysis_call_thread *thread)
{
	struct dump_counter_series *series;

	if (COMMON_VECTOR_RESERVE(counters->list, counters->capacity, counters->count + 1, "counters"))
		return PTL_NO_MEMORY;
	series = &counters->list[counters->count++];
	*series = (struct dump_counter_series){
		.pid = thread->pid, .tid = thread->tid, .cpu = thread->cpu, .span = FIRST_SPAN};
	counters->executed = (struct analysis_instruction_count){0};
	counters->time = counters->taken = 0;
	counters->lost = false;
	return 0;
}

/* Key of a series. */
struct owner {
	uint32_t pid, tid, cpu;
};

/* Allocates the counters of a thread at its first time. */
static int start_counters(struct dump_counters *counters, struct dump_counter_series *series, uint64_t time)
{
	const struct owner owner = {series->pid, series->tid, series->cpu};

	if (counters->timed == DUMP_COUNTER_THREADS)
		return 0;
	series->instructions = calloc(2 * (size_t)DUMP_COUNTER_SPANS, sizeof(*series->instructions));
	if (!series->instructions)
		return common_fail_memory("counters", 2 * DUMP_COUNTER_SPANS * sizeof(*series->instructions));
	series->bytes = series->instructions + DUMP_COUNTER_SPANS;
	series->start = time;
	counters->timed++;
	return common_byte_map_put(&counters->by_thread, &owner, sizeof(owner), counters->count - 1);
}

int dump_counters_follow(struct dump_counters *counters, const struct analysis_call_thread *thread)
{
	struct dump_counter_series *series = &counters->list[counters->count - 1];

	analysis_instruction_count_follow(&counters->executed, thread);
	if (!thread->time || thread->time <= counters->time)
		return 0;
	if (!series->start) {
		const int status = start_counters(counters, series, thread->time);

		if (status || !series->start)
			return status;
		counters->time = thread->time;
	}
	/* The times of instructions next to a gap are unknown, so these count at the end of the gap. */
	spread(series, series->instructions, counters->lost ? thread->time : counters->time, thread->time,
	       counters->executed.all - counters->taken);
	counters->time = thread->time;
	counters->taken = counters->executed.all;
	counters->lost = false;
	return 0;
}

int dump_counters_gap(struct dump_counters *counters, const struct analysis_call_thread *thread)
{
	const int status = dump_counters_follow(counters, thread);

	counters->lost = true;
	return status;
}

int dump_counters_end(struct dump_counters *counters, const struct analysis_call_thread *thread)
{
	const int status = dump_counters_follow(counters, thread);
	struct dump_counter_series *series = &counters->list[counters->count - 1];

	if (series->start)
		spread(series, series->instructions, counters->time, counters->time,
		       counters->executed.all - counters->taken);
	counters->taken = counters->executed.all;
	/* The next program begins with new stacks. */
	counters->executed.seen = 0;
	return status;
}

void dump_counters_free(struct dump_counters *counters)
{
	for (size_t i = 0; i < counters->count; i++)
		free(counters->list[i].instructions);
	free(counters->list);
	common_byte_map_free(&counters->by_thread);
}

/* ---- Intel PT ------------------------------------------------------------------------------------ */

static struct dump_counter_series *find_series(struct dump_counters *counters, const struct flow_segment *segment)
{
	const struct owner owner = {segment->pid, segment->tid, segment->cpu};
	const uint64_t *known = common_byte_map_get(&counters->by_thread, &owner, sizeof(owner));

	return known ? &counters->list[*known] : NULL;
}

int dump_counters_packets(struct dump_counters *counters, const struct analysis_calls *calls)
{
	struct dump_counter_series *series = NULL;
	struct flow_segment_list list;
	int status = flow_segments_list(calls->input.trace, calls->timeline, &calls->input.view.selection, &list);

	if (status < 0)
		return status;
	for (size_t i = 0; i < list.count; i++) {
		const struct flow_segment *segment = &list.segments[i];
		uint64_t from = segment->time, to = segment->end_time;

		if (!i || segment->group != list.segments[i - 1].group)
			series = find_series(counters, segment);
		if (!series || !from)
			continue;
		/* The last segment of a stream has no end time: uses the last time of the thread. */
		to = to ? to : series->start + series->count * series->span - 1;
		/* Bytes before the thread's first call count at the first call. */
		from = from > series->start ? from : series->start;
		to = to > from ? to : from;
		spread(series, series->bytes, from, to, segment->size);
	}
	flow_segments_free(&list);
	return 0;
}
