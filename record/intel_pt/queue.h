/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that wait in memory: copied out of an AUX area before the recorder was ready. Queues share a pool of pieces.
 * Free pieces are reused at once, to touch little memory.
 */
#ifndef RECORD_INTEL_PT_QUEUE_H
#define RECORD_INTEL_PT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#define INTEL_PT_PIECE ((size_t)256 << 10) /* bytes of a pool's piece */

struct intel_pt_pool;
struct intel_pt_piece;

/* Zeroed: empty. Only one thread at a time may use a queue. */
struct intel_pt_queue {
	struct intel_pt_pool *pool; /* pool of the pieces; NULL before the first piece */
	struct intel_pt_piece *first, *last;
	uint64_t size; /* waiting bytes */
};

/*
 * Makes a pool of `size` bytes. The system provides memory only at its first use. Fails with PTL_SYSTEM or
 * PTL_NO_MEMORY.
 */
int intel_pt_pool_new(size_t size, struct intel_pt_pool **pool);
/* Frees a pool without pieces in queues. Accepts NULL. */
void intel_pt_pool_free(struct intel_pt_pool *pool);

/*
 * Appends bytes to the queue, as many as the pool has memory for. Returns the number. A queue always uses the same
 * pool.
 */
size_t intel_pt_queue_add(struct intel_pt_queue *queue, struct intel_pt_pool *pool, const uint8_t *bytes, size_t size);
/*
 * Sets *bytes to the first waiting bytes, contiguous and at most `size`. Returns their number; 0 if the queue is empty.
 */
size_t intel_pt_queue_bytes(const struct intel_pt_queue *queue, uint64_t size, const uint8_t **bytes);
/* Removes the first bytes, at most the number that intel_pt_queue_bytes returned. */
void intel_pt_queue_drop(struct intel_pt_queue *queue, size_t size);

#endif
