/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line says about cutting: which part of a trace is kept. */
#ifndef PTL_RELOG_CUT_SETTINGS_H
#define PTL_RELOG_CUT_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/options.h"
#include "common/selection.h"

/* Zero-initialised keeps everything. */
struct relog_cut_settings {
	struct ptl_time_bound from, to;
	struct ptl_id_set pids;
	struct ptl_id_set tids;
	const char **processes; /* owned array; glob patterns for paths or their last components */
	size_t process_count;
	bool tree; /* descendants of the processes too */
	bool drop_pt;
	bool drop_code;
};

/* The table of the options; take() gets a struct relog_settings. */
extern const struct ptl_option relog_cut_options[];

/* Whether anything is to be cut away. */
bool relog_cut_wanted(const struct relog_cut_settings *cut);
/* What does not go together; PTL_MISUSE. */
int relog_cut_check(const struct relog_cut_settings *cut);
void relog_cut_settings_free(struct relog_cut_settings *cut);

#endif
