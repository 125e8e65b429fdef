/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses how the flow of a segment is produced: from calls before its part, from the turns of threads, or alone. */
#include "flow/engine/produce.h"

#include "flow/engine/return_stack.h"
#include "flow/engine/turn_flow.h"

void flow_source_close(struct flow_source *source)
{
	flow_calls_close(source->calls);
	flow_turns_close(source->turns);
	flow_source_close_engines(source);
}

int flow_produce(struct flow_source *source, const struct flow_segment *segment, const struct flow_sink *sink)
{
	const struct flow_ends ends = {.calls_before = flow_calls_before, .context = source};

	if (segment->turns && !segment->unknown)
		return flow_turns_produce(source, &(struct flow_turn_target){segment, sink}, 1);
	return flow_produce_between(source, segment, sink, segment->before_count ? &ends : NULL);
}

/* ---- counting several segments at a time ---------------------------------------------------------- */

struct counting {
	struct flow_source *source;
	const struct flow_portion *portion;
	size_t next;
	size_t current;                /* index of the segment that last returned a status */
	size_t at[FLOW_ENGINE_PLACES]; /* by place: index of the segment in the portion */
	size_t sizes[FLOW_ENGINE_PLACES];
};

static int next_segment(void *context, unsigned place, struct flow_engine_input *input, struct flow_sink *sink)
{
	struct counting *counting = context;
	struct flow_segment_bytes *bytes = &counting->source->places[place];

	while (counting->next < counting->portion->count) {
		const size_t at = counting->next++;
		const struct flow_segment *segment = counting->portion->segments[at];
		int status = 0;

		counting->current = at;
		if (segment->turns) {
			status = flow_produce(counting->source, segment, &counting->portion->sinks[at]);
			if (status < 0)
				return status;
			continue;
		}
		*sink = counting->portion->sinks[at];
		*input = (struct flow_engine_input){.segment = segment};
		if (segment->has_psb && !segment->unknown)
			status = flow_segment_prepare(counting->source, bytes, segment, input);
		if (segment->before_count) {
			input->calls_before = flow_calls_before;
			input->calls_context = counting->source;
		}
		if (segment->unknown || (status == PTL_CORRUPT && segment->skip)) {
			status = flow_segment_skip_all(segment, sink);
			if (status < 0)
				return status;
			continue;
		}
		counting->at[place] = at;
		counting->sizes[place] = input->size;
		if (!status && input->size)
			return 1;
		if (!status)
			status = flow_segment_skip_rest(counting->source, bytes, segment, segment->offset, sink);
		if (status < 0)
			return status;
	}
	return 0;
}

static int segment_done(void *context, unsigned place)
{
	struct counting *counting = context;
	const size_t at = counting->at[place];
	const struct flow_segment *segment = counting->portion->segments[at];

	counting->current = at;
	return flow_segment_skip_rest(counting->source, &counting->source->places[place], segment,
				      segment->offset + counting->sizes[place], &counting->portion->sinks[at]);
}

int flow_count(struct flow_source *source, const struct flow_portion *portion, const struct flow_count_sink *counts,
	       size_t *failed)
{
	struct counting counting = {.source = source, .portion = portion};
	const struct flow_engine_feed feed = {next_segment, segment_done, &counting, counts};
	int status = 0;

	if (source->class->count && ptl_machine_count(source->trace) == 1) {
		status = source->class->count(source->engine, &feed);
		*failed = counting.current;
		return status;
	}
	for (size_t i = 0; !status && i < portion->count; i++) {
		*failed = i;
		status = flow_produce(source, portion->segments[i], &portion->sinks[i]);
	}
	return status;
}

int flow_count_end(struct flow_source *source)
{
	return source->engine && source->class->flush ? source->class->flush(source->engine) : 0;
}
