/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that wait for a FUP, which tells their address: SDM, "Packet Definitions", what packets bind to. */
#ifndef FLOW_NATIVE_PENDING_EVENT_H
#define FLOW_NATIVE_PENDING_EVENT_H

#include "flow/native/decoder.h"

/* Puts out an event of this kind, of the packet at hand; the caller fills in the rest. */
static inline struct flow_event *native_put(struct native_decoder *decoder, uint8_t kind)
{
	struct flow_event *event = native_output_place(&decoder->out);

	event->kind = kind;
	event->offset = decoder->packets.offset + (uint64_t)(decoder->packets.at - decoder->packets.begin);
	return event;
}

/* Notes an event. Beyond NATIVE_PENDING_EVENTS those before are put out without an address. */
void native_pending_event(struct native_decoder *decoder, struct native_pending_event pending);

/* Puts out all pending_events in their order, with the address of their FUP or without one. */
void native_pending_events_put(struct native_decoder *decoder, bool has_from, uint64_t from);

/* Puts out all pending_events whose FUP has come before their place (pending_placed), or does not come. */
void native_pending_events_flush(struct native_decoder *decoder);

/* From here on, flow is in a transaction, or not: PTL_TSX_*. */
void native_speculate(struct native_decoder *decoder, uint64_t state);

/* Packets that only make events: MWAIT, EXSTOP, PWRE, PWRX, BBP, BIP, BEP, CFE, EVD, TRIG. */
void native_pending_event_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);

#endif
