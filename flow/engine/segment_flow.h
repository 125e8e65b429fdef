/* SPDX-License-Identifier: BSD-2-Clause */
/* Produces the flow of one segment: reads it, has it decoded, tells what is missing. */
#ifndef PTL_FLOW_ENGINE_SEGMENT_FLOW_H
#define PTL_FLOW_ENGINE_SEGMENT_FLOW_H

#include "flow/code/code.h"
#include "flow/engine/engine.h"
#include "flow/segment/errata.h"

/* The bytes of a segment at hand, with room for the engine behind them. */
struct ptl_segment_bytes {
	uint8_t *bytes;
	size_t capacity;
};

/* What one worker needs; zero-initialised, then ptl_flow_source_open. */
struct ptl_flow_source {
	struct ptl_trace *trace;
	const struct ptl_engine_class *class;
	struct ptl_engine *engine;
	struct ptl_code *code;
	struct ptl_engine **others; /* of a merged trace: by machine, from 1 on, made when they are needed */
	struct ptl_errata errata; /* of the trace's CPU */
	struct ptl_segment_bytes places[PTL_ENGINE_PLACES]; /* the first one, where segments come one by one */
	struct ptl_flow_calls *calls; /* of CPUs before parts of segments: flow_calls.h; NULL: nobody has asked */
};

int ptl_flow_source_open(struct ptl_flow_source *source, struct ptl_trace *trace,
			 struct ptl_code *code, const struct ptl_engine_class *class);
void ptl_flow_source_close(struct ptl_flow_source *source);

/*
 * Gives the segment's flow to sink. A negative status is the engine's or the sink's own, or the
 * reader's.
 */
int ptl_flow_produce(struct ptl_flow_source *source, const struct ptl_segment *segment,
		     const struct ptl_flow_sink *sink);

/* The same, with the calls before a part of a segment and behind it: see ptl_engine_input. */
struct ptl_flow_ends {
	int (*calls_before)(void *context, const struct ptl_segment *segment, struct ptl_calls *calls);
	void *context;
	struct ptl_calls *calls_after;
};

int ptl_flow_produce_between(struct ptl_flow_source *source, const struct ptl_segment *segment,
			     const struct ptl_flow_sink *sink, const struct ptl_flow_ends *ends);

/* Some segments, with a sink for each. */
struct ptl_flow_portion {
	const struct ptl_segment *const *segments;
	const struct ptl_flow_sink *sinks;
	size_t count;
};

/*
 * The same for several segments, for sinks that look at sums and events alone: see ptl_engine_class. All are done, or
 * one has failed: it is at *failed.
 */
int ptl_flow_count(struct ptl_flow_source *source, const struct ptl_flow_portion *portion, size_t *failed);

#endif
