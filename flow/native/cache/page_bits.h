/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which entries of a table depend on which pages of code that may change: 64 bits an entry, one for all pages with the same
 * hash. Nothing is allocated until an entry depends on a page.
 */
#ifndef FLOW_NATIVE_CACHE_PAGE_BITS_H
#define FLOW_NATIVE_CACHE_PAGE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"

#define NATIVE_PAGE_SHIFT 12
#define NATIVE_PAGE_BITS_GROUP 64

/* Initialised with the number of entries, a multiple of NATIVE_PAGE_BITS_GROUP, alone. */
struct native_page_bits {
	size_t size;
	uint64_t
		*pages; /* by entry; behind them, for each group of entries, the union of their bits. NULL: all are 0 */
};

/* The bit of the page that ip lies in. */
static inline uint64_t native_page_bit(uint64_t ip)
{
	return 1ull << common_hash_high(ip >> NATIVE_PAGE_SHIFT, 6);
}

/* The bits of all pages from that of `first` to that of `last`. */
uint64_t native_page_bits_of(uint64_t first, uint64_t last);

/* Makes the table; false without memory. */
bool native_page_bits_open(struct native_page_bits *bits);

/* The entry depends on these pages, and no others. False without memory. */
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

/* Calls `drop` for each entry that depends on one of these pages; it depends on none from then on. */
void native_page_bits_drop(struct native_page_bits *bits, uint64_t pages, void (*drop)(void *context, size_t entry),
			   void *context);
/* No entry depends on any page. */
void native_page_bits_clear(struct native_page_bits *bits);
void native_page_bits_close(struct native_page_bits *bits);

#endif
