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
struct flow_view_codec; /* there, too */

/*
 * A view makes a partial result of each segment, on any worker thread, and neighbours are merged in
 * order. Merging is associative, so that results do not depend on the number of threads. Functions
 * return 0 or a negative ptl_status, which ends the run. The partial result belongs to the view.
 */
struct flow_view {
	void *context; /* handed to all functions; what it points to is shared by all workers */
	/*
	 * consume does without the order of blocks: what is counted is in no run of a batch, and there may be no marks. A worker may be at
	 * several segments at a time.
	 */
	bool counts_only;
	/* With counts_only: where each worker puts counts of blocks, which then need not be in sums; NULL: sums suffice. */
	const struct flow_count_sink *counts; /* by worker */

	/* On a worker: an empty partial result for the segment. */
	int (*begin)(void *context, const struct flow_segment *segment, void **partial);
	/*
	 * Instead of begin, for a view that keeps something for each worker: their numbers are below the options' threads, and
	 * a worker is at one segment at a time, but for counts_only.
	 */
	int (*begin_on)(void *context, unsigned worker, const struct flow_segment *segment, void **partial);
	/* On a worker: more flow of the segment, in order. */
	int (*consume)(void *context, void *partial, const struct flow_segment *segment,
		       const struct flow_batch *batch);
	/* On a worker, instead of consume where it is not NULL and the engine can: see flow_sink. */
	int (*step)(void *partial, const struct flow_step *step, uint32_t *home);
	const struct flow_step_states
		*states; /* of those steps, by worker; their context is the partial result; NULL: none */
	/* On a worker: there is no more flow of the segment. May be NULL. */
	int (*complete)(void *context, void *partial);
	/*
	 * On the calling thread, segments in order: adds right, which it takes over (also on
	 * failure), to left. Both are of the same group. NULL for a view that only emits.
	 */
	int (*merge)(void *context, void *left, void *right);
	/* On the calling thread: a group (one stream's flow) is complete. Takes result over. */
	int (*finish)(void *context, const struct flow_segment *last, void *result);
	/*
	 * Instead of merge and finish, for a view whose result is output: takes each segment's
	 * partial result over in order, on the calling thread. horizon: no segment that comes later
	 * has flow before this trace time (0: unknown), so what is earlier may be printed in order
	 * of time.
	 */
	int (*emit)(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon);
	/* Frees a partial result that nobody took over, after a failure. */
	void (*drop)(void *context, void *partial);
	/* How partial results are written to files of shards; NULL: they cannot. */
	const struct flow_view_codec *codec;
};

struct flow_view_options {
	struct flow_selection selection;
	const struct flow_engine_class *engine; /* NULL: the default */
	unsigned threads;                       /* 0: one per CPU */
	/* Segments of all groups in order of their time, not group after group; emit only. */
	bool by_time;
	/* Called on the calling thread now and then: PT bytes done and in all. May be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *progress_context;
	/*
	 * Saves the partial results of some segments, or runs over those that were saved; NULL: neither. Results that are merged
	 * are also merged here, as far as this shard has them; nothing is emitted where results are saved.
	 */
	const struct flow_shard *shard;
	/* Where the code goes that was loaded, for the caller to close: NULL where none was needed. NULL: it is closed. */
	struct flow_code **code;
};

/*
 * Decodes all selected segments and runs the view over them. Flow outside the selection's time
 * window is left out, as exactly as the trace's timing allows. Results are the same for any number
 * of threads.
 */
int flow_view_run(struct ptl_trace *trace, const struct flow_timeline *timeline,
		  const struct flow_view_options *options, const struct flow_view *view);

#endif
