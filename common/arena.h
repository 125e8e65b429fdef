/* SPDX-License-Identifier: BSD-2-Clause */
/* Arena: memory that is handed out in small pieces and released all at once. */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* A zero-initialised arena is empty. */
struct common_arena {
	struct common_arena_block *blocks; /* list, newest block first */
	size_t block_size;                 /* least size in bytes of new blocks; 0: 16 KiB */
	size_t total;                      /* bytes of all blocks */
};

/* Returns uninitialised memory, aligned for any type. NULL without memory, with the reason in the error chain. */
void *common_arena_take(struct common_arena *arena, size_t size);
/* As common_arena_take, but the memory is zeroed. */
void *common_arena_zeroed(struct common_arena *arena, size_t size);
/* Returns a copy of `size` bytes, followed by a zero byte. NULL as common_arena_take. */
char *common_arena_copy(struct common_arena *arena, const void *data, size_t size);
/*
 * Makes room for one more element in *array (a pointer to a pointer), which holds `count` elements of `element` bytes. The
 * array must have grown only by one element at a time, through this function, and begins with NULL. A full array moves to a
 * place of twice the size. New elements are zeroed. False as NULL of common_arena_take: nothing has changed then.
 */
bool common_arena_room(struct common_arena *arena, void *array, size_t count, size_t element);
/* Invalidates all memory handed out. Keeps one block for reuse, unless the arena has several blocks or a large one. */
void common_arena_reset(struct common_arena *arena);
/* Frees all blocks; block_size stays. */
void common_arena_free(struct common_arena *arena);

#endif
