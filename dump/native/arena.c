/* SPDX-License-Identifier: BSD-2-Clause */
/* An arena of chunks of 256 KiB; a larger piece has a chunk of its own. */
#include "dump/native/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define CHUNK_SIZE (256u << 10)

struct native_chunk {
	struct native_chunk *older;
	size_t size;
	_Alignas(16) unsigned char bytes[];
};

static int add_chunk(struct native_arena *arena, size_t size)
{
	struct native_chunk *chunk;

	if (size < CHUNK_SIZE)
		size = CHUNK_SIZE;
	if (size > SIZE_MAX - sizeof(*chunk))
		return -1;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return -1;
	chunk->older = arena->chunk;
	chunk->size = size;
	arena->chunk = chunk;
	arena->used = 0;
	arena->total += size;
	return 0;
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

void native_arena_free(struct native_arena *arena)
{
	while (arena->chunk) {
		struct native_chunk *older = arena->chunk->older;

		free(arena->chunk);
		arena->chunk = older;
	}
	*arena = (struct native_arena){0};
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
	*from = (struct native_arena){0};
}
