/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads PSB+, and finds the last packet of a segment that matters to the flow. */
#include "flow/segment/packets.h"

#include "format/pt/psb_plus.h"

static void take_state(const struct ptl_pt_packet *packet, struct flow_psb_plus *psb_plus)
{
	switch (packet->kind) {
	case PTL_PT_MODE_EXEC:
		psb_plus->has_mode = true;
		break;
	case PTL_PT_TSC:
		psb_plus->has_tsc = true;
		psb_plus->tsc = packet->tsc.tsc;
		break;
	case PTL_PT_PIP:
		psb_plus->has_paging = true;
		psb_plus->guest = packet->pip.non_root;
		psb_plus->cr3 = packet->pip.cr3;
		break;
	default:
		break;
	}
}

void flow_psb_plus_read(const uint8_t *bytes, size_t size, const struct flow_errata *errata,
			struct flow_psb_plus *psb_plus)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	uint64_t last_ip = 0;
	int length;

	*psb_plus = (struct flow_psb_plus){0};
	if (format_pt_decode_inline(bytes, size, &context, &packet) < 0 || packet.kind != PTL_PT_PSB)
		return;
	psb_plus->size = packet.size;
	for (;;) {
		psb_plus->size += format_pt_padding(bytes + psb_plus->size, size - psb_plus->size);
		length = flow_errata_read(errata, bytes + psb_plus->size, size - psb_plus->size, &context, &packet);
		psb_plus->cut = length == PTL_TRUNCATED;
		if (length <= 0)
			return;
		if (packet.kind == PTL_PT_PSBEND) {
			psb_plus->size += packet.size;
			psb_plus->complete = true;
			return;
		}
		psb_plus->overflow = packet.kind == PTL_PT_OVF;
		if (!format_pt_in_psb_plus(packet.kind))
			return;
		psb_plus->size += packet.size;
		if (packet.kind == PTL_PT_FUP) {
			psb_plus->has_ip = ptl_pt_ip_resolve(&packet, &last_ip, &psb_plus->ip) &&
					   !flow_psb_plus_enables(bytes + psb_plus->size, size - psb_plus->size,
								  errata);
		} else {
			take_state(&packet, psb_plus);
		}
	}
}

bool flow_psb_plus_enables(const uint8_t *bytes, size_t size, const struct flow_errata *errata)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	int length;

	while ((length = flow_errata_read(errata, bytes, size, &context, &packet)) > 0) {
		if (packet.kind == PTL_PT_TIP_PGE)
			return true;
		if (packet.kind == PTL_PT_FUP || (!format_pt_in_psb_plus(packet.kind) && packet.kind != PTL_PT_PSBEND))
			return false;
		bytes += length;
		size -= (size_t)length;
	}
	return false;
}

/* Meaning of a packet for the end of the flow. */
enum meaning {
	NOTHING, /* no flow: time, power or padding */
	FLOW,
	BINDS, /* part of the flow, together with a following FUP */
};

static enum meaning meaning_of(const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_PAD:
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
	case PTL_PT_CBR:
	case PTL_PT_MNT:
	case PTL_PT_PWRE:
	case PTL_PT_PWRX:
		return NOTHING;
	case PTL_PT_MODE_TSX:
	case PTL_PT_MODE_EXEC:
	case PTL_PT_MWAIT:
	case PTL_PT_PIP:
	case PTL_PT_VMCS:
	case PTL_PT_OVF:
		return BINDS;
	case PTL_PT_PTWRITE:
		return packet->ptwrite.ip ? BINDS : FLOW;
	case PTL_PT_EXSTOP:
		return packet->exstop.ip ? BINDS : FLOW;
	case PTL_PT_BEP:
		return packet->bep.ip ? BINDS : FLOW;
	case PTL_PT_CFE:
		return packet->cfe.ip ? BINDS : FLOW;
	case PTL_PT_TRIG:
		return packet->trig.ip ? BINDS : FLOW;
	default:
		return FLOW;
	}
}

/* Checks whether the packet changes the flow. A FUP does not count. */
static bool moves(const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_OVF:
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_TRACESTOP:
		return true;
	default:
		return false;
	}
}

/*
 * Updates end->enabled and the state of overflows. An overflow lasts until a packet gives the place of flow, or says
 * that flow stops. at: end of the packet.
 */
static void note_enabled(const struct ptl_pt_packet *packet, size_t at, struct flow_segment_end *end)
{
	if (moves(packet))
		end->resume = end->resume_end = 0;
	switch (packet->kind) {
	case PTL_PT_OVF:
		end->overflowed = true;
		end->enabled = false;
		break;
	case PTL_PT_FUP:
		if (end->overflowed) {
			end->resume = at - packet->size;
			end->resume_end = at;
		}
		__attribute__((fallthrough));
	case PTL_PT_TIP:
		end->enabled |= end->overflowed;
		end->overflowed = false;
		break;
	case PTL_PT_TIP_PGE:
		end->enabled = true;
		end->overflowed = false;
		break;
	case PTL_PT_TIP_PGD:
		end->enabled = end->overflowed = false;
		break;
	default:
		break;
	}
}

/* Checks for a packet between an interrupt's FUP and TIP. Such a packet means nothing without the TIP. */
static bool comes_with_tip(uint8_t kind)
{
	return kind == PTL_PT_MODE_EXEC || kind == PTL_PT_PIP || kind == PTL_PT_VMCS;
}

/* Checks for a TIP without an address. No CPU makes such a TIP. */
static bool leads_nowhere(const struct ptl_pt_packet *packet)
{
	return packet->kind == PTL_PT_TIP && packet->ip.form == PTL_PT_IP_NONE;
}

void flow_segment_end_read(const uint8_t *bytes, size_t size, const struct flow_errata *errata,
			   struct flow_segment_end *end)
{
	struct ptl_pt_context context = {0};
	enum meaning before = FLOW;
	struct flow_psb_plus psb_plus;
	size_t at;

	flow_psb_plus_read(bytes, size, errata, &psb_plus);
	*end = (struct flow_segment_end){.flow = size, .whole = size, .enabled = psb_plus.has_ip};
	at = psb_plus.size;
	if (psb_plus.complete)
		end->flow = at;
	while (at < size) {
		struct ptl_pt_packet packet;
		int length = flow_errata_read(errata, bytes + at, size - at, &context, &packet);
		enum meaning now;

		if (length == PTL_TRUNCATED || (length > 0 && end->enabled && leads_nowhere(&packet))) {
			end->whole = at;
			return;
		}
		if (length < 0) {
			end->flow = size;
			return;
		}
		at += (size_t)length;
		now = meaning_of(&packet);
		note_enabled(&packet, at, end);
		if (now == NOTHING || !psb_plus.complete || (end->fup && comes_with_tip(packet.kind)))
			continue;
		end->flow = at;
		end->fup = packet.kind == PTL_PT_FUP && before != BINDS;
		before = now;
	}
}
