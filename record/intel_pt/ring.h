/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two rings of a perf event: the kernel's records, and the AUX area with the packets. Both are shared with the kernel:
 * positions and sizes in them are checked before they are used.
 */
#ifndef RECORD_INTEL_PT_RING_H
#define RECORD_INTEL_PT_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTEL_PT_RECORD_MAX 65536u /* bytes: the size in a record's header has 16 bits */

struct intel_pt_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	size_t data_size;
	uint8_t *aux;
	size_t aux_size;
	bool overwrites; /* the AUX area is a snapshot's: the kernel never waits for its reader */
	uint8_t *record; /* the last one taken, where it passes the ring's end */
};

/*
 * Maps the rings of an event of Intel PT; sizes are powers of two, and multiples of a page. PTL_SYSTEM with errno as
 * mmap left it, PTL_NO_MEMORY; nothing is mapped then.
 */
int intel_pt_ring_map(struct intel_pt_ring *ring, int fd, size_t data_size, size_t aux_size, bool overwrites);
/* Also of one that is zeroed. */
void intel_pt_ring_unmap(struct intel_pt_ring *ring);

/* Up to where the kernel has written. Read before intel_pt_ring_data_head, what lies before is in records by then. */
uint64_t intel_pt_ring_aux_head(const struct intel_pt_ring *ring);
uint64_t intel_pt_ring_data_head(const struct intel_pt_ring *ring);

/*
 * The next record before head, good until the next call; header included, header.size bytes. It stays the next one until
 * it has been taken. 1: there is one; 0: there is none; PTL_CORRUPT: the ring makes no sense, and all up to head is
 * skipped.
 */
int intel_pt_ring_next(struct intel_pt_ring *ring, uint64_t head, const struct perf_event_header **record);
void intel_pt_ring_taken(struct intel_pt_ring *ring, const struct perf_event_header *record);

/* Bytes of the AUX area from a position on: as many as lie in one piece, at most size. */
size_t intel_pt_ring_aux(const struct intel_pt_ring *ring, uint64_t position, uint64_t size, const uint8_t **bytes);
/* Gives room back to the kernel: all before the position has been taken. */
void intel_pt_ring_aux_taken(struct intel_pt_ring *ring, uint64_t position);

#endif
