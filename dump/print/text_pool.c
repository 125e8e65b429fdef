/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/print/text_pool.h"

void dump_text_pool_init(struct dump_text_pool *pool, size_t bytes_max)
{
	*pool = (struct dump_text_pool){.bytes_max = bytes_max};
	pthread_mutex_init(&pool->lock, NULL);
}

void dump_text_pool_free(struct dump_text_pool *pool)
{
	while (pool->count)
		common_bytes_free(&pool->texts[--pool->count]);
	pthread_mutex_destroy(&pool->lock);
}

struct ptl_bytes dump_text_pool_take(struct dump_text_pool *pool)
{
	struct ptl_bytes text = {0};

	pthread_mutex_lock(&pool->lock);
	if (pool->count) {
		text = pool->texts[--pool->count];
		pool->bytes -= text.capacity;
	}
	pthread_mutex_unlock(&pool->lock);
	text.size = 0;
	return text;
}

void dump_text_pool_return(struct dump_text_pool *pool, struct ptl_bytes *text)
{
	pthread_mutex_lock(&pool->lock);
	if (text->capacity && !text->failed && pool->count < DUMP_TEXT_POOL_MAX &&
	    pool->bytes + text->capacity <= pool->bytes_max) {
		pool->bytes += text->capacity;
		pool->texts[pool->count++] = *text;
		*text = (struct ptl_bytes){0};
	}
	pthread_mutex_unlock(&pool->lock);
	common_bytes_free(text);
}
