/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that wait for the FUP with their address: SDM, "Packet Definitions", the binding of packets. */
#ifndef FLOW_NATIVE_PENDING_EVENT_H
#define FLOW_NATIVE_PENDING_EVENT_H

#include "flow/native/decoder.h"

/* Adds an event of the current packet to the batch. The caller fills in the other members. */
static inline struct flow_event *native_put(struct native_decoder *decoder, uint8_t kind)
{
	struct flow_event *event = native_output_place(&decoder->out);

	event->kind = kind;
	event->offset = decoder->packets.offset + (uint64_t)(decoder->packets.at - decoder->packets.begin);
	return event;
}

/*
 * Adds a pending event. If NATIVE_PENDING_EVENTS are already pending, adds those events to the batch without an
 * address.
 */
void native_pending_event(struct native_decoder *decoder, struct native_pending_event pending);

/* Adds all pending events to the batch in order, with the address of the FUP, if any. */
void native_pending_events_put(struct native_decoder *decoder, bool has_from, uint64_t from);

/* As native_pending_events_put, with the address if the FUP came before the events' place (placed). */
void native_pending_events_flush(struct native_decoder *decoder);

/* From here on, flow has this transaction state: FLOW_TSX_*. */
void native_speculate(struct native_decoder *decoder, uint64_t state);

/* Handles packets that are only events: MWAIT, EXSTOP, PWRE, PWRX, BBP, BIP, BEP, CFE, EVD, TRIG. */
void native_pending_event_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet);

#endif
