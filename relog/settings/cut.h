/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line says about cutting: which part of a trace is kept. */
#ifndef RELOG_SETTINGS_CUT_H
#define RELOG_SETTINGS_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/relogger.h>

#include "common/program/options.h"
#include "common/program/selection.h"

/* Zero-initialised keeps everything. */
struct relog_cut_settings {
	struct common_time_span span;
	struct common_id_set pids;
	struct common_id_set tids;
	struct common_string_list processes; /* glob patterns for paths or their last components */
	bool tree;                           /* descendants of the processes too */
	bool drop_pt;
	bool drop_code;
};

/* The table of the options, for a target of struct relog_settings. */
extern const struct common_option relog_cut_options[];

/* Whether anything is to be cut away. */
bool relog_cut_wanted(const struct relog_cut_settings *cut);
/*
 * The span of --time in the clock of the output: 0 and UINT64_MAX where it has no such bound. Its end is the end of all
 * inputs, as their times are shifted. PTL_MISUSE where there is no clock, and as common_time_span_resolve.
 */
int relog_cut_times(const struct relog_cut_settings *cut, const struct ptl_relogger *relogger, uint64_t *first,
		    uint64_t *last);
/*
 * Whether it is known when an event comes, or a second later, whether it is kept: not whose thread has a number, nor what a window is that
 * counts from the end, or, where pt says that there may be some, which Intel PT it needs.
 */
bool relog_cut_streams(const struct relog_cut_settings *cut, bool pt);
/* What does not go together; PTL_MISUSE. */
int relog_cut_check(const struct relog_cut_settings *cut);
void relog_cut_settings_free(struct relog_cut_settings *cut);

#endif
