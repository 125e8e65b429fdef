/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps in the flow. */
#ifndef FLOW_NATIVE_GAP_H
#define FLOW_NATIVE_GAP_H

#include "flow/native/decoder.h"

/*
 * Adds a gap: flow is lost at the current packet, and resumes at the next packet with an address. from: see flow_event;
 * 0: no address.
 */
void native_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from);

/* Adds a gap: the current packet is not allowed here. */
static inline void native_bad_packet(struct native_decoder *decoder)
{
	native_gap(decoder, FLOW_GAP_PACKET, 0);
}

/* Ends the segment's flow with a gap, for bytes that are no packet: the last IP is unknown afterwards. */
void native_end(struct native_decoder *decoder, enum flow_gap_cause cause);

#endif
