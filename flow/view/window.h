/* SPDX-License-Identifier: BSD-2-Clause */
/* Reduces batches of flow to a time window. */
#ifndef FLOW_VIEW_WINDOW_H
#define FLOW_VIEW_WINDOW_H

#include "flow/view/span.h"

/*
 * The window. Zero-initialised except the times. The arrays of a cut batch belong to the copy or to the original batch,
 * and are valid until the next cut.
 */
struct flow_window {
	uint64_t first_time; /* trace clock, both inclusive */
	uint64_t last_time;
	struct flow_batch_copy copy;
	struct flow_batch_copy of_spans; /* of the same batch, cut to spans: see flow/view/span.h */
};

/*
 * Keeps blocks and events with a time within the window, or without a known time. The marks limit the exactness.
 * Returns PTL_NO_MEMORY.
 */
int flow_window_cut(struct flow_window *window, const struct flow_batch *batch, struct flow_batch *cut);
void flow_window_free(struct flow_window *window);

#endif
