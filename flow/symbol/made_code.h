/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads names of code made at run time, from perf maps and jitdump files. */
#ifndef FLOW_SYMBOL_MADE_CODE_H
#define FLOW_SYMBOL_MADE_CODE_H

#include <ptl/reader.h>

#include "flow/timeline/made_names.h"
#include "flow/timeline/timeline.h"

/*
 * Reads the names of each process from the user's files, or else from the trace's files. Finds the start time and layer
 * of each function. The trace's files are read up to 1 GiB in total, because a trace may attach one large file to many
 * processes. *set: zero-initialised; call flow_made_free in any case. Returns PTL_NO_MEMORY, or the status of
 * ptl_process.
 */
int flow_made_open(struct flow_made_set *set, struct ptl_trace *trace);
/* Builds a timeline with these names. Returns the status of flow_made_open or flow_timeline_build_named. */
int flow_made_timeline(struct ptl_trace *trace, struct flow_timeline **timeline);

#endif
