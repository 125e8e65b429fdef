/* SPDX-License-Identifier: BSD-2-Clause */
/* Drops functions whose addresses were reused by functions generated later. */
#include <stdlib.h>

#include "common/error.h"
#include "common/heap.h"
#include "elf/symbols_text.h"

/* Addresses of a function and its order of generation: a higher index is later. */
struct span {
	uint64_t first, last;
	size_t index;
};

static bool is_later(const struct span *a, const struct span *b)
{
	return a->index > b->index;
}

COMMON_HEAP(span, struct span, is_later)

static int by_address(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->index > b->index) - (a->index < b->index);
}

/*
 * Marks the functions that still exist. At any address, only the latest function exists, so only the top of the heap
 * may still exist. The heap keeps older functions, as they overwrote still older ones.
 */
static void sweep(const struct span *spans, size_t count, struct span *active, bool *kept)
{
	size_t open = 0;

	for (size_t i = 0; i < count; i++) {
		const struct span *span = &spans[i];

		while (open && active[0].last < span->first) {
			active[0] = active[--open];
			span_sink(active, open, 0);
		}
		kept[span->index] = !open || active[0].index < span->index;
		if (open && kept[span->index])
			kept[active[0].index] = false;
		active[open] = *span;
		span_rise(active, open++);
	}
}

int elf_symbols_latest(struct elf_symbol_list *symbols, size_t first)
{
	const size_t count = symbols->count - first;
	struct span *spans = calloc(2 * count + 1, sizeof(*spans));
	bool *kept = calloc(count + 1, sizeof(*kept));
	size_t stay = first;

	if (!spans || !kept) {
		free(spans);
		free(kept);
		return common_fail_memory("symbols", 2 * count * sizeof(*spans));
	}
	for (size_t i = 0; i < count; i++) {
		const struct ptl_symbol *symbol = &symbols->list[first + i];
		const uint64_t more = symbol->size ? symbol->size - 1 : 0, rest = UINT64_MAX - symbol->address;

		spans[i] = (struct span){symbol->address, symbol->address + (more < rest ? more : rest), i};
	}
	qsort(spans, count, sizeof(*spans), by_address);
	sweep(spans, count, spans + count, kept);
	free(spans);
	for (size_t i = 0; i < count; i++)
		if (kept[i])
			symbols->list[stay++] = symbols->list[first + i];
	symbols->count = stay;
	free(kept);
	return 0;
}
