/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets with an address: TIP, TIP.PGE, TIP.PGD and FUP. SDM, "Packet Definitions". */
#include "flow/native/address.h"

#include "flow/code/instruction.h"
#include "flow/native/cache/block.h"
#include "flow/native/gap.h"
#include "flow/native/mode_packet.h"
#include "flow/native/pending_event.h"
#include "flow/native/resynchronise.h"
#include "flow/native/walk.h"
#include "flow/native/walk_out.h"
#include "format/pt/last_ip.h"

static void put_branch(struct native_decoder *decoder, uint8_t kind, uint8_t flags, uint64_t from, uint64_t to)
{
	struct flow_event *event = native_put(decoder, kind);

	event->flags = flags;
	event->from = from;
	event->to = to;
}

/* Walks to the address of the FUP. Other announced changes come after the FUP, even if flow is lost on the way. */
static void walk_to_fup(struct native_decoder *decoder)
{
	const bool paging = decoder->announced.paging_due, vmcs = decoder->announced.vmcs_due;

	decoder->has_from = decoder->announced.paging_due = decoder->announced.vmcs_due = false;
	native_walk_to(decoder, decoder->from);
	decoder->announced.paging_due = paging;
	decoder->announced.vmcs_due = vmcs;
}

/* Handles an interrupt or a similar event that leads to `ip`, before the instruction of the FUP. */
static void async_branch(struct native_decoder *decoder, uint64_t ip)
{
	uint64_t from = decoder->from;

	walk_to_fup(decoder);
	if (decoder->failed)
		return;
	decoder->place = NATIVE_PLACE_KNOWN;
	put_branch(decoder, FLOW_ASYNC_BRANCH, FLOW_EVENT_HAS_FROM | FLOW_EVENT_HAS_TO, from, ip);
	native_change_address_space(decoder, true, ip);
	native_change_mode(decoder, ip);
	native_go(decoder, ip);
}

/* Handles a TIP while packets are disabled or the place of flow is unknown. Flow is at the TIP's address. */
static void on_sudden_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	bool expected = decoder->place == NATIVE_PLACE_LOST ||
			(decoder->place == NATIVE_PLACE_OVERFLOWED && decoder->errata.skd010);

	if (!expected)
		native_bad_packet(decoder);
	if (!has_ip || decoder->failed)
		return;
	native_change_address_space(decoder, false, 0);
	native_change_mode(decoder, ip);
	native_resume(decoder, ip);
}

/* Follows the TNT bits that came before a deferred TIP but belong after the TIP. */
static void take_held(struct native_decoder *decoder)
{
	decoder->holding = false;
	native_take_bits(decoder, decoder->held.bits, decoder->held.count);
}

/*
 * Adds the pending events, which wait for a FUP, if another packet with an address comes. Events of the branch that the
 * packet reports keep waiting.
 */
static void put_pending(struct native_decoder *decoder)
{
	if (decoder->events_pending && !(decoder->pending.behind && decoder->region && !decoder->has_from))
		native_pending_events_flush(decoder);
}

void native_on_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	put_pending(decoder);
	if (decoder->region && !has_ip)
		native_bad_packet(decoder);
	if (!decoder->region) {
		on_sudden_tip(decoder, has_ip, ip);
		return;
	}
	if (decoder->has_from) {
		async_branch(decoder, ip);
		return;
	}
	native_take_target(decoder, ip);
	if (decoder->events_pending)
		native_pending_events_flush(decoder);
	if (!decoder->region && !decoder->failed)
		native_resume(decoder, ip);
	else if (decoder->holding)
		take_held(decoder);
	if (!decoder->region ||
	    (!decoder->announced.paging_due && !decoder->announced.vmcs_due && !decoder->announced.mode))
		return;
	native_change_address_space(decoder, false, 0);
	native_change_mode(decoder, ip);
	native_go(decoder, ip);
}

void native_on_enable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t flags = FLOW_EVENT_HAS_TO;

	if (decoder->events_pending)
		native_pending_events_flush(decoder);
	if (decoder->region || (!has_ip && decoder->place != NATIVE_PLACE_LOST))
		native_bad_packet(decoder);
	if (!has_ip || decoder->failed)
		return;
	decoder->place = NATIVE_PLACE_KNOWN;
	if (decoder->disabled_ip && decoder->disabled_ip == ip)
		flags |= FLOW_EVENT_RESUMED;
	put_branch(decoder, FLOW_ENABLED, flags, 0, ip);
	decoder->announced.vmcs_due = decoder->announced.paging_due = false;
	native_change_mode(decoder, ip);
	native_go_target(decoder, ip);
}

/* Checks whether the instruction at ip enters a guest. */
static bool enters_guest(struct native_decoder *decoder, uint64_t ip)
{
	const struct native_region *region = native_region_get(decoder->code, ip, decoder->mode);
	struct flow_instruction instruction;
	const struct flow_block *block;

	if (!region || !region->run.run.count)
		return false;
	block = region->run.run.blocks[0];
	return flow_instruction_decode(block->code, block->lengths[0], block->mode, ip, &instruction) == 0 &&
	       instruction.enters_guest;
}

static void put_disabled(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	decoder->place = NATIVE_PLACE_KNOWN;
	if (decoder->events_pending)
		native_pending_events_flush(decoder);
	native_change_address_space(decoder, false, 0);
	put_branch(decoder, FLOW_DISABLED, has_ip ? FLOW_EVENT_HAS_TO : 0, 0, ip);
	decoder->region = NULL;
}

/* SKD022: the FUP of a VM entry does not report an interrupt, and does not split the block. */
static bool disable_at_entry(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	const uint64_t from = decoder->from;

	if (!enters_guest(decoder, from))
		return false;
	decoder->has_from = false;
	if (!native_reaches(decoder, from)) {
		if (!native_walk_to(decoder, from) && decoder->failed)
			return true;
		native_resume(decoder, from);
	}
	if (native_walk_through(decoder, from))
		decoder->disabled_ip = native_resume_ip(native_output_last(&decoder->out), has_ip, ip);
	if (!decoder->failed)
		put_disabled(decoder, has_ip, ip);
	return true;
}

static void disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	/* CR3 filtering: the MOV to CR3 reported by the PIP has also disabled packets. */
	if (!has_ip && decoder->announced.cr3_end && native_only_time(decoder, decoder->announced.cr3_end)) {
		decoder->disabled_ip = 0;
		put_disabled(decoder, has_ip, ip);
		return;
	}
	if (native_walk_out(decoder, has_ip, ip))
		/* Before the event, because adding the event may hand over the batch. */
		decoder->disabled_ip = native_resume_ip(native_output_last(&decoder->out), has_ip, ip);
	if (!decoder->failed)
		put_disabled(decoder, has_ip, ip);
}

static void async_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t flags = FLOW_EVENT_HAS_FROM | (has_ip ? FLOW_EVENT_HAS_TO : 0);
	uint64_t from = decoder->from;

	if (decoder->errata.skd022 && disable_at_entry(decoder, has_ip, ip))
		return;
	walk_to_fup(decoder);
	if (decoder->failed)
		return;
	decoder->place = NATIVE_PLACE_KNOWN;
	put_branch(decoder, FLOW_ASYNC_DISABLED, flags, from, ip);
	decoder->disabled_ip = from;
	decoder->region = NULL;
}

void native_on_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	put_pending(decoder);
	if (decoder->region && decoder->has_from)
		async_disable(decoder, has_ip, ip);
	else if (decoder->region)
		disable(decoder, has_ip, ip);
	else if (decoder->place == NATIVE_PLACE_LOST)
		put_disabled(decoder, has_ip, ip);
	else if (decoder->place == NATIVE_PLACE_KNOWN)
		native_bad_packet(decoder);
	/* Packets were disabled before the place was known, after an overflow, or were already disabled. */
	if (!decoder->region)
		decoder->place = NATIVE_PLACE_KNOWN;
	/* Applies the changes made by the branch that disabled packets. */
	native_change_address_space(decoder, false, 0);
	if (decoder->announced.mode)
		native_put_mode(decoder);
}

/* Walks to ip. A packet says that flow reaches ip; if flow does not, a gap comes before ip. */
static void arrive(struct native_decoder *decoder, uint64_t ip)
{
	if (!native_walk_to(decoder, ip) && decoder->failed)
		return;
	native_resume(decoder, ip);
}

void native_after_ptwrite(struct native_decoder *decoder, uint64_t ip)
{
	struct native_region *region = native_region_get(decoder->code, ip, decoder->mode);
	uint64_t next;

	if (!region || !region->run.run.count) {
		if (native_walk_to(decoder, ip) || !decoder->failed)
			native_pending_events_put(decoder, true, ip);
		if (decoder->region)
			native_gap(decoder, FLOW_GAP_CODE, ip);
		return;
	}
	next = ip + region->run.run.blocks[0]->lengths[0];
	if (!native_walk_to(decoder, next)) {
		if (decoder->failed)
			return;
		native_resume(decoder, ip);
		if (!native_walk_to(decoder, next))
			return;
	}
	native_pending_events_put(decoder, true, ip);
	native_resume(decoder, next);
}

static const struct native_pending_event *last_pending(const struct native_decoder *decoder)
{
	return decoder->pending.count ? &decoder->pending.events[decoder->pending.count - 1] : NULL;
}

static bool is_abort(const struct native_pending_event *pending)
{
	return pending && pending->kind == FLOW_TSX && pending->value == FLOW_TSX_ABORTED;
}

/* BDM64: the branch before an abort may be recorded wrongly. Flow was at the address of the FUP. */
static void mend_abort(struct native_decoder *decoder, uint64_t ip)
{
	if (decoder->errata.bdm64 && !native_reaches(decoder, ip))
		native_go(decoder, ip);
}

/* Handles the FUP of pending events. */
static void bind_pending(struct native_decoder *decoder, uint64_t ip)
{
	const struct native_pending_event *last = last_pending(decoder);
	bool owned = decoder->pending.fup_owned;

	if (last && last->kind == FLOW_PTWRITE) {
		native_after_ptwrite(decoder, ip);
		return;
	}
	if (is_abort(last))
		mend_abort(decoder, ip);
	arrive(decoder, ip);
	if (decoder->failed)
		return;
	if (decoder->pending.behind && owned) {
		decoder->pending.placed = true;
		decoder->pending.from = ip;
		return;
	}
	native_pending_events_put(decoder, true, ip);
	decoder->has_from = !owned;
	decoder->from = ip;
}

/* Handles the FUP after an OVF: flow resumes at the FUP. APL12: no flow, if packets are disabled. */
static void on_overflow_fup(struct native_decoder *decoder, uint64_t ip)
{
	unsigned size = 1 + format_pt_ip_size(*decoder->packets.at >> FORMAT_PT_IP_SHIFT);

	if (decoder->errata.apl12 && native_is_disabled_at(decoder, decoder->packets.at + size)) {
		decoder->place = NATIVE_PLACE_KNOWN;
		decoder->packets.last_ip = 0;
		native_pending_events_flush(decoder);
		return;
	}
	native_change_mode(decoder, ip);
	native_resume(decoder, ip);
	/* The pending event may be a transaction's state. An abort has a TIP, too. */
	decoder->has_from = is_abort(last_pending(decoder));
	decoder->from = ip;
	native_pending_events_put(decoder, true, ip);
}

/* Handles MODE.Exec with its own FUP: no branch, but a change of the interrupt flag. */
static void mode_at(struct native_decoder *decoder, uint64_t ip)
{
	arrive(decoder, ip);
	if (decoder->failed)
		return;
	native_change_mode(decoder, ip);
	native_go(decoder, ip);
}

/*
 * Finds the place of flow at a FUP. Flow stays in place, or continues at the FUP if flow was lost before. If an earlier
 * FUP still waits for its TIP, flow is lost now, and continues at this FUP.
 */
static void resume_at_fup(struct native_decoder *decoder, bool owned, uint64_t ip)
{
	if (decoder->has_from)
		native_end_at_fup(decoder);
	if (decoder->region || decoder->failed)
		return;
	/* The TIP for the announced mode is lost. */
	if (!owned)
		native_change_mode(decoder, ip);
	native_resume(decoder, ip);
}

/* Returns the address of the indirect branch before ip, if the FUP has the address behind the branch (erratum nlip). */
static uint64_t mend_next_ip(struct native_decoder *decoder, uint64_t ip)
{
	uint64_t branch;

	if (!decoder->region || decoder->has_from || native_reaches(decoder, ip))
		return ip;
	branch = native_branch_before(decoder, ip);
	return branch ? branch : ip;
}

void native_on_fup(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	bool owned = decoder->pending.fup_owned ||
		     (decoder->announced.mode && decoder->announced.mode_at + 2 == decoder->packets.at);

	bool lost = decoder->place == NATIVE_PLACE_LOST;

	if (has_ip && decoder->errata.nlip)
		ip = mend_next_ip(decoder, ip);
	if (!has_ip) {
		native_bad_packet(decoder);
	} else if (!decoder->region && decoder->pending.fup_owned && !(lost && decoder->gap.within)) {
		/* Packets are disabled, but these events are still reported. */
		native_pending_events_put(decoder, true, ip);
	} else if (lost && !decoder->gap.within) {
		/* It is unknown whether packets are enabled. */
		native_pending_events_put(decoder, true, ip);
		if (owned)
			native_change_mode(decoder, ip);
	} else if (decoder->place == NATIVE_PLACE_OVERFLOWED) {
		on_overflow_fup(decoder, ip);
	} else if (!decoder->region && decoder->place == NATIVE_PLACE_KNOWN && owned) {
		/*
		 * If branches are not traced, a change of the interrupt flag is also reported while packets are
		 * disabled.
		 */
		native_change_mode(decoder, ip);
	} else if (!decoder->region && decoder->place == NATIVE_PLACE_KNOWN) {
		native_bad_packet(decoder);
	} else {
		resume_at_fup(decoder, owned, ip);
		if (decoder->failed)
			return;
		if (decoder->events_pending || decoder->pending.fup_owned) {
			bind_pending(decoder, ip);
		} else if (owned) {
			mode_at(decoder, ip);
		} else {
			decoder->has_from = true;
			decoder->from = ip;
		}
	}
	decoder->pending.fup_owned = false;
}
