/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that a stage can change. */
#ifndef FORMAT_RELOGGER_EVENT_H
#define FORMAT_RELOGGER_EVENT_H

#include <ptl/bytes.h>
#include <ptl/relogger.h>

/* Memory for copies of an event's payload or extended items. */
struct format_event_memory {
	struct ptl_bytes bytes[2]; /* used alternately, as the copied data may be in the other buffer */
	unsigned turn;
};

struct ptl_trace_event {
	struct ptl_event record;
	struct ptl_relogger *relogger;
	struct ptl_relogger_input *input;
	struct format_event_memory payload;
	struct format_event_memory extended;
};

void format_event_memory_free(struct ptl_trace_event *event);

#endif
