/* SPDX-License-Identifier: BSD-2-Clause */
/* When code ran for the last time: the distances of blocks, edges and functions from the end of a run. */
#ifndef ANALYSIS_DIFFERENCE_DIFF_LAST_H
#define ANALYSIS_DIFFERENCE_DIFF_LAST_H

#include "analysis/difference/diff_counts.h"
#include "flow/view/view.h"

/* A last execution. */
struct analysis_diff_last {
	uint64_t time;         /* trace clock; 0: unknown */
	uint64_t instructions; /* of the thread after it */
};

/* The last executions of a run. Zero-initialise; call analysis_diff_lasts_free in any case. */
struct analysis_diff_lasts {
	struct common_byte_map by_key;   /* index in `list` */
	struct analysis_diff_last *list; /* owned */
	size_t count;
	uint64_t end; /* time of the last code of the run; 0: unknown */
};

/* Decodes the run's flow in order. Returns PTL_NO_MEMORY, or a status of flow_view_run. */
int analysis_diff_lasts_run(const struct analysis_diff_run *run, const struct flow_view_options *options,
			    struct analysis_diff_lasts *lasts);
/* Returns the last execution of an item, which refers to this run; NULL: unknown. */
const struct analysis_diff_last *analysis_diff_lasts_find(const struct analysis_diff_lasts *lasts,
							  const struct analysis_diff_run *run,
							  const struct analysis_diff_item *item);
void analysis_diff_lasts_free(struct analysis_diff_lasts *lasts);

#endif
