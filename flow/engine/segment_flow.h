/* SPDX-License-Identifier: BSD-2-Clause */
/* Produces the flow of a segment: reads the bytes, runs an engine, reports gaps. */
#ifndef FLOW_ENGINE_SEGMENT_FLOW_H
#define FLOW_ENGINE_SEGMENT_FLOW_H

#include "flow/code/code.h"
#include "flow/engine/engine.h"
#include "flow/segment/errata.h"

/* The bytes of the current segment, and room for the engine behind the bytes. */
struct flow_segment_bytes {
	uint8_t *bytes;
	size_t capacity;
};

/* The state of one worker. Initialise with zeroes, then call flow_source_open. */
struct flow_source {
	struct ptl_trace *trace;
	const struct flow_engine_class *class;
	const struct flow_engine_class *finder; /* class of the engine that finds the places where threads take turns */
	struct flow_engine *engine;
	struct flow_code *code;
	/* by machine, from 1 on: engines of a merged trace's machines, opened at first use */
	struct flow_engine **others;
	struct flow_errata errata; /* errata of the trace's CPU */
	size_t guests_machine;     /* index of the machine of has_guests, plus 1; 0: not looked for */
	bool has_guests;           /* the machine is a host, whose guests have other code */
	/* single segments use place 0 */
	struct flow_segment_bytes places[FLOW_ENGINE_PLACES];
	/* remembered calls before parts of segments: return_stack.h; NULL: not used so far */
	struct flow_cpu_return_stacks *calls;
	struct flow_turn_flow *turns; /* turn_flow.h; NULL: not used so far */
};

int flow_source_open(struct flow_source *source, struct ptl_trace *trace, struct flow_code *code,
		     const struct flow_engine_class *class, const struct flow_engine_class *finder);
/* Frees the engines and bytes, and clears the source. For a source that produced flow by flow_produce_between only. */
void flow_source_close_engines(struct flow_source *source);

/* Optional inputs and results at the segment's ends: see flow_engine_input. */
struct flow_ends {
	int (*calls_before)(void *context, const struct flow_segment *segment, struct flow_return_stack *calls);
	struct flow_return_stack *calls_after;
	uint32_t (*process)(void *context, uint64_t time);
	void *context;
};

/*
 * Gives the segment's flow to sink, with one engine. ends: NULL without inputs and results. Returns a negative status from
 * the engine, the sink or the reader.
 */
int flow_produce_between(struct flow_source *source, const struct flow_segment *segment, const struct flow_sink *sink,
			 const struct flow_ends *ends);

/* The steps of flow_produce_between: */

/* Reads the segment's bytes, and fills the engine's input. */
int flow_segment_prepare(struct flow_source *source, struct flow_segment_bytes *place,
			 const struct flow_segment *segment, struct flow_engine_input *input);
/* Reports the segment as a gap: its thread is unknown, or the bytes before the part cannot be replaced. */
int flow_segment_skip_all(const struct flow_segment *segment, const struct flow_sink *sink);
/* Reports the bytes and holes from offset to the segment's end as gaps. Decoding cannot start in these bytes. */
int flow_segment_skip_rest(struct flow_source *source, struct flow_segment_bytes *place,
			   const struct flow_segment *segment, uint64_t offset, const struct flow_sink *sink);

#endif
