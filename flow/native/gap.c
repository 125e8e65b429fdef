/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps in the flow. */
#include "flow/native/gap.h"

#include "flow/native/mode_packet.h"
#include "flow/native/pending_event.h"
#include "flow/native/return_stack.h"

/* Checks whether the packet gives the place of flow, or ends the flow. */
static bool has_place(const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_FUP:
		return packet->ip.form != PTL_PT_IP_NONE;
	case PTL_PT_TIP_PGD:
	case PTL_PT_OVF:
		return true;
	default:
		return false;
	}
}

/* Returns the bytes from the current packet to the end of the next packet with a place. */
static uint64_t skipped_bytes(const struct native_decoder *decoder)
{
	struct ptl_pt_context context = decoder->packets.context;
	const uint8_t *at = decoder->packets.at;
	struct ptl_pt_packet packet;

	while (at < decoder->packets.end) {
		int size = native_read(decoder, at, &context, &packet);

		if (size < 0 || packet.kind == PTL_PT_PSB)
			break;
		at += size;
		if (has_place(&packet))
			break;
	}
	return (uint64_t)(at - decoder->packets.at);
}

/* Returns the bytes from the current packet to the packet that gives the place of flow behind the guest. */
static uint64_t guest_bytes(const struct native_decoder *decoder)
{
	struct ptl_pt_context context = decoder->packets.context;
	const uint8_t *at = decoder->packets.at;
	struct ptl_pt_packet packet;
	bool left = false;

	while (at < decoder->packets.end) {
		int size = native_read(decoder, at, &context, &packet);

		if (size < 0 || packet.kind == PTL_PT_PSB || packet.kind == PTL_PT_OVF)
			break;
		if (packet.kind == PTL_PT_PIP)
			left = !packet.pip.non_root;
		at += size;
		if (left && has_place(&packet))
			break;
	}
	return (uint64_t)(at - decoder->packets.at);
}

static void put_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from, uint64_t size)
{
	struct flow_event *gap = native_put(decoder, FLOW_GAP);

	gap->cause = (uint8_t)cause;
	gap->flags = from || cause == FLOW_GAP_CODE ? FLOW_EVENT_HAS_FROM : 0;
	gap->from = from;
	gap->size = size;
	gap->value = cause == FLOW_GAP_GUEST ? decoder->guest.vmcs : 0;
	gap->type = cause == FLOW_GAP_GUEST;
}

void native_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from)
{
	if (decoder->failed)
		return;
	native_drop_address_space(decoder);
	put_gap(decoder, cause, from, cause == FLOW_GAP_GUEST ? guest_bytes(decoder) : skipped_bytes(decoder));
	if (decoder->place == NATIVE_PLACE_KNOWN)
		decoder->gap.within = decoder->region != NULL;
	decoder->place = NATIVE_PLACE_LOST;
	decoder->region = NULL;
	decoder->has_from = decoder->holding = false;
	decoder->disabled_ip = 0;
	/*
	 * A guest leaves the host's calls as they are. A guest may take calls off the CPU's list, or add calls; then the
	 * host's return has a TIP.
	 */
	if (cause == FLOW_GAP_GUEST)
		return;
	native_clear_stack(decoder);
	decoder->gap.cause = (uint8_t)cause;
	decoder->gap.from = from;
}

void native_end(struct native_decoder *decoder, enum flow_gap_cause cause)
{
	if (!decoder->failed) {
		native_pending_events_flush(decoder);
		native_drop_address_space(decoder);
		native_drop_mode(decoder);
		put_gap(decoder, cause, 0, (uint64_t)(decoder->packets.end - decoder->packets.at));
	}
	decoder->failed = true;
	decoder->region = NULL;
}
