/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of an interleaved segment, between the decoder and the TNT16 cache. */
#ifndef FLOW_NATIVE_INTERLEAVED_PACKET_H
#define FLOW_NATIVE_INTERLEAVED_PACKET_H

#include "flow/native/interleaved.h"
#include "format/pt/packet.h"

/* Checks whether TNT packets follow that the TNT16 cache can count from the current state. */
bool native_interleaved_ready(const struct native_interleaved *slot);

/* Checks for a full TNT-64 packet: 47 bits, and the stop bit in the highest bit. */
static inline bool native_is_full_tnt(uint64_t word)
{
	return FORMAT_PT_IS(word, TNT_64) && (int64_t)word < 0;
}

static inline bool native_is_mtc(uint64_t word)
{
	return FORMAT_PT_IS(word, MTC);
}

/*
 * Reads a packet with TNT bits, and handles a packet of time, which changes the slot's clock. Returns the packet's
 * size; 0: any other packet.
 */
int native_interleaved_packet(struct native_interleaved *slot, const uint8_t *at, struct ptl_pt_packet *packet);
/* Adds the counted sums to the decoder, which continues at `behind`. */
void native_interleaved_give_back(struct native_interleaved *slot, const uint8_t *behind);

#endif
