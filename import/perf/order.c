/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of records by their time. */
#include "import/perf/order.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

#define WAITING_MAX ((size_t)64 << 20) /* bytes of records */

void perf_order_free(struct perf_order *order)
{
	for (size_t i = 0; i < order->count; i++)
		free(order->heap[i]);
	free(order->heap);
	*order = (struct perf_order){0};
}

static bool is_before(const struct perf_waiting *a, const struct perf_waiting *b)
{
	return a->time != b->time ? a->time < b->time : a->arrival < b->arrival;
}

static void swap(struct perf_waiting **a, struct perf_waiting **b)
{
	struct perf_waiting *kept = *a;

	*a = *b;
	*b = kept;
}

static size_t size_of(const struct perf_waiting *waiting)
{
	return sizeof(*waiting) + waiting->record.size;
}

static struct perf_waiting *copy(const struct perf_record *record, const struct perf_sample *sample, size_t body)
{
	struct perf_waiting *waiting = malloc(sizeof(*waiting) + record->size);
	uint8_t *bytes = (uint8_t *)(waiting + 1);

	if (!waiting)
		return NULL;
	*waiting = (struct perf_waiting){.record = *record, .sample = *sample, .body = body, .time = sample->time};
	memcpy(bytes, record->body, record->size);
	waiting->record.body = bytes;
	return waiting;
}

int perf_order_push(struct perf_order *order, const struct perf_record *record, const struct perf_sample *sample,
		    size_t body)
{
	struct perf_waiting *waiting;
	size_t at = order->count;

	if (COMMON_VECTOR_RESERVE(order->heap, order->capacity, at + 1, "records"))
		return PTL_NO_MEMORY;
	waiting = copy(record, sample, body);
	if (!waiting)
		return common_fail_memory("a record", record->size);
	waiting->arrival = order->arrivals++;
	if (waiting->time > order->newest)
		order->newest = waiting->time;
	order->bytes += size_of(waiting);
	order->heap[order->count++] = waiting;
	for (; at && is_before(order->heap[at], order->heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&order->heap[at], &order->heap[(at - 1) / 2]);
	return 0;
}

void perf_order_round(struct perf_order *order)
{
	order->due = order->newest_before;
	order->newest_before = order->newest;
}

void perf_order_end(struct perf_order *order)
{
	order->due = UINT64_MAX;
}

struct perf_waiting *perf_order_pop(struct perf_order *order)
{
	struct perf_waiting *first = order->count ? order->heap[0] : NULL;
	size_t at = 0, child = 1;

	if (!first || (first->time > order->due && order->bytes <= WAITING_MAX))
		return NULL;
	order->forced += first->time > order->due;
	order->bytes -= size_of(first);
	order->heap[0] = order->heap[--order->count];
	while (child < order->count) {
		if (child + 1 < order->count && is_before(order->heap[child + 1], order->heap[child]))
			child++;
		if (!is_before(order->heap[child], order->heap[at]))
			break;
		swap(&order->heap[child], &order->heap[at]);
		at = child;
		child = 2 * at + 1;
	}
	return first;
}
