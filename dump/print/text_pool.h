/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of texts that were written, for those to come: given back to the system and asked for again, every page
 * of it would be cleared again, which takes longer than making the lines.
 */
#ifndef DUMP_PRINT_TEXT_POOL_H
#define DUMP_PRINT_TEXT_POOL_H

#include <pthread.h>
#include <stddef.h>

#include "common/text/text.h"

#define DUMP_TEXT_POOL_MAX 64

/* Any thread may take and return. */
struct dump_text_pool {
	pthread_mutex_t lock;
	struct ptl_bytes texts[DUMP_TEXT_POOL_MAX];
	size_t count;
	size_t bytes;     /* of all */
	size_t bytes_max; /* more than this is not kept */
};

void dump_text_pool_init(struct dump_text_pool *pool, size_t bytes_max);
void dump_text_pool_free(struct dump_text_pool *pool);

/* An empty text, which may have memory. */
struct ptl_bytes dump_text_pool_take(struct dump_text_pool *pool);

/* Takes the text's memory over, and leaves *text empty. */
void dump_text_pool_return(struct dump_text_pool *pool, struct ptl_bytes *text);

#endif
