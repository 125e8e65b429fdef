/* SPDX-License-Identifier: BSD-2-Clause */
/* Loses the flow, and finds it again at the next address that packets tell. */
#include "flow/native/lost.h"

#include "flow/native/note.h"
#include "flow/native/space.h"
#include "flow/native/walk.h"
#include "flow/segment/packets.h"

/* A packet that says where flow is, or that there is none. */
static bool tells_place(const struct ptl_pt_packet *packet)
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

/* Bytes from the packet at hand to the end of the first one that tells of a place again. */
static uint64_t lost_bytes(const struct native_decoder *decoder)
{
	struct ptl_pt_context context = decoder->context;
	const uint8_t *at = decoder->at;
	struct ptl_pt_packet packet;

	while (at < decoder->end) {
		int size = native_read(decoder, at, &context, &packet);

		if (size < 0 || packet.kind == PTL_PT_PSB)
			break;
		at += size;
		if (tells_place(&packet))
			break;
	}
	return (uint64_t)(at - decoder->at);
}

static void put_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from, uint64_t size)
{
	struct flow_event *gap = native_put(decoder, FLOW_GAP);

	gap->cause = (uint8_t)cause;
	gap->flags = from || cause == FLOW_GAP_CODE ? FLOW_EVENT_HAS_FROM : 0;
	gap->from = from;
	gap->size = size;
}

void native_gap(struct native_decoder *decoder, enum flow_gap_cause cause, uint64_t from)
{
	if (decoder->failed)
		return;
	native_drop_space(decoder);
	put_gap(decoder, cause, from, lost_bytes(decoder));
	if (decoder->place == NATIVE_PLACE_KNOWN)
		decoder->lost_within = decoder->node != NULL;
	decoder->place = NATIVE_PLACE_LOST;
	decoder->node = NULL;
	decoder->has_from = decoder->holding = false;
	decoder->disabled_ip = 0;
	native_clear_stack(decoder);
	decoder->lost_cause = (uint8_t)cause;
	decoder->lost_from = from;
}

void native_tear(struct native_decoder *decoder)
{
	uint64_t from = decoder->from;

	decoder->has_from = false;
	if (native_walk_to(decoder, from))
		native_gap(decoder, FLOW_GAP_PACKET, from);
}

void native_end(struct native_decoder *decoder, enum flow_gap_cause cause)
{
	if (!decoder->failed) {
		native_notes_put(decoder, false, 0);
		native_drop_space(decoder);
		native_drop_mode(decoder);
		put_gap(decoder, cause, 0, (uint64_t)(decoder->end - decoder->at));
	}
	decoder->failed = true;
	decoder->node = NULL;
}

void native_resume(struct native_decoder *decoder, uint64_t ip)
{
	decoder->place = NATIVE_PLACE_KNOWN;
	native_go(decoder, ip);
}

/* ---- errata ---------------------------------------------------------------------------------------------- */

bool native_only_time(const struct native_decoder *decoder, const uint8_t *at)
{
	struct ptl_pt_context context = {0};

	while (at < decoder->at) {
		struct ptl_pt_packet packet;
		int size = native_read(decoder, at, &context, &packet);

		if (size < 0)
			return false;
		switch (packet.kind) {
		case PTL_PT_PAD:
		case PTL_PT_TSC:
		case PTL_PT_TMA:
		case PTL_PT_MTC:
		case PTL_PT_CYC:
		case PTL_PT_CBR:
		case PTL_PT_MNT:
			at += size;
			break;
		default:
			return false;
		}
	}
	return true;
}

/* PSB+ has a FUP where packets are enabled. */
static bool is_disabled_at_psb(const struct native_decoder *decoder, const uint8_t *at)
{
	struct flow_psb_plus psb_plus;

	flow_psb_plus_read(at, (size_t)(decoder->end - at), &decoder->errata, &psb_plus);
	return psb_plus.complete && !psb_plus.has_ip;
}

bool native_is_disabled_at(const struct native_decoder *decoder, const uint8_t *at)
{
	struct ptl_pt_context context = {0};

	while (at < decoder->end) {
		struct ptl_pt_packet packet;
		int size = native_read(decoder, at, &context, &packet);

		if (size < 0)
			return false;
		switch (packet.kind) {
		case PTL_PT_TRACESTOP:
		case PTL_PT_TIP_PGE:
			return true;
		case PTL_PT_PSB:
			return is_disabled_at_psb(decoder, at);
		case PTL_PT_TNT_8:
		case PTL_PT_TNT_64:
		case PTL_PT_TIP:
		case PTL_PT_TIP_PGD:
		case PTL_PT_OVF:
			return false;
		default:
			at += size;
		}
	}
	return decoder->next_disabled;
}
