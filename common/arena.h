/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is given out in small pieces and given back all at once. */
#ifndef COMMON_ARENA_H
#define COMMON_ARENA_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct common_arena {
	struct common_arena_block *blocks; /* the newest first */
	size_t block_size;                 /* of blocks to come, at least; 0: 16 KiB */
	size_t total;                      /* bytes of all blocks */
};

/* Memory for any type, not cleared; NULL without memory, with the reason in the chain. */
void *common_arena_take(struct common_arena *arena, size_t size);
/* The same, cleared. */
void *common_arena_zeroed(struct common_arena *arena, size_t size);
/* A copy of size bytes with a zero byte behind it; NULL as above. */
char *common_arena_copy(struct common_arena *arena, const void *data, size_t size);
/* Takes all memory back and keeps a block for what comes. */
void common_arena_reset(struct common_arena *arena);
/* Takes all memory back; block_size stays. */
void common_arena_free(struct common_arena *arena);

#endif
