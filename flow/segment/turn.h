/* SPDX-License-Identifier: BSD-2-Clause */
/* Which threads take turns in a segment of a CPU of which the kernel's code is traced: context switches are flow there. */
#ifndef FLOW_SEGMENT_TURN_H
#define FLOW_SEGMENT_TURN_H

#include "flow/segment/segment.h"

/* The function in which the kernel goes over from one thread to another. */
#define FLOW_TURN_FUNCTION "__switch_to"

/*
 * Lists the turns in a segment that has a PSB and belongs to a CPU with these switches; entry is the address of
 * FLOW_TURN_FUNCTION. *turns is NULL where the segment has no code of the kernel, no switch, or more turns than are
 * worth it: flow_segment_pieces_find is for these. PTL_NO_MEMORY, or what the reader says. The caller frees.
 */
int flow_segment_turns_find(struct ptl_trace *trace, const struct flow_timeline *timeline,
			    const struct flow_segment *segment, const struct flow_switch *switches, size_t count,
			    uint64_t entry, struct flow_turns **turns);

/* Makes a segment of each group, of the whole one: there is room for turns->groups. */
void flow_segment_turns_share(const struct flow_turns *turns, const struct flow_segment *whole,
			      struct flow_segment *segments);

/* Where FLOW_TURN_FUNCTION is: once for the kernel of each machine, whose images are those of process 0. Zero at first. */
struct flow_turn_entries {
	uint64_t *of_machines; /* 0: not known */
	bool *looked;
};

/* *entry: that of the CPU's machine; 0: not known. PTL_NO_MEMORY. */
int flow_turn_entry_find(struct ptl_trace *trace, const struct flow_timeline *timeline, uint32_t cpu,
			 struct flow_turn_entries *entries, uint64_t *entry);
void flow_turn_entries_close(struct flow_turn_entries *entries);

/* Whether an address is of the kernel: in the upper half, and not on the page that it shows to programs. */
static inline bool flow_turn_is_kernel(uint64_t ip)
{
	return ip >> 63 && ip < 0xffffffffff600000u;
}

#endif
