/* SPDX-License-Identifier: BSD-2-Clause */
/* The effect of each packet on the flow: SDM, "Intel Processor Trace", "Packet Definitions". */
#include "flow/native/packet.h"

#include "flow/native/address.h"
#include "flow/native/cache/block.h"
#include "flow/native/find_instruction.h"
#include "flow/native/gap.h"
#include "flow/native/guest.h"
#include "flow/native/guest_packet.h"
#include "flow/native/mode_packet.h"
#include "flow/native/pending_event.h"
#include "flow/native/resynchronise.h"
#include "flow/native/walk.h"
#include "flow/segment/turn.h"
#include "format/pt/last_ip.h"

static void put_value(struct native_decoder *decoder, uint8_t kind, uint64_t value)
{
	native_put(decoder, kind)->value = value;
}

static void pass_time(struct native_decoder *decoder)
{
	uint64_t time = flow_clock_time(&decoder->clock);

	/* Without timing packets, the time of the PSB is the best known time. */
	decoder->out.cycles = decoder->clock.counted;
	if (!time)
		return;
	native_output_time(&decoder->out, time);
	if (decoder->recode.select && time >= decoder->recode.until)
		decoder->recode.until = decoder->recode.select(decoder->recode.context, time);
}

static void on_time(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	if (decoder->guest.own_tsc && (packet->kind == PTL_PT_TSC || packet->kind == PTL_PT_TMA))
		return;
	flow_clock_packet(&decoder->clock, packet);
	pass_time(decoder);
}

/* Handles announced changes whose TIP is lost. Without a FUP, the far transfer itself was executed. */
static void lose_announced(struct native_decoder *decoder)
{
	if ((decoder->announced.paging_due || decoder->announced.vmcs_due) && !decoder->has_from &&
	    native_pass_far(decoder))
		native_change_address_space(decoder, false, 0);
	native_drop_address_space(decoder);
	native_drop_mode(decoder);
}

static void on_overflow(struct native_decoder *decoder)
{
	struct flow_event *gap;
	uint64_t ip;

	if (decoder->events_pending)
		native_pending_events_flush(decoder);
	decoder->pending.fup_owned = false;
	lose_announced(decoder);
	native_guest_overflow(decoder);
	gap = native_put(decoder, FLOW_GAP);
	gap->cause = FLOW_GAP_OVERFLOW;
	if (native_resumes_at(decoder, &ip)) {
		gap->flags = FLOW_EVENT_HAS_TO;
		gap->to = ip;
	}
	decoder->region = NULL;
	decoder->place = NATIVE_PLACE_OVERFLOWED;
	decoder->packets.last_ip = 0;
	decoder->has_from = false;
	decoder->disabled_ip = 0;
	native_speculate(decoder, FLOW_TSX_COMMITTED);
}

static void on_mode(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	const uint8_t mode = decoder->mode;

	/* An earlier announced mode without a TIP does not apply to the code before the TIP of this mode. */
	native_drop_mode(decoder);
	decoder->mode = mode;
	decoder->announced.mode = native_mode_of(packet);
	decoder->announced.interrupts = packet->mode_exec.interrupt_flag;
	decoder->announced.mode_at = decoder->packets.at;
}

static void on_tsx(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t state = packet->mode_tsx.abort   ? FLOW_TSX_ABORTED
			 : packet->mode_tsx.in_tx ? FLOW_TSX_SPECULATIVE
						  : FLOW_TSX_COMMITTED;

	native_pending_event(decoder, (struct native_pending_event){.kind = FLOW_TSX, .value = state});
	/* An abort continues elsewhere: its FUP also belongs to the following TIP. */
	if (decoder->region || (decoder->place == NATIVE_PLACE_LOST && decoder->gap.within))
		decoder->pending.fup_owned = state != FLOW_TSX_ABORTED;
	else if (native_fup_follows(decoder, decoder->packets.at + packet->size))
		decoder->pending.fup_owned = decoder->place != NATIVE_PLACE_OVERFLOWED;
	else
		native_pending_events_flush(decoder);
}

static void on_ptwrite(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	native_pending_event(decoder, (struct native_pending_event){.kind = FLOW_PTWRITE,
								    .type = packet->ptwrite.bytes,
								    .value = packet->ptwrite.payload});
	if (packet->ptwrite.ip)
		decoder->pending.fup_owned = true;
	else if (native_find_instruction(decoder, NATIVE_PTWRITE, &ip, &next)) {
		native_count_to(decoder, packet->size, next);
		native_after_ptwrite(decoder, ip);
	} else
		native_pending_events_flush(decoder);
}

/*
 * Handles a trigger. A trigger without a FUP counts instructions from the branch of the previous packet, or from the
 * address of a FUP.
 */
static void on_trigger(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	const bool counts = packet->trig.has_count && !packet->trig.ip && !decoder->busy;
	struct flow_event *event;
	uint64_t ip;

	if (!counts || !native_find_counted(decoder, packet->trig.count, &ip)) {
		native_pending_event_packet(decoder, packet);
		return;
	}
	native_count_to(decoder, packet->size, ip);
	if (!native_walk_to(decoder, ip)) {
		native_pending_event_packet(decoder, packet);
		return;
	}
	event = native_put(decoder, FLOW_TRIGGER);
	event->value = packet->trig.triggers;
	event->flags = FLOW_EVENT_HAS_FROM;
	event->from = ip;
	native_go(decoder, ip);
}

/* Handles a change of CR3: by a MOV, by the far transfer of the next TIP, or while packets are disabled. */
static void on_paging(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	if (decoder->announced.paging_due)
		native_drop_address_space(decoder);
	decoder->announced.paging = packet->pip.cr3;
	decoder->announced.paging_guest = packet->pip.non_root;
	decoder->announced.paging_due = true;
	if (!decoder->region) {
		native_change_address_space(decoder, false, 0);
	} else if (!decoder->has_from && native_find_instruction(decoder, NATIVE_WRITES_CR3, &ip, &next)) {
		native_count_to(decoder, packet->size, next);
		if (!native_walk_to(decoder, next))
			return;
		native_change_address_space(decoder, false, 0);
		native_go(decoder, next);
		decoder->announced.cr3_end = decoder->packets.at + packet->size;
	}
}

/* Handles a change of the VMCS: by VMPTRLD, by the VM entry or exit of the next TIP, or while packets are disabled. */
static void on_vmcs(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	if (decoder->announced.vmcs_due)
		native_drop_address_space(decoder);
	decoder->announced.vmcs = decoder->guest.vmcs = packet->vmcs.base;
	decoder->announced.vmcs_due = true;
	decoder->announced.paging_first = decoder->announced.paging_due && !decoder->has_from;
	if (!decoder->region) {
		native_change_address_space(decoder, false, 0);
	} else if (!decoder->has_from && !decoder->announced.paging_due &&
		   native_find_instruction(decoder, NATIVE_SETS_VMCS, &ip, &next) && native_reaches(decoder, next)) {
		native_count_to(decoder, packet->size, next);
		if (!native_walk_to(decoder, next))
			return;
		native_change_address_space(decoder, false, 0);
		native_go(decoder, next);
	}
}

static void on_rare(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_OVF:
		on_overflow(decoder);
		break;
	case PTL_PT_MODE_EXEC:
		on_mode(decoder, packet);
		break;
	case PTL_PT_MODE_TSX:
		on_tsx(decoder, packet);
		break;
	case PTL_PT_PTWRITE:
		on_ptwrite(decoder, packet);
		break;
	case PTL_PT_EXSTOP:
	case PTL_PT_MWAIT:
	case PTL_PT_PWRE:
	case PTL_PT_PWRX:
	case PTL_PT_BBP:
	case PTL_PT_BIP:
	case PTL_PT_BEP:
	case PTL_PT_CFE:
	case PTL_PT_EVD:
		native_pending_event_packet(decoder, packet);
		break;
	case PTL_PT_TRIG:
		on_trigger(decoder, packet);
		break;
	case PTL_PT_PIP:
		on_paging(decoder, packet);
		break;
	case PTL_PT_VMCS:
		on_vmcs(decoder, packet);
		break;
	case PTL_PT_TRACESTOP:
		native_put(decoder, FLOW_STOPPED);
		break;
	case PTL_PT_CBR:
		flow_clock_packet(&decoder->clock, packet);
		put_value(decoder, FLOW_CBR, packet->cbr.ratio);
		break;
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
		on_time(decoder, packet);
		break;
	default:
		break;
	}
}

static bool resolve_ip(struct native_decoder *decoder, const struct ptl_pt_packet *packet, uint64_t *ip)
{
	if (packet->ip.form == PTL_PT_IP_NONE)
		return false;
	*ip = format_pt_ip_expand(decoder->packets.last_ip, packet->ip.form, packet->ip.payload);
	decoder->packets.last_ip = *ip;
	return true;
}

/* When flow leaves the kernel, gives out all earlier flow, so that the process of the following code can be found. */
static void leave_kernel(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	const bool guest = decoder->announced.paging_due && decoder->announced.paging_guest;

	if (!decoder->recode.enter || !has_ip || guest || decoder->guest.within)
		return;
	if (flow_turn_is_kernel(ip)) {
		decoder->recode.entered = false;
	} else if (!decoder->recode.entered) {
		decoder->recode.entered = true;
		native_output_flush(&decoder->out);
		decoder->recode.until = decoder->recode.enter(decoder->recode.context, decoder->out.time);
	}
}

static void on_branches(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	bool lost = decoder->place == NATIVE_PLACE_LOST ||
		    (decoder->place == NATIVE_PLACE_OVERFLOWED && decoder->errata.skd010);

	if (decoder->region && !decoder->has_from)
		native_take_bits(decoder, packet->tnt.bits, packet->tnt.count);
	else if (!lost)
		native_bad_packet(decoder);
}

/* Checks for packets before which all TNT bits are used, and no TIP is deferred. */
static bool ends_tnt(uint8_t kind)
{
	switch (kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
	case PTL_PT_OVF:
		return true;
	default:
		return false;
	}
}

void native_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip = 0;
	bool has_ip;

	if (__builtin_expect(decoder->guest.within, 0) && native_guest_packet(decoder, packet))
		return;
	if (decoder->holding && ends_tnt(packet->kind))
		native_drop_held(decoder, packet->kind != PTL_PT_OVF);
	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		on_branches(decoder, packet);
		break;
	case PTL_PT_TIP:
		has_ip = resolve_ip(decoder, packet, &ip);
		leave_kernel(decoder, has_ip, ip);
		native_on_tip(decoder, has_ip, ip);
		break;
	case PTL_PT_TIP_PGE:
		has_ip = resolve_ip(decoder, packet, &ip);
		leave_kernel(decoder, has_ip, ip);
		native_on_enable(decoder, has_ip, ip);
		break;
	case PTL_PT_TIP_PGD:
		has_ip = resolve_ip(decoder, packet, &ip);
		native_on_disable(decoder, has_ip, ip);
		break;
	case PTL_PT_FUP:
		has_ip = resolve_ip(decoder, packet, &ip);
		leave_kernel(decoder, has_ip, ip);
		native_on_fup(decoder, has_ip, ip);
		break;
	default:
		on_rare(decoder, packet);
	}
}

bool native_state_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet, struct native_start *start)
{
	switch (packet->kind) {
	case PTL_PT_FUP:
		start->known = resolve_ip(decoder, packet, &start->ip);
		break;
	case PTL_PT_MODE_EXEC:
		decoder->mode = native_mode_of(packet);
		break;
	case PTL_PT_MODE_TSX:
		decoder->out.speculative = packet->mode_tsx.in_tx;
		break;
	case PTL_PT_OVF:
		on_overflow(decoder);
		break;
	case PTL_PT_PIP:
		native_guest_paging(decoder, packet->pip.non_root);
		break;
	case PTL_PT_VMCS:
		decoder->guest.vmcs = packet->vmcs.base;
		break;
	case PTL_PT_PSB:
	case PTL_PT_PSBEND:
	case PTL_PT_PAD:
	case PTL_PT_MNT:
		/* Repeated state is no event. */
		break;
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
	case PTL_PT_CBR:
		on_time(decoder, packet);
		break;
	default:
		return false;
	}
	return true;
}
