/* SPDX-License-Identifier: BSD-2-Clause */
/* Mode and address space after a far transfer: SDM, "MODE Packets", "PIP Packet", "VMCS Packet". */
#include "flow/native/mode_packet.h"

#include "flow/native/guest.h"
#include "flow/native/pending_event.h"

uint8_t native_mode_of(const struct ptl_pt_packet *packet)
{
	if (packet->mode_exec.cs_l)
		return 64;
	return packet->mode_exec.cs_d ? 32 : 16;
}

struct flow_event *native_put_mode(struct native_decoder *decoder)
{
	struct flow_event *event = native_put(decoder, FLOW_EXEC_MODE);

	decoder->mode = decoder->announced.mode;
	decoder->announced.mode = 0;
	event->value = decoder->mode;
	event->type = decoder->announced.interrupts;
	return event;
}

/* MODE.Exec takes effect at the address of the following TIP or TIP.PGE. */
void native_change_mode(struct native_decoder *decoder, uint64_t ip)
{
	struct flow_event *event;

	if (!decoder->announced.mode)
		return;
	if (decoder->guest.within) {
		decoder->mode = decoder->announced.mode;
		decoder->announced.mode = 0;
		return;
	}
	event = native_put_mode(decoder);
	event->flags = FLOW_EVENT_HAS_TO;
	event->to = ip;
}

static void put_address_space(struct native_decoder *decoder, uint8_t flags, uint64_t from)
{
	struct flow_event *event;

	/*
	 * After an interrupt, VMCS comes first, because the VMCS tells the owner of the page table. Otherwise the order
	 * is unchanged.
	 */
	for (unsigned i = 0; i < 2; i++) {
		bool paging = (i == 0) == decoder->announced.paging_first;

		if (paging ? !decoder->announced.paging_due : !decoder->announced.vmcs_due)
			continue;
		event = native_put(decoder, paging ? FLOW_PAGING : FLOW_VMCS);
		event->value = paging ? decoder->announced.paging : decoder->announced.vmcs;
		event->type = paging && decoder->announced.paging_guest;
		event->flags = flags;
		event->from = from;
		if (paging)
			native_guest_paging(decoder, decoder->announced.paging_guest);
	}
	decoder->announced.vmcs_due = decoder->announced.paging_due = decoder->announced.paging_first = false;
}

/* Adds the events of a far transfer before the code at the target. */
void native_change_address_space(struct native_decoder *decoder, bool has_from, uint64_t from)
{
	put_address_space(decoder, has_from ? FLOW_EVENT_HAS_FROM : 0, from);
}

void native_drop_address_space(struct native_decoder *decoder)
{
	put_address_space(decoder, FLOW_EVENT_UNPLACED, 0);
}

void native_drop_mode(struct native_decoder *decoder)
{
	if (decoder->announced.mode)
		native_put_mode(decoder)->flags = FLOW_EVENT_UNPLACED;
}
