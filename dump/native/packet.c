/* SPDX-License-Identifier: BSD-2-Clause */
/* What each packet does to the flow: SDM, "Intel Processor Trace", "Packet Definitions". */
#include "dump/native/packet.h"

#include "dump/instruction.h"
#include "dump/native/block.h"
#include "format/pt_last_ip.h"

static struct ptl_flow_event *put_event(struct native_decoder *decoder, uint8_t kind)
{
	struct ptl_flow_event *event = native_output_place(&decoder->out);

	event->kind = kind;
	event->offset = decoder->offset + (uint64_t)(decoder->at - decoder->begin);
	return event;
}

static void put_value(struct native_decoder *decoder, uint8_t kind, uint64_t value)
{
	put_event(decoder, kind)->value = value;
}

/* With the address of the instruction that it is about. */
static void put_value_from(struct native_decoder *decoder, uint8_t kind, uint64_t value, uint64_t from)
{
	struct ptl_flow_event *event = put_event(decoder, kind);

	event->flags = PTL_EVENT_HAS_FROM;
	event->from = from;
	event->value = value;
}

static void put_branch(struct native_decoder *decoder, uint8_t kind, uint8_t flags, uint64_t from, uint64_t to)
{
	struct ptl_flow_event *event = put_event(decoder, kind);

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

/* MODE.Exec holds from the address of the TIP or TIP.PGE behind it on. */
static void change_mode(struct native_decoder *decoder, uint64_t ip)
{
	struct ptl_flow_event *event;

	if (!decoder->next_mode)
		return;
	decoder->mode = decoder->next_mode;
	decoder->next_mode = 0;
	event = put_event(decoder, PTL_FLOW_EXEC_MODE);
	event->flags = PTL_EVENT_HAS_TO;
	event->to = ip;
	event->value = decoder->mode;
}

static void change_speculation(struct native_decoder *decoder, uint64_t state)
{
	decoder->out.speculative = state == PTL_TSX_SPECULATIVE;
	native_output_mark(&decoder->out);
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
	decoder->has_from = false;
	if (!native_walk_to(decoder, decoder->from))
		return;
	put_branch(decoder, PTL_FLOW_ASYNC_BRANCH, PTL_EVENT_HAS_FROM | PTL_EVENT_HAS_TO, decoder->from, ip);
	if (decoder->paging_due)
		put_value_from(decoder, PTL_FLOW_PAGING, decoder->paging, ip);
	decoder->paging_due = false;
	change_mode(decoder, ip);
	native_go(decoder, ip);
}

static void on_tip(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	if (!decoder->node || !has_ip) {
		damage(decoder);
		return;
	}
	if (decoder->has_from) {
		async_branch(decoder, ip);
		return;
	}
	native_take_target(decoder, ip);
	if (!decoder->node || (!decoder->paging_due && !decoder->next_mode))
		return;
	/* A far transfer that changed the page table: before the code it led to. */
	if (decoder->paging_due)
		put_value(decoder, PTL_FLOW_PAGING, decoder->paging);
	decoder->paging_due = false;
	change_mode(decoder, ip);
	native_go(decoder, ip);
}

static void on_enable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t flags = PTL_EVENT_HAS_TO;

	if (decoder->node || !has_ip) {
		damage(decoder);
		return;
	}
	decoder->overflowed = false;
	if (decoder->disabled_ip && decoder->disabled_ip == ip)
		flags |= PTL_EVENT_RESUMED;
	put_branch(decoder, PTL_FLOW_ENABLED, flags, 0, ip);
	change_mode(decoder, ip);
	native_go_target(decoder, ip);
}

static void async_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t flags = PTL_EVENT_HAS_FROM | (has_ip ? PTL_EVENT_HAS_TO : 0);

	decoder->has_from = false;
	if (!native_walk_to(decoder, decoder->from))
		return;
	put_branch(decoder, PTL_FLOW_ASYNC_DISABLED, flags, decoder->from, ip);
	decoder->disabled_ip = decoder->from;
	decoder->node = NULL;
}

static void on_disable(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	decoder->paging_due = false;
	if (!decoder->node) {
		/* Disabled while the place was not known yet: after an overflow. */
		if (!decoder->overflowed)
			damage(decoder);
		decoder->overflowed = false;
		return;
	}
	if (decoder->has_from) {
		async_disable(decoder, has_ip, ip);
		return;
	}
	if (!native_walk_out(decoder, has_ip, ip))
		return;
	/* Before the event, which may hand the batch over. */
	decoder->disabled_ip = native_resume_ip(native_output_last(&decoder->out), has_ip, ip);
	put_branch(decoder, PTL_FLOW_DISABLED, has_ip ? PTL_EVENT_HAS_TO : 0, 0, ip);
	decoder->node = NULL;
}

/* PTWRITE at ip: the event stands behind the instruction, in whose middle no block is cut. */
static void after_ptwrite(struct native_decoder *decoder, uint64_t ip)
{
	struct native_node *node = native_node_get(decoder->code, ip, decoder->mode);
	uint64_t next;

	if (!node || !node->run.run.count) {
		native_walk_to(decoder, ip);
		if (decoder->node)
			native_gap(decoder, PTL_GAP_CODE, ip);
		return;
	}
	next = ip + node->run.run.blocks[0]->lengths[0];
	if (!native_walk_to(decoder, next))
		return;
	put_value_from(decoder, PTL_FLOW_PTWRITE, decoder->value, ip);
	native_go(decoder, next);
}

static void on_bound_fup(struct native_decoder *decoder, uint8_t bound, uint64_t ip)
{
	if (bound == NATIVE_BOUND_PTWRITE) {
		after_ptwrite(decoder, ip);
		return;
	}
	if (!native_walk_to(decoder, ip))
		return;
	if (bound == NATIVE_BOUND_EXSTOP) {
		put_value_from(decoder, PTL_FLOW_EXSTOP, 0, ip);
	} else {
		put_value_from(decoder, PTL_FLOW_TSX, decoder->value, ip);
		change_speculation(decoder, decoder->value);
		/* An abort goes elsewhere: the same FUP serves the TIP that follows. */
		decoder->has_from = decoder->value == PTL_TSX_ABORTED;
		decoder->from = ip;
	}
	native_go(decoder, ip);
}

static void on_fup(struct native_decoder *decoder, bool has_ip, uint64_t ip)
{
	uint8_t bound = decoder->bound;

	decoder->bound = NATIVE_BOUND_NONE;
	if (bound == NATIVE_BOUND_IGNORED)
		return;
	if (has_ip && decoder->overflowed) {
		decoder->overflowed = false;
		native_go(decoder, ip);
	} else if (!has_ip || !decoder->node) {
		damage(decoder);
	} else if (bound != NATIVE_BOUND_NONE) {
		on_bound_fup(decoder, bound, ip);
	} else {
		decoder->has_from = true;
		decoder->from = ip;
	}
}

/* --- the others --------------------------------------------------------------------------------------------- */

static void on_overflow(struct native_decoder *decoder)
{
	put_event(decoder, PTL_FLOW_GAP)->cause = PTL_GAP_OVERFLOW;
	decoder->node = NULL;
	decoder->overflowed = true;
	decoder->last_ip = 0;
	decoder->has_from = false;
	decoder->paging_due = false;
	decoder->bound = NATIVE_BOUND_NONE;
	decoder->disabled_ip = 0;
	change_speculation(decoder, PTL_TSX_COMMITTED);
}

static void on_tsx(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	decoder->value = packet->mode_tsx.abort	  ? PTL_TSX_ABORTED
			 : packet->mode_tsx.in_tx ? PTL_TSX_SPECULATIVE
						  : PTL_TSX_COMMITTED;
	if (decoder->node) {
		decoder->bound = NATIVE_BOUND_TSX;
	} else {
		put_value(decoder, PTL_FLOW_TSX, decoder->value);
		change_speculation(decoder, decoder->value);
	}
}

/*
 * The first instruction from here on, before a packet is needed, of the kind that `is` asks for; false: there is
 * none.
 */
static bool find_instruction(const struct native_node *node, bool (*is)(const struct ptl_instruction *),
			     uint64_t *ip, uint64_t *next)
{
	for (uint32_t i = 0; node && i < node->run.run.count; i++) {
		const struct ptl_block *block = node->run.run.blocks[i];
		const uint8_t *code = block->code;
		uint64_t at = block->ip;

		for (uint32_t k = 0; k < block->instructions; k++) {
			struct ptl_instruction instruction;

			if (ptl_instruction_decode(code, block->lengths[k], block->mode, at, &instruction) == 0 &&
			    is(&instruction)) {
				*ip = at;
				*next = at + block->lengths[k];
				return true;
			}
			code += block->lengths[k];
			at += block->lengths[k];
		}
	}
	return false;
}

static bool is_ptwrite(const struct ptl_instruction *instruction)
{
	return instruction->ptwrite;
}

static bool writes_cr3(const struct ptl_instruction *instruction)
{
	return instruction->writes_cr3;
}

static void on_ptwrite(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	decoder->value = packet->ptwrite.payload;
	if (packet->ptwrite.ip)
		decoder->bound = NATIVE_BOUND_PTWRITE;
	else if (find_instruction(decoder->node, is_ptwrite, &ip, &next))
		after_ptwrite(decoder, ip);
	else
		put_value(decoder, PTL_FLOW_PTWRITE, decoder->value);
}

/* CR3 changes by a MOV, by the far transfer that the next TIP tells of, or while packets are disabled. */
static void on_paging(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip, next;

	decoder->paging = packet->pip.cr3;
	if (!decoder->node) {
		put_value(decoder, PTL_FLOW_PAGING, decoder->paging);
	} else if (!decoder->has_from && decoder->node->paging &&
		   find_instruction(decoder->node, writes_cr3, &ip, &next)) {
		if (!native_walk_to(decoder, next))
			return;
		put_value(decoder, PTL_FLOW_PAGING, decoder->paging);
		native_go(decoder, next);
	} else {
		decoder->paging_due = true;
	}
}

static void on_power(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_EXSTOP:
		if (packet->exstop.ip)
			decoder->bound = NATIVE_BOUND_EXSTOP;
		else
			put_event(decoder, PTL_FLOW_EXSTOP);
		break;
	case PTL_PT_MWAIT:
		put_value(decoder, PTL_FLOW_MWAIT,
			  packet->mwait.hints | (uint64_t)packet->mwait.extensions << 32);
		break;
	case PTL_PT_PWRE:
		put_value(decoder, PTL_FLOW_POWER_ENTRY,
			  packet->pwre.state | (uint64_t)packet->pwre.sub_state << 8 |
				  (uint64_t)packet->pwre.hardware << 16);
		break;
	default:
		put_value(decoder, PTL_FLOW_POWER_EXIT,
			  packet->pwrx.last | (uint64_t)packet->pwrx.deepest << 8 |
				  (uint64_t)packet->pwrx.wake << 16);
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
		on_power(decoder, packet);
		break;
	case PTL_PT_BEP:
		decoder->bound = packet->bep.ip ? NATIVE_BOUND_IGNORED : decoder->bound;
		break;
	case PTL_PT_CFE:
		decoder->bound = packet->cfe.ip ? NATIVE_BOUND_IGNORED : decoder->bound;
		break;
	case PTL_PT_TRIG:
		decoder->bound = packet->trig.ip ? NATIVE_BOUND_IGNORED : decoder->bound;
		break;
	case PTL_PT_PIP:
		on_paging(decoder, packet);
		break;
	case PTL_PT_VMCS:
		put_value(decoder, PTL_FLOW_VMCS, packet->vmcs.base);
		break;
	case PTL_PT_TRACESTOP:
		put_event(decoder, PTL_FLOW_STOPPED);
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

void native_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	uint64_t ip = 0;
	bool has_ip;

	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		if (!decoder->node || decoder->has_from)
			damage(decoder);
		else
			native_take_bits(decoder, packet->tnt.bits, packet->tnt.count);
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

void native_state_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet, uint64_t *start)
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
	default:
		/* State that is repeated is no event; time is time. */
		on_time(decoder, packet);
	}
}
