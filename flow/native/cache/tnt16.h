/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TNT16 cache: what up to 16 TNT bits lead to, return stack included, with their sums or how often they came. It
 * serves views that only count.
 */
#ifndef FLOW_NATIVE_CACHE_TNT16_H
#define FLOW_NATIVE_CACHE_TNT16_H

#include "common/hash_map.h"
#include "flow/native/cache/region.h"

/*
 * A context: where flow is, and where each call returns to. A region, and the context after the newest call returns.
 */
struct native_context {
	struct native_region *region;
	uint32_t under; /* id of a context; 0: no call is known */
	uint32_t depth; /* calls */
};

/* The effect of a window, up to 16 bits, in a context. */
struct native_tnt16_entry {
	uint32_t tag; /* the context, and how far the entry is from its own place; 0: empty */
	uint32_t to;  /* context */
	uint64_t
		sums; /* of blocks, 24 bits, and of instructions above them. Where counts are wanted: how often it came */
};

/* For views that only count, where the same windows repeat in few contexts. */
struct native_tnt16 {
	struct native_tnt16_entry *table; /* NATIVE_TNT16_ENTRIES; NULL: not needed yet */
	struct native_context *contexts;  /* by number; there is none with the number 0 */
	struct common_hash_map by_region; /* ids of contexts by region and context under it */
	uint32_t context_count;
	uint32_t context_capacity;
	uint32_t users;  /* slots that count by it */
	uint64_t pages;  /* of tracked code that entries are made of */
	uint32_t turn;   /* which entry is replaced next */
	uint32_t pause;  /* calls of native_tnt16_begin until the cache is used again */
	uint32_t pauses; /* one after the other */
	int64_t credit;  /* packets that the cache has saved, but for what it has cost */
	bool full;       /* no more contexts */
	bool counted;    /* entries may have counts */
};

void native_tnt16_close(struct native_tnt16 *tnt16);

/*
 * Whether a slot whose stack has so many calls may begin to count: false while entries are made too often for how
 * often they are found, and without memory. Clears the contexts if they are full and no slot counts.
 */
bool native_tnt16_begin(struct native_code *code, unsigned depth);
/* Adds the counts of all entries to counters, and sets them to zero. Before code changes. */
void native_tnt16_drain(struct native_code *code);

/* A slot that began has counted so many packets. */
void native_tnt16_end(struct native_tnt16 *tnt16, uint64_t packets);

/*
 * The id of a context is its number, mixed: 15 bits above 4 that are zero, so that with a window it gives the byte
 * offset of an entry. 0 is none.
 */
#define NATIVE_CONTEXT_FACTOR 0x66d5u
#define NATIVE_CONTEXT_INVERSE 0x227du
#define NATIVE_CONTEXT_LIMIT (1u << 15) /* numbers are below */
#define NATIVE_CONTEXT_IDS ((NATIVE_CONTEXT_LIMIT - 1) << 4)

static inline uint32_t native_context_id(uint32_t number)
{
	return (number * NATIVE_CONTEXT_FACTOR & (NATIVE_CONTEXT_LIMIT - 1)) << 4;
}

static inline const struct native_context *native_context_of(const struct native_tnt16 *tnt16, uint32_t id)
{
	return &tnt16->contexts[(id >> 4) * NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1)];
}

/* The context after bits that do not fit the code: all entries in it lead to itself, and add nothing. */
#define NATIVE_CONTEXT_LOST (1u << 4)

/*
 * The context with the region, whose calls return to the context `under` (0: to none). 0: there are too many, it is too deep,
 * or there is no memory.
 */
uint32_t native_context_get(struct native_tnt16 *tnt16, struct native_region *region, uint32_t under);

/*
 * Windows are of three kinds, each of which has a part of the table of its own: 16 bits; the first 15 of a whole TNT-64
 * packet; and fewer bits, below a stop bit.
 */
#define NATIVE_TNT16_BITS 16
#define NATIVE_TNT16_FIRST_BITS 15
#define NATIVE_TNT16_FIRST ((size_t)1 << NATIVE_TNT16_BITS) /* entries before those of the first 15 bits */
#define NATIVE_TNT16_SHORT (NATIVE_TNT16_FIRST + (1u << NATIVE_TNT16_FIRST_BITS))
#define NATIVE_TNT16_ENTRIES (NATIVE_TNT16_SHORT + (1u << NATIVE_TNT16_FIRST_BITS))

/* Sums of entries; of so many that they fit their fields. */
#define NATIVE_TNT16_SUMMED (1u << 12)
#define NATIVE_TNT16_BLOCKS_MAX ((1u << 12) - 1)
#define NATIVE_TNT16_INSTRUCTIONS_MAX ((1u << 28) - 1)
#define NATIVE_TNT16_SUM_BLOCKS(sums) ((sums)&0xffffff)
#define NATIVE_TNT16_SUM_INSTRUCTIONS(sums) ((sums) >> 24)

/*
 * The place of an entry in its part of the table, as a byte offset; it is there if its tag is the context. `shifted`
 * is the window with 4 bits below it.
 */
static inline uint64_t native_tnt16_place(uint64_t context, uint64_t shifted)
{
	return context ^ shifted;
}

static inline struct native_tnt16_entry *native_tnt16_at(struct native_tnt16_entry *part, uint64_t place)
{
	return (struct native_tnt16_entry *)((char *)part + place);
}

/*
 * Finds or makes the entry of a context that is not at its place, and puts it there. `part`: entries before the part.
 */
void native_tnt16_find(struct native_code *code, size_t part, uint64_t context, uint64_t place);

#endif
