/* SPDX-License-Identifier: BSD-2-Clause */
/* Long runs of TNT packets, counted for several segments at a time. */
#ifndef FLOW_NATIVE_LANE_H
#define FLOW_NATIVE_LANE_H

#include "flow/native/decoder.h"

/*
 * A lane counts one segment. A step of it waits for a load that depends on the step before; the steps of other lanes
 * fill that time.
 */
#define NATIVE_LANES 8

/* Bytes of packets that are decoded one by one where leaps are not to be had, before they are tried again. */
#define NATIVE_LANE_WAIT 4096

struct native_lane {
	uint64_t blocks; /* counted and not given back yet */
	uint64_t instructions;
	uint32_t context;
	bool stopped;         /* at a packet that is not for leaps */
	const uint8_t *here;  /* the next packet */
	const uint8_t *limit; /* a packet that begins before this is far from the segment's end */

	struct native_decoder decoder;  /* what is not counted in bits */
	struct flow_engine_input input; /* the segment */
	struct flow_sink sink;
	bool busy;               /* with a segment */
	bool counting;           /* bits of it */
	bool eager;              /* for tests: takes the shortest runs of bits too */
	struct flow_clock clock; /* behind the packets that were counted */
	const uint8_t *refused;  /* no bits are taken before this packet */
};

/* Whether packets that can be taken as bits are ahead, in a state where they mean nothing else. */
bool native_lane_ready(const struct native_lane *lane);
/* Lanes that count segments of the same code; `first` is a decoder of its own. PTL_NO_MEMORY. */
int native_lanes_open(struct native_lane **lanes, struct native_decoder *first);
void native_lanes_close(struct native_lane *lanes);

/* Begins the segment that is the lane's input, which is not busy. */
void native_lane_start(struct native_lane *lane);
/* Takes all lanes on until one of them is at its segment's end. */
void native_lanes_count(struct native_lane *lanes);
/* Whether the lane's segment has come to its end, with what native_decoder_end says; the lane is free then. */
bool native_lane_done(struct native_lane *lane, int *status);

#endif
