/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that wait in memory: what a thread has copied out of an AUX area before the recorder came to it. Queues take their
 * memory out of one pool, in pieces that are used again as soon as they are free, so that as little as possible is touched.
 */
#ifndef RECORD_INTEL_PT_QUEUE_H
#define RECORD_INTEL_PT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#define INTEL_PT_PIECE ((size_t)256 << 10) /* bytes of a piece of a pool */

struct intel_pt_pool;
struct intel_pt_piece;

/* Zeroed is empty. One thread at a time may use it. */
struct intel_pt_queue {
	struct intel_pt_pool *pool; /* which it has its pieces from; NULL: it was always empty */
	struct intel_pt_piece *first, *last;
	uint64_t size; /* bytes that wait */
};

/* Of so many bytes, of which none is taken of the system before it is used. PTL_SYSTEM, PTL_NO_MEMORY. */
int intel_pt_pool_new(size_t size, struct intel_pt_pool **pool);
/* No queue may hold any of it. NULL is allowed. */
void intel_pt_pool_free(struct intel_pt_pool *pool);

/* Copies bytes behind those that wait: as many as the pool has memory for, which is returned. A queue has one pool. */
size_t intel_pt_queue_add(struct intel_pt_queue *queue, struct intel_pt_pool *pool, const uint8_t *bytes, size_t size);
/* The first of those that wait, as many as lie in one piece, at most size; 0 in an empty queue. */
size_t intel_pt_queue_bytes(const struct intel_pt_queue *queue, uint64_t size, const uint8_t **bytes);
/* Takes away as many as intel_pt_queue_bytes has returned, or fewer. */
void intel_pt_queue_drop(struct intel_pt_queue *queue, size_t size);

#endif
