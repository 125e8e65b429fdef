/* SPDX-License-Identifier: BSD-2-Clause */
/* Produces the flow of one segment: reads it, has it decoded, tells what is missing. */
#ifndef PTL_DUMP_FLOW_SEGMENT_H
#define PTL_DUMP_FLOW_SEGMENT_H

#include "dump/code.h"
#include "dump/engine.h"
#include "dump/errata.h"

/* What one worker needs; zero-initialised, then ptl_flow_source_open. */
struct ptl_flow_source {
	struct ptl_trace *trace;
	const struct ptl_engine_class *class;
	struct ptl_engine *engine;
	struct ptl_errata errata; /* of the trace's CPU */
	uint8_t *bytes; /* of the segment at hand, with room for the engine behind them */
	size_t capacity;
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

#endif
