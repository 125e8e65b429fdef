/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TNT16 cache: the result of up to 16 TNT bits, including the return stack, with sums or the number of look-ups.
 * For views that only count.
 */
#ifndef FLOW_NATIVE_CACHE_TNT16_H
#define FLOW_NATIVE_CACHE_TNT16_H

#include "common/hash_map.h"
#include "flow/native/cache/region.h"

/*
 * A context: the place of flow, and the return addresses of the calls. Consists of a region, and of the context after
 * the newest call returns.
 */
struct native_context {
	struct native_region *region;
	uint32_t under; /* id of the context after the newest call returns; 0: no known call */
	uint32_t depth; /* number of calls */
};

/* The effect of a window, up to 16 bits, in a context. */
struct native_tnt16_entry {
	uint32_t tag;  /* the context, and the distance of the entry from its own place; 0: empty */
	uint32_t to;   /* id of the next context */
	uint64_t sums; /* blocks in the lower 24 bits, instructions above; with counts: number of look-ups */
};

/* The cache. Useful if windows repeat in few contexts. */
struct native_tnt16 {
	struct native_tnt16_entry *table; /* NATIVE_TNT16_ENTRIES elements; NULL: not needed yet */
	struct native_context *contexts;  /* by number; number 0 is not used */
	struct common_hash_map by_region; /* ids of contexts, by region and the context below */
	uint32_t context_count;
	uint32_t context_capacity;
	uint32_t users;  /* number of counting slots */
	uint64_t pages;  /* pages of tracked code in all entries */
	uint32_t turn;   /* selects the entry to replace next */
	uint32_t pause;  /* calls of native_tnt16_begin until the cache is used again */
	uint32_t pauses; /* number of consecutive pauses */
	int64_t credit;  /* packets saved by the cache, minus the costs */
	bool full;       /* no room for more contexts */
	bool counted;    /* entries may have counts */
};

void native_tnt16_close(struct native_tnt16 *tnt16);

/*
 * Checks whether a slot may begin to count. depth: number of calls on the slot's stack. Returns false without memory,
 * or while entries are made too often compared with their use. Clears the contexts if the table of contexts is full and
 * no slot counts.
 */
bool native_tnt16_begin(struct native_code *code, unsigned depth);
/* Adds the counts of all entries to the counters, and sets the counts to zero. Called before code changes. */
void native_tnt16_drain(struct native_code *code);

/* Ends the counting of a slot, after this number of packets. */
void native_tnt16_end(struct native_tnt16 *tnt16, uint64_t packets);

/*
 * Conversion of a context's number to its id: 15 mixed bits above 4 zero bits. An id combined with a window gives the
 * byte offset of an entry. Id 0 is no context.
 */
#define NATIVE_CONTEXT_FACTOR 0x66d5u
#define NATIVE_CONTEXT_INVERSE 0x227du
#define NATIVE_CONTEXT_LIMIT (1u << 15) /* limit of numbers, exclusive */
#define NATIVE_CONTEXT_IDS ((NATIVE_CONTEXT_LIMIT - 1) << 4)

static inline uint32_t native_context_id(uint32_t number)
{
	return (number * NATIVE_CONTEXT_FACTOR & (NATIVE_CONTEXT_LIMIT - 1)) << 4;
}

static inline const struct native_context *native_context_of(const struct native_tnt16 *tnt16, uint32_t id)
{
	return &tnt16->contexts[(id >> 4) * NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1)];
}

/* The context after bits that do not fit the code. All entries of this context lead to itself, with sums of 0. */
#define NATIVE_CONTEXT_LOST (1u << 4)

/*
 * Returns the id of the context with this region, whose calls return to the context `under` (0: no call). 0: too many
 * contexts, too many calls, or no memory.
 */
uint32_t native_context_get(struct native_tnt16 *tnt16, struct native_region *region, uint32_t under);

/*
 * Windows have three kinds, each with a separate part of the table: 16 bits; the first 15 bits of a full TNT-64 packet;
 * and fewer bits, below a stop bit.
 */
#define NATIVE_TNT16_BITS 16
#define NATIVE_TNT16_FIRST_BITS 15
#define NATIVE_TNT16_FIRST ((size_t)1 << NATIVE_TNT16_BITS) /* entries before the part of the first 15 bits */
#define NATIVE_TNT16_SHORT (NATIVE_TNT16_FIRST + (1u << NATIVE_TNT16_FIRST_BITS))
#define NATIVE_TNT16_ENTRIES (NATIVE_TNT16_SHORT + (1u << NATIVE_TNT16_FIRST_BITS))

/* Sums of entries. The sums of NATIVE_TNT16_SUMMED entries do not overflow their fields. */
#define NATIVE_TNT16_SUMMED (1u << 12)
#define NATIVE_TNT16_BLOCKS_MAX ((1u << 12) - 1)
#define NATIVE_TNT16_INSTRUCTIONS_MAX ((1u << 28) - 1)
#define NATIVE_TNT16_SUM_BLOCKS(sums) ((sums)&0xffffff)
#define NATIVE_TNT16_SUM_INSTRUCTIONS(sums) ((sums) >> 24)

/*
 * Returns the place of an entry in its part of the table, as a byte offset. The entry is there if its tag is the
 * context. shifted: the window with 4 bits below.
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
 * Finds or makes an entry that is not at its place, and moves the entry there. part: number of entries before the part.
 */
void native_tnt16_find(struct native_code *code, size_t part, uint64_t context, uint64_t place);

#endif
