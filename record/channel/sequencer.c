/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of messages, ordered by their numbers. */
#include "record/channel/sequencer.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/heap.h"
#include "common/vector.h"

void record_sequencer_free(struct record_sequencer *sequencer)
{
	free(sequencer->heap);
	*sequencer = (struct record_sequencer){0};
}

static bool is_item_before(const struct record_item *a, const struct record_item *b)
{
	return a->sequence != b->sequence ? a->sequence < b->sequence : a->arrival < b->arrival;
}

COMMON_HEAP(item, struct record_item, is_item_before)

int record_sequencer_push(struct record_sequencer *sequencer, uint64_t sequence, void *data, size_t size)
{
	const size_t at = sequencer->count;

	if (COMMON_VECTOR_RESERVE(sequencer->heap, sequencer->capacity, at + 1, "messages"))
		return PTL_NO_MEMORY;
	sequencer->heap[at] = (struct record_item){sequence, sequencer->arrivals++, size, data};
	sequencer->count++;
	sequencer->bytes += size;
	item_rise(sequencer->heap, at);
	return 0;
}

static void remove_first(struct record_sequencer *sequencer)
{
	sequencer->heap[0] = sequencer->heap[--sequencer->count];
	item_sink(sequencer->heap, sequencer->count, 0);
}

void *record_sequencer_pop(struct record_sequencer *sequencer, uint64_t now, bool force)
{
	struct record_item first;

	if (!sequencer->count)
		return NULL;
	first = sequencer->heap[0];
	if (first.sequence > sequencer->released + 1) {
		if (!sequencer->waiting_since)
			sequencer->waiting_since = now;
		if (!force && sequencer->bytes <= RECORD_SEQUENCE_BYTES &&
		    now - sequencer->waiting_since < RECORD_SEQUENCE_PATIENCE)
			return NULL;
		sequencer->skipped += first.sequence - sequencer->released - 1;
	}
	sequencer->waiting_since = 0;
	if (first.sequence > sequencer->released)
		sequencer->released = first.sequence;
	remove_first(sequencer);
	sequencer->bytes -= first.size;
	return first.data;
}
