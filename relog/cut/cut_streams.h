/* SPDX-License-Identifier: BSD-2-Clause */
/* What the cut keeps of streams. */
#ifndef RELOG_CUT_CUT_STREAMS_H
#define RELOG_CUT_CUT_STREAMS_H

#include <ptl/relogger.h>

#include "relog/cut/cut_state.h"

/* Widens [start, stop] of the cut to the segments that the input's streams of PT need. */
int relog_cut_look_at_streams(struct relog_cut *cut, struct ptl_relogger_input *input);
/* Notes whether an input has PT of CPUs. */
void relog_cut_look_for_pt_of_cpus(struct relog_cut *cut);
/* The stage's stream callback. context: the cut. */
int relog_cut_take_stream(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			  const struct ptl_stream *stream, struct ptl_stream_plan *plan);
/* For an input that is being written, the dropped bytes of streams are known only at the end. */
int relog_cut_count_dropped(struct relog_cut *cut);

#endif
