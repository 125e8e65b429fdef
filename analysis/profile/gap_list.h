/* SPDX-License-Identifier: BSD-2-Clause */
/* The first places where flow is missing, in order of stream and offset. */
#ifndef ANALYSIS_PROFILE_GAP_LIST_H
#define ANALYSIS_PROFILE_GAP_LIST_H

#include "common/bytes.h"
#include "flow/engine/flow.h"
#include "flow/segment/segment.h"

/* A place where flow is missing. */
struct analysis_gap {
	uint32_t pid;
	uint32_t tid;
	uint32_t process; /* index in the timeline, FLOW_NONE */
	uint32_t stream;
	struct flow_event event; /* kind FLOW_GAP: cause, offset, time, from, size */
};

/* The list. Zero-initialised, the list is empty. */
struct analysis_gap_list {
	struct analysis_gap *gaps;
	size_t count, capacity;
};

void analysis_gap_list_free(struct analysis_gap_list *list);

/* Add gaps while the list is shorter than the limit. Return PTL_NO_MEMORY. */
int analysis_gap_list_add(struct analysis_gap_list *list, size_t limit, const struct flow_segment *segment,
			  const struct flow_event *event);
int analysis_gap_list_join(struct analysis_gap_list *list, size_t limit, const struct analysis_gap_list *more);

void analysis_gap_list_write(const struct analysis_gap_list *list, struct ptl_bytes *record);
/* Reads the gaps of this segment. Returns PTL_NO_MEMORY. The cursor fails for an invalid gap. */
int analysis_gap_list_read(struct analysis_gap_list *list, size_t limit, const struct flow_segment *segment,
			   struct common_cursor *record);

#endif
