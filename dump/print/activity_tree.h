/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the tree of activities. */
#ifndef DUMP_PRINT_ACTIVITY_TREE_H
#define DUMP_PRINT_ACTIVITY_TREE_H

#include "analysis/event/activity_tree.h"
#include "dump/run/command.h"
#include "flow/timeline/timeline.h"

/* Prints a line or a JSON object for each pair, with children after their parent. Returns 0 or PTL_NO_MEMORY. */
int dump_activity_tree_print(const struct analysis_activity_tree *tree, struct dump_run *run,
			     const struct analysis_names *names, const struct flow_timeline *timeline);

#endif
