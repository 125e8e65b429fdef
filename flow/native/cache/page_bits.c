/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of bits by entry. Each group of entries has a summary, so that most entries need not be read. */
#include "flow/native/cache/page_bits.h"

#include <stdlib.h>
#include <string.h>

static size_t words_of(const struct native_page_bits *bits)
{
	return bits->size + bits->size / NATIVE_PAGE_BITS_GROUP;
}

uint64_t native_page_bits_of(uint64_t first, uint64_t last)
{
	uint64_t pages = 0;

	for (uint64_t page = first >> NATIVE_PAGE_SHIFT; page <= last >> NATIVE_PAGE_SHIFT && ~pages; page++)
		pages |= native_page_bit(page << NATIVE_PAGE_SHIFT);
	return pages;
}

bool native_page_bits_open(struct native_page_bits *bits)
{
	bits->pages = calloc(words_of(bits), sizeof(*bits->pages));
	return bits->pages;
}

void native_page_bits_drop(struct native_page_bits *bits, uint64_t pages, void (*drop)(void *context, size_t entry),
			   void *context)
{
	for (size_t group = 0; bits->pages && group < bits->size / NATIVE_PAGE_BITS_GROUP; group++) {
		uint64_t *entries = bits->pages + group * NATIVE_PAGE_BITS_GROUP, left = 0;

		if (!(bits->pages[bits->size + group] & pages))
			continue;
		for (size_t i = 0; i < NATIVE_PAGE_BITS_GROUP; i++) {
			if (entries[i] & pages) {
				drop(context, group * NATIVE_PAGE_BITS_GROUP + i);
				entries[i] = 0;
			}
			left |= entries[i];
		}
		bits->pages[bits->size + group] = left;
	}
}

void native_page_bits_clear(struct native_page_bits *bits)
{
	if (bits->pages)
		memset(bits->pages, 0, words_of(bits) * sizeof(*bits->pages));
}

void native_page_bits_close(struct native_page_bits *bits)
{
	free(bits->pages);
	bits->pages = NULL;
}
