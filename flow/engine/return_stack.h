/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that a CPU remembers where a part of a segment begins. Compressed returns refer to them, whatever thread made
 * them: they are found by decoding the parts before it, from the PSB on.
 */
#ifndef PTL_FLOW_ENGINE_RETURN_STACK_H
#define PTL_FLOW_ENGINE_RETURN_STACK_H

#include "flow/engine/engine.h"

struct ptl_flow_calls;

/*
 * source: struct ptl_flow_source *, of a worker. What was found for an earlier part of the same segment is gone on from, so
 * that parts that come in order cost one pass over the segment. PTL_NO_MEMORY, or what the reader says.
 */
int ptl_flow_calls_before(void *source, const struct ptl_segment *segment, struct ptl_calls *calls);

/* NULL is nothing. */
void ptl_flow_calls_close(struct ptl_flow_calls *calls);

#endif
