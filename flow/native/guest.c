/* SPDX-License-Identifier: BSD-2-Clause */
/* Which packets are a guest's: SDM, "PIP Packet", "Virtualization of Intel Processor Trace". */
#include "flow/native/guest.h"

void native_guest_paging(struct native_decoder *decoder, bool non_root)
{
	const struct flow_engine_input *input = decoder->guest.input;
	int status;

	if (!non_root)
		decoder->guest.within = decoder->guest.reported = decoder->guest.own_tsc = false;
	if (!non_root || !input)
		return;
	if (!decoder->guest.asked) {
		decoder->guest.asked = true;
		status = input->has_guests(input->guests_context, input);
		if (status < 0)
			decoder->out.status = status;
		decoder->guest.apart = status == FLOW_GUEST_APART;
		decoder->guest.shared = status == FLOW_GUEST_SHARED;
	}
	decoder->guest.within = decoder->guest.apart;
	decoder->guest.own_tsc = decoder->guest.apart || decoder->guest.shared;
}

void native_guest_psb(struct native_decoder *decoder)
{
	const uint8_t *at = decoder->packets.at;
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet = {0};
	int size;

	decoder->guest.reported = false;
	while (decoder->guest.input && at < decoder->packets.end && packet.kind != PTL_PT_PSBEND &&
	       (size = native_read(decoder, at, &context, &packet)) > 0) {
		at += size;
		if (packet.kind == PTL_PT_PIP) {
			native_guest_paging(decoder, packet.pip.non_root);
			return;
		}
	}
}

void native_guest_overflow(struct native_decoder *decoder)
{
	decoder->guest.within = decoder->guest.apart;
	decoder->guest.reported = false;
}
