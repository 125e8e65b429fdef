/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts batches of flow down to a window of time. */
#ifndef FLOW_VIEW_WINDOW_H
#define FLOW_VIEW_WINDOW_H

#include "flow/engine/batch_copy.h"

/* Zero but for the window. A cut batch's arrays are in the copy or the batch's own: both last until the next. */
struct flow_window {
	uint64_t first_time; /* trace clock, both inclusive */
	uint64_t last_time;
	struct flow_batch_copy copy;
};

/*
 * Keeps the blocks and events of which the time lies in the window, or is not known, at the
 * exactness of the marks. PTL_NO_MEMORY.
 */
int flow_window_cut(struct flow_window *window, const struct flow_batch *batch, struct flow_batch *cut);
void flow_window_free(struct flow_window *window);

#endif
