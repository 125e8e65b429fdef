/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two rings of a perf event: the kernel's records, and the AUX area with the packets. Both are shared with the kernel:
 * positions and sizes in them are checked before they are used.
 */
#ifndef RECORD_INTEL_PT_RING_H
#define RECORD_INTEL_PT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/perf/data_ring.h"

struct intel_pt_ring {
	struct record_data_ring data;
	uint8_t *aux;
	size_t aux_size;
	bool overwrites; /* the AUX area is a snapshot's: the kernel never waits for its reader */
};

/*
 * Maps the rings of an event of Intel PT; sizes are powers of two, and multiples of a page. PTL_SYSTEM with errno as
 * mmap left it, PTL_NO_MEMORY; nothing is mapped then.
 */
int intel_pt_ring_map(struct intel_pt_ring *ring, int fd, size_t data_size, size_t aux_size, bool overwrites);
/* Also of one that is zeroed. */
void intel_pt_ring_unmap(struct intel_pt_ring *ring);

/* Up to where the kernel has written. Read before record_data_ring_head, what lies before is in records by then. */
uint64_t intel_pt_ring_aux_head(const struct intel_pt_ring *ring);

/* Bytes of the AUX area from a position on: as many as lie in one piece, at most size. */
size_t intel_pt_ring_aux(const struct intel_pt_ring *ring, uint64_t position, uint64_t size, const uint8_t **bytes);
/* Gives room back to the kernel: all before the position has been taken. */
void intel_pt_ring_aux_taken(struct intel_pt_ring *ring, uint64_t position);

#endif
