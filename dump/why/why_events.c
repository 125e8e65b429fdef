/* SPDX-License-Identifier: BSD-2-Clause */
/* Counts the events of programs and the kernel during the calls, by kind. */
#include <stdlib.h>
#include <string.h>

#include "analysis/event/event_count.h"
#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"
#include "dump/why/why.h"
#include "dump/why/why_values.h"

/*
 * A call with times. Only timing packets have times: the call ended between the last packet before its end and the next
 * packet. An event between both counts for the call, unless a later call of the function has begun.
 */
struct timed_call {
	uint32_t pid, tid;
	uint64_t start, end; /* end: time of the next packet */
	size_t call;
};

struct counting {
	struct dump_why *why;
	struct timed_call *calls; /* owned; ordered by thread and start */
	size_t count;
	struct analysis_event_count kinds; /* of events in calls */
	struct dump_why_value_count values;
};

static int compare_owners(const struct timed_call *a, uint32_t pid, uint32_t tid)
{
	if (a->pid != pid)
		return a->pid < pid ? -1 : 1;
	return a->tid < tid ? -1 : a->tid > tid;
}

static int compare_calls(const void *a_, const void *b_)
{
	const struct timed_call *a = a_, *b = b_;
	const int order = compare_owners(a, b->pid, b->tid);

	return order ? order : a->start < b->start ? -1 : a->start > b->start;
}

static int list_calls(struct counting *counting)
{
	const struct analysis_call_set *set = &counting->why->set;

	counting->calls = calloc(set->count + 1, sizeof(*counting->calls));
	if (!counting->calls)
		return common_fail_memory("calls", set->count * sizeof(*counting->calls));
	for (size_t i = 0; i < set->count; i++) {
		const struct analysis_set_call *call = &set->calls[i];
		const struct analysis_set_thread *thread = &set->threads[call->thread];

		if (call->start && thread->tid != PTL_NO_ID)
			counting->calls[counting->count++] = (struct timed_call){thread->pid, thread->tid, call->start,
										 call->until, i};
	}
	if (counting->count)
		qsort(counting->calls, counting->count, sizeof(*counting->calls), compare_calls);
	return 0;
}

/* Finds the call of the thread at a time. */
static const struct timed_call *find_call(const struct counting *counting, const struct ptl_event *event)
{
	const struct timed_call *calls = counting->calls, *found;
	const size_t behind = COMMON_PARTITION(
		counting->count, at,
		compare_owners(&calls[at], event->pid, event->tid) < 0 ||
			(compare_owners(&calls[at], event->pid, event->tid) == 0 && calls[at].start <= event->time));

	found = behind ? &calls[behind - 1] : NULL;
	return found && compare_owners(found, event->pid, event->tid) == 0 && event->time <= found->end ? found : NULL;
}

static int why_take_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct counting *counting = context;
	struct dump_why *why = counting->why;
	const struct timed_call *call = find_call(counting, event);
	enum dump_why_side side;
	struct dump_why_event *kind;

	if (!call)
		return 0;
	if (analysis_event_count_add(&counting->kinds, event, ptl_schema_of(trace, event)))
		return PTL_NO_MEMORY;
	while (why->event_count < counting->kinds.used) {
		if (COMMON_VECTOR_RESERVE(why->events, why->event_capacity, why->event_count + 1, "kinds of events"))
			return PTL_NO_MEMORY;
		why->events[why->event_count++] = (struct dump_why_event){0};
	}
	kind = &why->events[counting->kinds.last];
	side = why->set.calls[call->call].slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER;
	kind->count[side]++;
	kind->present[side] += kind->last != call->call + 1;
	kind->last = call->call + 1;
	return dump_why_values_add(&counting->values, event, ptl_schema_of(trace, event), counting->kinds.last,
				   call->call);
}

static int compare_kinds(const void *a_, const void *b_, void *context)
{
	const struct dump_why *why = context;
	const struct dump_why_event *a = a_, *b = b_;
	const double left = dump_why_excess(why, a->count[DUMP_WHY_SLOW], a->count[DUMP_WHY_OTHER]);
	const double right = dump_why_excess(why, b->count[DUMP_WHY_SLOW], b->count[DUMP_WHY_OTHER]);

	if (left != right)
		return left > right ? -1 : 1;
	return memcmp(&a->descriptor, &b->descriptor, sizeof(a->descriptor));
}

int dump_why_events(struct dump_why *why)
{
	const struct analysis_filter *filter = why->calls->input.filter;
	const struct ptl_event_filter times = {
		.size = sizeof(times),
		.first_time = filter->first_time,
		.last_time = filter->last_time == UINT64_MAX ? 0 : filter->last_time,
	};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = why_take_event};
	struct counting counting = {
		.why = why,
		.values = {.why = why, .values.start_time = ptl_trace_machine(why->calls->input.trace)->start_time},
	};
	int status = analysis_names_load(&why->names, why->calls->input.trace);

	if (status == 0)
		status = list_calls(&counting);
	if (status == 0 && counting.count)
		status = ptl_process(why->calls->input.trace, &times, &callbacks, &counting);
	for (size_t i = 0; i < why->event_count; i++) {
		why->events[i].descriptor = counting.kinds.list[i].descriptor;
		why->events[i].schema = counting.kinds.list[i].schema;
	}
	if (status == 0 && why->event_count)
		qsort_r(why->events, why->event_count, sizeof(*why->events), compare_kinds, why);
	dump_why_values_finish(&counting.values);
	free(counting.calls);
	analysis_event_count_free(&counting.kinds);
	return status;
}
