/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is allocated in small pieces and freed all at once. */
#ifndef FLOW_NATIVE_CACHE_ARENA_H
#define FLOW_NATIVE_CACHE_ARENA_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct native_arena {
	struct native_chunk *chunk; /* the newest; older ones hang on it */
	size_t used;                /* of the newest */
	size_t total;               /* bytes of all chunks */
	struct native_chunk *spare; /* empty ones, for the next chunks: see native_arena_reuse */
};

/* Allocates size bytes, aligned to 16, not cleared; NULL without memory. */
void *native_arena_take(struct native_arena *arena, size_t size);
void native_arena_free(struct native_arena *arena);
/* The empty arena allocates first from this memory, aligned to 16, which still belongs to the caller. */
void native_arena_lend(struct native_arena *arena, void *memory, size_t size);
/* Frees all pieces of `from`, but keeps up to `most` bytes of its huge pages for `to`, which takes them before others. */
void native_arena_reuse(struct native_arena *from, struct native_arena *to, size_t most);
/* Moves all pieces of `from` to `to`; `from` is empty then. */
void native_arena_move(struct native_arena *from, struct native_arena *to);

/*
 * Zeroed memory that starts on a huge page, and lies in huge pages where the kernel has some: one page fault instead
 * of hundreds. NULL without memory. native_pages_free needs the same size, and accepts NULL.
 */
#define NATIVE_HUGE_PAGE ((size_t)2 << 20)
void *native_pages_take(size_t size);
void native_pages_free(void *pages, size_t size);

#endif
