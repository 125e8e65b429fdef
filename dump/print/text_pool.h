/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of written texts, for reuse by new texts. Returning memory to the system would cost more than formatting
 * lines: the system clears each page again.
 */
#ifndef DUMP_PRINT_TEXT_POOL_H
#define DUMP_PRINT_TEXT_POOL_H

#include <pthread.h>
#include <stddef.h>

#include "common/text/text.h"

#define DUMP_TEXT_POOL_MAX 64

/* Thread-safe. */
struct dump_text_pool {
	pthread_mutex_t lock;
	struct ptl_bytes texts[DUMP_TEXT_POOL_MAX];
	size_t count;
	size_t bytes;     /* sum over all texts */
	size_t bytes_max; /* maximum of `bytes` */
};

void dump_text_pool_init(struct dump_text_pool *pool, size_t bytes_max);
void dump_text_pool_free(struct dump_text_pool *pool);

/* Returns an empty text, which may own memory. */
struct ptl_bytes dump_text_pool_take(struct dump_text_pool *pool);

/* Takes over the text's memory, and empties *text. */
void dump_text_pool_return(struct dump_text_pool *pool, struct ptl_bytes *text);

#endif
