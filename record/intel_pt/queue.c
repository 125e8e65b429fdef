/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues of pieces. The free list is a stack: recently used pieces, which are in caches, are reused first. */
#include "record/intel_pt/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/error.h"

#define KEPT 16 /* number of pieces whose memory is kept */

struct intel_pt_piece {
	struct intel_pt_piece *next;
	uint8_t *bytes;
	size_t begin, end; /* range of waiting bytes */
};

struct intel_pt_pool {
	pthread_mutex_t lock;
	uint8_t *memory;
	struct intel_pt_piece *pieces, *free;
	size_t count;
	size_t used;    /* number of pieces in queues */
	size_t touched; /* number of pieces, from the first, used since memory was last returned */
};

int intel_pt_pool_new(size_t size, struct intel_pt_pool **pool)
{
	struct intel_pt_pool *made = calloc(1, sizeof(*made));
	const size_t count = size / INTEL_PT_PIECE;

	if (!made)
		return common_fail_memory("packets that wait", sizeof(*made));
	made->pieces = calloc(count ? count : 1, sizeof(*made->pieces));
	if (!made->pieces) {
		free(made);
		return common_fail_memory("packets that wait", count * sizeof(*made->pieces));
	}
	made->memory = !count ? NULL
			      : mmap(NULL, count * INTEL_PT_PIECE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made->memory == MAP_FAILED) {
		free(made->pieces);
		free(made);
		return common_fail_errno("memory for packets that wait");
	}
	made->count = count;
	/* Ordinary pages serve if no huge pages are available. */
	if (count)
		(void)madvise(made->memory, count * INTEL_PT_PIECE, MADV_HUGEPAGE);
	pthread_mutex_init(&made->lock, NULL);
	*pool = made;
	return 0;
}

void intel_pt_pool_free(struct intel_pt_pool *pool)
{
	if (!pool)
		return;
	if (pool->memory)
		munmap(pool->memory, pool->count * INTEL_PT_PIECE);
	pthread_mutex_destroy(&pool->lock);
	free(pool->pieces);
	free(pool);
}

static struct intel_pt_piece *take_piece(struct intel_pt_pool *pool)
{
	struct intel_pt_piece *piece;

	pthread_mutex_lock(&pool->lock);
	piece = pool->free;
	if (piece) {
		pool->free = piece->next;
	} else if (pool->touched < pool->count) {
		piece = &pool->pieces[pool->touched];
		piece->bytes = pool->memory + pool->touched++ * INTEL_PT_PIECE;
	}
	pool->used += piece != NULL;
	pthread_mutex_unlock(&pool->lock);
	if (piece) {
		piece->next = NULL;
		piece->begin = piece->end = 0;
	}
	return piece;
}

/* Returns the memory of a burst to the system. */
static void shrink(struct intel_pt_pool *pool)
{
	(void)madvise(pool->memory + KEPT * INTEL_PT_PIECE, (pool->touched - KEPT) * INTEL_PT_PIECE, MADV_DONTNEED);
	pool->touched = 0;
	pool->free = NULL;
}

static void give_piece(struct intel_pt_pool *pool, struct intel_pt_piece *piece)
{
	pthread_mutex_lock(&pool->lock);
	piece->next = pool->free;
	pool->free = piece;
	if (!--pool->used && pool->touched > KEPT)
		shrink(pool);
	pthread_mutex_unlock(&pool->lock);
}

static struct intel_pt_piece *last_with_room(struct intel_pt_queue *queue)
{
	struct intel_pt_piece *piece = queue->last;

	if (piece && piece->end < INTEL_PT_PIECE)
		return piece;
	piece = take_piece(queue->pool);
	if (!piece)
		return NULL;
	if (queue->last)
		queue->last->next = piece;
	else
		queue->first = piece;
	return queue->last = piece;
}

size_t intel_pt_queue_add(struct intel_pt_queue *queue, struct intel_pt_pool *pool, const uint8_t *bytes, size_t size)
{
	struct intel_pt_piece *piece;
	size_t done = 0;

	queue->pool = pool;
	while (done < size && (piece = last_with_room(queue))) {
		const size_t room = INTEL_PT_PIECE - piece->end, part = size - done < room ? size - done : room;

		memcpy(piece->bytes + piece->end, bytes + done, part);
		piece->end += part;
		done += part;
	}
	queue->size += done;
	return done;
}

size_t intel_pt_queue_bytes(const struct intel_pt_queue *queue, uint64_t size, const uint8_t **bytes)
{
	const struct intel_pt_piece *piece = queue->first;

	if (!piece)
		return 0;
	*bytes = piece->bytes + piece->begin;
	return size < piece->end - piece->begin ? (size_t)size : piece->end - piece->begin;
}

void intel_pt_queue_drop(struct intel_pt_queue *queue, size_t size)
{
	struct intel_pt_piece *piece = queue->first;

	if (!size)
		return;
	queue->size -= size;
	piece->begin += size;
	if (piece->begin < piece->end)
		return;
	queue->first = piece->next;
	if (!queue->first)
		queue->last = NULL;
	give_piece(queue->pool, piece);
}
