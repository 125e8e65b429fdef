/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts libipt's events and times to PTL's. */
#include "flow/libipt/engine.h"

#include "format/pt/tsc.h"

static uint64_t mode_bits(enum pt_exec_mode mode)
{
	return mode == ptem_64bit ? 64 : mode == ptem_32bit ? 32 : mode == ptem_16bit ? 16 : 0;
}

static void set_from(struct flow_event *to, uint64_t address)
{
	to->from = address;
	to->flags |= FLOW_EVENT_HAS_FROM;
}

static void set_to(struct flow_event *to, uint64_t address)
{
	to->to = address;
	to->flags |= FLOW_EVENT_HAS_TO;
}

/* Converts events that move the flow. */
static bool translate_branch(const struct pt_event *from, struct flow_event *to)
{
	const bool known = !from->ip_suppressed;

	switch (from->type) {
	case ptev_enabled:
		to->kind = FLOW_ENABLED;
		if (from->variant.enabled.resumed)
			to->flags |= FLOW_EVENT_RESUMED;
		set_to(to, from->variant.enabled.ip);
		return true;
	case ptev_disabled:
		to->kind = FLOW_DISABLED;
		if (known)
			set_to(to, from->variant.disabled.ip);
		return true;
	case ptev_async_disabled:
		to->kind = FLOW_ASYNC_DISABLED;
		set_from(to, from->variant.async_disabled.at);
		if (known)
			set_to(to, from->variant.async_disabled.ip);
		return true;
	case ptev_async_branch:
		to->kind = FLOW_ASYNC_BRANCH;
		set_from(to, from->variant.async_branch.from);
		if (known)
			set_to(to, from->variant.async_branch.to);
		return true;
	case ptev_overflow:
		to->kind = FLOW_GAP;
		to->cause = FLOW_GAP_OVERFLOW;
		if (known)
			set_to(to, from->variant.overflow.ip);
		return true;
	case ptev_stop:
		to->kind = FLOW_STOPPED;
		return true;
	default:
		return false;
	}
}

/* Converts events that change the state of the flow. */
static bool translate_state(const struct pt_event *from, struct flow_event *to)
{
	switch (from->type) {
	case ptev_tsx:
		to->kind = FLOW_TSX;
		to->value = from->variant.tsx.aborted       ? FLOW_TSX_ABORTED
			    : from->variant.tsx.speculative ? FLOW_TSX_SPECULATIVE
							    : FLOW_TSX_COMMITTED;
		if (!from->ip_suppressed)
			set_from(to, from->variant.tsx.ip);
		return true;
	case ptev_exec_mode:
		to->kind = FLOW_EXEC_MODE;
		to->value = mode_bits(from->variant.exec_mode.mode);
		if (!from->ip_suppressed)
			set_to(to, from->variant.exec_mode.ip);
		return true;
	case ptev_paging:
		to->kind = FLOW_PAGING;
		to->value = from->variant.paging.cr3;
		to->type = from->variant.paging.non_root;
		return true;
	case ptev_async_paging:
		to->kind = FLOW_PAGING;
		to->value = from->variant.async_paging.cr3;
		to->type = from->variant.async_paging.non_root;
		if (!from->ip_suppressed)
			set_from(to, from->variant.async_paging.ip);
		return true;
	case ptev_vmcs:
		to->kind = FLOW_VMCS;
		to->value = from->variant.vmcs.base;
		return true;
	case ptev_async_vmcs:
		to->kind = FLOW_VMCS;
		to->value = from->variant.async_vmcs.base;
		if (!from->ip_suppressed)
			set_from(to, from->variant.async_vmcs.ip);
		return true;
	default:
		return false;
	}
}

/* Converts events of the program, and of the CPU's power management. */
static bool translate_rest(const struct pt_event *from, struct flow_event *to)
{
	const bool known = !from->ip_suppressed;

	switch (from->type) {
	case ptev_ptwrite:
		to->kind = FLOW_PTWRITE;
		to->type = from->variant.ptwrite.size;
		to->value = from->variant.ptwrite.payload;
		if (known)
			set_from(to, from->variant.ptwrite.ip);
		return true;
	case ptev_exstop:
		to->kind = FLOW_EXSTOP;
		if (known)
			set_from(to, from->variant.exstop.ip);
		return true;
	case ptev_mwait:
		to->kind = FLOW_MWAIT;
		to->value = from->variant.mwait.hints | (uint64_t)from->variant.mwait.ext << 32;
		if (known)
			set_from(to, from->variant.mwait.ip);
		return true;
	case ptev_pwre:
		to->kind = FLOW_POWER_ENTRY;
		to->value = from->variant.pwre.state | from->variant.pwre.sub_state << 8 |
			    (uint64_t)from->variant.pwre.hw << 16;
		return true;
	case ptev_pwrx:
		to->kind = FLOW_POWER_EXIT;
		to->value = from->variant.pwrx.last | from->variant.pwrx.deepest << 8 |
			    (uint64_t)from->variant.pwrx.interrupt << 16 | (uint64_t)from->variant.pwrx.store << 18 |
			    (uint64_t)from->variant.pwrx.autonomous << 19;
		return true;
	case ptev_cbr:
		to->kind = FLOW_CBR;
		to->value = from->variant.cbr.ratio;
		return true;
	default:
		return false;
	}
}

bool libipt_event_translate(const struct pt_event *from, struct flow_event *to)
{
	*to = (struct flow_event){0};
	/* PSB+ repeats the state for decoders that start there. Repeated state is no event. */
	if (from->status_update)
		return false;
	return translate_branch(from, to) || translate_state(from, to) || translate_rest(from, to);
}

bool libipt_packet_translate(const struct ptl_pt_packet *from, struct flow_event *to)
{
	*to = (struct flow_event){0};
	switch (from->kind) {
	case PTL_PT_CBR:
		to->kind = FLOW_CBR;
		to->value = from->cbr.ratio;
		return true;
	case PTL_PT_PWRE:
		to->kind = FLOW_POWER_ENTRY;
		to->value = from->pwre.state | (uint64_t)from->pwre.sub_state << 8 |
			    (uint64_t)from->pwre.hardware << 16;
		return true;
	case PTL_PT_PWRX:
		to->kind = FLOW_POWER_EXIT;
		to->value = from->pwrx.last | (uint64_t)from->pwrx.deepest << 8 | (uint64_t)from->pwrx.wake << 16;
		return true;
	default:
		return false;
	}
}

uint64_t libipt_time(const struct ptl_machine *machine, uint64_t tsc)
{
	return format_tsc_time(machine, format_tsc_extend(format_tsc_lowest(machine), tsc));
}
