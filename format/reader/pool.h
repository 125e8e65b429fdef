/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for decompressed buffers, in huge pages: fresh memory costs a page fault for some of them instead of 128 for each. */
#ifndef PTL_FORMAT_READER_POOL_H
#define PTL_FORMAT_READER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised, then used by one thread at a time. */
struct ptl_pool {
	bool wanted;     /* else all pieces are malloc's */
	uint8_t *memory; /* slots, from the first large piece on */
	size_t slot;     /* bytes of each */
	size_t fresh;    /* where slots begin that were never taken */
	void *unused;    /* slots that were given back: each begins with the address of the next one */
};

/*
 * At least size bytes; NULL without memory. Small pieces, those that are larger than a slot, and those for which no
 * slot is left, are malloc's.
 */
void *ptl_pool_take(struct ptl_pool *pool, size_t size);
/* Gives back a piece. */
void ptl_pool_give(struct ptl_pool *pool, void *piece);
/* All pieces have been given back. */
void ptl_pool_free(struct ptl_pool *pool);

#endif
