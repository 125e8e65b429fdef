/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies the parts of a batch within spans of instructions. */
#include "flow/view/span.h"

#include "common/partition.h"

struct flow_span_place flow_span_start(const struct flow_spans *spans, size_t segment)
{
	const size_t first = COMMON_PARTITION(spans->count, at, spans->list[at].segment < segment);
	const size_t end = COMMON_PARTITION(spans->count, at, spans->list[at].segment <= segment);

	return (struct flow_span_place){.next = spans->list + first, .end = spans->list + end};
}

/* Ends the copied flow before the cursor's block or event, which is outside of the spans. */
static int leave_span(struct flow_span_place *place, struct flow_batch_copy *copy,
		      const struct flow_batch_cursor *cursor)
{
	struct flow_event event = {.kind = FLOW_DISABLED, .time = cursor->time};

	if (cursor->block) {
		event.flags = FLOW_EVENT_HAS_TO;
		event.to = cursor->block->ip;
	} else if (flow_event_splits(cursor->event->kind)) {
		event = *cursor->event;
	} else {
		return 0;
	}
	place->inside = false;
	return flow_batch_copy_add_event(copy, &event);
}

int flow_span_cut(struct flow_span_place *place, struct flow_batch_copy *copy, const struct flow_batch *batch,
		  struct flow_batch *cut)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);
	int status = flow_batch_copy_begin(copy, batch);

	while (!status && flow_batch_next(&cursor)) {
		if (flow_span_here(place)) {
			if (cursor.block)
				flow_batch_copy_add(copy, &cursor);
			else
				status = flow_batch_copy_add_event(copy, cursor.event);
			place->inside |= cursor.block != NULL;
		} else if (place->inside) {
			status = leave_span(place, copy, &cursor);
		}
		place->executed += cursor.block ? cursor.block->instructions : 0;
	}
	*cut = *flow_batch_copy_end(copy);
	return status;
}
