/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace's flow comes to, in a few numbers for each thread, so that the flow of two traces can be compared. */
#ifndef RELOG_FLOW_DIGEST_H
#define RELOG_FLOW_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptl_trace;

/* Consecutive flow of one thread; of one CPU where the thread is not known. */
struct relog_flow_group {
	uint32_t pid, tid, cpu;
	uint64_t segments, blocks, instructions, events, gaps;
	uint64_t hash; /* of the addresses of all instructions and of all events, in order */
};

struct relog_flow_digest {
	struct relog_flow_group *groups;
	size_t count;
};

/*
 * Decodes all of the trace. Damage and missing code are gaps, and no failure. PTL_NO_MEMORY, PTL_SYSTEM; PTL_CANCELLED once a signal
 * has come (common/program/interrupt.h).
 */
int relog_flow_digest(struct ptl_trace *trace, struct relog_flow_digest *digest);
void relog_flow_digest_free(struct relog_flow_digest *digest);
bool relog_flow_digests_equal(const struct relog_flow_digest *a, const struct relog_flow_digest *b);

#endif
