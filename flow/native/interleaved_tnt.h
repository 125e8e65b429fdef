/* SPDX-License-Identifier: BSD-2-Clause */
/* How a slot counts TNT packets: by tnt16. */
#ifndef FLOW_NATIVE_INTERLEAVED_TNT_H
#define FLOW_NATIVE_INTERLEAVED_TNT_H

#include "flow/native/interleaved.h"

#define NATIVE_TNT_64 0xa302u /* its first two bytes */

/* A whole TNT-64 packet: 47 bits, the stop bit in the highest. */
static inline bool native_is_full_tnt(uint64_t word)
{
	return (uint16_t)word == NATIVE_TNT_64 && (int64_t)word < 0;
}

static inline bool native_is_mtc(uint64_t word)
{
	return (uint8_t)word == 0x59;
}

/* The size of a packet that only has bits or time; its time has changed the slot's clock then. 0: it has more. */
int native_interleaved_packet(struct native_interleaved *slot, const uint8_t *at, struct ptl_pt_packet *packet);
/* The decoder goes on behind packets that were counted. */
void native_interleaved_give_back(struct native_interleaved *slot, const uint8_t *behind);

/*
 * Begins with what is ahead; false: tnt16 are not worth it now, or there is no memory. The decoder stays as it was until
 * the end. Lanes must go on to be run.
 */
bool native_interleaved_tnt_begin(struct native_interleaved *slot);
bool native_interleaved_tnt_goes_on(const struct native_interleaved *slot);
void native_interleaved_tnt_run(struct native_code *code, struct native_interleaved *const *slots, unsigned count);
/* Then the decoder is behind the packets, or where it was if they do not fit the code. */
void native_interleaved_tnt_end(struct native_interleaved *slot);

#endif
