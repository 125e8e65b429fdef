/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time that selects the code: the time of the last timing packet before the packet to which a run of instructions
 * leads. libipt's own time is older. libipt's place in the packets may be behind later timing packets.
 */
#include "flow/libipt/engine.h"

void libipt_code_time_start(struct libipt_engine *engine)
{
	engine->code_time = (struct libipt_code_time){0};
	flow_clock_start(&engine->code_time.clock, engine->machine);
}

void libipt_code_time_branch(struct libipt_engine *engine, uint8_t branch)
{
	struct libipt_code_time *time = &engine->code_time;

	time->bits -= branch == FLOW_BRANCH_CONDITIONAL || branch == FLOW_BRANCH_RETURN;
	time->returned = branch == FLOW_BRANCH_RETURN;
}

void libipt_code_time_event(struct libipt_engine *engine, uint8_t kind)
{
	switch ((enum flow_kind)kind) {
	case FLOW_ENABLED:
	case FLOW_DISABLED:
	case FLOW_ASYNC_DISABLED:
	case FLOW_ASYNC_BRANCH:
		engine->code_time.events--;
		break;
	default:
		break;
	}
}

/* Counts the branches or events to which a packet of flow leads. */
static void pass_packet(struct libipt_code_time *time, const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_TNT_8:
	case PTL_PT_TNT_64:
		time->bits += packet->tnt.count;
		break;
	case PTL_PT_FUP:
		time->has_fup = !time->owns_fup;
		time->owns_fup = false;
		break;
	case PTL_PT_TIP:
		/* The return was not compressed to a TNT bit. */
		time->bits += time->returned && !time->has_fup;
		time->events += time->has_fup;
		time->has_fup = time->returned = false;
		break;
	case PTL_PT_TIP_PGD:
		time->bits += time->returned && !time->has_fup;
		time->events++;
		time->has_fup = time->returned = false;
		break;
	case PTL_PT_TIP_PGE:
		time->bits = 0;
		time->events++;
		time->has_fup = false;
		break;
	case PTL_PT_PTWRITE:
	case PTL_PT_EXSTOP:
	case PTL_PT_MWAIT:
	case PTL_PT_BEP:
	case PTL_PT_CFE:
	case PTL_PT_MODE_TSX:
		time->owns_fup = true;
		break;
	case PTL_PT_OVF:
		time->bits = 0;
		time->has_fup = time->owns_fup = false;
		break;
	case PTL_PT_PSBEND:
		time->has_fup = time->owns_fup = false;
		break;
	default:
		break;
	}
}

static bool tells_time(const struct ptl_pt_packet *packet)
{
	switch (packet->kind) {
	case PTL_PT_TSC:
	case PTL_PT_TMA:
	case PTL_PT_MTC:
	case PTL_PT_CYC:
		return true;
	default:
		return false;
	}
}

uint64_t libipt_code_time(struct libipt_engine *engine, uint64_t offset)
{
	const struct flow_engine_input *input = engine->input;
	struct libipt_code_time *time = &engine->code_time;
	uint64_t now;

	while (time->offset < offset) {
		struct ptl_pt_context context = time->context;
		struct ptl_pt_packet packet;
		const int length = flow_errata_read(&engine->errata, input->bytes + time->offset,
						    input->size - time->offset, &context, &packet);

		if (length <= 0)
			break;
		/* libipt has already read the timing packet, but libipt's current place is older. */
		if ((time->bits > 0 || time->events > 0) && tells_time(&packet))
			break;
		flow_clock_packet(&time->clock, &packet);
		pass_packet(time, &packet);
		time->context = context;
		time->offset += (size_t)length;
	}
	time->returned = false;
	now = flow_clock_time(&time->clock);
	return now ? now : input->segment->time;
}
