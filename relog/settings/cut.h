/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings of a cut: the part of a trace to keep. */
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
	bool tree;                           /* also descendants of the processes */
	bool drop_pt;
	bool drop_code;
};

/* Table of the options; the target is struct relog_settings. */
extern const struct common_option relog_cut_options[];

/* Whether the settings drop anything. */
bool relog_cut_wanted(const struct relog_cut_settings *cut);
/*
 * Resolves --time in the clock of the output: 0 and UINT64_MAX for a missing bound. Times "before the end" count from
 * the end of all inputs, after the shift of each input. Returns PTL_MISUSE for a trace without a clock, and the errors
 * of common_time_span_resolve.
 */
int relog_cut_times(const struct relog_cut_settings *cut, const struct ptl_relogger *relogger, uint64_t *first,
		    uint64_t *last);
/*
 * Whether the cut can decide about each event when the event comes, or a second later. Not so with tids (the owner of a
 * thread is unknown), with a window that counts from the end, and, if `pt` (the trace may have Intel PT), with a window
 * that needs parts of Intel PT.
 */
bool relog_cut_streams(const struct relog_cut_settings *cut, bool pt);
/* Checks for options that exclude each other. Returns PTL_MISUSE. */
int relog_cut_check(const struct relog_cut_settings *cut);
void relog_cut_settings_free(struct relog_cut_settings *cut);

#endif
