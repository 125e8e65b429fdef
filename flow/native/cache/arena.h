/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is allocated in small pieces and freed all at once. */
#ifndef FLOW_NATIVE_CACHE_ARENA_H
#define FLOW_NATIVE_CACHE_ARENA_H

#include <stddef.h>

/* An arena. Zero-initialised, the arena is empty. */
struct native_arena {
	struct native_chunk *chunk; /* newest chunk, first in a list */
	size_t used;                /* bytes used in the newest chunk */
	size_t total;               /* bytes of all chunks */
	struct native_chunk *spare; /* empty chunks for later use: see native_arena_reuse */
};

/* Allocates size bytes, aligned to 16, not cleared. Returns NULL without memory. */
void *native_arena_take(struct native_arena *arena, size_t size);
void native_arena_free(struct native_arena *arena);
/* Lends memory, aligned to 16, to an empty arena. The arena uses the lent memory first. The caller keeps ownership. */
void native_arena_lend(struct native_arena *arena, void *memory, size_t size);
/*
 * Frees all pieces of `from`, but moves up to `most` bytes of huge pages to `to`, which uses these pages before new
 * memory.
 */
void native_arena_reuse(struct native_arena *from, struct native_arena *to, size_t most);
/* Moves all pieces of `from` to `to`. `from` is empty afterwards. */
void native_arena_move(struct native_arena *from, struct native_arena *to);

/*
 * Allocates zeroed memory that starts on a huge page. The memory lies in huge pages if the kernel has free huge pages:
 * one page fault instead of hundreds. Returns NULL without memory. native_pages_free needs the same size, and accepts
 * NULL.
 */
#define NATIVE_HUGE_PAGE ((size_t)2 << 20)
void *native_pages_take(size_t size);
void native_pages_free(void *pages, size_t size);

#endif
