/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow from counter to counter: the current counter, and the current calls. The caller counts the regions. */
#ifndef FLOW_NATIVE_COUNTER_WALK_H
#define FLOW_NATIVE_COUNTER_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/native/cache/counter.h"
#include "flow/native/walk.h"
#include "format/pt/last_ip.h"

/* maximum number of consecutive regions without a packet; more may be an endless loop */
#define NATIVE_PASSED_MAX 16

/* The parts of the decoder's state that the walk changes. */
struct native_counter_walk {
	struct native_decoder *decoder;
	struct native_counter *table;
	const uint8_t *at;
	unsigned size; /* size of the current packet, if a TNT packet */
	uint64_t last_ip;
	uint32_t here; /* counter of the current region */
	/* The return stack. Calls from `known` on are in `calls`; the decoder has the older calls. */
	unsigned top, depth, known;
	uint32_t calls[NATIVE_STACK]; /* counters of return addresses, as a ring */
};

/*
 * Counters of regions that flow passes before a packet decides (numbers), and of the region in which a packet decides
 * (here).
 */
struct native_passed {
	uint32_t numbers[NATIVE_PASSED_MAX];
	uint32_t count;
	uint32_t here;
};

/* Checks whether counters can follow flow from the current region, and may handle the next packet. */
bool native_counter_walk_is_ready(const struct native_decoder *decoder);
/*
 * Begins a walk at the decoder's place. The decoder's return stack must be complete. The walk's ring of calls is not
 * cleared. Returns false without memory.
 */
bool native_counter_walk_begin(struct native_counter_walk *walk, struct native_decoder *decoder);
/* Gives position, region and return stack back to the decoder. */
void native_counter_walk_end(const struct native_counter_walk *walk);

/* Returns the number of the region's counter; 0: no region, or no memory. */
uint32_t native_counter_walk_number(struct native_counter_walk *walk, struct native_region *region);
/*
 * Pushes the calls of a region, and finds the counters of their return addresses. Returns false without memory: then
 * nothing was pushed.
 */
bool native_counter_walk_calls(struct native_counter_walk *walk, const struct native_region *region);
/*
 * Finds the region in which a packet decides. The caller leaves the regions in passed->numbers, and then continues at
 * passed->here. Returns NULL, with no passed regions, if counters cannot follow the flow, or without memory.
 */
struct native_region *native_counter_walk_decision(struct native_counter_walk *walk, struct native_passed *passed);
/* Returns the counter to which a TNT bit leads from a region; 0: unknown. */
uint32_t native_counter_walk_target(struct native_counter_walk *walk, struct native_region *region, unsigned taken);
/* Moves the walk to counter `to`, after the current region was left. */
void native_counter_walk_go(struct native_counter_walk *walk, const struct native_region *region, unsigned taken,
			    uint32_t to);

static inline struct native_counted *native_counter_walk_counted(const struct native_counter_walk *walk,
								 uint32_t number)
{
	return native_counters_counted(&walk->decoder->code->counters, number);
}

static inline struct native_counter *native_counter_walk_here(const struct native_counter_walk *walk)
{
	return native_counter_at(walk->table, walk->here);
}

static inline void native_counter_walk_push(struct native_counter_walk *walk, uint32_t number)
{
	walk->calls[walk->top++ % NATIVE_STACK] = number;
	if (walk->depth < NATIVE_STACK)
		walk->depth++;
	else if (walk->known)
		walk->known--;
}

/* Pushes the calls of a plain counter. push: the counter's `push`, not 0. */
static inline void native_counter_walk_push_plain(struct native_counter_walk *walk, uint32_t push)
{
	const uint32_t *call;

	if (__builtin_expect(!(push & NATIVE_COUNTER_CALLS), 1)) {
		native_counter_walk_push(walk, push);
		return;
	}
	for (call = &walk->decoder->code->counters.calls[push & ~NATIVE_COUNTER_CALLS]; *call; call++)
		native_counter_walk_push(walk, *call);
}

static inline void native_counter_walk_pop(struct native_counter_walk *walk)
{
	if (!walk->depth) {
		walk->decoder->calls.missing++;
		return;
	}
	walk->depth--;
	walk->top--;
	if (walk->known > walk->depth)
		walk->known = walk->depth;
}

/* Finds the address of the current TIP packet. Returns the size of the packet; 0: the packet has no address. */
static inline unsigned native_counter_walk_ip(const struct native_counter_walk *walk, unsigned first, uint64_t *ip)
{
	const unsigned form = first >> FORMAT_PT_IP_SHIFT;
	const unsigned size = format_pt_ip_size(form);

	if (!form || size > 8)
		return 0;
	*ip = format_pt_ip_expand(walk->last_ip, (uint8_t)form,
				  common_load64(walk->at + 1) & (~0ull >> (64 - 8 * size)));
	return 1 + size;
}

#endif
