/* SPDX-License-Identifier: BSD-2-Clause */
/* Several segments with the same code, decoded in turn, for consumers of sums and counts. */
#ifndef FLOW_NATIVE_INTERLEAVED_H
#define FLOW_NATIVE_INTERLEAVED_H

#include "flow/native/decoder.h"

/*
 * Number of slots. A slot decodes one segment. Each step of a slot waits for a load that depends on the step before;
 * meanwhile, other slots run.
 */
#define NATIVE_INTERLEAVED 8

/* bytes decoded packet by packet before the TNT16 cache is tried again */
#define NATIVE_INTERLEAVED_WAIT 4096

/* A counted TNT packet; `at` is NULL: no packet. */
struct native_interleaved_packet {
	const uint8_t *at;
	uint64_t context; /* context before the packet */
};

struct native_interleaved {
	uint64_t blocks; /* counted blocks that are not in the decoder's sums yet */
	uint64_t instructions;
	uint32_t context;
	/* With counts: the first TNT packet (NULL: no such packet so far), and the last two counted packets. */
	const uint8_t *first;
	struct native_interleaved_packet last, before;
	bool stopped;         /* stopped at a packet that the TNT16 cache does not handle */
	const uint8_t *here;  /* the next packet */
	const uint8_t *limit; /* packets that begin before the limit are far from the segment's end */

	struct native_decoder decoder;  /* decoder of all other packets */
	struct flow_engine_input input; /* input of the segment */
	struct flow_sink sink;
	bool busy;               /* the slot has a segment */
	bool counting;           /* the slot counts TNT packets of the segment */
	bool eager;              /* for tests: counts even the shortest runs of TNT packets */
	struct flow_clock clock; /* clock behind the counted packets */
	const uint8_t *refused;  /* the decoder decodes all packets before this packet */
};

/* Allocates the slots. first: decoder with the code. Returns PTL_NO_MEMORY. */
int native_interleaved_open(struct native_interleaved **slots, struct native_decoder *first);
void native_interleaved_close(struct native_interleaved *slots);

/* Starts the segment of the slot's input. The slot must not be busy. */
void native_interleaved_start(struct native_interleaved *slot);
/* Decodes all segments until a segment ends. */
void native_interleaved_count(struct native_interleaved *slots);
/* Checks whether the segment has ended. *status: result of native_decoder_end. The slot is free afterwards. */
bool native_interleaved_done(struct native_interleaved *slot, int *status);

#endif
