/* SPDX-License-Identifier: BSD-2-Clause */
/* Slots of equal size in a few huge pages; other blocks come from malloc. */
#include "format/reader/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define POOL_SIZE (4 * HUGE_PAGE)
#define ALIGNMENT 64
/*
 * Least bytes of a block for the pool. Buffers of a writer have 512 KiB by default; SLOT_MIN leaves room for a header.
 */
#define LARGE ((size_t)256 << 10)
#define LARGEST (POOL_SIZE / 4)
#define SLOT_MIN (2 * LARGE + 1024)

/*
 * Creates the pool with slots of at least `size` bytes. Without memory, all blocks come from malloc, which is only
 * slower.
 */
static void make_pool(struct format_pool *pool, size_t size)
{
	uint8_t *memory = mmap(NULL, POOL_SIZE + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (memory == MAP_FAILED)
		return;
	/* Unmaps the parts before the first and after the last whole huge page. */
	before = -(uintptr_t)memory & (HUGE_PAGE - 1);
	if (before)
		munmap(memory, before);
	if (before < HUGE_PAGE)
		munmap(memory + before + POOL_SIZE, HUGE_PAGE - before);
	pool->memory = memory + before;
	madvise(pool->memory, POOL_SIZE, MADV_HUGEPAGE);
	pool->slot = size < SLOT_MIN ? SLOT_MIN : (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static void *take_slot(struct format_pool *pool, size_t size)
{
	void *slot = pool->unused;

	if (size > pool->slot || size < LARGE)
		return NULL;
	if (slot) {
		memcpy(&pool->unused, slot, sizeof(pool->unused));
	} else if (POOL_SIZE - pool->fresh >= pool->slot) {
		slot = pool->memory + pool->fresh;
		pool->fresh += pool->slot;
	}
	return slot;
}

void *format_pool_take(struct format_pool *pool, size_t size)
{
	void *slot;

	if (pool->wanted && !pool->memory && size >= LARGE && size <= LARGEST)
		make_pool(pool, size);
	slot = take_slot(pool, size);
	return slot ? slot : malloc(size);
}

void format_pool_give(struct format_pool *pool, void *piece)
{
	if (pool->memory && (uintptr_t)piece - (uintptr_t)pool->memory < POOL_SIZE) {
		memcpy(piece, &pool->unused, sizeof(pool->unused));
		pool->unused = piece;
		return;
	}
	free(piece);
}

void format_pool_free(struct format_pool *pool)
{
	if (pool->memory)
		munmap(pool->memory, POOL_SIZE);
	*pool = (struct format_pool){0};
}
