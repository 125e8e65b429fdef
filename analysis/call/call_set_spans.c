/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts the calls of a set to spans of segments. */
#include <stdlib.h>

#include "analysis/call/call_set.h"
#include "common/error.h"
#include "common/partition.h"
#include "common/vector.h"

/* A span of the instructions of a thread. */
struct thread_span {
	uint64_t first, end;
	size_t owner;
	uint32_t thread, stack;
};

struct making {
	const struct analysis_call_set *set;
	struct thread_span *list; /* owned */
	size_t count, capacity;
	struct flow_span *spans; /* owned */
	size_t span_count, span_capacity;
};

static int compare_threads(const struct thread_span *a, const struct thread_span *b)
{
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int compare_places(const struct thread_span *a, const struct thread_span *b)
{
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;
}

static int compare_by_stack(const void *a_, const void *b_)
{
	const struct thread_span *a = a_, *b = b_;
	const int order = compare_threads(a, b);

	if (order || a->stack == b->stack)
		return order ? order : compare_places(a, b);
	return a->stack < b->stack ? -1 : 1;
}

static int compare_by_thread(const void *a, const void *b)
{
	const int order = compare_threads(a, b);

	return order ? order : compare_places(a, b);
}

static int add_span(struct making *making, const struct thread_span *span)
{
	if (span->first >= span->end)
		return 0;
	if (COMMON_VECTOR_RESERVE(making->list, making->capacity, making->count + 1, "spans of calls"))
		return PTL_NO_MEMORY;
	making->list[making->count++] = *span;
	return 0;
}

static int list_calls(struct making *making)
{
	const struct analysis_call_set *set = making->set;
	int status = 0;

	for (size_t i = 0; status == 0 && i < set->count; i++) {
		const struct analysis_set_call *call = &set->calls[i];
		const struct thread_span span = {call->first, call->end, i, call->thread, call->stack};

		status = add_span(making, &span);
	}
	return status;
}

/* Joins overlapping spans of a stack. */
static void join_spans(struct making *making)
{
	size_t count = 0;

	for (size_t i = 0; i < making->count; i++) {
		const struct thread_span *span = &making->list[i];
		struct thread_span *last = count ? &making->list[count - 1] : NULL;

		if (last && last->thread == span->thread && last->stack == span->stack && span->first <= last->end)
			last->end = span->end > last->end ? span->end : last->end;
		else
			making->list[count++] = *span;
	}
	making->count = count;
}

/* Adds the parts of a span during which the thread was on the span's stack. */
static int add_on_stack(struct making *making, const struct thread_span *span)
{
	const struct analysis_call_set *set = making->set;
	const size_t first = set->threads[span->thread].first_switch;
	const size_t end = span->thread + 1 < set->thread_count ? set->threads[span->thread + 1].first_switch
								: set->switch_count;
	size_t at = first + COMMON_PARTITION(end - first, i, set->switches[first + i].first <= span->first);
	size_t stack = at > first ? set->switches[at - 1].what : span->stack;
	uint64_t from = span->first;
	int status = 0;

	for (;;) {
		const uint64_t until = at < end && set->switches[at].first < span->end ? set->switches[at].first
										       : span->end;
		struct thread_span part = *span;

		part.first = from;
		part.end = until;
		if (stack == span->stack)
			status = add_span(making, &part);
		if (status < 0 || until == span->end)
			return status;
		from = until;
		stack = set->switches[at++].what;
	}
}

static int leave_out_other_stacks(struct making *making)
{
	struct thread_span *list = making->list;
	const size_t count = making->count;
	int status = 0;

	if (!making->set->switch_count)
		return 0;
	making->list = NULL;
	making->count = making->capacity = 0;
	for (size_t i = 0; status == 0 && i < count; i++)
		status = add_on_stack(making, &list[i]);
	free(list);
	return status;
}

/* Divides a span among the segments of its thread. */
static int divide_span(struct making *making, const struct thread_span *span)
{
	const struct analysis_call_set *set = making->set;
	const size_t first = set->threads[span->thread].first_segment;
	const size_t end = span->thread + 1 < set->thread_count ? set->threads[span->thread + 1].first_segment
								: set->segment_count;
	size_t at = first + COMMON_PARTITION(end - first, i, set->segments[first + i].first <= span->first);

	for (at -= at > first; at < end && set->segments[at].first < span->end; at++) {
		const uint64_t before = set->segments[at].first;
		const uint64_t behind = at + 1 < end ? set->segments[at + 1].first : UINT64_MAX;
		const uint64_t from = span->first > before ? span->first : before;
		const uint64_t until = span->end < behind ? span->end : behind;

		if (from >= until)
			continue;
		if (COMMON_VECTOR_RESERVE(making->spans, making->span_capacity, making->span_count + 1,
					  "spans of calls"))
			return PTL_NO_MEMORY;
		making->spans[making->span_count++] = (struct flow_span){set->segments[at].what, from - before,
									 until - before, span->owner};
	}
	return 0;
}

static int compare_spans(const void *a_, const void *b_)
{
	const struct flow_span *a = a_, *b = b_;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

int analysis_call_set_spans(const struct analysis_call_set *set, bool joined, struct flow_spans *spans)
{
	struct making making = {.set = set};
	int status = list_calls(&making);

	*spans = (struct flow_spans){0};
	if (status == 0 && making.count) {
		qsort(making.list, making.count, sizeof(*making.list), compare_by_stack);
		if (joined)
			join_spans(&making);
		status = leave_out_other_stacks(&making);
	}
	if (status == 0 && making.count)
		qsort(making.list, making.count, sizeof(*making.list), compare_by_thread);
	for (size_t i = 0; status == 0 && i < making.count; i++)
		status = divide_span(&making, &making.list[i]);
	free(making.list);
	if (making.span_count)
		qsort(making.spans, making.span_count, sizeof(*making.spans), compare_spans);
	*spans = (struct flow_spans){making.spans, making.span_count};
	return status;
}
