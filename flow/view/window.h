/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts batches of flow down to a window of time. */
#ifndef PTL_FLOW_VIEW_WINDOW_H
#define PTL_FLOW_VIEW_WINDOW_H

#include "flow/engine/flow.h"

/* Zero but for the window. A cut batch's arrays are here or the batch's own: both last until the next. */
struct ptl_flow_window {
	uint64_t first_time; /* trace clock, both inclusive */
	uint64_t last_time;
	const struct ptl_block **blocks;
	struct ptl_mark *marks;
	size_t block_capacity;
	struct ptl_flow_event *events;
	size_t event_capacity;
	struct ptl_run run;
	const struct ptl_run *runs[1];
};

/*
 * Keeps the blocks and events of which the time lies in the window, or is not known, at the
 * exactness of the marks. PTL_NO_MEMORY.
 */
int ptl_flow_window_cut(struct ptl_flow_window *window, const struct ptl_batch *batch,
			struct ptl_batch *cut);
void ptl_flow_window_free(struct ptl_flow_window *window);

#endif
