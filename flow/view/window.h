/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts batches of flow down to a window of time. */
#ifndef FLOW_VIEW_WINDOW_H
#define FLOW_VIEW_WINDOW_H

#include "flow/engine/flow.h"

/* Zero but for the window. A cut batch's arrays are here or the batch's own: both last until the next. */
struct flow_window {
	uint64_t first_time; /* trace clock, both inclusive */
	uint64_t last_time;
	const struct flow_block **blocks;
	struct flow_mark *marks;
	size_t block_capacity;
	struct flow_event *events;
	size_t event_capacity;
	struct flow_block_run run;
	const struct flow_block_run *runs[1];
};

/*
 * Keeps the blocks and events of which the time lies in the window, or is not known, at the
 * exactness of the marks. PTL_NO_MEMORY.
 */
int flow_window_cut(struct flow_window *window, const struct flow_batch *batch, struct flow_batch *cut);
void flow_window_free(struct flow_window *window);

#endif
