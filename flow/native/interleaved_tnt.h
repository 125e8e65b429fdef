/* SPDX-License-Identifier: BSD-2-Clause */
/* Counting the TNT packets of interleaved segments. */
#ifndef FLOW_NATIVE_INTERLEAVED_TNT_H
#define FLOW_NATIVE_INTERLEAVED_TNT_H

#include "flow/native/interleaved.h"
#include "format/pt/packet.h"

/* A whole TNT-64 packet: 47 bits, the stop bit in the highest. */
static inline bool native_is_full_tnt(uint64_t word)
{
	return FORMAT_PT_IS(word, TNT_64) && (int64_t)word < 0;
}

static inline bool native_is_mtc(uint64_t word)
{
	return FORMAT_PT_IS(word, MTC);
}

/*
 * The size of a packet with TNT bits or time alone; its time has changed the clock of the slot. 0: it is another
 * packet.
 */
int native_interleaved_packet(struct native_interleaved *slot, const uint8_t *at, struct ptl_pt_packet *packet);
/* Adds what was counted to the decoder, which goes on at `behind`. */
void native_interleaved_give_back(struct native_interleaved *slot, const uint8_t *behind);

/*
 * Starts to count at the packet of the decoder; false: the TNT16 cache is suspended, or there is no memory. The
 * decoder does not change until native_interleaved_tnt_end. Slots for which native_interleaved_tnt_goes_on is true
 * may be run.
 */
bool native_interleaved_tnt_begin(struct native_interleaved *slot);
bool native_interleaved_tnt_goes_on(const struct native_interleaved *slot);
void native_interleaved_tnt_run(struct native_code *code, struct native_interleaved *const *slots, unsigned count);
/* The decoder is behind the packets then, or where it was if they do not fit the code. */
void native_interleaved_tnt_end(struct native_interleaved *slot);

#endif
