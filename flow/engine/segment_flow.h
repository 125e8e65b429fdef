/* SPDX-License-Identifier: BSD-2-Clause */
/* Produces the flow of one segment: reads it, has it decoded, reports what is missing. */
#ifndef FLOW_ENGINE_SEGMENT_FLOW_H
#define FLOW_ENGINE_SEGMENT_FLOW_H

#include "flow/code/code.h"
#include "flow/engine/engine.h"
#include "flow/segment/errata.h"

/* The bytes of a segment at hand, with room for the engine behind them. */
struct flow_segment_bytes {
	uint8_t *bytes;
	size_t capacity;
};

/* What one worker needs; zero-initialised, then flow_source_open. */
struct flow_source {
	struct ptl_trace *trace;
	const struct flow_engine_class *class;
	const struct flow_engine_class *finder; /* of the engine that finds out where threads take turns */
	struct flow_engine *engine;
	struct flow_code *code;
	struct flow_engine **others; /* of a merged trace: by machine, from 1 on, made when they are needed */
	struct flow_errata errata;   /* of the trace's CPU */
	struct flow_segment_bytes places[FLOW_ENGINE_PLACES]; /* the first one, where segments come one by one */
	struct flow_cpu_return_stacks
		*calls;               /* of CPUs before parts of segments: return_stack.h; NULL: nobody has asked */
	struct flow_turn_flow *turns; /* turn_flow.h; NULL: there were none so far */
};

int flow_source_open(struct flow_source *source, struct ptl_trace *trace, struct flow_code *code,
		     const struct flow_engine_class *class, const struct flow_engine_class *finder);
void flow_source_close(struct flow_source *source);

/*
 * Gives the segment's flow to sink. A negative status is the engine's or the sink's own, or the
 * reader's.
 */
int flow_produce(struct flow_source *source, const struct flow_segment *segment, const struct flow_sink *sink);

/* The same, with the calls before a part of a segment and behind it, or with what has turns: see flow_engine_input. */
struct flow_ends {
	int (*calls_before)(void *context, const struct flow_segment *segment, struct flow_return_stack *calls);
	struct flow_return_stack *calls_after;
	uint32_t (*process)(void *context, uint64_t time);
	void *context;
};

int flow_produce_between(struct flow_source *source, const struct flow_segment *segment, const struct flow_sink *sink,
			 const struct flow_ends *ends);

/* Some segments, with a sink for each. */
struct flow_portion {
	const struct flow_segment *const *segments;
	const struct flow_sink *sinks;
	size_t count;
};

/*
 * The same for several segments, for sinks that look at sums, events and counts: see flow_engine_class. All are done, or
 * one has failed: it is at *failed.
 */
int flow_count(struct flow_source *source, const struct flow_portion *portion, const struct flow_count_sink *counts,
	       size_t *failed);
/* Gives the last counts to the sink; behind the last portion. */
int flow_count_end(struct flow_source *source);

#endif
