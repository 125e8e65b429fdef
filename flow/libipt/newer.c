/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Differences between libipt 2.0 and libipt 2.1 or later.
 *
 * MODE.Exec: libipt 2.0 reports each packet. libipt 2.1 reports packets that change the mode and, if configured,
 * changes of the interrupt flag. The engine reports each packet, as a CPU sends the packets: libipt_newer_mark
 * alternates the interrupt flag of MODE.Exec packets, and libipt_newer_event joins the two events that libipt may make
 * from a packet.
 *
 * Event trace: libipt 2.0 does not know CFE and EVD. libipt 2.1 makes one event from a CFE and the preceding EVDs.
 */
#include "flow/libipt/newer.h"

#if LIBIPT_VERSION >= 0x201

#include <string.h>

#include "format/pt/packet.h"

bool libipt_newer(void)
{
	const struct pt_version version = pt_library_version();

	return version.major > 2 || (version.major == 2 && version.minor >= 1);
}

/* ---- MODE.Exec ------------------------------------------------------------------------------------------------- */

/* A walk over the packets of a segment, as libipt sees the packets. */
struct marking {
	const struct flow_errata *errata;
	uint8_t *bytes;
	size_t size;
	struct ptl_pt_context context; /* context at the walk's place */
	bool in_psb_plus;
	bool interrupts; /* interrupt flag known to libipt */
	size_t held;     /* offset of the first MODE.Exec whose address has not come yet; SIZE_MAX: none */
	struct ptl_pt_context held_context; /* context at `held` */
};

/*
 * Marks the MODE.Exec packets from `held` to `end`, because the packet with their address has come. Before TIP.PGD, the
 * packets become padding: libipt 2.1 refuses such packets if the mode does not change; otherwise libipt 2.1 applies the
 * mode to the instructions before the branch.
 */
static void mark_held(struct marking *marking, size_t end, bool stops)
{
	struct ptl_pt_context context = marking->held_context;
	struct ptl_pt_packet packet;
	size_t at = marking->held;
	int length;

	marking->held = SIZE_MAX;
	for (; at < end; at += (size_t)length) {
		uint8_t *bits = marking->bytes + at + 1;

		length = flow_errata_read(marking->errata, marking->bytes + at, marking->size - at, &context, &packet);
		if (length <= 0)
			return;
		if (packet.kind != PTL_PT_MODE_EXEC)
			continue;
		if (stops) {
			memset(marking->bytes + at, FORMAT_PT_MATCH_PAD, (size_t)length);
			continue;
		}
		marking->interrupts = !marking->interrupts;
		*bits = (uint8_t)(*bits & ~FORMAT_PT_MODE_EXEC_IF) | (marking->interrupts ? FORMAT_PT_MODE_EXEC_IF : 0);
	}
}

static void mark_packet(struct marking *marking, const struct ptl_pt_packet *packet, size_t at,
			const struct ptl_pt_context *before)
{
	switch (packet->kind) {
	case PTL_PT_PSB:
		marking->in_psb_plus = true;
		break;
	case PTL_PT_PSBEND:
		marking->in_psb_plus = false;
		break;
	case PTL_PT_OVF:
		marking->in_psb_plus = false;
		marking->held = SIZE_MAX;
		break;
	case PTL_PT_MODE_EXEC:
		if (marking->in_psb_plus) {
			marking->interrupts = packet->mode_exec.interrupt_flag;
		} else if (marking->held == SIZE_MAX) {
			marking->held = at;
			marking->held_context = *before;
		}
		break;
	case PTL_PT_TIP:
	case PTL_PT_TIP_PGE:
	case PTL_PT_TIP_PGD:
	case PTL_PT_FUP:
		if (marking->held != SIZE_MAX)
			mark_held(marking, at, packet->kind == PTL_PT_TIP_PGD);
		break;
	default:
		break;
	}
}

void libipt_newer_mark(const struct flow_errata *errata, uint8_t *bytes, size_t size)
{
	struct marking marking = {.errata = errata, .bytes = bytes, .size = size, .held = SIZE_MAX};
	size_t at = 0;

	if (!libipt_newer())
		return;
	while (at < size) {
		const struct ptl_pt_context before = marking.context;
		struct ptl_pt_packet packet;
		const int length = flow_errata_read(errata, bytes + at, size - at, &marking.context, &packet);

		if (length <= 0)
			return;
		mark_packet(&marking, &packet, at, &before);
		at += (size_t)length;
	}
}

bool libipt_newer_event(struct libipt_engine *engine, struct pt_event *event)
{
	const bool mode_known = engine->mode_known;
	const uint64_t ip = event->variant.iflags.ip;

	engine->mode_known = event->type == ptev_exec_mode && !event->status_update;
	if (event->type == ptev_exec_mode)
		engine->mode = event->variant.exec_mode.mode;
	if (event->type != ptev_iflags)
		return true;
	if (mode_known || event->status_update)
		return false;
	event->type = ptev_exec_mode;
	event->variant.exec_mode.mode = engine->mode;
	event->variant.exec_mode.ip = ip;
	return true;
}

/* ---- the end of the packets ------------------------------------------------------------------------------------ */

/* The last two packets of flow. */
struct last_packets {
	uint64_t offset; /* offset in the buffer of the last packet */
	uint8_t kinds[2];
};

static bool is_tnt(uint8_t kind)
{
	return kind == PTL_PT_TNT_8 || kind == PTL_PT_TNT_64;
}

static void find_last_packets(struct libipt_engine *engine, struct last_packets *last)
{
	struct ptl_pt_context context = {0};
	struct ptl_pt_packet packet;
	int length;

	for (size_t at = engine->start; at < engine->capacity; at += (size_t)length) {
		length = flow_errata_read(&engine->errata, engine->buffer + at, engine->capacity - at, &context,
					  &packet);
		if (length <= 0)
			return;
		switch (packet.kind) {
		case PTL_PT_PAD:
		case PTL_PT_TSC:
		case PTL_PT_TMA:
		case PTL_PT_MTC:
		case PTL_PT_CYC:
		case PTL_PT_CBR:
			break;
		default:
			last->kinds[1] = last->kinds[0];
			last->kinds[0] = packet.kind;
			last->offset = at;
		}
	}
}

bool libipt_newer_is_at_end(struct libipt_engine *engine)
{
	struct last_packets last = {.kinds = {PTL_PT_PAD, PTL_PT_PAD}};
	uint64_t offset;

	find_last_packets(engine, &last);
	if (engine->class->offset(engine->decoder, &offset) < 0 || offset < last.offset)
		return false;
	switch (last.kinds[0]) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
	case PTL_PT_PIP:
	case PTL_PT_VMCS:
	case PTL_PT_MODE_EXEC:
		return true;
	case PTL_PT_TIP: /* used behind TNT bits; the TIP does not wait behind an event that was never reached */
		return is_tnt(last.kinds[1]) || last.kinds[1] == PTL_PT_TIP;
	default:
		return false;
	}
}

/* ---- event trace ----------------------------------------------------------------------------------------------- */

static size_t add_data(struct flow_event *to, unsigned present, uint8_t type, uint64_t value)
{
	if (!present)
		return 0;
	*to = (struct flow_event){.kind = FLOW_EVENT_DATA, .type = type, .value = value};
	return 1;
}

/* Converts an interrupt or a VM exit, with its data. */
static size_t translate_with_data(const struct pt_event *from, struct flow_event *to, uint64_t *ip)
{
	size_t count = 0;

	if (from->type == ptev_interrupt) {
		*ip = from->variant.interrupt.ip;
		count = add_data(to, from->variant.interrupt.has_cr2, FLOW_DATA_PAGE_FAULT,
				 from->variant.interrupt.cr2);
		to[count] = (struct flow_event){.type = FLOW_CONTROL_INTERRUPT,
						.value = from->variant.interrupt.vector};
	} else {
		*ip = from->variant.vmexit.ip;
		count = add_data(to, from->variant.vmexit.has_vmxq, FLOW_DATA_VM_EXIT_QUALIFICATION,
				 from->variant.vmexit.vmxq);
		count += add_data(to + count, from->variant.vmexit.has_vmxr, FLOW_DATA_VM_EXIT_REASON,
				  from->variant.vmexit.vmxr);
		to[count].type = FLOW_CONTROL_VM_EXIT;
		if (from->variant.vmexit.has_vector) {
			to[count].type = FLOW_CONTROL_VM_EXIT_INTERRUPT;
			to[count].value = from->variant.vmexit.vector;
		}
	}
	return count + 1;
}

/* Converts an event without data. Returns false if the event is no event of event trace. */
static bool translate_plain(const struct pt_event *from, struct flow_event *to, uint64_t *ip)
{
	switch (from->type) {
	case ptev_iret:
		to->type = FLOW_CONTROL_IRET;
		*ip = from->variant.iret.ip;
		return true;
	case ptev_smi:
		to->type = FLOW_CONTROL_SMI;
		*ip = from->variant.smi.ip;
		return true;
	case ptev_rsm:
		to->type = FLOW_CONTROL_RSM;
		*ip = from->variant.rsm.ip;
		return true;
	case ptev_sipi:
		to->type = FLOW_CONTROL_SIPI;
		to->value = from->variant.sipi.vector;
		return true;
	case ptev_init:
		to->type = FLOW_CONTROL_INIT;
		*ip = from->variant.init.ip;
		return true;
	case ptev_vmentry:
		to->type = FLOW_CONTROL_VM_ENTRY;
		*ip = from->variant.vmentry.ip;
		return true;
	case ptev_shutdown:
		to->type = FLOW_CONTROL_SHUTDOWN;
		*ip = from->variant.shutdown.ip;
		return true;
	case ptev_uintr:
		to->type = FLOW_CONTROL_USER_INTERRUPT;
		to->value = from->variant.uintr.vector;
		*ip = from->variant.uintr.ip;
		return true;
	case ptev_uiret:
		to->type = FLOW_CONTROL_UIRET;
		*ip = from->variant.uiret.ip;
		return true;
	default:
		return false;
	}
}

size_t libipt_newer_translate(const struct pt_event *from, struct flow_event *to)
{
	const bool with_data = from->type == ptev_interrupt || from->type == ptev_vmexit;
	uint64_t ip = 0;
	size_t count;

	memset(to, 0, LIBIPT_EVENTS_MAX * sizeof(*to));
	if (with_data)
		count = translate_with_data(from, to, &ip);
	else
		count = translate_plain(from, to, &ip);
	if (!count)
		return 0;
	to[count - 1].kind = FLOW_CONTROL;
	for (size_t i = 0; i < count && !from->ip_suppressed; i++) {
		to[i].from = ip;
		to[i].flags = FLOW_EVENT_HAS_FROM;
	}
	return count;
}

#else

bool libipt_newer(void)
{
	return false;
}

void libipt_newer_mark(const struct flow_errata *errata, uint8_t *bytes, size_t size)
{
	(void)errata;
	(void)bytes;
	(void)size;
}

bool libipt_newer_event(struct libipt_engine *engine, struct pt_event *event)
{
	(void)engine;
	(void)event;
	return true;
}

bool libipt_newer_is_at_end(struct libipt_engine *engine)
{
	(void)engine;
	return false;
}

size_t libipt_newer_translate(const struct pt_event *from, struct flow_event *to)
{
	(void)from;
	(void)to;
	return 0;
}

#endif
