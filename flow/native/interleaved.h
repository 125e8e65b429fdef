/* SPDX-License-Identifier: BSD-2-Clause */
/* Long runs of TNT packets, counted for several segments at a time. */
#ifndef FLOW_NATIVE_INTERLEAVED_H
#define FLOW_NATIVE_INTERLEAVED_H

#include "flow/native/decoder.h"

/*
 * A slot counts one segment. A step of it waits for a load that depends on the step before; the steps of other slots
 * fill that time.
 */
#define NATIVE_INTERLEAVED 8

/* Bytes of packets that are decoded one by one where tnt16 are not to be had, before they are tried again. */
#define NATIVE_INTERLEAVED_WAIT 4096

struct native_interleaved {
	uint64_t blocks; /* counted and not given back yet */
	uint64_t instructions;
	uint32_t context;
	bool stopped;         /* at a packet that is not for tnt16 */
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
bool native_interleaved_ready(const struct native_interleaved *slot);
/* Lanes that count segments of the same code; `first` is a decoder of its own. PTL_NO_MEMORY. */
int native_interleaved_open(struct native_interleaved **slots, struct native_decoder *first);
void native_interleaved_close(struct native_interleaved *slots);

/* Begins the segment that is the slot's input, which is not busy. */
void native_interleaved_start(struct native_interleaved *slot);
/* Takes all slots on until one of them is at its segment's end. */
void native_interleaved_count(struct native_interleaved *slots);
/* Whether the slot's segment has come to its end, with what native_decoder_end says; the slot is free then. */
bool native_interleaved_done(struct native_interleaved *slot, int *status);

#endif
