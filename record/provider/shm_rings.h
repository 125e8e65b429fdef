/* SPDX-License-Identifier: BSD-2-Clause */
/* A program's `rings` file: events of its threads for one session. */
#ifndef RECORD_PROVIDER_SHM_RINGS_H
#define RECORD_PROVIDER_SHM_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/session_layout.h"

/* A ring, and a copy of its records. Records are never read in place. */
struct record_shm_ring {
	struct provider_shm_ring *page; /* mapped, with the bytes in the next pages */
	uint8_t *bytes;                 /* copied records; `at` to `used` are unconsumed */
	size_t at;
	size_t used;
	size_t capacity;
	uint64_t tail;  /* number of bytes ever read, independent of the page */
	uint64_t moved; /* time of the last record or release */
};

struct record_shm_rings {
	int file;
	uint64_t ring_size;
	struct provider_shm_rings *first; /* first page, mapped */
	struct record_shm_ring *rings;
	uint32_t count;
	uint32_t capacity;
	uint32_t limit; /* maximum number of rings to read */
	bool limited;   /* further rings exist */
	bool broken;    /* the file was truncated */
};

/* A checked record in the ring's copy. */
struct record_shm_event {
	struct provider_shm_record header;
	const uint8_t *activity; /* 16 bytes, or NULL */
	const uint8_t *related;
	const uint8_t *payload;
};

/* Opens the file with this name. ring_size: as in the session. Fails with PTL_NOT_FOUND, PTL_CORRUPT or PTL_SYSTEM. */
int record_shm_rings_open(int folder, const char *name, uint64_t ring_size, struct record_shm_rings *rings);
void record_shm_rings_close(struct record_shm_rings *rings);

/* Finds new rings up to the limit, which is initially PROVIDER_SHM_RINGS_MAX. Fails with PTL_NO_MEMORY. */
int record_shm_rings_look(struct record_shm_rings *rings);

/*
 * Copies all new records of ring n, and makes room for the ring's writer. *lost: bytes of an invalid ring that were
 * skipped, else 0. *share: fill of the ring in percent. Fails with PTL_NO_MEMORY.
 */
int record_shm_ring_copy(struct record_shm_rings *rings, uint32_t n, uint64_t *lost, unsigned *share);

/*
 * Reads and checks the next copied record, valid until the next copy. Returns 0; PTL_NOT_FOUND without a record;
 * PTL_CORRUPT for an invalid record, which skips all copied bytes and sets *lost to their number.
 */
int record_shm_ring_next(struct record_shm_ring *ring, struct record_shm_event *event, uint64_t *lost);
/* Consumes the record that record_shm_ring_next read. */
void record_shm_ring_taken(struct record_shm_ring *ring, const struct record_shm_event *event);

/*
 * Frees the memory of ring n, which has no unconsumed record: the copy, and the ring itself if its thread has left the
 * ring.
 */
void record_shm_ring_release(struct record_shm_rings *rings, uint32_t n);

/* Reads the number of dropped events per provider. Returns false if unavailable. */
bool record_shm_rings_lost(struct record_shm_rings *rings, uint64_t lost[PROVIDER_SHM_PROVIDERS_MAX]);

#endif
