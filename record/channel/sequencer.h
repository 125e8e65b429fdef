/* SPDX-License-Identifier: BSD-2-Clause */
/* Sorts messages from many threads by the order of sending. */
#ifndef RECORD_CHANNEL_SEQUENCER_H
#define RECORD_CHANNEL_SEQUENCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Messages are numbered 1, 2, 3, ... in the order of sending. A number is missing if its sender was killed at the wrong
 * moment. Later numbers wait for a missing number, within these limits of time and bytes.
 */
#define RECORD_SEQUENCE_PATIENCE 1000000000ull /* nanoseconds */
#define RECORD_SEQUENCE_BYTES ((size_t)32 << 20)

struct record_item {
	uint64_t sequence;
	uint64_t arrival; /* number of this push; orders items with the same sequence */
	size_t size;      /* size of *data, for the limit of bytes */
	void *data;
};

/* Zero-initialised: empty. The caller pops and frees the remaining items at the end. */
struct record_sequencer {
	struct record_item *heap;
	size_t count;
	size_t capacity;
	size_t bytes;
	uint64_t released; /* highest number up to which every message is delivered or given up */
	uint64_t arrivals;
	/* time at which the gap before the lowest number was first seen; 0 without a gap */
	uint64_t waiting_since;
	uint64_t skipped; /* count of numbers given up */
};

void record_sequencer_free(struct record_sequencer *sequencer);

/* Adds an item. Fails with PTL_NO_MEMORY; data then belongs to the caller. */
int record_sequencer_push(struct record_sequencer *sequencer, uint64_t sequence, void *data, size_t size);

/*
 * Returns data of the next item in order; NULL if the item has to wait. An item waits while an earlier number is
 * missing, within the limits of patience, unless force is set.
 * now: nanoseconds of any clock.
 */
void *record_sequencer_pop(struct record_sequencer *sequencer, uint64_t now, bool force);

#endif
