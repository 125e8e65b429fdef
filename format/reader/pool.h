/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for decompressed buffers in huge pages. Fresh memory in normal pages costs 128 page faults per buffer. */
#ifndef FORMAT_READER_POOL_H
#define FORMAT_READER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised; for one thread at a time. */
struct format_pool {
	bool wanted;     /* false: all blocks come from malloc */
	uint8_t *memory; /* the slots; allocated at the first large request */
	size_t slot;     /* bytes of a slot */
	size_t fresh;    /* offset of the first slot never used */
	void *unused;    /* list of returned slots; each begins with the address of the next slot */
};

/*
 * Returns a block of at least `size` bytes; NULL without memory. Small blocks, blocks larger than a slot, and blocks
 * without a free slot come from malloc.
 */
void *format_pool_take(struct format_pool *pool, size_t size);
/* Returns a block to the pool. */
void format_pool_give(struct format_pool *pool, void *piece);
/* Frees the pool. All blocks must have been returned. */
void format_pool_free(struct format_pool *pool);

#endif
