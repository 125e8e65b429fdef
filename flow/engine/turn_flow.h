/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gives a thread its turns of a segment in which the kernel's code is traced, too. The CPU's flow goes on over a context
 * switch: it is decoded from the PSB on, with each thread's code, and shared out where it enters the function in which the
 * kernel goes over from one thread to another.
 */
#ifndef FLOW_ENGINE_TURN_FLOW_H
#define FLOW_ENGINE_TURN_FLOW_H

#include "flow/engine/segment_flow.h"

struct flow_turn_flow;

/* Who wants the turns of one group: those of a segment whose turns are not NULL. */
struct flow_turn_target {
	const struct flow_segment *segment;
	const struct flow_sink *sink;
};

/*
 * At least one target, of different groups of the same turns: these are decoded once for all. With an engine of its own, which is kept in
 * source. As flow_produce.
 */
int flow_turns_produce(struct flow_source *source, const struct flow_turn_target *targets, size_t count);

/* NULL is nothing. */
void flow_turns_close(struct flow_turn_flow *turns);

#endif
