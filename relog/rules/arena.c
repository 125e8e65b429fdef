/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of memory in a list, freed together. */
#include "relog/rules/arena.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define BLOCK_SIZE 16384u
#define ALIGNMENT 16u

struct rules_arena_block {
	struct rules_arena_block *next;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) unsigned char data[];
};

void *rules_alloc(struct rules_arena *arena, size_t size)
{
	size_t rounded = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	struct rules_arena_block *block = arena->blocks;
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

char *rules_copy(struct rules_arena *arena, const void *data, size_t size)
{
	char *copy = rules_alloc(arena, size + 1);

	if (copy && size)
		memcpy(copy, data, size);
	return copy;
}

void rules_arena_reset(struct rules_arena *arena)
{
	struct rules_arena_block *block = arena->blocks;

	if (!block)
		return;
	if (block->next || block->size > BLOCK_SIZE) {
		rules_arena_free(arena);
		return;
	}
	memset(block->data, 0, block->used);
	block->used = 0;
}

void rules_arena_free(struct rules_arena *arena)
{
	while (arena->blocks) {
		struct rules_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
}
