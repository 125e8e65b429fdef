/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of memory in a list, freed together. */
#include "query/arena.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define BLOCK_SIZE 16384u
#define ALIGNMENT 16u

struct query_arena_block {
	struct query_arena_block *next;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) unsigned char data[];
};

void *query_alloc(struct query_arena *arena, size_t size)
{
	size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	struct query_arena_block *block = arena->blocks;
	void *result;

	if (!block || rounded > block->size - block->used) {
		size_t room = rounded > BLOCK_SIZE ? rounded : BLOCK_SIZE;

		block = calloc(1, sizeof(*block) + room);
		if (!block) {
			common_fail_memory("rules", room);
			return NULL;
		}
		block->size = room;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	result = block->data + block->used;
	block->used += rounded;
	return result;
}

char *query_copy(struct query_arena *arena, const void *data, size_t size)
{
	char *copy = query_alloc(arena, size + 1);

	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

void query_arena_reset(struct query_arena *arena)
{
	struct query_arena_block *block = arena->blocks;

	if (!block)
		return;
	if (block->next || block->size > BLOCK_SIZE) {
		query_arena_free(arena);
		return;
	}
	memset(block->data, 0, block->used);
	block->used = 0;
}

void query_arena_free(struct query_arena *arena)
{
	while (arena->blocks) {
		struct query_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
}
