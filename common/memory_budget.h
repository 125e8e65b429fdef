/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What has to be remembered of an input grows with the number of things in it, whatever their size. It is counted, and a
 * program that promises to stay within some memory states how much of it there may be.
 */
#ifndef COMMON_MEMORY_BUDGET_H
#define COMMON_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one owner has taken. Zero-initialised is nothing. */
struct common_memory_budget {
	size_t bytes;
};

/* What all budgets of the process may hold together; 0, as at the start: no bound. Before any threads are there. */
void common_memory_budget_limit(size_t bytes);
/*
 * Counts bytes that are going to be allocated. PTL_NO_MEMORY: they would pass the bound, and nothing was counted; the
 * chain then says that there are too many of what (a plural, such as "images"), number counted with this one.
 */
int common_memory_budget_take(struct common_memory_budget *memory_budget, size_t bytes, const char *what,
			      uint64_t number);
/* Whether any was refused. */
bool common_memory_budget_refused(void);
/* Gives all of it back. */
void common_memory_budget_close(struct common_memory_budget *memory_budget);
/*
 * What a buffer, cache or queue may hold whose size is free to choose and would be `bytes`: less, where much of the
 * bound was taken, so that both together stay within an eighth more than the bound.
 */
size_t common_memory_budget_share(size_t bytes);

#endif
