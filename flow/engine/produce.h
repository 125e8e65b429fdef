/* SPDX-License-Identifier: BSD-2-Clause */
/* Produces the flow of segments, one or several at a time. */
#ifndef FLOW_ENGINE_PRODUCE_H
#define FLOW_ENGINE_PRODUCE_H

#include "flow/engine/segment_flow.h"

/* Gives the segment's flow to sink. Returns a negative status from the engine, the sink or the reader. */
int flow_produce(struct flow_source *source, const struct flow_segment *segment, const struct flow_sink *sink);
/* Frees all that the source has, and clears the source. */
void flow_source_close(struct flow_source *source);

/* Several segments, with a sink for each segment. */
struct flow_portion {
	const struct flow_segment *const *segments;
	const struct flow_sink *sinks;
	size_t count;
};

/*
 * Decodes several segments for sinks of sums, events and counts: see flow_engine_class. On an error, *failed is the
 * index of the failed segment.
 */
int flow_count(struct flow_source *source, const struct flow_portion *portion, const struct flow_count_sink *counts,
	       size_t *failed);
/* Gives the remaining counts to the sink. Called after the last portion. */
int flow_count_end(struct flow_source *source);

#endif
