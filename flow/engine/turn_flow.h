/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives each thread its turns of a segment whose kernel code is traced. The CPU's flow continues over context switches.
 * The flow is decoded from the PSB on, with each thread's code. A thread's flow begins and ends at the entry of the
 * kernel's function that switches threads.
 */
#ifndef FLOW_ENGINE_TURN_FLOW_H
#define FLOW_ENGINE_TURN_FLOW_H

#include "flow/engine/segment_flow.h"

struct flow_turn_flow;

/* A consumer of one group's turns. The segment's turns are not NULL. */
struct flow_turn_target {
	const struct flow_segment *segment;
	const struct flow_sink *sink;
};

/*
 * Decodes the segment once for all targets. The targets are different groups of the same turns; at least one target.
 * Uses a separate engine, which is kept in source. Errors as flow_produce.
 */
int flow_turns_produce(struct flow_source *source, const struct flow_turn_target *targets, size_t count);

/* Frees the state. NULL is allowed. */
void flow_turns_close(struct flow_turn_flow *turns);

#endif
