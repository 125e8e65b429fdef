/* SPDX-License-Identifier: BSD-2-Clause */
/* A digest of a trace's flow: a few numbers for each thread. Comparing digests compares the flow of two traces. */
#ifndef RELOG_FLOW_DIGEST_H
#define RELOG_FLOW_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptl_trace;

/* Consecutive flow of a thread; of a CPU if the thread is unknown. */
struct relog_flow_group {
	uint32_t pid, tid, cpu;
	uint64_t segments, blocks, instructions, events, gaps;
	uint64_t hash; /* hash of the addresses of all instructions and events, in order */
};

struct relog_flow_digest {
	struct relog_flow_group *groups;
	size_t count;
};

/*
 * Decodes the whole trace. Damage and missing code become gaps, and are no failure. Returns PTL_NO_MEMORY, PTL_SYSTEM;
 * PTL_CANCELLED after a signal (common/program/interrupt.h).
 */
int relog_flow_digest(struct ptl_trace *trace, struct relog_flow_digest *digest);
void relog_flow_digest_free(struct relog_flow_digest *digest);
bool relog_flow_digests_equal(const struct relog_flow_digest *a, const struct relog_flow_digest *b);

#endif
