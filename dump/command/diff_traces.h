/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the traces that ptl-dump diff compares. */
#ifndef DUMP_COMMAND_DIFF_TRACES_H
#define DUMP_COMMAND_DIFF_TRACES_H

#include "analysis/difference/diff_side.h"
#include "dump/run/run.h"

struct dump_compared {
	struct dump_run run; /* copy of the command's run, with the path and trace of this FILE */
	bool opened;         /* opened here, not by the command */
	struct flow_timeline *timeline;
};

struct dump_diff_traces {
	struct dump_compared *list;
	size_t count;
	bool damaged; /* a trace other than the first is damaged */
};

/*
 * Opens all traces except the run's own, which is the first of side A, and adds all traces to the comparison. first,
 * second: paths of the further traces of both sides. Call dump_diff_traces_close in any case.
 */
int dump_diff_traces_open(struct dump_diff_traces *traces, struct analysis_diff *diff, const struct dump_run *run,
			  char *const *first, size_t first_count, const char *const *second, size_t second_count,
			  const struct analysis_ignore *ignore);
void dump_diff_traces_close(struct dump_diff_traces *traces, struct analysis_diff *diff);

#endif
