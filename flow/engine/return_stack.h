/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that a CPU remembers where a part of a segment begins. Compressed returns refer to them, whatever thread made
 * them: they are found by decoding the parts before it, from the PSB on.
 */
#ifndef FLOW_ENGINE_RETURN_STACK_H
#define FLOW_ENGINE_RETURN_STACK_H

#include "flow/engine/engine.h"

struct flow_cpu_return_stacks;

/*
 * source: struct flow_source *, of a worker. What was found for an earlier part of the same segment is gone on from, so
 * that parts that come in order cost one pass over the segment. PTL_NO_MEMORY, or what the reader says.
 */
int flow_calls_before(void *source, const struct flow_segment *segment, struct flow_return_stack *calls);

/* NULL is nothing. */
void flow_calls_close(struct flow_cpu_return_stacks *calls);

#endif
