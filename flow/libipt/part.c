/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a CPU's segment with libipt. The decoder walks through the earlier parts, each with the code of its process,
 * to get the CPU's return stack.
 */
#include "flow/libipt/engine.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/libipt/newer.h"
#include "flow/segment/replay.h"

static int take_nothing(void *context, const struct flow_batch *batch)
{
	(void)context;
	(void)batch;
	return 0;
}

static const struct flow_sink nowhere = {.take = take_nothing};

/* Begins the current part: selects the part's code, and the sink of its flow. */
static int enter_part(struct libipt_engine *engine, const struct flow_segment *segment)
{
	const bool wanted = engine->part == segment->before_count;
	const struct flow_segment_part *part = wanted ? NULL : &segment->before[engine->part];

	engine->part_enabled = false;
	engine->process = wanted ? segment->process : part->process;
	flow_begin(&engine->builder, wanted ? engine->sink : &nowhere);
	flow_state(&engine->builder, segment->time, false);
	return libipt_code_select(engine, wanted ? segment->code_time : part->code_time);
}

static uint64_t begin_of(const struct flow_segment *segment, size_t part)
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
	while (engine->part < segment->before_count && offset > begin_of(segment, engine->part + 1) &&
	       !precedes(event, segment, engine->part + 1))
		engine->part++;
	if (engine->part != part)
		status = enter_part(engine, segment);
	/* Packets stopped in another thread, so flow is not resumed. */
	if (event->kind == FLOW_ENABLED && !engine->part_enabled) {
		engine->part_enabled = true;
		event->flags &= ~FLOW_EVENT_RESUMED;
	}
	return status;
}

/*
 * Copies the segment's bytes to the engine's memory, and makes the copy decodable from skip on. Returns PTL_CORRUPT or
 * PTL_NO_MEMORY.
 */
static int replay(struct libipt_engine *engine, const struct flow_engine_input *input, size_t skip)
{
	if (COMMON_VECTOR_RESERVE(engine->replayed, engine->replayed_capacity, input->size, "segment"))
		return PTL_NO_MEMORY;
	memcpy(engine->replayed, input->bytes, input->size);
	return flow_segment_replay(engine->replayed, input->size, skip < input->size ? skip : input->size,
				   &engine->errata);
}

static int decode_from(struct libipt_engine *engine, const struct flow_engine_input *input, size_t part)
{
	const size_t skip = (size_t)begin_of(input->segment, part);
	struct flow_engine_input made = *input;
	int status = 0;

	engine->part = part;
	if (skip) {
		status = replay(engine, input, skip);
		made.bytes = engine->replayed;
	}
	if (!status)
		status = enter_part(engine, input->segment);
	return status < 0 ? status : libipt_decode_bytes(engine, &made);
}

int libipt_decode_part(struct libipt_engine *engine, const struct flow_engine_input *input)
{
	const struct flow_segment *segment = input->segment;
	size_t part = segment->before_count;

	while (part > 0 && !segment->before[part - 1].unknown)
		part--;
	/* If a gap ends the walk in an earlier part, the walk begins again behind that part. */
	for (; part < segment->before_count; part = engine->part + 1) {
		const int status = decode_from(engine, input, part);

		if (status != PTL_CORRUPT && (status < 0 || engine->part == segment->before_count))
			return status;
	}
	return decode_from(engine, input, segment->before_count);
}
