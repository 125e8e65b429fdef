/* SPDX-License-Identifier: BSD-2-Clause */
/* Several segments of the same code, decoded in turn where only sums are wanted. */
#ifndef FLOW_NATIVE_INTERLEAVED_H
#define FLOW_NATIVE_INTERLEAVED_H

#include "flow/native/decoder.h"

/*
 * A slot decodes one segment. A step of it waits for a load that depends on the step before; the steps of other slots
 * use that time.
 */
#define NATIVE_INTERLEAVED 8

/* Bytes that are decoded packet by packet before the TNT16 cache is tried again. */
#define NATIVE_INTERLEAVED_WAIT 4096

/* A packet with bits that was counted; NULL: there was none. */
struct native_interleaved_packet {
	const uint8_t *at;
	uint64_t context; /* before it */
};

struct native_interleaved {
	uint64_t blocks; /* counted, and not in the decoder's sums yet */
	uint64_t instructions;
	uint32_t context;
	/* Where counts are wanted: the first packet with bits, NULL if none was met; the last two that were counted. */
	const uint8_t *first;
	struct native_interleaved_packet last, before;
	bool stopped;         /* at a packet that the TNT16 cache has not */
	const uint8_t *here;  /* the next packet */
	const uint8_t *limit; /* a packet that begins before this is far from the segment's end */

	struct native_decoder decoder;  /* for all other packets */
	struct flow_engine_input input; /* the segment */
	struct flow_sink sink;
	bool busy;               /* with a segment */
	bool counting;           /* TNT packets of it */
	bool eager;              /* for tests: takes the shortest runs of TNT packets too */
	struct flow_clock clock; /* behind the packets that were counted */
	const uint8_t *refused;  /* the decoder takes all packets before this one */
};

/* Whether TNT packets follow that the TNT16 cache can take in this state. */
bool native_interleaved_ready(const struct native_interleaved *slot);
/* Allocates the slots; `first` is the decoder with the code. PTL_NO_MEMORY. */
int native_interleaved_open(struct native_interleaved **slots, struct native_decoder *first);
void native_interleaved_close(struct native_interleaved *slots);

/* Starts the segment that is the slot's input; the slot is not busy. */
void native_interleaved_start(struct native_interleaved *slot);
/* Decodes all segments until one of them ends. */
void native_interleaved_count(struct native_interleaved *slots);
/* Whether the segment has ended, with the result of native_decoder_end; the slot is free then. */
bool native_interleaved_done(struct native_interleaved *slot, int *status);

#endif
