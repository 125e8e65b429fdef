/* SPDX-License-Identifier: BSD-2-Clause */
/* An arena of chunks: first a small or lent chunk, then huge pages. A large piece has a chunk of its own. */
#include "flow/native/cache/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define FIRST_CHUNK ((size_t)128 << 10)

struct native_chunk {
	struct native_chunk *older;
	size_t size;
	bool mapped;
	bool lent;
	_Alignas(16) unsigned char bytes[];
};

void *native_pages_take(size_t size)
{
	uintptr_t first, last, start, end;
	char *memory;

	if (size > SIZE_MAX - NATIVE_HUGE_PAGE)
		return NULL;
	memory = mmap(NULL, size + NATIVE_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	/* Unmaps the memory before the first complete huge page and behind the last. */
	first = (uintptr_t)memory;
	last = first + size + NATIVE_HUGE_PAGE;
	start = (first + NATIVE_HUGE_PAGE - 1) & ~(NATIVE_HUGE_PAGE - 1);
	end = start + size;
	if (start > first)
		munmap(memory, start - first);
	if (last > end)
		munmap((void *)end, last - end);
	/* Without huge pages, the memory only is slower. */
	madvise((void *)start, size, MADV_HUGEPAGE);
	return (void *)start;
}

void native_pages_free(void *pages, size_t size)
{
	if (pages)
		munmap(pages, size);
}

static struct native_chunk *new_chunk(size_t size, bool mapped)
{
	struct native_chunk *chunk;

	if (mapped)
		size = (size + sizeof(*chunk) + NATIVE_HUGE_PAGE - 1) & ~(NATIVE_HUGE_PAGE - 1);
	chunk = mapped ? native_pages_take(size) : malloc(size);
	if (chunk)
		*chunk = (struct native_chunk){.size = size - sizeof(*chunk), .mapped = mapped};
	return chunk;
}

static int add_chunk(struct native_arena *arena, size_t size)
{
	bool mapped = arena->chunk || size > FIRST_CHUNK - sizeof(struct native_chunk);
	struct native_chunk *chunk;

	if (size > SIZE_MAX - NATIVE_HUGE_PAGE - sizeof(*chunk))
		return -1;
	chunk = arena->spare;
	if (chunk && size <= chunk->size)
		arena->spare = chunk->older;
	else
		chunk = new_chunk(mapped ? size : FIRST_CHUNK, mapped);
	if (!chunk)
		return -1;
	chunk->older = arena->chunk;
	arena->chunk = chunk;
	arena->used = 0;
	arena->total += chunk->size;
	return 0;
}

void native_arena_lend(struct native_arena *arena, void *memory, size_t size)
{
	struct native_chunk *chunk = memory;

	*chunk = (struct native_chunk){.size = size - sizeof(*chunk), .lent = true};
	*arena = (struct native_arena){.chunk = chunk, .total = chunk->size};
}

static void free_chunk(struct native_chunk *chunk)
{
	if (chunk->mapped)
		native_pages_free(chunk, chunk->size + sizeof(*chunk));
	else if (!chunk->lent)
		free(chunk);
}

void *native_arena_take(struct native_arena *arena, size_t size)
{
	void *piece;

	if (size > SIZE_MAX - 15)
		return NULL;
	size = (size + 15) & ~(size_t)15;
	if ((!arena->chunk || size > arena->chunk->size - arena->used) && add_chunk(arena, size) < 0)
		return NULL;
	piece = arena->chunk->bytes + arena->used;
	arena->used += size;
	return piece;
}

static void free_chunks(struct native_chunk *chunk)
{
	while (chunk) {
		struct native_chunk *older = chunk->older;

		free_chunk(chunk);
		chunk = older;
	}
}

void native_arena_free(struct native_arena *arena)
{
	free_chunks(arena->chunk);
	free_chunks(arena->spare);
	*arena = (struct native_arena){0};
}

void native_arena_reuse(struct native_arena *from, struct native_arena *to, size_t most)
{
	size_t kept = 0;

	for (const struct native_chunk *chunk = to->spare; chunk; chunk = chunk->older)
		kept += chunk->size;
	for (struct native_chunk *chunk = from->chunk, *older; chunk; chunk = older) {
		older = chunk->older;
		kept += chunk->size;
		if (!chunk->mapped || kept > most) {
			free_chunk(chunk);
			continue;
		}
		chunk->older = to->spare;
		to->spare = chunk;
	}
	*from = (struct native_arena){0};
}

void native_arena_move(struct native_arena *from, struct native_arena *to)
{
	struct native_chunk *oldest = from->chunk;

	if (!oldest)
		return;
	while (oldest->older)
		oldest = oldest->older;
	oldest->older = to->chunk;
	to->chunk = from->chunk;
	to->used = from->used;
	to->total += from->total;
	*from = (struct native_arena){.spare = from->spare};
}
