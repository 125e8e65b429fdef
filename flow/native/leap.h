/* SPDX-License-Identifier: BSD-2-Clause */
/* What up to 16 TNT bits add up to, and where they lead, return stack included: for views that only count. */
#ifndef FLOW_NATIVE_LEAP_H
#define FLOW_NATIVE_LEAP_H

#include "flow/native/node.h"

void native_leaps_close(struct native_leaps *leaps);
void native_leaps_forget(struct native_leaps *leaps);
/* Code has changed in pages, see native_page_bit, while no lane leaps: leaps are made anew if any was made of that code. */
void native_leaps_change(struct native_leaps *leaps, uint64_t pages);

/*
 * Whether a lane whose stack has so many calls may begin to leap: false while leaps are made too often for how often they
 * are found, and without memory. Contexts may be forgotten while no lane leaps.
 */
bool native_leaps_begin(struct native_leaps *leaps, unsigned depth);
/* A lane that began has taken so many packets by leaps. */
void native_leaps_end(struct native_leaps *leaps, uint64_t packets);

/*
 * A context's id is its number, mixed: 15 bits above 4 that are zero, so that with a window it gives the byte offset of a
 * leap. 0 is none.
 */
#define NATIVE_CONTEXT_FACTOR 0x66d5u
#define NATIVE_CONTEXT_INVERSE 0x227du
#define NATIVE_CONTEXT_LIMIT (1u << 15) /* numbers are below */

static inline uint32_t native_context_id(uint32_t number)
{
	return (number * NATIVE_CONTEXT_FACTOR & (NATIVE_CONTEXT_LIMIT - 1)) << 4;
}

static inline const struct native_context *native_context_of(const struct native_leaps *leaps, uint32_t id)
{
	return &leaps->contexts[(id >> 4) * NATIVE_CONTEXT_INVERSE & (NATIVE_CONTEXT_LIMIT - 1)];
}

/* Where bits lead that do not fit the code: all leaps in this context stay in it, and add nothing. */
#define NATIVE_CONTEXT_LOST (1u << 4)

/*
 * The context with the node, whose calls return to the context `under` (0: to none). 0: there are too many, it is too deep,
 * or there is no memory.
 */
uint32_t native_context_get(struct native_leaps *leaps, struct native_node *node, uint32_t under);

/*
 * Windows are of three kinds, each of which has a part of the table of its own: 16 bits; the first 15 of a whole TNT-64
 * packet; and fewer bits, below a stop bit.
 */
#define NATIVE_LEAP_BITS 16
#define NATIVE_LEAP_FIRST_BITS 15
#define NATIVE_LEAPS_FIRST ((size_t)1 << NATIVE_LEAP_BITS) /* leaps before those of the first 15 bits */
#define NATIVE_LEAPS_SHORT (NATIVE_LEAPS_FIRST + (1u << NATIVE_LEAP_FIRST_BITS))
#define NATIVE_LEAPS (NATIVE_LEAPS_SHORT + (1u << NATIVE_LEAP_FIRST_BITS))

/* Sums of leaps; of so many that they fit their fields. */
#define NATIVE_LEAPS_SUMMED (1u << 12)
#define NATIVE_LEAP_BLOCKS_MAX ((1u << 12) - 1)
#define NATIVE_LEAP_INSTRUCTIONS_MAX ((1u << 28) - 1)
#define NATIVE_SUMS_BLOCKS(sums) ((sums)&0xffffff)
#define NATIVE_SUMS_INSTRUCTIONS(sums) ((sums) >> 24)

/*
 * A leap's place in its part of the table, as a byte offset so that nothing need be scaled; it is there if its tag is the context.
 * `shifted` is the window with 4 bits below it.
 */
static inline uint64_t native_leap_place(uint64_t context, uint64_t shifted)
{
	return context ^ shifted;
}

static inline struct native_leap *native_leap_at(struct native_leap *part, uint64_t place)
{
	return (struct native_leap *)((char *)part + place);
}

/* Puts the leap of a context at its place, where it was not. `part`: leaps before the part. */
void native_leap_find(struct native_code *code, size_t part, uint64_t context, uint64_t place);

#endif
