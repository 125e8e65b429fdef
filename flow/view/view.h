/* SPDX-License-Identifier: BSD-2-Clause */
/* Views: folds over the flow with an associative merge, run over segments in parallel. */
#ifndef FLOW_VIEW_VIEW_H
#define FLOW_VIEW_VIEW_H

#include "flow/engine/flow.h"
#include "flow/segment/segment.h"
#include "flow/timeline/timeline.h"
#include "flow/view/engines.h"

struct flow_code;       /* flow/code/code.h */
struct flow_shard;      /* flow/view/shard.h */
struct flow_view_codec; /* flow/view/shard.h */
struct flow_spans;      /* flow/view/span.h */

/*
 * A view makes a partial result of each segment, on any worker thread. Neighbouring results are merged in order.
 * Merging is associative, so results do not depend on the number of threads. Functions return 0 or a negative
 * ptl_status. A negative status ends the run. The view owns partial results.
 */
struct flow_view {
	void *context; /* passed to all functions; the context's data are shared by all workers */
	/*
	 * consume needs no order of blocks: counted blocks are in no run of a batch, and batches may have no marks. A
	 * worker may decode several segments at a time.
	 */
	bool counts_only;
	/*
	 * With counts_only: sinks of counts of blocks. Counted blocks need not be in sums then. NULL: only sums are
	 * wanted.
	 */
	const struct flow_count_sink *counts; /* by worker */

	/* Runs on a worker. Makes an empty partial result for the segment. */
	int (*begin)(void *context, const struct flow_segment *segment, void **partial);
	/*
	 * Replaces begin, for a view with data for each worker. Numbers of workers are below the options' threads. A
	 * worker decodes one segment at a time, unless counts_only.
	 */
	int (*begin_on)(void *context, unsigned worker, const struct flow_segment *segment, void **partial);
	/* Runs on a worker. Receives more flow of the segment, in order. */
	int (*consume)(void *context, void *partial, const struct flow_segment *segment,
		       const struct flow_batch *batch);
	/* Runs on a worker. Replaces consume if not NULL, and if the engine can give steps: see flow_sink. */
	int (*step)(void *partial, const struct flow_step *step, uint32_t *home_number);
	/* Runs on a worker at the end of the segment's flow. May be NULL. */
	int (*complete)(void *context, void *partial);
	/*
	 * Runs on the calling thread, for segments in order. Adds right to left, and takes ownership of right, also on
	 * failure. Both results are of one group. NULL for a view that only emits.
	 */
	int (*merge)(void *context, void *left, void *right);
	/* Runs on the calling thread when a group (one stream's flow) is complete. Takes ownership of result. */
	int (*finish)(void *context, const struct flow_segment *last, void *result);
	/*
	 * Replaces merge and finish, for a view that writes output. Runs on the calling thread. Takes ownership of each
	 * segment's partial result, in order. horizon: no later segment has flow before this trace time (0: unknown),
	 * so earlier flow may be printed in order of time.
	 */
	int (*emit)(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon);
	/* Frees a partial result without an owner, after a failure. */
	void (*drop)(void *context, void *partial);
	/* codec for files of shards; NULL: partial results cannot be saved */
	const struct flow_view_codec *codec;
};

struct flow_view_options {
	struct flow_selection selection;
	const struct flow_engine_class *engine; /* NULL: the default engine */
	unsigned threads;                       /* 0: one thread for each CPU */
	/* Orders the segments of all groups by time, instead of group after group; emit only. */
	bool by_time;
	/* Called now and then on the calling thread. done: PT bytes decoded; total: all PT bytes. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
	/* Gives the view only these spans of the flow; NULL: all. Then views get no steps and no counts. */
	const struct flow_spans *spans;
	/*
	 * Saves the partial results of some segments, or runs over saved results; NULL: neither. Results of this
	 * shard's segments are also merged here. Nothing is emitted while results are saved.
	 */
	const struct flow_shard *shard;
	/*
	 * Receives the loaded code, which the caller closes; *code is NULL if no code was needed. NULL: the code is
	 * closed.
	 */
	struct flow_code **code;
};

/*
 * Decodes all selected segments, and runs the view over the flow. Flow outside of the time window is left out, as
 * exactly as the trace's timing allows. Results do not depend on the number of threads.
 */
int flow_view_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		  const struct flow_view_options *options, const struct flow_view *view);

#endif
