/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's `rings` file: the events of its threads for one session. */
#ifndef RECORD_PROVIDER_SHM_RINGS_H
#define RECORD_PROVIDER_SHM_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/session_layout.h"

/* One ring, and what was copied out of it: nothing is read in place. */
struct record_shm_ring {
	struct provider_shm_ring *page; /* mapped, with the bytes a page behind it */
	uint8_t *bytes;                 /* copied, from `at` to `used` not given out yet */
	size_t at;
	size_t used;
	size_t capacity;
	uint64_t tail;  /* bytes ever read: our own number, whatever the page says */
	uint64_t moved; /* when something last came, or the ring was released */
};

struct record_shm_rings {
	int file;
	uint64_t ring_size;
	struct provider_shm_rings *first; /* first page, mapped */
	struct record_shm_ring *rings;
	uint32_t count;
	uint32_t capacity;
	uint32_t limit; /* so many are looked at */
	bool limited;   /* there are more */
	bool broken;    /* the file was cut short */
};

/* A record, checked, in the ring's own copy. */
struct record_shm_event {
	struct provider_shm_record header;
	const uint8_t *activity; /* 16 bytes, or NULL */
	const uint8_t *related;
	const uint8_t *payload;
};

/*
 * Opens the file that has this name. ring_size is that of the session. PTL_NOT_FOUND, PTL_CORRUPT,
 * PTL_SYSTEM.
 */
int record_shm_rings_open(int folder, const char *name, uint64_t ring_size, struct record_shm_rings *rings);
void record_shm_rings_close(struct record_shm_rings *rings);

/* Takes notice of rings that are new, up to the limit, which is PROVIDER_SHM_RINGS_MAX at first. PTL_NO_MEMORY. */
int record_shm_rings_look(struct record_shm_rings *rings);

/*
 * Copies all that ring n holds behind what was copied before, and makes room for its writer.
 * *lost: bytes of a ring that made no sense and were left out; 0: none. *share: how full it was, in
 * percent. PTL_NO_MEMORY.
 */
int record_shm_ring_copy(struct record_shm_rings *rings, uint32_t n, uint64_t *lost, unsigned *share);

/*
 * The next record that was copied, checked; it stays until the next copy. 0; PTL_NOT_FOUND: there
 * is none. PTL_CORRUPT: it is invalid: all that was copied is left out, and *lost is its bytes.
 */
int record_shm_ring_next(struct record_shm_ring *ring, struct record_shm_event *event, uint64_t *lost);
/* Goes on behind the record that record_shm_ring_next gave. */
void record_shm_ring_taken(struct record_shm_ring *ring, const struct record_shm_event *event);

/*
 * Gives back the memory of ring n, all of which was read and given out: our own copy's, and the ring's if its
 * thread has left it.
 */
void record_shm_ring_release(struct record_shm_rings *rings, uint32_t n);

/* How many events of each provider were dropped, so far; false: it cannot be determined. */
bool record_shm_rings_lost(struct record_shm_rings *rings, uint64_t lost[PROVIDER_SHM_PROVIDERS_MAX]);

#endif
