/* SPDX-License-Identifier: BSD-2-Clause */
/* Resynchronisation of the flow at the next address in a packet, and reading ahead for CPUs with errata. */
#include "flow/native/resynchronise.h"

#include "flow/native/gap.h"
#include "flow/native/walk.h"
#include "flow/segment/packets.h"
#include "format/pt/last_ip.h"

void native_end_at_fup(struct native_decoder *decoder)
{
	uint64_t from = decoder->from;

	decoder->has_from = false;
	if (native_walk_to(decoder, from))
		native_gap(decoder, FLOW_GAP_PACKET, from);
}

void native_resume(struct native_decoder *decoder, uint64_t ip)
{
	decoder->place = NATIVE_PLACE_KNOWN;
	native_go(decoder, ip);
}

/* ---- errata ---------------------------------------------------------------------------------------------- */

/*
 * Skips packets of time. *packet: the next other packet, or a packet of kind PTL_PT_NONE for damaged bytes. Returns
 * false if no other packet comes before `end`.
 */
static bool pass_time(const struct native_decoder *decoder, const uint8_t *at, const uint8_t *end,
		      struct ptl_pt_packet *packet)
{
	struct ptl_pt_context context = {0};

	while (at < end) {
		int size = native_read(decoder, at, &context, packet);

		if (size < 0) {
			packet->kind = PTL_PT_NONE;
			return true;
		}
		switch (packet->kind) {
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
			return true;
		}
	}
	return false;
}

bool native_only_time(const struct native_decoder *decoder, const uint8_t *at)
{
	struct ptl_pt_packet packet;

	return !pass_time(decoder, at, decoder->packets.at, &packet);
}

bool native_fup_follows(const struct native_decoder *decoder, const uint8_t *at)
{
	struct ptl_pt_packet packet;

	return pass_time(decoder, at, decoder->packets.end, &packet) && packet.kind == PTL_PT_FUP &&
	       packet.ip.form != PTL_PT_IP_NONE;
}

/* Checks whether the packet has its own FUP. */
static bool has_own_fup(const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_PTWRITE:
		return packet->ptwrite.ip;
	case PTL_PT_EXSTOP:
		return packet->exstop.ip;
	case PTL_PT_BEP:
		return packet->bep.ip;
	case PTL_PT_CFE:
		return packet->cfe.ip;
	case PTL_PT_TRIG:
		return packet->trig.ip;
	default:
		return false;
	}
}

/* Checks whether flow resumes at the packet's address. at: end of the packet. */
static bool resumes(const struct native_decoder *decoder, const struct ptl_pt_packet *packet, const uint8_t *at)
{
	if (packet->kind == PTL_PT_FUP)
		return !decoder->errata.apl12 || !native_is_disabled_at(decoder, at);
	return packet->kind == PTL_PT_TIP && decoder->errata.skd010;
}

bool native_resumes_at(const struct native_decoder *decoder, uint64_t *ip)
{
	struct ptl_pt_context context = decoder->packets.context;
	const uint8_t *at = decoder->packets.at + FORMAT_PT_SIZE_OVF;
	struct ptl_pt_packet packet;
	bool owned = false;
	int size;

	*ip = 0;
	while (at < decoder->packets.end && (size = native_read(decoder, at, &context, &packet)) > 0) {
		at += size;
		switch (packet.kind) {
		case PTL_PT_FUP:
		case PTL_PT_TIP:
			*ip = format_pt_ip_expand(*ip, packet.ip.form, packet.ip.payload);
			if (!owned || packet.kind == PTL_PT_TIP)
				return packet.ip.form != PTL_PT_IP_NONE && resumes(decoder, &packet, at);
			owned = false;
			break;
		case PTL_PT_TIP_PGE:
		case PTL_PT_TIP_PGD:
		case PTL_PT_OVF:
		case PTL_PT_PSB:
			return false;
		default:
			owned |= has_own_fup(&packet);
		}
	}
	return false;
}

/* Checks for a PSB+ without a FUP: packets are disabled. */
static bool is_disabled_at_psb(const struct native_decoder *decoder, const uint8_t *at)
{
	struct flow_psb_plus psb_plus;

	flow_psb_plus_read(at, (size_t)(decoder->packets.end - at), &decoder->errata, &psb_plus);
	return psb_plus.complete && !psb_plus.has_ip;
}

bool native_is_disabled_at(const struct native_decoder *decoder, const uint8_t *at)
{
	struct ptl_pt_context context = {0};

	while (at < decoder->packets.end) {
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
