/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/relogger.h>

#include "analysis/window/window.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/shift_time.h"
#include "common/text/text.h"
#include "relog/part_files.h"
#include "relog/run.h"

#define LISTED_MAX 10u /* windows that notes describe */

struct windows_run {
	const struct relog_settings *settings;
	struct analysis_windows windows; /* in the clock of the output */
	uint64_t start;                  /* start of the first input, for messages */
	struct relog_part_files files;
};

/* ---- choosing the windows ------------------------------------------------------------------------ */

static void shift_windows(struct analysis_windows *windows, size_t first, int64_t shift)
{
	for (size_t i = first; i < windows->count; i++) {
		struct analysis_window *window = &windows->list[i];

		/* The input's clock may begin after the window. */
		window->from = common_shift_time(window->from, shift);
		if (window->to != UINT64_MAX)
			window->to = common_shift_time(window->to, shift);
	}
}

static int find_windows(struct windows_run *run, const struct ptl_relogger_input *input)
{
	struct analysis_windows found = {0};
	struct ptl_relogger_input_info info;
	int status;

	ptl_relogger_input_info(input, &info);
	status = analysis_windows_find(&found, &run->settings->windows.choice, ptl_relogger_input_trace(input),
				       info.name, RELOG_WINDOWS_MAX);
	shift_windows(&found, 0, info.time_shift);
	if (!status)
		status = analysis_windows_merge(&run->windows, &found, run->settings->windows.choice.slowest);
	analysis_windows_free(&found);
	return status;
}

static int choose_windows(void *context, struct ptl_relogger *relogger)
{
	struct windows_run *run = context;
	int status = 0;

	run->start = ptl_trace_machine(ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0)))->start_time;
	for (size_t i = 0; !status && i < ptl_relogger_input_count(relogger); i++)
		status = find_windows(run, ptl_relogger_input_at(relogger, i));
	return status;
}

static int check_windows(const struct windows_run *run)
{
	if (run->windows.untimed)
		common_message_warning("%" PRIu64
				       " " COMMON_PLURAL("call has", "calls have") " no known time, and no window",
				       run->windows.untimed);
	if (run->windows.count > RELOG_WINDOWS_MAX)
		return common_fail(PTL_MISUSE, "%zu windows; at most %u are possible", run->windows.count,
				   RELOG_WINDOWS_MAX);
	if (!run->windows.count)
		return common_fail(PTL_MISUSE, "no window: no %s matches",
				   run->settings->windows.choice.calls ? "call" : "event");
	return 0;
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void add_time(const struct windows_run *run, struct ptl_bytes *text, uint64_t time)
{
	common_text_format(text, "@%" PRIu64 " (", time);
	if (time < run->start)
		common_text_add(text, "-");
	common_text_duration(text, time < run->start ? run->start - time : time - run->start);
	common_text_add(text, ")");
}

static void note_window(const struct windows_run *run, size_t number)
{
	const struct analysis_window *window = &run->windows.list[number];
	struct ptl_bytes text = {0};
	char *name;

	if (number >= LISTED_MAX)
		return;
	add_time(run, &text, window->from);
	common_text_add(&text, " to ");
	if (window->to == UINT64_MAX)
		common_text_add(&text, "the end of the trace");
	else
		add_time(run, &text, window->to);
	name = run->settings->windows.together ? NULL : relog_part_name(run->settings->output, number + 1, false);
	common_message_note("window %zu%s%s: %s", number + 1, name ? ", " : "", name ? name : "",
			    common_text_string(&text));
	free(name);
	common_bytes_free(&text);
}

/* Names the files. The notes about windows come before the files. */
static void note_files(const struct windows_run *run)
{
	const size_t count = run->settings->windows.together ? 1 : run->windows.count;
	char *first = run->settings->windows.together ? strdup(run->settings->output)
						      : relog_part_name(run->settings->output, 1, false);
	char *last = relog_part_name(run->settings->output, count, false);

	if (first && last && count > 1)
		common_message_note("wrote %s to %s", first, last);
	else if (first && strcmp(first, "-") != 0)
		common_message_note("wrote %s", first);
	free(first);
	free(last);
}

static int write_windows(struct windows_run *run, bool *damaged)
{
	int status = 0;

	for (size_t i = 0; !status && i < run->windows.count; i++) {
		const struct analysis_window *window = &run->windows.list[i];
		const struct common_time_span span = {
			.from = {window->from != 0, true, window->from, false},
			.to = {window->to != UINT64_MAX, true, window->to, false},
		};
		uint64_t size;

		note_window(run, i);
		status = relog_part_files_next(&run->files);
		if (!status)
			status = relog_part_files_write(&run->files, &span, damaged, &size);
	}
	if (run->windows.count > LISTED_MAX)
		common_message_note("%zu " COMMON_PLURAL("window", "windows") " in all", run->windows.count);
	return status;
}

/* Merges the windows, which the run has made as the settings say. */
static int join_windows(const struct windows_run *run, bool *damaged)
{
	const struct relog_settings *settings = run->settings;
	const struct relog_settings merge = {
		.inputs = (const char *const *)run->files.names,
		.input_count = run->files.count,
		.output = settings->output,
		.force = settings->force,
		.quiet = settings->quiet,
		.recompress = settings->recompress,
		.level = settings->level,
		.memory_limit = settings->memory_limit,
		.max_expansion = settings->max_expansion,
		.sync = settings->sync,
		.hash = settings->hash,
		.command = settings->command,
	};

	return relog_run(&merge, damaged);
}

static void note_open(const struct windows_run *run)
{
	for (size_t i = 0; i < run->windows.count; i++)
		if (run->windows.list[i].open)
			common_message_note("no event of --and ends window %zu: it ends with the trace", i + 1);
}

int relog_windows(const struct relog_settings *settings, bool *damaged)
{
	struct windows_run run = {.settings = settings, .files = {.settings = settings}};
	int status = relog_part_files_look(&run.files, choose_windows, &run);

	if (!status)
		status = check_windows(&run);
	if (!status && settings->windows.together)
		analysis_windows_join(&run.windows);
	if (!status)
		status = write_windows(&run, damaged);
	if (!status)
		note_open(&run);
	if (!status)
		status = settings->windows.together ? join_windows(&run, damaged) : relog_part_files_commit(&run.files);
	if (!status)
		note_files(&run);
	relog_part_files_free(&run.files);
	analysis_windows_free(&run.windows);
	return status;
}
