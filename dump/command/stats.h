/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations of the files of ptl-dump stats. */
#ifndef DUMP_COMMAND_STATS_H
#define DUMP_COMMAND_STATS_H

#include "analysis/profile/stats.h"
#include "dump/run/command.h"
#include "flow/timeline/timeline.h"

#define STATS_GAPS_DEFAULT 10

struct stats_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool hash;
	bool branches;
	bool gaps_given;
	uint64_t gaps;
};

struct analysis_stats_wanted dump_stats_wanted(const struct stats_options *options);
/* Prints text or JSON. */
int dump_stats_show(struct dump_run *run, const struct flow_timeline *timeline, const struct analysis_stats *stats);

/* stats_follow.c: counts a growing trace, and shows the counts repeatedly. */
int dump_stats_follow(struct dump_run *run);

#endif
