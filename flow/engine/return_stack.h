/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the calls that a CPU remembers at the beginning of a segment's part. Compressed returns refer to such calls, of
 * any thread. The earlier parts are decoded from the PSB on.
 */
#ifndef FLOW_ENGINE_RETURN_STACK_H
#define FLOW_ENGINE_RETURN_STACK_H

#include "flow/engine/engine.h"

struct flow_cpu_return_stacks;

/*
 * Finds the calls before the segment. source: struct flow_source * of a worker. Results for an earlier part of the same
 * segment are reused, so parts in order cost one pass over the segment. Returns PTL_NO_MEMORY, or an error of the
 * reader.
 */
int flow_calls_before(void *source, const struct flow_segment *segment, struct flow_return_stack *calls);

/* Frees the stacks. NULL is allowed. */
void flow_calls_close(struct flow_cpu_return_stacks *calls);

#endif
