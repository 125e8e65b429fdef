/* SPDX-License-Identifier: BSD-2-Clause */
/* The two comparisons of ptl-dump diff. */
#ifndef DUMP_COMMAND_DIFF_H
#define DUMP_COMMAND_DIFF_H

#include "analysis/difference/diff_side.h"
#include "dump/run/run.h"

/* Both functions return 0 for equal sides, COMMON_EXIT_FINDING for different sides, or a negative ptl_status. */

/* limit: maximum of items shown per kind, as text; 0: all. */
int dump_diff_show_counts(struct dump_run *run, struct analysis_diff *diff, unsigned changes, uint64_t limit);
/* context: branches shown before and after each difference. */
int dump_diff_show_first(struct dump_run *run, struct analysis_diff *diff, uint64_t context);

#endif
