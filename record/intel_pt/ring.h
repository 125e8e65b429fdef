/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two rings of a perf event: kernel records, and the AUX area with packets. The kernel shares both rings; positions
 * and sizes are checked before use.
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
	bool overwrites; /* snapshot: the kernel never waits for the reader */
};

/*
 * Maps the rings of an Intel PT event. Sizes are powers of two, and multiples of a page.
 * Fails with PTL_SYSTEM, with errno of mmap, or with PTL_NO_MEMORY; nothing stays mapped.
 */
int intel_pt_ring_map(struct intel_pt_ring *ring, int fd, size_t data_size, size_t aux_size, bool overwrites);
/* Accepts a zeroed `ring`. */
void intel_pt_ring_unmap(struct intel_pt_ring *ring);

/*
 * Returns the position up to which the kernel has written. If read before record_data_ring_head, everything before the
 * position has records.
 */
uint64_t intel_pt_ring_aux_head(const struct intel_pt_ring *ring);

/* Sets *bytes to the area's bytes from `position` on, contiguous and at most `size`. Returns their number. */
size_t intel_pt_ring_aux(const struct intel_pt_ring *ring, uint64_t position, uint64_t size, const uint8_t **bytes);
/* Gives the room before `position` back to the kernel. */
void intel_pt_ring_aux_taken(struct intel_pt_ring *ring, uint64_t position);

#endif
