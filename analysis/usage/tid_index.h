/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds threads of the timeline by tid alone. */
#ifndef ANALYSIS_USAGE_TID_INDEX_H
#define ANALYSIS_USAGE_TID_INDEX_H

#include "flow/timeline/timeline.h"

/* Zero-initialised: no threads. */
struct usage_tids {
	const struct flow_timeline *timeline;
	uint32_t *order; /* threads of the timeline by tid and start; owned */
	size_t count;
};

/* Fails with PTL_NO_MEMORY. Call usage_tids_free in any case. */
int usage_tids_make(struct usage_tids *tids, const struct flow_timeline *timeline);
void usage_tids_free(struct usage_tids *tids);
/*
 * Returns the thread with the tid at the time: the last thread that started before, else the first. NULL: no thread
 * ever had the tid. *next: start of the next thread with the tid; FLOW_TIME_END: no thread follows. next may be NULL.
 */
const struct flow_timeline_thread *usage_tids_find(const struct usage_tids *tids, uint32_t tid, uint64_t time,
						   uint64_t *next);

#endif
