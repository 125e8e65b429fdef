/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump timeline: calls and events over time, for timeline viewers. */
#include "dump/command/commands.h"
#include "dump/export/timeline/timeline.h"

#define SLICES_DEFAULT 5000000

struct timeline_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	uint32_t format;
	bool by_instructions;
	uint64_t min_time;
	uint64_t max_slices;
	bool max_slices_given;
};

static const char *const format_names[] = {"perfetto", "chrome", NULL};
static const struct dump_timeline_format *const formats[] = {&dump_timeline_perfetto, &dump_timeline_chrome};
static const char *const axis_names[] = {"time", "instructions", NULL};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is written:"},
	{"format", 0, "FORMAT", "Perfetto's own, or Chrome's JSON (default: perfetto).",
	 COMMON_CHOICE(struct timeline_options, format, format_names)},
	{"by", 'b', "WHAT",
	 "What goes on from left to right; of instructions, a thousand are a microsecond (default: time).",
	 COMMON_CHOICE(struct timeline_options, by_instructions, axis_names)},
	{"min-time", 0, "TIME", "Only calls that took as long (1us, 2.5ms).",
	 COMMON_DURATION(struct timeline_options, min_time, 0)},
	{"max-slices", 0, "N", "The first N calls, in the order of threads (default: 5 million; 0: all).",
	 COMMON_NUMBER(struct timeline_options, max_slices, 0, UINT64_MAX),
	 COMMON_GIVEN(struct timeline_options, max_slices_given)},
	{NULL},
};

static int write_timeline(struct dump_run *run, struct analysis_calls *calls, const struct timeline_options *options)
{
	const struct dump_timeline_options what = {
		.format = formats[options->format],
		.by_instructions = options->by_instructions,
		.min_time = options->min_time,
		.max_slices = options->max_slices_given ? options->max_slices : SLICES_DEFAULT,
	};
	struct dump_left_out left_out = {0};
	const int status = dump_timeline(run, calls, &what, &left_out);

	dump_left_out_report(&left_out);
	dump_left_out_free(&left_out);
	return status;
}

static int timeline_run(struct dump_run *run)
{
	const struct timeline_options *options = (const struct timeline_options *)run->options;
	struct analysis_calls calls;
	int status = formats[options->format]->binary ? dump_export_refuse_terminal(run) : 0;

	if (status < 0)
		return status;
	status = dump_calls_open(&calls, run);
	if (status == 0)
		status = write_timeline(run, &calls, options);
	dump_calls_close(&calls, run);
	return status;
}

static const char examples[] = "ptl-dump timeline -o a.pftrace a.ptl          then open it on ui.perfetto.dev\n"
			       "ptl-dump timeline --min-time 1us --time 10ms..20ms -o a.pftrace a.ptl\n"
			       "ptl-dump timeline --format chrome -o a.json a.ptl    for chrome://tracing";

const struct dump_command dump_command_timeline = {
	.name = "timeline",
	.summary = "what ran when, for Perfetto and Chrome",
	.details = "Writes calls, events, gaps and counters of each thread over time, as a trace that Perfetto's "
		   "viewer opens, or as Chrome's JSON.",
	.examples = examples,
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct timeline_options),
	.run = timeline_run,
};
