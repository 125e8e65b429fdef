/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the event streams of traces by time. A merge of one trace can continue when the trace has grown. */
#ifndef FORMAT_READER_MERGE_H
#define FORMAT_READER_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

struct format_merge_input {
	struct ptl_trace *trace;
	int64_t time_shift; /* nanoseconds added to the input's times */
};

/* Origin of an event. */
struct format_merge_place {
	size_t input;
	size_t stream; /* number of the stream in the input's trace */
};

/*
 * As ptl_process, for several traces: of events with the same time, those of the first input come first. filter (may be
 * NULL) applies to times before the shift. event may be NULL: then buffers are only checked.
 */
int format_merge_events(const struct format_merge_input *inputs, size_t count, const struct ptl_event_filter *filter,
			int (*event)(void *context, const struct format_merge_place *place,
				     const struct ptl_event *event),
			void *context);

struct format_merge;

/*
 * Creates a merge of one input, which the caller keeps alive. Other arguments as for format_merge_events.
 * PTL_NO_MEMORY.
 */
int format_merge_new(const struct format_merge_input *input, const struct ptl_event_filter *filter,
		     int (*event)(void *context, const struct format_merge_place *place, const struct ptl_event *event),
		     void *context, struct format_merge **merge);
void format_merge_free(struct format_merge *merge);

/* Adds new streams and buffers after the trace has grown. PTL_NO_MEMORY, PTL_SYSTEM. */
int format_merge_resume(struct format_merge *merge);
/*
 * Passes events until the next event is later than `until`. An event that arrives too late, in an earlier buffer, is
 * passed by the next call.
 */
int format_merge_run(struct format_merge *merge, uint64_t until);

#endif
