/* SPDX-License-Identifier: BSD-2-Clause */
/* The selected part of a trace: processes, threads, CPUs, images, a span of time. */
#ifndef ANALYSIS_INPUT_FILTER_H
#define ANALYSIS_INPUT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/trace.h>

#include "common/program/selection.h"
#include "common/text/string_list.h"

/* A zero-initialised filter selects everything. */
struct analysis_filter {
	struct common_id_set pids;
	struct common_id_set tids;
	struct common_string_list processes; /* names of programs, for common_program_matches */
	struct common_id_set cpus;
	struct common_string_list images; /* glob patterns for paths or their last components, in the order given */
	struct common_time_span span;
	/* first time of --time on the trace's clock, inclusive; set by analysis_filter_resolve */
	uint64_t first_time;
	uint64_t last_time; /* last time, inclusive; UINT64_MAX: no end */
};

void analysis_filter_free(struct analysis_filter *filter);

/*
 * Converts the bounds of --time to times of the trace's clock. end: the last time of the trace. Returns the status of
 * common_time_span_resolve, or PTL_MISUSE if the trace has no clock.
 */
int analysis_filter_resolve(struct analysis_filter *filter, const struct ptl_machine *machine, uint64_t end);

/* Whether --pid and --tid select the thread. */
bool analysis_filter_wants_thread(const struct analysis_filter *filter, uint32_t pid, uint32_t tid);
/* Whether --time selects the time. Time 0 (unknown) is selected only without --time. */
bool analysis_filter_wants_time(const struct analysis_filter *filter, uint64_t time);
/* Whether the pattern matches the path. A pattern without "/" is compared with the last component. */
bool analysis_filter_image_is(const char *pattern, const char *path);
/* Whether --image selects the path. */
bool analysis_filter_wants_image(const struct analysis_filter *filter, const char *path);

#endif
