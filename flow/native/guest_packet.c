/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes over the packets of a guest. */
#include "flow/native/guest_packet.h"

#include "flow/native/gap.h"
#include "flow/native/guest.h"
#include "flow/native/mode_packet.h"
#include "flow/native/pending_event.h"

void native_guest_skip(struct native_decoder *decoder)
{
	if (!decoder->guest.reported)
		native_gap(decoder, FLOW_GAP_GUEST, 0);
	decoder->guest.reported = true;
	decoder->region = NULL;
	decoder->place = NATIVE_PLACE_LOST;
	decoder->gap.within = true;
}

/* Adds an event of a VM exit, which is the host's, too. The address is the guest's, and is left out. */
static void put_exit(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	const bool control = packet->kind == PTL_PT_CFE;
	const uint8_t type = control ? packet->cfe.type : packet->evd.type;
	struct flow_event *event;

	if (control ? type != FLOW_CONTROL_VM_EXIT && type != FLOW_CONTROL_VM_EXIT_INTERRUPT
		    : type != FLOW_DATA_VM_EXIT_QUALIFICATION && type != FLOW_DATA_VM_EXIT_REASON)
		return;
	event = native_put(decoder, control ? FLOW_CONTROL : FLOW_EVENT_DATA);
	event->type = type;
	event->value = control ? packet->cfe.vector : packet->evd.payload;
}

bool native_guest_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip;

	switch (packet->kind) {
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_FUP:
		if (ptl_pt_ip_resolve(packet, &decoder->packets.last_ip, &ip) &&
		    (packet->kind != PTL_PT_FUP || decoder->place == NATIVE_PLACE_OVERFLOWED))
			native_guest_skip(decoder);
		return true;
	case PTL_PT_TIP_PGD:
		ptl_pt_ip_resolve(packet, &decoder->packets.last_ip, &ip);
		decoder->place = NATIVE_PLACE_KNOWN;
		return true;
	case PTL_PT_MODE_EXEC:
		decoder->mode = native_mode_of(packet);
		return true;
	case PTL_PT_CFE:
	case PTL_PT_EVD:
		put_exit(decoder, packet);
		return true;
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
	case PTL_PT_MODE_TSX:
	case PTL_PT_PTWRITE:
	case PTL_PT_EXSTOP:
	case PTL_PT_MWAIT:
	case PTL_PT_BBP:
	case PTL_PT_BIP:
	case PTL_PT_BEP:
	case PTL_PT_TRIG:
		return true;
	default:
		return false;
	}
}
