/* SPDX-License-Identifier: BSD-2-Clause */
#include "common/memory_budget.h"

#include <inttypes.h>
#include <stdatomic.h>

#include "common/error.h"

static size_t limit;
static atomic_size_t taken;
static atomic_bool refused;

void common_memory_budget_limit(size_t bytes)
{
	limit = bytes;
}

int common_memory_budget_take(struct common_memory_budget *memory_budget, size_t bytes, const char *what,
			      uint64_t number)
{
	const size_t before = atomic_fetch_add_explicit(&taken, bytes, memory_order_relaxed);

	if (limit && (before > limit || bytes > limit - before)) {
		atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed);
		atomic_store_explicit(&refused, true, memory_order_relaxed);
		return common_fail(PTL_NO_MEMORY,
				   "there are too many %s: to remember more than %" PRIu64
				   " of them, and all else that the input has, would take more than %zu MiB",
				   what, number ? number - 1 : 0, limit >> 20);
	}
	memory_budget->bytes += bytes;
	return 0;
}

bool common_memory_budget_refused(void)
{
	return atomic_load_explicit(&refused, memory_order_relaxed);
}

void common_memory_budget_close(struct common_memory_budget *memory_budget)
{
	atomic_fetch_sub_explicit(&taken, memory_budget->bytes, memory_order_relaxed);
	memory_budget->bytes = 0;
}

size_t common_memory_budget_share(size_t bytes)
{
	const size_t now = atomic_load_explicit(&taken, memory_order_relaxed);
	const size_t all = limit + limit / 8;

	/* The full size while at most a third of the bound is taken; above, in proportion to the remaining memory. */
	if (!limit || now <= limit / 3)
		return bytes;
	return now >= all ? 0 : (size_t)((unsigned __int128)bytes * (all - now) / (all - limit / 3));
}
