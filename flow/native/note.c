/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes events until the FUP with their address comes. */
#include "flow/native/note.h"

void native_speculate(struct native_decoder *decoder, uint64_t state)
{
	decoder->out.speculative = state == FLOW_TSX_SPECULATIVE;
	native_output_mark(&decoder->out);
}

void native_note(struct native_decoder *decoder, struct native_note note)
{
	if (decoder->note_count == NATIVE_NOTES)
		native_notes_flush(decoder);
	decoder->notes[decoder->note_count++] = note;
	decoder->noting = true;
}

void native_notes_put(struct native_decoder *decoder, bool has_from, uint64_t from)
{
	for (unsigned i = 0; i < decoder->note_count; i++) {
		const struct native_note *note = &decoder->notes[i];
		struct flow_event *event = native_put(decoder, note->kind);

		event->type = note->type;
		event->item = note->item;
		event->value = note->value;
		event->flags = has_from ? FLOW_EVENT_HAS_FROM : 0;
		event->from = has_from ? from : 0;
		if (note->kind == FLOW_TSX)
			native_speculate(decoder, note->value);
	}
	decoder->note_count = 0;
	decoder->noting = false;
	decoder->notes_behind = decoder->notes_placed = false;
	decoder->fup_owned = false;
}

void native_notes_flush(struct native_decoder *decoder)
{
	native_notes_put(decoder, decoder->notes_placed, decoder->notes_from);
}

/* The FUP that follows is for the notes, unless there is none: then they are put out at once. */
static void close_notes(struct native_decoder *decoder, bool fup)
{
	if (fup)
		decoder->fup_owned = true;
	else
		native_notes_flush(decoder);
}

/* Whether the event comes with a branch, whose own FUP tells the address if the CFE has none. */
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

/* Whether it is an instruction that makes the event: a branch. Its event stands behind it. */
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
	if (decoder->notes_behind)
		native_notes_flush(decoder);
	native_note(decoder, (struct native_note){
				     .kind = FLOW_CONTROL,
				     .type = packet->cfe.type,
				     .value = flow_control_has_vector(packet->cfe.type) ? packet->cfe.vector : 0,
			     });
	decoder->notes_behind = decoder->node && is_instruction(packet->cfe.type);
	if (packet->cfe.ip || !(decoder->node && (shares_fup(packet->cfe.type) || decoder->notes_behind)))
		close_notes(decoder, packet->cfe.ip);
}

static void on_mwait(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	native_note(decoder, (struct native_note){
				     .kind = FLOW_MWAIT,
				     .value = packet->mwait.hints | (uint64_t)packet->mwait.extensions << 32,
			     });
}

static void on_trigger(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	native_note(decoder, (struct native_note){.kind = FLOW_TRIGGER, .value = packet->trig.triggers});
	close_notes(decoder, packet->trig.ip);
}

void native_note_packet(struct native_decoder *decoder, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_MWAIT:
		on_mwait(decoder, packet);
		break;
	case PTL_PT_EXSTOP: /* ends what MWAIT began */
		native_note(decoder, (struct native_note){.kind = FLOW_EXSTOP});
		close_notes(decoder, packet->exstop.ip);
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
		native_notes_flush(decoder);
		decoder->block_type = packet->bbp.type;
		break;
	case PTL_PT_BIP:
		native_note(decoder, (struct native_note){
					     .kind = FLOW_BLOCK_ITEM,
					     .type = decoder->block_type,
					     .item = packet->bip.id,
					     .value = packet->bip.payload,
				     });
		break;
	case PTL_PT_BEP:
		close_notes(decoder, packet->bep.ip);
		break;
	case PTL_PT_EVD:
		native_note(decoder, (struct native_note){
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
