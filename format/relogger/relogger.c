/* SPDX-License-Identifier: BSD-2-Clause */
/* Life of a relogger, and the order of the steps of a run. */
#include <stdlib.h>

#include "common/error.h"
#include "common/structure.h"
#include "format/reader/parts.h"
#include "format/relogger/blobs.h"
#include "format/relogger/control.h"
#include "format/relogger/events.h"
#include "format/relogger/input.h"
#include "format/relogger/live.h"
#include "format/relogger/part.h"
#include "format/relogger/records.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/streams.h"
#include "format/relogger/whole.h"

#define DEFAULT_MEMORY ((size_t)160 << 20)
#define DEFAULT_WINDOW_EVENTS 65536
#define DEFAULT_WINDOW_BYTES ((size_t)32 << 20)

int ptl_relogger_new(const struct ptl_relogger_options *options, struct ptl_relogger **relogger)
{
	struct ptl_relogger_options taken;
	struct ptl_relogger *result;
	const int status = common_structure_take_optional("ptl_relogger_options", options, &taken, sizeof(taken));

	*relogger = NULL;
	if (status)
		return status;
	result = calloc(1, sizeof(*result));
	if (!result)
		return common_fail_memory("a relogger", sizeof(*result));
	result->options = taken;
	if (!result->options.memory_limit)
		result->options.memory_limit = DEFAULT_MEMORY;
	if (!result->options.window_events)
		result->options.window_events = DEFAULT_WINDOW_EVENTS;
	if (!result->options.window_bytes)
		result->options.window_bytes = DEFAULT_WINDOW_BYTES;
	result->output.file.fd = -1;
	result->output.fd = -1;
	result->output.window.stream_limit = 1;
	*relogger = result;
	return 0;
}

void ptl_relogger_free(struct ptl_relogger *relogger)
{
	if (!relogger)
		return;
	format_output_abandon(relogger);
	format_window_free(&relogger->output.window);
	format_dedup_free(&relogger->dedup);
	for (size_t i = 0; i < relogger->input_count; i++)
		format_relogger_input_free(relogger->inputs[i]);
	free(relogger->inputs);
	format_stages_free(&relogger->stages);
	free(relogger->machines.all);
	free(relogger->hasher.error);
	format_run_step_free(&relogger->step);
	free(relogger);
}

void ptl_relogger_counts(const struct ptl_relogger *relogger, struct ptl_relogger_counts *counts)
{
	*counts = relogger->counts;
}

static void share_memory(const struct ptl_relogger *relogger)
{
	const size_t both = 2 * (relogger->options.memory_limit / FORMAT_INPUT_SHARE);

	for (size_t i = 0; relogger->input_count > 2 && i < relogger->input_count; i++)
		format_trace_limit_cache(relogger->inputs[i]->trace, both / relogger->input_count);
}

/* Examines the whole inputs before the first of them passes. */
static int look_at_inputs(struct ptl_relogger *relogger)
{
	int status;

	share_memory(relogger);
	status = format_relogger_find_machines(relogger);
	if (!status)
		status = format_relogger_find_parts(relogger);
	if (!status)
		status = format_relogger_find_whole(relogger);
	if (!status)
		format_relogger_start_hashes(relogger);
	return status;
}

static int pass_all(struct ptl_relogger *relogger)
{
	int status = format_relogger_pass_records(relogger);

	if (!status)
		status = format_relogger_pass_events(relogger);
	return status ? status : format_relogger_pass_streams(relogger);
}

static int run_relogger(struct ptl_relogger *relogger)
{
	const struct format_live *live = relogger->inputs[0]->live;
	int status = live ? 0 : look_at_inputs(relogger);

	if (!status)
		status = format_stages_call(relogger, true);
	if (!status)
		status = live ? format_relogger_pass_live(relogger) : pass_all(relogger);
	if (!status)
		status = format_stages_call(relogger, false);
	if (!status)
		status = format_window_flush(relogger, UINT64_MAX);
	relogger->ended = true;
	if (!status && !(live && live->copies_blobs))
		status = format_relogger_pass_blobs(relogger);
	if (!status)
		status = format_relogger_pass_parts(relogger);
	if (!status)
		status = format_relogger_pass_damage(relogger);
	if (!status)
		status = format_relogger_finish_hashes(relogger);
	if (!status)
		status = format_relogger_write_step(relogger);
	if (!status)
		status = format_relogger_write_machines(relogger);
	return status ? status : format_relogger_check(relogger);
}

int ptl_relogger_process(struct ptl_relogger *relogger)
{
	int status = format_relogger_check_new(relogger);

	if (status)
		return status;
	if (!relogger->input_count || !relogger->output.given)
		return common_fail(PTL_MISUSE, "a relogger needs an input and an output");
	relogger->control.state = FORMAT_RELOGGER_RUNNING;
	if (relogger->inputs[0]->live && relogger->input_count > 1)
		return common_fail(PTL_MISUSE, "a trace that is being written is the only input");
	status = format_output_check_inputs(relogger);
	if (!status)
		status = format_output_open(relogger);
	if (!status) {
		status = run_relogger(relogger);
		if (status)
			ptl_relogger_cancel(relogger);
		format_relogger_stop_hashes(relogger);
	}
	if (!status)
		status = format_output_commit(relogger);
	relogger->control.state = FORMAT_RELOGGER_DONE;
	format_output_abandon(relogger);
	return status;
}
