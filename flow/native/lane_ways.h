/* SPDX-License-Identifier: BSD-2-Clause */
/* How a lane counts TNT packets: by leaps. */
#ifndef FLOW_NATIVE_LANE_WAYS_H
#define FLOW_NATIVE_LANE_WAYS_H

#include "flow/native/lane.h"

#define NATIVE_TNT_64 0xa302u /* its first two bytes */

/* A whole TNT-64 packet: 47 bits, the stop bit in the highest. */
static inline bool native_is_full(uint64_t word)
{
	return (uint16_t)word == NATIVE_TNT_64 && (int64_t)word < 0;
}

static inline bool native_is_mtc(uint64_t word)
{
	return (uint8_t)word == 0x59;
}

/* The size of a packet that only has bits or time; its time has changed the lane's clock then. 0: it has more. */
int native_lane_packet(struct native_lane *lane, const uint8_t *at, struct ptl_pt_packet *packet);
/* The decoder goes on behind packets that were counted. */
void native_lane_give_back(struct native_lane *lane, const uint8_t *behind);

/*
 * Begins with what is ahead; false: leaps are not worth it now, or there is no memory. The decoder stays as it was until
 * the end. Lanes must go on to be run.
 */
bool native_leaps_lane_begin(struct native_lane *lane);
bool native_leaps_lane_goes_on(const struct native_lane *lane);
void native_leaps_lanes_run(struct native_code *code, struct native_lane *const *lanes, unsigned count);
/* Then the decoder is behind the packets, or where it was if they do not fit the code. */
void native_leaps_lane_end(struct native_lane *lane);

#endif
