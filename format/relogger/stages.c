/* SPDX-License-Identifier: BSD-2-Clause */
/* The stages: which callbacks they have, and what these decide. */
#include "format/relogger/stages.h"

#include <stdlib.h>

#include "common/error.h"
#include "common/structure.h"
#include "common/vector.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"

int ptl_relogger_callbacks(struct ptl_relogger *relogger, const struct ptl_relogger_callbacks *callbacks, void *context)
{
	struct ptl_relogger_callbacks taken;
	struct format_relogger_stage *stage;
	int status = format_relogger_check_new(relogger);

	if (!status)
		status = common_structure_take("ptl_relogger_callbacks", callbacks, &taken, sizeof(taken));
	if (status)
		return status;
	stage = calloc(1, sizeof(*stage));
	if (!stage ||
	    !common_vector_room(&relogger->stages.all, relogger->stages.count, sizeof(*relogger->stages.all))) {
		free(stage);
		return common_fail_memory("callbacks", sizeof(*stage));
	}
	stage->callbacks = taken;
	stage->context = context;
	stage->event.relogger = relogger;
	relogger->stages.all[relogger->stages.count++] = stage;
	return 0;
}

void format_stages_free(struct format_stages *stages)
{
	for (size_t i = 0; i < stages->count; i++) {
		format_event_memory_free(&stages->all[i]->event);
		free(stages->all[i]);
	}
	free(stages->all);
}

int format_stages_call(struct ptl_relogger *relogger, bool begin)
{
	int status = 0;

	for (size_t i = 0; !status && i < relogger->stages.count; i++) {
		struct format_relogger_stage *stage = relogger->stages.all[i];
		int (*call)(void *, struct ptl_relogger *) = begin ? stage->callbacks.begin : stage->callbacks.end;

		relogger->stages.current = i;
		if (call)
			status = call(stage->context, relogger);
	}
	return status;
}

bool format_stages_take_events(const struct ptl_relogger *relogger)
{
	for (size_t i = 0; i < relogger->stages.count; i++)
		if (relogger->stages.all[i]->callbacks.event)
			return true;
	return false;
}

bool format_stages_take_blobs(const struct ptl_relogger *relogger)
{
	for (size_t i = 0; i < relogger->stages.count; i++)
		if (relogger->stages.all[i]->callbacks.blob)
			return true;
	return false;
}

bool format_stages_look_into_streams(const struct ptl_relogger *relogger)
{
	for (size_t i = 0; i < relogger->stages.count; i++)
		if (relogger->stages.all[i]->callbacks.event || relogger->stages.all[i]->callbacks.stream)
			return true;
	return false;
}

int format_stages_record(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			 const struct ptl_record *record, bool *keep)
{
	int status = 0;

	*keep = true;
	for (size_t i = 0; !status && *keep && i < relogger->stages.count; i++) {
		struct format_relogger_stage *stage = relogger->stages.all[i];

		relogger->stages.current = i;
		if (stage->callbacks.record)
			status = stage->callbacks.record(stage->context, relogger, input, record, keep);
	}
	return status;
}

int format_stages_blob(struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		       const struct ptl_blob_info *blob, bool *keep)
{
	int status = 0;

	for (size_t i = 0; !status && *keep && i < relogger->stages.count; i++) {
		struct format_relogger_stage *stage = relogger->stages.all[i];

		relogger->stages.current = i;
		if (stage->callbacks.blob)
			status = stage->callbacks.blob(stage->context, relogger, input, blob, keep);
	}
	return status;
}

/* Checks a plan. Later stages can only narrow the plans of earlier stages. */
static int check_plan(const struct ptl_stream_plan *plan)
{
	for (size_t i = 0; i < plan->range_count; i++)
		if (!plan->ranges || plan->ranges[i].first >= plan->ranges[i].end ||
		    (i && plan->ranges[i].first < plan->ranges[i - 1].end))
			return common_fail(PTL_MISUSE, "range %zu of a stream's plan is empty or out of order", i);
	return 0;
}

int format_stages_stream(struct ptl_relogger *relogger, struct ptl_relogger_input *input, size_t stream,
			 struct ptl_stream_plan *plan)
{
	int status = 0;

	*plan = (struct ptl_stream_plan){false};
	for (size_t i = 0; !status && !plan->drop && i < relogger->stages.count; i++) {
		struct format_relogger_stage *stage = relogger->stages.all[i];

		relogger->stages.current = i;
		if (stage->callbacks.stream)
			status = stage->callbacks.stream(stage->context, relogger, input,
							 ptl_stream_at(input->trace, stream), plan);
		if (!status)
			status = check_plan(plan);
	}
	plan->drop |= plan->ranges && !plan->range_count;
	return status;
}
