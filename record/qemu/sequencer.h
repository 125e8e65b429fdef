/* SPDX-License-Identifier: BSD-2-Clause */
/* Puts messages that arrive from many threads back into the order in which they were sent. */
#ifndef RECORD_QEMU_SEQUENCER_H
#define RECORD_QEMU_SEQUENCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Messages are numbered 1, 2, 3, ... as they are sent. A number may never arrive, if its sender was
 * killed at the wrong moment: the numbers behind it wait for it only so long, and only up to so
 * many bytes.
 */
#define RECORD_SEQUENCE_PATIENCE 1000000000ull /* nanoseconds */
#define RECORD_SEQUENCE_BYTES ((size_t)32 << 20)

struct record_item {
	uint64_t sequence;
	uint64_t arrival; /* number of this push: order of what has the same sequence */
	size_t size;      /* of what data points at, for the bound */
	void *data;
};

/* Zero-initialised is empty. What is left in it at the end is the caller's to pop and free. */
struct record_sequencer {
	struct record_item *heap;
	size_t count;
	size_t capacity;
	size_t bytes;
	uint64_t released; /* all numbers up to this one have been given out, or up */
	uint64_t arrivals;
	/* when the lowest number was first found to have a gap before it; 0: it has none */
	uint64_t waiting_since;
	uint64_t skipped; /* numbers that were given up */
};

void record_sequencer_free(struct record_sequencer *sequencer);

/* PTL_NO_MEMORY: data is still the caller's. */
int record_sequencer_push(struct record_sequencer *sequencer, uint64_t sequence, void *data, size_t size);

/*
 * The next item in order, if it is its turn: nothing is missing before it, or has been for too
 * long, or force. now is any clock in nanoseconds. Returns data, NULL if there is nothing to give
 * yet.
 */
void *record_sequencer_pop(struct record_sequencer *sequencer, uint64_t now, bool force);

#endif
