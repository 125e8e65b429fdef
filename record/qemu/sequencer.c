/* SPDX-License-Identifier: BSD-2-Clause */
/* A heap of messages by their number; the next number in order comes out first. */
#include "record/qemu/sequencer.h"

#include <stdlib.h>

#include "common/error.h"

void record_sequencer_free(struct record_sequencer *sequencer)
{
	free(sequencer->heap);
	*sequencer = (struct record_sequencer){0};
}

static bool is_before(const struct record_item *a, const struct record_item *b)
{
	return a->sequence != b->sequence ? a->sequence < b->sequence : a->arrival < b->arrival;
}

static void swap(struct record_item *a, struct record_item *b)
{
	const struct record_item kept = *a;

	*a = *b;
	*b = kept;
}

int record_sequencer_push(struct record_sequencer *sequencer, uint64_t sequence, void *data, size_t size)
{
	struct record_item *heap = sequencer->heap;
	size_t at = sequencer->count;

	if (at == sequencer->capacity) {
		const size_t capacity = sequencer->capacity ? sequencer->capacity * 2 : 256;

		heap = reallocarray(heap, capacity, sizeof(*heap));
		if (!heap)
			return common_fail_memory("messages", capacity * sizeof(*heap));
		sequencer->heap = heap;
		sequencer->capacity = capacity;
	}
	heap[at] = (struct record_item){sequence, sequencer->arrivals++, size, data};
	sequencer->count++;
	sequencer->bytes += size;
	for (; at && is_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
		swap(&heap[at], &heap[(at - 1) / 2]);
	return 0;
}

static void remove_first(struct record_sequencer *sequencer)
{
	struct record_item *heap = sequencer->heap;
	const size_t count = --sequencer->count;
	size_t at = 0, child = 1;

	heap[0] = heap[count];
	while (child < count) {
		if (child + 1 < count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &heap[at]))
			break;
		swap(&heap[child], &heap[at]);
		at = child;
		child = 2 * at + 1;
	}
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
