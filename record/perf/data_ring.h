/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring of records of a perf event, which is shared with the kernel: positions and sizes in it are checked before they are
 * used.
 */
#ifndef RECORD_PERF_DATA_RING_H
#define RECORD_PERF_DATA_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_DATA_RING_RECORD_MAX 65536u /* bytes: the size in a record's header has 16 bits */

struct record_data_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const uint8_t *data;               /* the records, behind the page */
	size_t size;                       /* of these */
	uint64_t tail;                     /* up to where records were taken */
	uint64_t given;                    /* up to where the kernel has its room back */
	bool by_hand;                      /* set by the caller: it has it back by record_data_ring_give_back alone */
	uint8_t *record;                   /* a copy of the last one that passes the ring's end */
};

/*
 * Maps the ring of an event; the size is a power of two, and a multiple of a page. PTL_SYSTEM with errno as mmap left it,
 * PTL_NO_MEMORY; nothing is mapped then.
 */
int record_data_ring_map(struct record_data_ring *ring, int fd, size_t size);
/* Also of one that is zeroed. */
void record_data_ring_unmap(struct record_data_ring *ring);

/* Up to where the kernel has written. */
uint64_t record_data_ring_head(const struct record_data_ring *ring);

/*
 * The next record before head, good until it has been taken; header included, header.size bytes. It stays the next one until
 * then. 1: there is one; 0: there is none; PTL_CORRUPT: the ring makes no sense, and all up to head is skipped, which the
 * caller counts as a loss. The kernel gets room back when there is none, and with each sixteenth of the ring.
 */
int record_data_ring_next(struct record_data_ring *ring, uint64_t head, const struct perf_event_header **record);
void record_data_ring_taken(struct record_data_ring *ring, const struct perf_event_header *record);
/*
 * Gives back what was taken, if it is a sixteenth of the ring, or all was asked for. Until then records stay as they are, as far as
 * one head goes.
 */
void record_data_ring_give_back(struct record_data_ring *ring, bool all);

#endif
