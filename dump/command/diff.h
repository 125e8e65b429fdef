/* SPDX-License-Identifier: BSD-2-Clause */
/* The two comparisons of ptl-dump diff. */
#ifndef DUMP_COMMAND_DIFF_H
#define DUMP_COMMAND_DIFF_H

#include "dump/difference/diff_side.h"

/* Both return 0 where the sides are equal, COMMON_EXIT_FINDING where they differ, or a negative ptl_status. */

/* limit: how many of each kind text shows; 0: all. */
int dump_diff_show_counts(struct dump_session *session, struct dump_diff *diff, uint64_t limit);
/* context: how many branches are shown before and behind each parting. */
int dump_diff_show_first(struct dump_session *session, struct dump_diff *diff, uint64_t context);

#endif
