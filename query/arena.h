/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is given back all at once: what a rule file becomes lives as long as the rules. */
#ifndef QUERY_ARENA_H
#define QUERY_ARENA_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct query_arena {
	struct query_arena_block *blocks;
};

/* Zeroed memory for any type; NULL without memory, with common_fail_memory called. */
void *query_alloc(struct query_arena *arena, size_t size);
/* A copy of size bytes with a zero byte behind it; NULL as above. */
char *query_copy(struct query_arena *arena, const void *data, size_t size);
/* Takes all memory back and keeps a block for what comes. */
void query_arena_reset(struct query_arena *arena);
void query_arena_free(struct query_arena *arena);

#endif
