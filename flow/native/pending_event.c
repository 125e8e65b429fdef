/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps events until the FUP with the events' address comes. */
#include "flow/native/pending_event.h"

void native_speculate(struct native_decoder *decoder, uint64_t state)
{
	decoder->out.speculative = state == FLOW_TSX_SPECULATIVE;
	native_output_mark(&decoder->out);
}

void native_pending_event(struct native_decoder *decoder, struct native_pending_event pending)
{
	if (decoder->pending.count == NATIVE_PENDING_EVENTS)
		native_pending_events_flush(decoder);
	decoder->pending.events[decoder->pending.count++] = pending;
	decoder->events_pending = true;
}

void native_pending_events_put(struct native_decoder *decoder, bool has_from, uint64_t from)
{
	for (unsigned i = 0; i < decoder->pending.count; i++) {
		const struct native_pending_event *pending = &decoder->pending.events[i];
		struct flow_event *event = native_put(decoder, pending->kind);

		event->type = pending->type;
		event->item = pending->item;
		event->value = pending->value;
		event->flags = has_from ? FLOW_EVENT_HAS_FROM : 0;
		event->from = has_from ? from : 0;
		if (pending->kind == FLOW_TSX)
			native_speculate(decoder, pending->value);
	}
	decoder->pending.count = 0;
	decoder->events_pending = false;
	decoder->pending.behind = decoder->pending.placed = false;
	decoder->pending.fup_owned = false;
}

void native_pending_events_flush(struct native_decoder *decoder)
{
	native_pending_events_put(decoder, decoder->pending.placed, decoder->pending.from);
}

/* Assigns the following FUP to the pending events. Without a FUP, adds the events at once. */
static void close_pending(struct native_decoder *decoder, bool fup)
{
	if (fup)
		decoder->pending.fup_owned = true;
	else
		native_pending_events_flush(decoder);
}

/* Checks whether the event comes with a branch. If the CFE has no address, the branch's FUP gives the address. */
static bool shares_fup(uint8_t type)
{
	switch (type) {
	case FLOW_CONTROL_INTERRUPT:
	case FLOW_CONTROL_SMI:
	case FLOW_CONTROL_RSM:
	case FLOW_CONTROL_SIPI:
	case FLOW_CONTROL_INIT:
	case FLOW_CONTROL_VM_EXIT:
	case FLOW_CONTROL_VM_EXIT_INTERRUPT:
	case FLOW_CONTROL_USER_INTERRUPT:
		return true;
	default:
		return false;
	}
}

/* Checks whether the event belongs to a branch instruction. The event stands behind the branch. */
static bool is_instruction(uint8_t type)
{
	switch (type) {
	case FLOW_CONTROL_IRET:
	case FLOW_CONTROL_VM_ENTRY:
	case FLOW_CONTROL_UIRET:
	case FLOW_CONTROL_SOFTWARE_INTERRUPT:
	case FLOW_CONTROL_SYSTEM_CALL:
		return true;
	default:
		return false;
	}
}

static void on_control(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	if (decoder->pending.behind)
		native_pending_events_flush(decoder);
	native_pending_event(decoder,
			     (struct native_pending_event){
				     .kind = FLOW_CONTROL,
				     .type = packet->cfe.type,
				     .value = flow_control_has_vector(packet->cfe.type) ? packet->cfe.vector : 0,
			     });
	decoder->pending.behind = decoder->region && is_instruction(packet->cfe.type);
	if (packet->cfe.ip || !(decoder->region && (shares_fup(packet->cfe.type) || decoder->pending.behind)))
		close_pending(decoder, packet->cfe.ip);
}

static void on_mwait(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	native_pending_event(decoder, (struct native_pending_event){
					      .kind = FLOW_MWAIT,
					      .value = packet->mwait.hints | (uint64_t)packet->mwait.extensions << 32,
				      });
}

static void on_trigger(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	native_pending_event(decoder,
			     (struct native_pending_event){.kind = FLOW_TRIGGER, .value = packet->trig.triggers});
	close_pending(decoder, packet->trig.ip);
}

void native_pending_event_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_MWAIT:
		on_mwait(decoder, packet);
		break;
	case PTL_PT_EXSTOP: /* ends the state that MWAIT starts */
		native_pending_event(decoder, (struct native_pending_event){.kind = FLOW_EXSTOP});
		close_pending(decoder, packet->exstop.ip);
		break;
	case PTL_PT_PWRE:
		native_put(decoder, FLOW_POWER_ENTRY)->value = packet->pwre.state |
							       (uint64_t)packet->pwre.sub_state << 8 |
							       (uint64_t)packet->pwre.hardware << 16;
		break;
	case PTL_PT_PWRX:
		native_put(decoder, FLOW_POWER_EXIT)->value = packet->pwrx.last | (uint64_t)packet->pwrx.deepest << 8 |
							      (uint64_t)packet->pwrx.wake << 16;
		break;
	case PTL_PT_BBP:
		native_pending_events_flush(decoder);
		decoder->pending.block_type = packet->bbp.type;
		break;
	case PTL_PT_BIP:
		native_pending_event(decoder, (struct native_pending_event){
						      .kind = FLOW_BLOCK_ITEM,
						      .type = decoder->pending.block_type,
						      .item = packet->bip.id,
						      .value = packet->bip.payload,
					      });
		break;
	case PTL_PT_BEP:
		close_pending(decoder, packet->bep.ip);
		break;
	case PTL_PT_EVD:
		native_pending_event(decoder, (struct native_pending_event){
						      .kind = FLOW_EVENT_DATA,
						      .type = packet->evd.type,
						      .value = packet->evd.payload,
					      });
		break;
	case PTL_PT_CFE:
		on_control(decoder, packet);
		break;
	default:
		on_trigger(decoder, packet);
	}
}
