/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a CPU's segment with libipt: which part an event belongs to, and the code of each part. */
#include "flow/libipt/engine.h"

#include "flow/libipt/newer.h"

static int take_nothing(void *context, const struct flow_batch *batch)
{
	(void)context;
	(void)batch;
	return 0;
}

static const struct flow_sink nowhere = {.take = take_nothing};

int libipt_part_enter(struct libipt_engine *engine, const struct flow_segment *segment)
{
	const bool wanted = engine->part == segment->before_count;
	const struct flow_segment_part *part = wanted ? NULL : &segment->before[engine->part];

	engine->part_enabled = false;
	engine->process = wanted ? segment->process : part->process;
	flow_begin(&engine->builder, wanted ? engine->sink : &nowhere);
	flow_state(&engine->builder, segment->time, false);
	return libipt_code_select(engine, wanted ? segment->code_time : part->code_time);
}

uint64_t libipt_part_begin(const struct flow_segment *segment, size_t part)
{
	return part < segment->before_count ? segment->before[part].skip : segment->skip;
}

/* Checks whether the event belongs to the CPU, and not to instructions. */
static bool is_of_cpu(const struct flow_event *event)
{
	switch (event->kind) {
	case FLOW_CBR:
	case FLOW_POWER_ENTRY:
	case FLOW_POWER_EXIT:
	case FLOW_STOPPED:
		return true;
	default:
		return false;
	}
}

/*
 * Checks whether the event belongs to the CPU, and came before the part began. libipt's offset may be behind packets
 * that follow the event.
 */
static bool precedes(const struct flow_event *event, const struct flow_segment *segment, size_t part)
{
	return is_of_cpu(event) &&
	       event->time < (part < segment->before_count ? segment->before[part].code_time : segment->code_time);
}

/*
 * Returns the offset behind the next TIP.PGE, or the segment's end. libipt 2.1 does not give this offset, because its
 * decoders read ahead.
 */
static uint64_t find_next_enable(struct libipt_engine *engine)
{
	const struct flow_engine_input *input = engine->input;
	struct ptl_pt_packet packet;
	int length;

	if (engine->next_enables)
		return engine->next_enables;
	engine->next_enables = engine->enables;
	engine->next_context = engine->enables_context;
	do {
		length = flow_errata_read(&engine->errata, input->bytes + engine->next_enables,
					  input->size - engine->next_enables, &engine->next_context, &packet);
		if (length <= 0)
			return engine->next_enables = input->size;
		engine->next_enables += (size_t)length;
	} while (packet.kind != PTL_PT_TIP_PGE);
	return engine->next_enables;
}

/* Returns the offset behind the packets of an event, for libipt 2.1 and later. */
static uint64_t offset_of(struct libipt_engine *engine, const struct flow_event *event)
{
	/* An event of the CPU comes before the next TIP.PGE. precedes() compares the event's time with the parts'. */
	if (is_of_cpu(event))
		return find_next_enable(engine);
	if (event->kind == FLOW_ENABLED) {
		engine->enables = find_next_enable(engine);
		engine->enables_context = engine->next_context;
		engine->next_enables = 0;
	}
	return engine->enables;
}

int libipt_part_event(struct libipt_engine *engine, uint64_t offset, struct flow_event *event)
{
	const struct flow_segment *segment = engine->input->segment;
	const size_t part = engine->part;
	int status = 0;

	if (!segment->before_count || event->kind == FLOW_DISABLED || event->kind == FLOW_ASYNC_DISABLED)
		return 0;
	if (libipt_newer())
		offset = offset_of(engine, event);
	while (engine->part < segment->before_count && offset > libipt_part_begin(segment, engine->part + 1) &&
	       !precedes(event, segment, engine->part + 1))
		engine->part++;
	if (engine->part != part)
		status = libipt_part_enter(engine, segment);
	/* Packets stopped in another thread, so flow is not resumed. */
	if (event->kind == FLOW_ENABLED && !engine->part_enabled) {
		engine->part_enabled = true;
		event->flags &= ~FLOW_EVENT_RESUMED;
	}
	return status;
}
