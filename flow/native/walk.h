/* SPDX-License-Identifier: BSD-2-Clause */
/* Following the code as packets decide: frequent steps inline, the rest by calls. */
#ifndef FLOW_NATIVE_WALK_H
#define FLOW_NATIVE_WALK_H

#include "flow/native/resynchronise.h"

/* Regions that may follow each other without a packet: more are an endless loop. */
#define NATIVE_LOOP_REGIONS 1024

/* Moves flow to ip; the code there is not in the batch yet. */
void native_go(struct native_decoder *decoder, uint64_t ip);

/* The same for an address where flow often goes. */
void native_go_target(struct native_decoder *decoder, uint64_t ip);

/*
 * Updates the return stack with the runs of the batch, but for a return at the end of the last one, if flow is still
 * there (returning).
 */
void native_update_stack(struct native_decoder *decoder);
/* The same where flow has left the last run: a return at its end has taken its address off. */
void native_complete_stack(struct native_decoder *decoder);

/* Forgets all calls so far. */
static inline void native_clear_stack(struct native_decoder *decoder)
{
	decoder->calls.count = 0;
	decoder->calls.runs = decoder->out.run_count;
	decoder->calls.returning = false;
	decoder->calls.before = NULL;
}

/* Takes count TNT bits, the oldest highest: any number, in any state. */
void native_take_bits(struct native_decoder *decoder, uint64_t bits, unsigned count);

/*
 * TNT bits wait for a TIP that does not come. With `gap`, the branch that needs the TIP is the last before a gap;
 * without, flow ends behind that branch.
 */
void native_drop_held(struct native_decoder *decoder, bool gap);

/* The slow path of native_take_target. */
void native_take_target_slowly(struct native_decoder *decoder, uint64_t ip);

/* Adds all code before the instruction at ip, which is reached without a packet; false: a gap. */
bool native_walk_to(struct native_decoder *decoder, uint64_t ip);

/* The same up to and with the far transfer at ip, which native_reaches. */
bool native_walk_through(struct native_decoder *decoder, uint64_t ip);

/*
 * After a region was searched: found > 0 is there and left, 0 not there, < 0 no memory. Goes on to the next region
 * where no packet decides. 1: found; 0: search the decoder's region; -1: not found, and there is a gap.
 */
int native_pass_region(struct native_decoder *decoder, struct native_region *region, int found, uint64_t ip);

/* Adds the region's blocks below `count` to the batch, and of the next one the part before ip. False without memory. */
bool native_leave_part(struct native_decoder *decoder, const struct native_region *region, uint32_t count, uint64_t ip);

/* Whether the instruction at ip is reached without a packet. Adds nothing. */
bool native_reaches(struct native_decoder *decoder, uint64_t ip);

/* The branch to which flow comes next, if it needs a TIP and ends before `end`; 0: there is none. Adds nothing. */
uint64_t native_branch_before(struct native_decoder *decoder, uint64_t end);

/* walk_out.c. A TIP.PGD without FUP, with the address where the flow went if has_ip; false: a gap. */
bool native_walk_out(struct native_decoder *decoder, bool has_ip, uint64_t ip);

/* Adds all code up to a far transfer, if one is reached without a packet; false: it is not. */
bool native_pass_far(struct native_decoder *decoder);

/* Adds all code of the region to the batch. */
static inline void native_leave(struct native_decoder *decoder, const struct native_region *region)
{
	native_output_run(&decoder->out, &region->run);
}

/* A TIP without FUP: the branch at the region's end leads to ip. */
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
