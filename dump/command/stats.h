/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations of the files of ptl-dump stats. */
#ifndef DUMP_COMMAND_STATS_H
#define DUMP_COMMAND_STATS_H

#include "analysis/profile/stats.h"
#include "dump/run/command.h"
#include "flow/timeline/timeline.h"

struct stats_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	bool hash;
	bool branches;
	bool gaps_given;
	uint64_t gaps;
};

/* Prints text or JSON. unmapped: instructions executed outside all images. */
int dump_stats_print(struct dump_run *run, const struct flow_timeline *timeline, const struct analysis_stats *stats,
		     uint64_t unmapped);

/* stats_follow.c: counts a growing trace, and shows the counts repeatedly. */
int dump_stats_follow(struct dump_run *run, const struct analysis_stats_wanted *wanted);

#endif
