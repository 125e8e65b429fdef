/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of memory in a list, freed together. */
#include "common/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define BLOCK_SIZE 16384u
#define ALIGNMENT 16u
#define ARRAY_FIRST ((size_t)4) /* elements of a new array; a power of two */

struct common_arena_block {
	struct common_arena_block *next;
	size_t used;
	size_t size;
	_Alignas(ALIGNMENT) unsigned char data[];
};

static struct common_arena_block *add_arena_block(struct common_arena *arena, size_t size)
{
	const size_t least = arena->block_size ? arena->block_size : BLOCK_SIZE;
	const size_t room = size > least ? size : least;
	/* malloc(3) never returns more than PTRDIFF_MAX bytes, and sanitizers end a program that requests more. */
	struct common_arena_block *block = room > PTRDIFF_MAX - sizeof(*block) ? NULL : malloc(sizeof(*block) + room);

	if (!block) {
		common_fail_memory("small pieces", room);
		return NULL;
	}
	*block = (struct common_arena_block){.next = arena->blocks, .size = room};
	arena->blocks = block;
	arena->total += sizeof(*block) + room;
	return block;
}

void *common_arena_take(struct common_arena *arena, size_t size)
{
	struct common_arena_block *block = arena->blocks;
	void *result;

	size = size > SIZE_MAX - ALIGNMENT ? SIZE_MAX : (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!block || size > block->size - block->used)
		block = add_arena_block(arena, size);
	if (!block)
		return NULL;
	result = block->data + block->used;
	block->used += size;
	return result;
}

void *common_arena_zeroed(struct common_arena *arena, size_t size)
{
	void *memory = common_arena_take(arena, size);

	return memory ? memset(memory, 0, size) : NULL;
}

char *common_arena_copy(struct common_arena *arena, const void *data, size_t size)
{
	char *copy = size < SIZE_MAX ? common_arena_take(arena, size + 1) : NULL;

	if (!copy)
		return NULL;
	if (size)
		memcpy(copy, data, size);
	copy[size] = 0;
	return copy;
}

bool common_arena_room(struct common_arena *arena, void *array, size_t count, size_t element)
{
	const size_t room = count ? 2 * count : ARRAY_FIRST;
	void **place = array, *larger;

	if (count && (count < ARRAY_FIRST || (count & (count - 1))))
		return true;
	larger = common_arena_zeroed(arena, room <= SIZE_MAX / element ? room * element : SIZE_MAX);
	if (!larger)
		return false;
	if (count)
		memcpy(larger, *place, count * element);
	*place = larger;
	return true;
}

void common_arena_reset(struct common_arena *arena)
{
	struct common_arena_block *block = arena->blocks;

	if (!block)
		return;
	if (block->next || block->size > (arena->block_size ? arena->block_size : BLOCK_SIZE)) {
		common_arena_free(arena);
		return;
	}
	block->used = 0;
}

void common_arena_free(struct common_arena *arena)
{
	while (arena->blocks) {
		struct common_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->total = 0;
}
