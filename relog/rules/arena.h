/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that is given back all at once: what a rule file becomes lives as long as the rules. */
#ifndef RELOG_RULES_ARENA_H
#define RELOG_RULES_ARENA_H

#include <stddef.h>

/* Zero-initialised is empty. */
struct rules_arena {
	struct rules_arena_block *blocks;
};

/* Zeroed memory for any type; NULL without memory, with common_fail_memory called. */
void *rules_alloc(struct rules_arena *arena, size_t size);
/* A copy of size bytes with a zero byte behind it; NULL as above. */
char *rules_copy(struct rules_arena *arena, const void *data, size_t size);
/* Takes all memory back and keeps a block for what comes. */
void rules_arena_reset(struct rules_arena *arena);
void rules_arena_free(struct rules_arena *arena);

#endif
