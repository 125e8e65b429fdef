/* SPDX-License-Identifier: BSD-2-Clause */
/* The stages: which callbacks they have, and what these decide. */
#ifndef FORMAT_RELOGGER_STAGES_H
#define FORMAT_RELOGGER_STAGES_H

#include <stdbool.h>
#include <stddef.h>

#include <ptl/relogger.h>

#include "format/relogger/event.h"

struct format_relogger_stage {
	struct ptl_relogger_callbacks callbacks;
	void *context;
	struct ptl_trace_event event; /* event passed to the stage's event callback */
};

struct format_stages {
	struct format_relogger_stage **all;
	size_t count;
	size_t current; /* stage whose callback runs */
};

void format_stages_free(struct format_stages *stages);
/* Calls all `begin` callbacks, or all `end` callbacks, up to the first failure. */
int format_stages_call(struct ptl_relogger *relogger, bool begin);
/* Whether any stage has an event callback, a blob callback, or an event or stream callback. */
bool format_stages_take_events(const struct ptl_relogger *relogger);
bool format_stages_take_blobs(const struct ptl_relogger *relogger);
bool format_stages_look_into_streams(const struct ptl_relogger *relogger);
/* Asks the stages whether to keep a record of an input. */
int format_stages_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			 const struct ptl_record *record, bool *keep);
/* Asks the stages whether to keep a blob. *keep: false before the call drops the blob without a question. */
int format_stages_blob(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		       const struct ptl_blob_info *blob, bool *keep);
/* Asks the stages what to keep of a stream. The last stage owns the ranges. */
int format_stages_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			 struct ptl_stream_plan *plan);

#endif
