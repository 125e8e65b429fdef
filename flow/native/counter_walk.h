/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow that goes from counter to counter: where it is, and the calls that it is in. What becomes of regions is the caller's. */
#ifndef FLOW_NATIVE_COUNTER_WALK_H
#define FLOW_NATIVE_COUNTER_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/native/cache/counter.h"
#include "flow/native/walk.h"
#include "format/pt/last_ip.h"

/* Regions in a row that no packet decides: more may be an endless loop. */
#define NATIVE_PASSED_MAX 16

/* The state of the decoder that is changed. */
struct native_counter_walk {
	struct native_decoder *decoder;
	struct native_counter *table;
	const uint8_t *at;
	unsigned size; /* of the packet at hand, if it is a TNT packet */
	uint64_t last_ip;
	uint32_t here; /* the counter of the region where flow is */
	/* The return stack: those of the calls from `known` on are in `calls`, the older ones where the decoder has them. */
	unsigned top, depth, known;
	uint32_t calls[NATIVE_STACK]; /* counters, in a ring */
};

/* Counters of regions that flow goes through before a packet decides, and of the one where that is. */
struct native_passed {
	uint32_t numbers[NATIVE_PASSED_MAX];
	uint32_t count;
	uint32_t here;
};

/* Whether counters can follow flow from where it is, and the next packet may be one for them. */
bool native_counter_walk_is_ready(const struct native_decoder *decoder);
/* Begins where the decoder is, whose return stack is complete; its ring of calls is not cleared. False without memory. */
bool native_counter_walk_begin(struct native_counter_walk *walk, struct native_decoder *decoder);
/* Gives position, region and return stack back to the decoder. */
void native_counter_walk_end(const struct native_counter_walk *walk);

/* 0 without memory, or a region. */
uint32_t native_counter_walk_number(struct native_counter_walk *walk, struct native_region *region);
/* Pushes the calls of a region; finds out where they return to. False without memory: nothing was done. */
bool native_counter_walk_calls(struct native_counter_walk *walk, const struct native_region *region);
/*
 * Finds where a packet decides: the caller leaves those that are passed, and then is `here`. NULL, and none is passed: that is
 * not to be followed by counters, or there is no memory.
 */
struct native_region *native_counter_walk_decision(struct native_counter_walk *walk, struct native_passed *passed);
/* The counter to which a TNT bit leads from a region; 0: to none that is known. */
uint32_t native_counter_walk_target(struct native_counter_walk *walk, struct native_region *region, unsigned taken);
/* Goes there, where the region at hand was left. */
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

/* Pushes the calls of a plain counter, which has some: its `push`. */
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

/* The address of the TIP packet at hand; returns the size of the packet, or 0: it has no address. */
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
