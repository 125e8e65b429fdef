/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that wait for the FUP with their address: SDM, "Packet Definitions", what packets bind to. */
#ifndef FLOW_NATIVE_PENDING_EVENT_H
#define FLOW_NATIVE_PENDING_EVENT_H

#include "flow/native/decoder.h"

/* Adds an event of this kind, of the packet at hand, to the batch; the caller fills in the rest. */
static inline struct flow_event *native_put(struct native_decoder *decoder, uint8_t kind)
{
	struct flow_event *event = native_output_place(&decoder->out);

	event->kind = kind;
	event->offset = decoder->packets.offset + (uint64_t)(decoder->packets.at - decoder->packets.begin);
	return event;
}

/* Adds a pending event. Beyond NATIVE_PENDING_EVENTS, those before are added to the batch without an address. */
void native_pending_event(struct native_decoder *decoder, struct native_pending_event pending);

/* Adds all pending events to the batch in their order, with the address of their FUP or without one. */
void native_pending_events_put(struct native_decoder *decoder, bool has_from, uint64_t from);

/* The same, with the address if their FUP came before their place (placed). */
void native_pending_events_flush(struct native_decoder *decoder);

/* From here on, flow is in a transaction, or not: PTL_TSX_*. */
void native_speculate(struct native_decoder *decoder, uint64_t state);

/* Packets that are events alone: MWAIT, EXSTOP, PWRE, PWRX, BBP, BIP, BEP, CFE, EVD, TRIG. */
void native_pending_event_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);

#endif
