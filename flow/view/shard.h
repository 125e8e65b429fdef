/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shards of a run: one process decodes some segments and keeps their partial results, and another merges those of all shards
 * as if it had decoded the segments by itself.
 */
#ifndef FLOW_VIEW_SHARD_H
#define FLOW_VIEW_SHARD_H

#include "common/bytes.h"
#include "flow/view/view.h"

/* Where partial results go to, or come from: records, in order. All return 0 or a negative ptl_status. */
struct flow_shard {
	void *context;
	/* Saving: which shard of how many; numbers count from 1. Loading: 0. */
	uint32_t number, count;
	/* Saving: results of this view over the trace come next; and a record of them. */
	int (*begin)(void *context, struct ptl_trace *trace, const char *view);
	int (*put)(void *context, const struct ptl_bytes *record);
	/* Loading: how many sources have results of this view over the trace; and the next record of one of them. */
	int (*open)(void *context, struct ptl_trace *trace, const char *view, size_t *sources);
	int (*get)(void *context, size_t source, struct ptl_bytes *record);
};

/* How the partial results of a view are written and read. */
struct flow_view_codec {
	const char *name; /* of the view; part of the file format */
	/* Appends the partial result, which stays as it is. On the calling thread, segments in order. */
	int (*save)(void *context, const struct flow_segment *segment, const void *partial, struct ptl_bytes *record);
	/* Makes a partial result of what save has written. segment->source is the source. PTL_CORRUPT where it cannot be right. */
	int (*load)(void *context, const struct flow_segment *segment, struct common_cursor *record, void **partial);
	/*
	 * What workers have beside partial results, after all segments; read before those of the same source. NULL: nothing.
	 * sources: how many there are.
	 */
	int (*save_rest)(void *context, struct ptl_bytes *record);
	int (*load_rest)(void *context, size_t source, size_t sources, struct common_cursor *record);
};

/* Merges partial results of a run in order. Zero-initialised but for the view. */
struct flow_merger {
	const struct flow_view *view;
	void *merged;     /* of the group at hand */
	void **of_groups; /* instead: segments of several groups come by turns; the caller's */
	size_t group_count;
};

/* Takes the partial result over. What the view's functions return. */
int flow_merger_take(struct flow_merger *merger, const struct flow_segment *segment, void *partial, uint64_t horizon);
/* With of_groups: all segments have come, and the groups are finished in order. */
int flow_merger_finish(struct flow_merger *merger, const struct flow_segment_list *list);
void flow_merger_free(struct flow_merger *merger);

/* The results of one shard on their way out. Begin with a list of the segments; end also writes what workers have. */
struct flow_shard_saver {
	const struct flow_shard *shard;
	const struct flow_view *view;
	struct ptl_bytes record;
	struct ptl_bytes waiting; /* records with their sizes, until what workers have is written */
};

int flow_shard_save_begin(struct flow_shard_saver *saver, struct ptl_trace *trace,
			  const struct flow_segment_list *list);
int flow_shard_save(struct flow_shard_saver *saver, const struct flow_segment *segment, const void *partial);
int flow_shard_save_end(struct flow_shard_saver *saver);
void flow_shard_saver_free(struct flow_shard_saver *saver);

/* Runs the view over what was saved. What flow_view_run returns, and PTL_CORRUPT. */
int flow_shard_load(struct ptl_trace *trace, const struct flow_timeline *timeline,
		    const struct flow_view_options *options, const struct flow_view *view);

/* For codecs: an event, but for its place in a batch. The reader fails where its kind or cause is none. */
void flow_shard_write_event(struct ptl_bytes *record, const struct flow_event *event);
void flow_shard_read_event(struct common_cursor *record, struct flow_event *event);
/* Reads a number that is below the limit; else the cursor fails, and it is 0. */
uint64_t flow_shard_read_below(struct common_cursor *record, uint64_t limit);
/* Whether the record has been read to its end; else PTL_CORRUPT, with what it is of. */
int flow_shard_check_end(const struct common_cursor *record, const char *what);

#endif
