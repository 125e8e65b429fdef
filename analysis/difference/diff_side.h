/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of a comparison: their traces, and which images of the traces are the same. */
#ifndef ANALYSIS_DIFFERENCE_DIFF_SIDE_H
#define ANALYSIS_DIFFERENCE_DIFF_SIDE_H

#include "analysis/difference/diff_ignore.h"
#include "analysis/call/call_input.h"
#include "analysis/input/input.h"
#include "common/hash_map.h"
#include "common/text/json.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"

/* Identity of an image on both sides. */
struct analysis_diff_image {
	uint32_t key;   /* equal keys: the same image; 0: ignored or not selected */
	bool by_symbol; /* rebuilt image: functions are matched by name, not by address */
};

/* One trace. */
struct analysis_diff_run {
	struct analysis_input input;
	bool second; /* belongs to side B */
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_sources *sources;
	struct analysis_diff_image *images; /* by index in the timeline */
	struct analysis_calls calls;        /* only with --calls */
};

struct analysis_diff {
	struct analysis_diff_run *runs; /* runs of side A first */
	size_t count, first_count;      /* all runs; runs of side A */
	const struct analysis_ignore *ignore;
	const struct analysis_filter *filter;
	struct common_byte_map names; /* keys of images by name */
	bool waiting;                 /* paths have the code of functions that wait for other threads */
	uint64_t slower;              /* percentage by which times must differ; 0: times are not compared */
};

/* Key of code that no image covers. */
#define ANALYSIS_DIFF_NO_IMAGE 1u

/* Begins a comparison of up to `traces` traces. Call analysis_diff_close in any case. Fails with PTL_NO_MEMORY. */
int analysis_diff_open(struct analysis_diff *diff, size_t traces, const struct analysis_ignore *ignore);
/*
 * Limits the runs to selected calls, as --calls does. first, second: texts for both sides; NULL: all calls. Returns as
 * analysis_call_selection_open.
 */
int analysis_diff_select(struct analysis_diff *diff, const char *first, const char *second);
void analysis_diff_close(struct analysis_diff *diff);
/*
 * Adds a trace: those of side A first. The trace and the timeline must live longer. Returns the status of
 * flow_symbols_open or flow_sources_open.
 */
int analysis_diff_add(struct analysis_diff *diff, const struct analysis_input *input, struct flow_timeline *timeline,
		      bool second);
/* Matches the images, after all traces were added. Returns PTL_MISUSE if --image matches no image of any trace. */
int analysis_diff_match(struct analysis_diff *diff);

/* Appends "step+0x1f (counted)  counted.c:30". address: in the process. */
void analysis_diff_place(const struct analysis_diff_run *run, uint32_t image, uint64_t address, struct ptl_bytes *text);
/* Writes the members "image", "address" (in the file), "symbol", "file" and "line". */
void analysis_diff_json_place(const struct analysis_diff_run *run, uint32_t image, uint64_t address,
			      struct common_json *json, struct ptl_bytes *scratch);

#endif
