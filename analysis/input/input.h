/* SPDX-License-Identifier: BSD-2-Clause */
/* The input of an analysis: an open trace, the selected part, and how to decode the trace. */
#ifndef ANALYSIS_INPUT_INPUT_H
#define ANALYSIS_INPUT_INPUT_H

#include "analysis/input/filter.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"
#include "flow/view/view.h"

/* Owns nothing. The trace and the filter must live longer. */
struct analysis_input {
	struct ptl_trace *trace;
	const char *path; /* names the trace in messages */
	const struct analysis_filter *filter;
	struct flow_view_options view; /* the selection is that of the filter */
	enum flow_names names;
};

/*
 * Allocates *wanted, a flag for each image of the timeline: whether --image selects the image. The caller frees
 * *wanted. Sets *wanted to NULL if all images are selected. Fails with PTL_NO_MEMORY.
 */
int analysis_input_images(const struct analysis_input *input, const struct flow_timeline *timeline, bool **wanted);
/* Checks that each pattern of --image matches an image; else PTL_MISUSE. */
int analysis_input_check_images(const struct analysis_input *input, const struct flow_timeline *timeline);
/* Whether --pid, --tid, --cpu or --image select a part of the trace. */
bool analysis_filter_is_narrowed(const struct analysis_filter *filter);

/* ---- notes for the user ---------------------------------------------------------------------------- */

/* Prints a note that the output is empty. any: the trace has such data, but outside --time or outside the selection. */
void analysis_note_nothing(const struct analysis_input *input, const char *what, bool any);
/* As analysis_note_nothing, for flow. */
void analysis_note_no_flow(const struct analysis_input *input);
/* Warns if the recorder lost events: counts are then too small. */
void analysis_note_lost_events(const struct ptl_trace *trace);

#endif
