/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shards of a run. Several processes each decode some segments and save the partial results. Another process merges the
 * results of all shards, as if this process had decoded all segments.
 */
#ifndef FLOW_VIEW_SHARD_H
#define FLOW_VIEW_SHARD_H

#include "common/bytes.h"
#include "flow/view/view.h"

/* Destination or source of partial results: records in order. All functions return 0 or a negative ptl_status. */
struct flow_shard {
	void *context;
	/* Saving: number of the shard, from 1, and number of all shards. Loading: 0. */
	uint32_t number, count;
	/* Saving: begin announces results of this view over the trace; put writes a record. */
	int (*begin)(void *context, struct ptl_trace *trace, const char *view);
	int (*put)(void *context, const struct ptl_bytes *record);
	/*
	 * Loading: open finds the number of sources with results of this view over the trace; get reads the next record
	 * of a source.
	 */
	int (*open)(void *context, struct ptl_trace *trace, const char *view, size_t *sources);
	int (*get)(void *context, size_t source, struct ptl_bytes *record);
};

/* Conversion of a view's partial results to records. */
struct flow_view_codec {
	const char *name; /* name of the view; part of the file format */
	/*
	 * Appends the partial result to the record, and leaves the result unchanged. Called on the calling thread, for
	 * segments in order.
	 */
	int (*save)(void *context, const struct flow_segment *segment, const void *partial, struct ptl_bytes *record);
	/*
	 * Makes a partial result from a record of save. segment->source is the number of the source. Returns
	 * PTL_CORRUPT for an invalid record.
	 */
	int (*load)(void *context, const struct flow_segment *segment, struct common_cursor *record, void **partial);
	/*
	 * Save and load the workers' data besides partial results. Saved after all segments, but loaded before the
	 * partial results of the same source. sources: number of sources. NULL: no such data.
	 */
	int (*save_rest)(void *context, struct ptl_bytes *record);
	int (*load_rest)(void *context, size_t source, size_t sources, struct common_cursor *record);
};

/* Merges partial results of a run in order. Zero-initialised except the view. */
struct flow_merger {
	const struct flow_view *view;
	void *merged; /* result of the current group */
	/* by group: result, if segments of several groups alternate; otherwise NULL. Owned by the caller */
	void **of_groups;
	size_t group_count;
};

/* Merges a partial result, and takes ownership of the result. Returns the status of the view's functions. */
int flow_merger_take(struct flow_merger *merger, const struct flow_segment *segment, void *partial, uint64_t horizon);
/* With of_groups: finishes the groups in order, after all segments. */
int flow_merger_finish(struct flow_merger *merger, const struct flow_segment_list *list);
void flow_merger_free(struct flow_merger *merger);

/*
 * Saves the results of one shard. flow_shard_save_begin writes the list of segments; flow_shard_save_end writes the
 * workers' data.
 */
struct flow_shard_saver {
	const struct flow_shard *shard;
	const struct flow_view *view;
	struct ptl_bytes record;
	struct ptl_bytes waiting; /* records with their sizes, which wait until the workers' data are written */
};

int flow_shard_save_begin(struct flow_shard_saver *saver, struct ptl_trace *trace,
			  const struct flow_segment_list *list);
int flow_shard_save(struct flow_shard_saver *saver, const struct flow_segment *segment, const void *partial);
int flow_shard_save_end(struct flow_shard_saver *saver);
void flow_shard_saver_free(struct flow_shard_saver *saver);

/* Runs the view over saved results. Errors as flow_view_run, and PTL_CORRUPT. */
int flow_shard_load(struct ptl_trace *trace, const struct flow_timeline *timeline,
		    const struct flow_view_options *options, const struct flow_view *view);

/* Write and read an event without its place in a batch, for codecs. The cursor fails for an unknown kind or cause. */
void flow_shard_write_event(struct ptl_bytes *record, const struct flow_event *event);
void flow_shard_read_event(struct common_cursor *record, struct flow_event *event);
/* Reads a number below the limit. Otherwise the cursor fails, and the result is 0. */
uint64_t flow_shard_read_below(struct common_cursor *record, uint64_t limit);
/* Checks that the record was read completely. Otherwise returns PTL_CORRUPT; what: content of the record. */
int flow_shard_check_end(const struct common_cursor *record, const char *what);

#endif
