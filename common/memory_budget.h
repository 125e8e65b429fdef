/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds the memory for an input's objects (such as images), whose number is unbounded. Allocations are counted, and a
 * program that promises a memory limit sets the bound.
 */
#ifndef COMMON_MEMORY_BUDGET_H
#define COMMON_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory counted for one owner. A zero-initialised budget is empty. */
struct common_memory_budget {
	size_t bytes;
};

/*
 * Sets the bound for all budgets of the process together, in bytes; 0 (default): no bound. Call before starting
 * threads.
 */
void common_memory_budget_limit(size_t bytes);
/*
 * Counts `bytes` that the caller is about to allocate. PTL_NO_MEMORY if the bound would be exceeded: nothing is counted
 * then. The error text says that there are too many of `what` (a plural, such as "images"); `number` counts the
 * objects, including the refused object.
 */
int common_memory_budget_take(struct common_memory_budget *memory_budget, size_t bytes, const char *what,
			      uint64_t number);
/* Whether any allocation was refused. */
bool common_memory_budget_refused(void);
/* Returns the whole budget of this owner. */
void common_memory_budget_close(struct common_memory_budget *memory_budget);
/*
 * Returns the size for a buffer, cache or queue whose preferred size is `bytes`. The size shrinks when much of the
 * bound is taken, so that budgets and buffers together exceed the bound by at most an eighth.
 */
size_t common_memory_budget_share(size_t bytes);

#endif
