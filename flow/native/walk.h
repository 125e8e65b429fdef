/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows the code as packets decide: frequent steps inline, other steps by calls. */
#ifndef FLOW_NATIVE_WALK_H
#define FLOW_NATIVE_WALK_H

#include "flow/native/decoder.h"

/* maximum number of consecutive regions without a packet; more are an endless loop */
#define NATIVE_LOOP_REGIONS 1024

/* Moves flow to ip. The code at ip is not in the batch yet. */
void native_go(struct native_decoder *decoder, uint64_t ip);

/* As native_go, for an address where flow often goes. */
void native_go_target(struct native_decoder *decoder, uint64_t ip);

/* Follows `count` TNT bits, the oldest highest; works for any number of bits in any state. */
void native_take_bits(struct native_decoder *decoder, uint64_t bits, unsigned count);

/*
 * Handles TNT bits whose TIP does not come. gap: the branch that needs the TIP is the last branch before a gap;
 * otherwise flow ends after the branch.
 */
void native_drop_held(struct native_decoder *decoder, bool gap);

/* Slow path of native_take_target. */
void native_take_target_slowly(struct native_decoder *decoder, uint64_t ip);

/* Adds all code before the instruction at ip, if flow reaches ip without a packet. Returns false after a gap. */
bool native_walk_to(struct native_decoder *decoder, uint64_t ip);

/* As native_walk_to, including the far transfer at ip. The caller has checked native_reaches. */
bool native_walk_through(struct native_decoder *decoder, uint64_t ip);

/*
 * Finishes the search of a region. found > 0: found, and the region was left; 0: not in the region; < 0: no memory. If
 * no packet decides at the region's end, moves to the next region. Returns 1: found; 0: search the decoder's region
 * next; -1: not found, and a gap was added.
 */
int native_pass_region(struct native_decoder *decoder, struct native_region *region, int found, uint64_t ip);

/*
 * Adds the region's first `count` blocks to the batch, and the part of the next block before ip. Returns false without
 * memory.
 */
bool native_leave_part(struct native_decoder *decoder, const struct native_region *region, uint32_t count, uint64_t ip);

/* Checks whether flow reaches the instruction at ip without a packet. Adds nothing. */
bool native_reaches(struct native_decoder *decoder, uint64_t ip);

/* Returns the next branch, if the branch needs a TIP and ends before `end`; 0: no such branch. Adds nothing. */
uint64_t native_branch_before(struct native_decoder *decoder, uint64_t end);

/* Adds all code up to a far transfer, if flow reaches a far transfer without a packet; otherwise returns false. */
bool native_pass_far(struct native_decoder *decoder);

/* Adds all code of the region to the batch. */
static inline void native_leave(struct native_decoder *decoder, const struct native_region *region)
{
	native_output_run(&decoder->out, &region->run);
}

/* Handles a TIP without a FUP: the branch at the region's end leads to ip. */
static inline void native_take_target(struct native_decoder *decoder, uint64_t ip)
{
	struct native_region *region = decoder->region;
	struct native_target *target = native_target_slot(&decoder->code->targets, ip);

	if (__builtin_expect(!native_target_is(target, ip, decoder->mode) || region->decision == NATIVE_CONDITIONAL ||
				     region->decision >= NATIVE_CONTINUE,
			     0)) {
		native_take_target_slowly(decoder, ip);
		return;
	}
	native_leave(decoder, region);
	decoder->region = native_to_region(target->to);
}

#endif
