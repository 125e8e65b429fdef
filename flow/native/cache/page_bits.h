/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dependencies of table entries on pages of code that may change: 64 bits for each entry. All pages with an equal hash
 * share a bit. The table is allocated when the first entry depends on a page.
 */
#ifndef FLOW_NATIVE_CACHE_PAGE_BITS_H
#define FLOW_NATIVE_CACHE_PAGE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

#define NATIVE_PAGE_SHIFT 12
#define NATIVE_PAGE_BITS_GROUP 64

/* The table. Only `size` is initialised: the number of entries, a multiple of NATIVE_PAGE_BITS_GROUP. */
struct native_page_bits {
	size_t size;
	uint64_t *pages; /* bits by entry, then the union of the bits of each group; NULL: all bits are 0 */
};

/* Returns the bit of the page that contains ip. */
static inline uint64_t native_page_bit(uint64_t ip)
{
	return 1ull << common_hash_high(ip >> NATIVE_PAGE_SHIFT, 6);
}

/* Returns the union of the page bits of [first, last]. */
uint64_t native_page_bits_of(uint64_t first, uint64_t last);

/* Allocates the table. Returns false without memory. */
bool native_page_bits_open(struct native_page_bits *bits);

/* Sets the pages of an entry; earlier pages are removed. Returns false without memory. */
static inline bool native_page_bits_set(struct native_page_bits *bits, size_t entry, uint64_t pages)
{
	if (__builtin_expect(!pages && !bits->pages, 1))
		return true;
	if (!bits->pages && !native_page_bits_open(bits))
		return false;
	bits->pages[entry] = pages;
	bits->pages[bits->size + entry / NATIVE_PAGE_BITS_GROUP] |= pages;
	return true;
}

/* Calls `drop` for each entry that depends on any of these pages, and removes the entry's pages. */
void native_page_bits_drop(struct native_page_bits *bits, uint64_t pages, void (*drop)(void *context, size_t entry),
			   void *context);
/* Removes the pages of all entries. */
void native_page_bits_clear(struct native_page_bits *bits);
void native_page_bits_close(struct native_page_bits *bits);

#endif
