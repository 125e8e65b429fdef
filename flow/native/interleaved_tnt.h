/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting the TNT packets of interleaved segments. */
#ifndef FLOW_NATIVE_INTERLEAVED_TNT_H
#define FLOW_NATIVE_INTERLEAVED_TNT_H

#include "flow/native/interleaved.h"
#include "format/pt/packet.h"

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

/*
 * Start to count at the decoder's packet. Returns false if the TNT16 cache is suspended, or without memory. The decoder
 * does not change until native_interleaved_tnt_end. Slots may be run while native_interleaved_tnt_goes_on returns true.
 */
bool native_interleaved_tnt_begin(struct native_interleaved *slot);
bool native_interleaved_tnt_goes_on(const struct native_interleaved *slot);
void native_interleaved_tnt_run(struct native_code *code, struct native_interleaved *const *slots, unsigned count);
/*
 * Ends counting. Afterwards the decoder is behind the packets, or at its old place if the packets do not fit the code.
 */
void native_interleaved_tnt_end(struct native_interleaved *slot);

#endif
