/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of libptl-flow's public interface, ptl/flow.h, share. */
#ifndef FLOW_LIBRARY_H
#define FLOW_LIBRARY_H

#include <ptl/flow.h>

#include "flow/view/view.h"

struct ptl_flow {
	struct ptl_trace *trace;
	bool owns_trace;
	struct flow_timeline *timeline;
};

/* A batch while it is walked. */
struct ptl_flow_batch {
	const struct flow_batch *batch;
	struct flow_batch_cursor cursor;
	bool counts_only;
	struct ptl_flow_item item;
	struct ptl_flow_event event;
};

/* segment lives as long as the batch does. */
void flow_library_batch(struct ptl_flow_batch *walk, const struct flow_batch *batch,
			const struct ptl_flow_segment *segment, bool counts_only);
struct ptl_flow_segment flow_library_segment(const struct flow_segment *segment);

/* The caller's options, which may be NULL, as the view runner has them. PTL_MISUSE, PTL_UNSUPPORTED. */
int flow_library_options(const struct ptl_flow_options *given, struct flow_view_options *options);

/* Takes trace over with `owned`, on success. */
int flow_library_open(struct ptl_trace *trace, bool owned, struct ptl_flow **flow);

#endif
