/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes a segment, or a part of a CPU's segment, with libipt. The decoder walks through the earlier parts, each with the
 * code of its process, to get the CPU's return stack.
 */
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "flow/libipt/engine.h"
#include "flow/segment/replay.h"

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
	const size_t skip = (size_t)libipt_part_begin(input->segment, part);
	struct flow_engine_input made = *input;
	int status = 0;

	engine->part = part;
	if (skip) {
		status = replay(engine, input, skip);
		made.bytes = engine->replayed;
	}
	if (!status)
		status = libipt_part_enter(engine, input->segment);
	return status < 0 ? status : libipt_decode_bytes(engine, &made);
}

/*
 * Decodes input->segment, a part that does not begin at the PSB, after the earlier parts, so that libipt knows the calls
 * of the earlier parts.
 */
static int decode_part(struct libipt_engine *engine, const struct flow_engine_input *input)
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

int libipt_decode(struct flow_engine *engine_, const struct flow_engine_input *input, const struct flow_sink *sink)
{
	struct libipt_engine *engine = (struct libipt_engine *)engine_;
	int status;

	engine->sink = sink;
	if (input->segment->skip)
		return decode_part(engine, input);
	engine->part = 0;
	engine->process = input->segment->process;
	flow_begin(&engine->builder, sink);
	status = libipt_code_select(engine, input->segment->code_time);
	return status < 0 ? status : libipt_decode_bytes(engine, input);
}
