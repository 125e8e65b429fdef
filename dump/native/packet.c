/* SPDX-License-Identifier: BSD-2-Clause */
/* What each packet does to the flow: SDM, "Intel Processor Trace", "Packet Definitions". */
#include "dump/native/packet.h"

#include "dump/instruction.h"
#include "dump/native/ahead.h"
#include "dump/native/block.h"
#include "dump/native/note.h"
#include "format/pt_last_ip.h"

static void put_value(struct native_decoder *decoder, uint8_t kind, uint64_t value)
{
	native_put(decoder, kind)->value = value;
}

static void put_branch(struct native_decoder *decoder, uint8_t kind, uint8_t flags, uint64_t from, uint64_t to)
{
	struct ptl_flow_event *event = native_put(decoder, kind);

	event->flags = flags;
	event->from = from;
	event->to = to;
}

static void damage(struct native_decoder *decoder)
{
	native_gap(decoder, PTL_GAP_PACKET, 0);
}

/* --- state ------------------------------------------------------------------------------------------------ */

static uint8_t mode_of(const struct ptl_pt_packet *packet)
{
	if (packet->mode_exec.cs_l)
		return 64;
	return packet->mode_exec.cs_d ? 32 : 16;
}

static struct ptl_flow_event *put_mode(struct native_decoder *decoder)
{
	struct ptl_flow_event *event = native_put(decoder, PTL_FLOW_EXEC_MODE);

	decoder->mode = decoder->next_mode;
	decoder->next_mode = 0;
	event->value = decoder->mode;
	event->type = decoder->next_interrupts;
	return event;
}

/* MODE.Exec holds from the address of the TIP or TIP.PGE behind it on. */
static void change_mode(struct native_decoder *decoder, uint64_t ip)
{
	struct ptl_flow_event *event;

	if (!decoder->next_mode)
		return;
	event = put_mode(decoder);
	event->flags = PTL_EVENT_HAS_TO;
	event->to = ip;
}

static void pass_time(struct native_decoder *decoder)
{
	uint64_t time = native_clock_time(&decoder->clock);

	/* Without timing packets, the time of the PSB is the best there is. */
	if (!time)
		return;
	native_output_time(&decoder->out, time);
	if (decoder->recode && time >= decoder->code_until)
		decoder->code_until = decoder->recode(decoder->recode_context, time);
}

static void on_time(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	native_clock_packet(&decoder->clock, packet);
	pass_time(decoder);
}

/* What a far transfer changed besides the instruction pointer: before the code that it led to. */
static void change_space(struct native_decoder *decoder, bool has_from, uint64_t from)
{
	struct ptl_flow_event *event;

	/* With an interrupt, VMCS goes first: it says whose page table it is. Else they come as they came. */
	for (unsigned i = 0; i < 2; i++) {
		bool paging = (i == 0) == decoder->paging_first;

		if (paging ? !decoder->paging_due : !decoder->vmcs_due)
			continue;
		event = native_put(decoder, paging ? PTL_FLOW_PAGING : PTL_FLOW_VMCS);
		event->value = paging ? decoder->paging : decoder->vmcs;
		event->type = paging && decoder->paging_guest;
		event->flags = has_from ? PTL_EVENT_HAS_FROM : 0;
		event->from = from;
	}
	decoder->vmcs_due = decoder->paging_due = decoder->paging_first = false;
}

/* --- packets with an address ------------------------------------------------------------------------------ */

uint64_t native_resume_ip(const struct ptl_block *last, bool has_ip, uint64_t ip)
{
	switch (last->branch) {
	case PTL_BRANCH_CALL:
	case PTL_BRANCH_CALL_INDIRECT:
	case PTL_BRANCH_FAR_CALL:
		return last->ip + last->size;
	default:
		return has_ip ? ip : 0;
	}
}

/* An interrupt or the like that leads to `ip`, before the instruction of the FUP. */
static void async_branch(struct native_decoder *decoder, uint64_t ip)
{
	uint64_t from = decoder->from;

	decoder->has_from = false;
	if (!native_walk_to(decoder, from) && decoder->failed)
		return;
	decoder->place = NATIVE_PLACE_KNOWN;
	put_branch(decoder, PTL_FLOW_ASYNC_BRANCH, PTL_EVENT_HAS_FROM | PTL_EVENT_HAS_TO, from, ip);
	change_space(decoder, true, ip);
	change_mode(decoder, ip);
	native_go(decoder, ip);
}

/* A TIP where packets are disabled, or nobody knows where flow is: it is there. */
static void on_sudden_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	bool expected = decoder->place == NATIVE_PLACE_LOST ||
			(decoder->place == NATIVE_PLACE_OVERFLOWED && decoder->errata.skd010);

	if (!expected)
		damage(decoder);
	if (!has_ip || decoder->failed)
		return;
	change_space(decoder, false, 0);
	change_mode(decoder, ip);
	native_resume(decoder, ip);
}

/* TNT bits that stood before a TIP which the CPU deferred belong behind it. */
static void take_held(struct native_decoder *decoder)
{
	decoder->holding = false;
	native_take_bits(decoder, decoder->held_bits, decoder->held_count);
}

static void on_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	if (decoder->noting)
		native_notes_put(decoder, false, 0);
	if (decoder->node && !has_ip)
		damage(decoder);
	if (!decoder->node) {
		on_sudden_tip(decoder, has_ip, ip);
		return;
	}
	if (decoder->has_from) {
		async_branch(decoder, ip);
		return;
	}
	native_take_target(decoder, ip);
	if (!decoder->node && !decoder->failed)
		native_resume(decoder, ip);
	else if (decoder->holding)
		take_held(decoder);
	if (!decoder->node || (!decoder->paging_due && !decoder->vmcs_due && !decoder->next_mode))
		return;
	change_space(decoder, false, 0);
	change_mode(decoder, ip);
	native_go(decoder, ip);
}

static void on_enable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t flags = PTL_EVENT_HAS_TO;

	if (decoder->noting)
		native_notes_put(decoder, false, 0);
	if (decoder->node || (!has_ip && decoder->place != NATIVE_PLACE_LOST))
		damage(decoder);
	if (!has_ip || decoder->failed)
		return;
	decoder->place = NATIVE_PLACE_KNOWN;
	if (decoder->disabled_ip && decoder->disabled_ip == ip)
		flags |= PTL_EVENT_RESUMED;
	put_branch(decoder, PTL_FLOW_ENABLED, flags, 0, ip);
	decoder->vmcs_due = decoder->paging_due = false;
	change_mode(decoder, ip);
	native_go_target(decoder, ip);
}

/* Whether the instruction at ip enters a guest. */
static bool enters_guest(struct native_decoder *decoder, uint64_t ip)
{
	const struct native_node *node = native_node_get(decoder->code, ip, decoder->mode);
	struct ptl_instruction instruction;
	const struct ptl_block *block;

	if (!node || !node->run.run.count)
		return false;
	block = node->run.run.blocks[0];
	return ptl_instruction_decode(block->code, block->lengths[0], block->mode, ip, &instruction) == 0 &&
	       instruction.enters_guest;
}

static void put_disabled(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	decoder->place = NATIVE_PLACE_KNOWN;
	change_space(decoder, false, 0);
	put_branch(decoder, PTL_FLOW_DISABLED, has_ip ? PTL_EVENT_HAS_TO : 0, 0, ip);
	decoder->node = NULL;
}

static void disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	/* CR3 filtering: the MOV to CR3 that PIP told of has stopped packets, too. */
	if (!has_ip && decoder->cr3_end && native_only_time(decoder, decoder->cr3_end)) {
		decoder->disabled_ip = 0;
		put_disabled(decoder, has_ip, ip);
		return;
	}
	if (native_walk_out(decoder, has_ip, ip))
		/* Before the event, which may hand the batch over. */
		decoder->disabled_ip = native_resume_ip(native_output_last(&decoder->out), has_ip, ip);
	if (!decoder->failed)
		put_disabled(decoder, has_ip, ip);
}

static void async_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t flags = PTL_EVENT_HAS_FROM | (has_ip ? PTL_EVENT_HAS_TO : 0);
	uint64_t from = decoder->from;

	decoder->has_from = false;
	if (!native_walk_to(decoder, from) && decoder->failed)
		return;
	if (decoder->errata.skd022 && enters_guest(decoder, from)) {
		native_resume(decoder, from);
		disable(decoder, has_ip, ip);
		return;
	}
	decoder->place = NATIVE_PLACE_KNOWN;
	put_branch(decoder, PTL_FLOW_ASYNC_DISABLED, flags, from, ip);
	decoder->disabled_ip = from;
	decoder->node = NULL;
}

static void on_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	if (decoder->noting)
		native_notes_put(decoder, false, 0);
	if (decoder->node && decoder->has_from)
		async_disable(decoder, has_ip, ip);
	else if (decoder->node)
		disable(decoder, has_ip, ip);
	else if (decoder->place == NATIVE_PLACE_LOST)
		put_disabled(decoder, has_ip, ip);
	else if (decoder->place == NATIVE_PLACE_KNOWN)
		damage(decoder);
	/* Disabled while the place was not known yet, after an overflow; or nothing new. */
	if (!decoder->node)
		decoder->place = NATIVE_PLACE_KNOWN;
	/* What changed on the way out. */
	change_space(decoder, false, 0);
	if (decoder->next_mode)
		put_mode(decoder);
}

/* Walks to ip, which a packet says is reached; a gap before it where it is not. */
static void arrive(struct native_decoder *decoder, uint64_t ip)
{
	if (!native_walk_to(decoder, ip) && decoder->failed)
		return;
	native_resume(decoder, ip);
}

/* PTWRITE at ip: the event stands behind the instruction, in whose middle no block is cut. */
static void after_ptwrite(struct native_decoder *decoder, uint64_t ip)
{
	struct native_node *node = native_node_get(decoder->code, ip, decoder->mode);
	uint64_t next;

	if (!node || !node->run.run.count) {
		if (native_walk_to(decoder, ip) || !decoder->failed)
			native_notes_put(decoder, true, ip);
		if (decoder->node)
			native_gap(decoder, PTL_GAP_CODE, ip);
		return;
	}
	next = ip + node->run.run.blocks[0]->lengths[0];
	if (!native_walk_to(decoder, next)) {
		if (decoder->failed)
			return;
		native_resume(decoder, ip);
		if (!native_walk_to(decoder, next))
			return;
	}
	native_notes_put(decoder, true, ip);
	native_resume(decoder, next);
}

/* BDM64: the branch before an abort may be recorded wrongly, and flow was at the FUP's address instead. */
static void mend_abort(struct native_decoder *decoder, uint64_t ip)
{
	if (decoder->errata.bdm64 && !native_reaches(decoder, ip))
		native_go(decoder, ip);
}

/* The FUP that events have waited for. */
static void bind_notes(struct native_decoder *decoder, uint64_t ip)
{
	const struct native_note *last = decoder->note_count ? &decoder->notes[decoder->note_count - 1] : NULL;
	bool owned = decoder->fup_owned;

	if (last && last->kind == PTL_FLOW_PTWRITE) {
		after_ptwrite(decoder, ip);
		return;
	}
	if (last && last->kind == PTL_FLOW_TSX && last->value == PTL_TSX_ABORTED)
		mend_abort(decoder, ip);
	arrive(decoder, ip);
	if (decoder->failed)
		return;
	native_notes_put(decoder, true, ip);
	decoder->has_from = !owned;
	decoder->from = ip;
}

/* The FUP behind an OVF: flow goes on there. APL12: or not, as packets are disabled. */
static void on_overflow_fup(struct native_decoder *decoder, uint64_t ip)
{
	unsigned size = 1 + ptl_pt_ip_size(*decoder->at >> PTL_PT_IP_SHIFT);

	if (decoder->errata.apl12 && native_is_disabled_at(decoder, decoder->at + size)) {
		decoder->place = NATIVE_PLACE_KNOWN;
		decoder->last_ip = 0;
		return;
	}
	change_mode(decoder, ip);
	native_resume(decoder, ip);
}

/* MODE.Exec with a FUP of its own: no branch, but the interrupt flag changed. */
static void mode_at(struct native_decoder *decoder, uint64_t ip)
{
	arrive(decoder, ip);
	if (decoder->failed)
		return;
	change_mode(decoder, ip);
	native_go(decoder, ip);
}

static void on_fup(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	bool owned = decoder->fup_owned || (decoder->next_mode && decoder->mode_at + 2 == decoder->at);

	bool lost = decoder->place == NATIVE_PLACE_LOST;

	if (!has_ip) {
		damage(decoder);
	} else if (!decoder->node && decoder->fup_owned && !(lost && decoder->lost_within)) {
		/* Packets are disabled, but not for these events. */
		native_notes_put(decoder, true, ip);
	} else if (lost && !decoder->lost_within) {
		/* Nobody knows whether packets are enabled. */
		native_notes_put(decoder, false, 0);
	} else if (decoder->place == NATIVE_PLACE_OVERFLOWED) {
		on_overflow_fup(decoder, ip);
	} else if (!decoder->node && decoder->place == NATIVE_PLACE_KNOWN) {
		damage(decoder);
	} else {
		if (!decoder->node)
			native_resume(decoder, ip);
		if (decoder->noting || decoder->fup_owned) {
			bind_notes(decoder, ip);
		} else if (owned) {
			mode_at(decoder, ip);
		} else {
			decoder->has_from = true;
			decoder->from = ip;
		}
	}
	decoder->fup_owned = false;
}

/* --- the others --------------------------------------------------------------------------------------------- */

static void on_overflow(struct native_decoder *decoder)
{
	if (decoder->noting)
		native_notes_put(decoder, false, 0);
	decoder->fup_owned = false;
	native_put(decoder, PTL_FLOW_GAP)->cause = PTL_GAP_OVERFLOW;
	decoder->node = NULL;
	decoder->place = NATIVE_PLACE_OVERFLOWED;
	decoder->last_ip = 0;
	decoder->has_from = false;
	decoder->paging_due = decoder->vmcs_due = false;
	decoder->next_mode = 0;
	decoder->disabled_ip = 0;
	native_speculate(decoder, PTL_TSX_COMMITTED);
}

static void on_tsx(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t state = packet->mode_tsx.abort	  ? PTL_TSX_ABORTED
			 : packet->mode_tsx.in_tx ? PTL_TSX_SPECULATIVE
						  : PTL_TSX_COMMITTED;

	native_note(decoder, (struct native_note){.kind = PTL_FLOW_TSX, .value = state});
	/* An abort goes elsewhere: the same FUP serves the TIP that follows. */
	if (!decoder->node)
		native_notes_put(decoder, false, 0);
	else
		decoder->fup_owned = state != PTL_TSX_ABORTED;
}

static void on_ptwrite(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	native_note(decoder, (struct native_note){.kind = PTL_FLOW_PTWRITE, .value = packet->ptwrite.payload});
	if (packet->ptwrite.ip)
		decoder->fup_owned = true;
	else if (native_find_ahead(decoder, NATIVE_PTWRITE, &ip, &next))
		after_ptwrite(decoder, ip);
	else
		native_notes_put(decoder, false, 0);
}

/* CR3 changes by a MOV, by the far transfer that the next TIP tells of, or while packets are disabled. */
static void on_paging(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	decoder->paging = packet->pip.cr3;
	decoder->paging_guest = packet->pip.non_root;
	decoder->paging_due = true;
	if (!decoder->node) {
		change_space(decoder, false, 0);
	} else if (!decoder->has_from && native_find_ahead(decoder, NATIVE_WRITES_CR3, &ip, &next)) {
		if (!native_walk_to(decoder, next))
			return;
		change_space(decoder, false, 0);
		native_go(decoder, next);
		decoder->cr3_end = decoder->at + packet->size;
	}
}

/* The VMCS changes by VMPTRLD, with the VM entry or exit that the next TIP tells of, or while packets are disabled. */
static void on_vmcs(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	decoder->vmcs = packet->vmcs.base;
	decoder->vmcs_due = true;
	decoder->paging_first = decoder->paging_due && !decoder->has_from;
	if (!decoder->node) {
		change_space(decoder, false, 0);
	} else if (!decoder->has_from && !decoder->paging_due &&
		   native_find_ahead(decoder, NATIVE_SETS_VMCS, &ip, &next) && native_reaches(decoder, next)) {
		if (!native_walk_to(decoder, next))
			return;
		change_space(decoder, false, 0);
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
		decoder->next_mode = mode_of(packet);
		decoder->next_interrupts = packet->mode_exec.interrupt_flag;
		decoder->mode_at = decoder->at;
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
	case PTL_PT_TRIG:
		native_note_packet(decoder, packet);
		break;
	case PTL_PT_PIP:
		on_paging(decoder, packet);
		break;
	case PTL_PT_VMCS:
		on_vmcs(decoder, packet);
		break;
	case PTL_PT_TRACESTOP:
		native_put(decoder, PTL_FLOW_STOPPED);
		break;
	case PTL_PT_CBR:
		native_clock_packet(&decoder->clock, packet);
		put_value(decoder, PTL_FLOW_CBR, packet->cbr.ratio);
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

static bool resolve(struct native_decoder *decoder, const struct ptl_pt_packet *packet, uint64_t *ip)
{
	if (packet->ip.form == PTL_PT_IP_NONE)
		return false;
	*ip = ptl_pt_ip_expand(decoder->last_ip, packet->ip.form, packet->ip.payload);
	decoder->last_ip = *ip;
	return true;
}

static void on_branches(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	bool lost = decoder->place == NATIVE_PLACE_LOST ||
		    (decoder->place == NATIVE_PLACE_OVERFLOWED && decoder->errata.skd010);

	if (decoder->node && !decoder->has_from)
		native_take_bits(decoder, packet->tnt.bits, packet->tnt.count);
	else if (!lost)
		damage(decoder);
}

/* Before these packets all TNT bits are used up, and no TIP is deferred. */
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

	if (decoder->holding && ends_tnt(packet->kind))
		native_drop_held(decoder, packet->kind != PTL_PT_OVF);
	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		on_branches(decoder, packet);
		break;
	case PTL_PT_TIP:
		has_ip = resolve(decoder, packet, &ip);
		on_tip(decoder, has_ip, ip);
		break;
	case PTL_PT_TIP_PGE:
		has_ip = resolve(decoder, packet, &ip);
		on_enable(decoder, has_ip, ip);
		break;
	case PTL_PT_TIP_PGD:
		has_ip = resolve(decoder, packet, &ip);
		on_disable(decoder, has_ip, ip);
		break;
	case PTL_PT_FUP:
		has_ip = resolve(decoder, packet, &ip);
		on_fup(decoder, has_ip, ip);
		break;
	default:
		on_rare(decoder, packet);
	}
}

bool native_state_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet, uint64_t *start)
{
	switch (packet->kind) {
	case PTL_PT_FUP:
		resolve(decoder, packet, start);
		break;
	case PTL_PT_MODE_EXEC:
		decoder->mode = mode_of(packet);
		break;
	case PTL_PT_MODE_TSX:
		decoder->out.speculative = packet->mode_tsx.in_tx;
		break;
	case PTL_PT_OVF:
		on_overflow(decoder);
		break;
	case PTL_PT_PSB:
	case PTL_PT_PSBEND:
	case PTL_PT_PAD:
	case PTL_PT_PIP:
	case PTL_PT_VMCS:
	case PTL_PT_MNT:
		/* State that is repeated is no event. */
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
