/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory for decompressed buffers, in huge pages: fresh memory costs a page fault for some of them instead of 128 for each. */
#ifndef FORMAT_READER_POOL_H
#define FORMAT_READER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialised, then used by one thread at a time. */
struct format_pool {
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
void *format_pool_take(struct format_pool *pool, size_t size);
/* Gives back a piece. */
void format_pool_give(struct format_pool *pool, void *piece);
/* All pieces have been given back. */
void format_pool_free(struct format_pool *pool);

#endif
