/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that take turns in a segment of a CPU whose kernel code is traced. There, context switches are part of the
 * flow.
 */
#ifndef FLOW_SEGMENT_TURN_H
#define FLOW_SEGMENT_TURN_H

#include "flow/segment/segment.h"

/* Kernel function that switches threads. */
#define FLOW_TURN_FUNCTION "__switch_to"

/*
 * Lists the turns in a segment. The segment has a PSB, and belongs to a CPU with these switches. entry: address of
 * FLOW_TURN_FUNCTION. *turns is NULL if the segment has no kernel code, no switch, or too many turns; then use
 * flow_segment_pieces_find.
 * Returns PTL_NO_MEMORY, or an error of the reader. The caller frees *turns.
 */
int flow_segment_turns_find(struct ptl_trace *trace, const struct flow_timeline *timeline,
			    const struct flow_segment *segment, const struct flow_switch *switches, size_t count,
			    uint64_t entry, struct flow_turns **turns);

/* Makes a segment of each group, from the whole segment. segments has room for turns->groups segments. */
void flow_segment_turns_share(const struct flow_turns *turns, const struct flow_segment *whole,
			      struct flow_segment *segments);

/*
 * Addresses of FLOW_TURN_FUNCTION, by machine. Each address is looked up once, in the kernel images of process 0.
 * Initialise with zeroes.
 */
struct flow_turn_entries {
	uint64_t *of_machines; /* by machine; 0 unknown */
	bool *looked;
};

/* Finds the address on the CPU's machine. *entry is 0 if the address is unknown. Returns PTL_NO_MEMORY. */
int flow_turn_entry_find(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t cpu,
			 struct flow_turn_entries *entries, uint64_t *entry);
void flow_turn_entries_close(struct flow_turn_entries *entries);

/*
 * Checks whether an address is in the kernel: in the upper half, but not on the page that the kernel maps into
 * programs.
 */
static inline bool flow_turn_is_kernel(uint64_t ip)
{
	return ip >> 63 && ip < 0xffffffffff600000u;
}

#endif
