/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of records sorted by time. */
#include "import/perf/order.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/heap.h"
#include "common/vector.h"

#define WAITING_MAX ((size_t)64 << 20) /* maximum bytes of waiting records */

void perf_order_free(struct perf_order *order)
{
	for (size_t i = 0; i < order->count; i++)
		free(order->heap[i]);
	free(order->heap);
	*order = (struct perf_order){0};
}

typedef struct perf_waiting *waiting_pointer;

static bool is_record_before(const waiting_pointer *a, const waiting_pointer *b)
{
	return (*a)->time != (*b)->time ? (*a)->time < (*b)->time : (*a)->arrival < (*b)->arrival;
}

COMMON_HEAP(waiting, waiting_pointer, is_record_before)

static size_t size_of(const struct perf_waiting *waiting)
{
	return sizeof(*waiting) + waiting->record.size;
}

static struct perf_waiting *copy_waiting(const struct perf_record *record, const struct perf_sample *sample,
					 size_t body)
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

	if (COMMON_VECTOR_RESERVE(order->heap, order->capacity, order->count + 1, "records"))
		return PTL_NO_MEMORY;
	waiting = copy_waiting(record, sample, body);
	if (!waiting)
		return common_fail_memory("a record", record->size);
	waiting->arrival = order->arrivals++;
	if (waiting->time > order->newest)
		order->newest = waiting->time;
	order->bytes += size_of(waiting);
	order->heap[order->count++] = waiting;
	waiting_rise(order->heap, order->count - 1);
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

	if (!first || (first->time > order->due && order->bytes <= WAITING_MAX))
		return NULL;
	order->forced += first->time > order->due;
	order->bytes -= size_of(first);
	order->heap[0] = order->heap[--order->count];
	waiting_sink(order->heap, order->count, 0);
	return first;
}
