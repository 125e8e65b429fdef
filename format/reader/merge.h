/* SPDX-License-Identifier: BSD-2-Clause */
/* The merge of a trace's event streams, which goes on when the trace has grown. */
#ifndef FORMAT_READER_MERGE_H
#define FORMAT_READER_MERGE_H

#include "format/reader/parts.h"

struct format_merge;

/* Of the one input, which the caller keeps; the rest as format_merge_events. PTL_NO_MEMORY. */
int format_merge_new(const struct format_merge_input *input, const struct ptl_event_filter *filter,
		     int (*event)(void *context, const struct format_merge_place *place, const struct ptl_event *event),
		     void *context, struct format_merge **merge);
void format_merge_free(struct format_merge *merge);

/* The trace has grown: takes its new streams and buffers in. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_merge_resume(struct format_merge *merge);
/*
 * Gives events until the next one is later than `until`. An event of an earlier buffer that comes too late is given by the
 * next call.
 */
int format_merge_run(struct format_merge *merge, uint64_t until);

#endif
