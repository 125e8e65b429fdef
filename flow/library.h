/* SPDX-License-Identifier: BSD-2-Clause */
/* Internals shared by the files of libptl-flow's public interface, ptl/flow.h. */
#ifndef FLOW_LIBRARY_H
#define FLOW_LIBRARY_H

#include <ptl/flow.h>

#include "flow/view/view.h"

struct ptl_flow {
	struct ptl_trace *trace;
	bool owns_trace;
	struct flow_timeline *timeline;
};

/* A batch, and the current position of the caller's walk over the batch. */
struct ptl_flow_batch {
	const struct flow_batch *batch;
	struct flow_batch_cursor cursor;
	bool counts_only;
	struct ptl_flow_item item;
	struct ptl_flow_event event;
};

/* Begins a walk over a batch. segment must live as long as the batch. */
void flow_library_batch(struct ptl_flow_batch *walk, const struct flow_batch *batch,
			const struct ptl_flow_segment *segment, bool counts_only);
struct ptl_flow_segment flow_library_segment(const struct flow_segment *segment);

/*
 * Converts the caller's options, which may be NULL, to options of the view runner. Returns PTL_MISUSE or
 * PTL_UNSUPPORTED.
 */
int flow_library_options(const struct ptl_flow_options *given, struct flow_view_options *options);

/*
 * Converts the result of a caller's function to a status: PTL_MISUSE for a positive result. Supplies an error text if the
 * caller left no text: call ptl_error_clear before the function. owner: "view's", "callback".
 */
int flow_library_result(const char *owner, const char *function, int result);

/* Opens a flow. If `owned` is true, takes ownership of trace on success. */
int flow_library_open(struct ptl_trace *trace, bool owned, struct ptl_flow **flow);

#endif
