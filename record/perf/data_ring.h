/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of records of a perf event. The kernel shares the ring; positions and sizes are checked before use. */
#ifndef RECORD_PERF_DATA_RING_H
#define RECORD_PERF_DATA_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_DATA_RING_RECORD_MAX 65536u /* bytes; a header's size has 16 bits */

struct record_data_ring {
	struct perf_event_mmap_page *page; /* NULL if unmapped */
	const uint8_t *data;               /* records, behind the page */
	size_t size;                       /* bytes of `data` */
	uint64_t tail;                     /* position up to which records were read */
	uint64_t given;                    /* position up to which the kernel has its room back */
	bool manual_release;               /* set by the caller: only record_data_ring_give_back gives room back */
	uint8_t *record;                   /* copy of the last record that wraps */
};

/*
 * Maps the ring of an event. size: a power of two, and a multiple of a page.
 * Fails with PTL_SYSTEM, with errno of mmap, or with PTL_NO_MEMORY; nothing stays mapped.
 */
int record_data_ring_map(struct record_data_ring *ring, int fd, size_t size);
/* Accepts a zeroed `ring`. */
void record_data_ring_unmap(struct record_data_ring *ring);

/* Returns the position up to which the kernel has written. */
uint64_t record_data_ring_head(const struct record_data_ring *ring);

/*
 * Finds the next record before head: header.size bytes with the header, valid until record_data_ring_taken. Without
 * that call, the same record is found again.
 * Returns 1; 0 without a record; PTL_CORRUPT if the ring is invalid. Everything up to head is then skipped, and the
 * caller counts a loss.
 * Gives room back to the kernel if no record is left, and after each sixteenth of the ring.
 */
int record_data_ring_next(struct record_data_ring *ring, uint64_t head, const struct perf_event_header **record);
void record_data_ring_taken(struct record_data_ring *ring, const struct perf_event_header *record);
/*
 * Gives room back for read records, if at least a sixteenth of the ring, or if `all`. Until then records stay
 * unchanged, up to one head.
 */
void record_data_ring_give_back(struct record_data_ring *ring, bool all);

#endif
