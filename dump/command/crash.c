/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump crash: which processes failed, where, and why. */
#include <inttypes.h>

#include "analysis/function/source_note.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/crash/print.h"
#include "dump/run/calls.h"

#define PROCESSES_DEFAULT 3
#define LINES_DEFAULT 20
#define EVENTS_DEFAULT 10

struct crash_options {
	struct dump_options shared; /* first: see dump/run/command.h */
	uint64_t most, lines, events;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "How much is shown:"},
	{"most", 0, "N", "Details of at most N processes (default: 3). The other processes get a line each.",
	 COMMON_NUMBER(struct crash_options, most, 1, 1000)},
	{"lines", 0, "N", "The last N source lines of a thread (default: 20).",
	 COMMON_NUMBER(struct crash_options, lines, 1, 10000)},
	{"events", 0, "N", "The last N events of a thread (default: 10).",
	 COMMON_NUMBER(struct crash_options, events, 1, 10000)},
	{NULL},
};

static int crash_print(struct dump_run *run, struct dump_crash_report *report)
{
	int status = run->options->json ? dump_crash_json(report) : dump_crash_text(report);
	if (report->count)
		analysis_warn_of_sources(report->sources, "source lines");
	if (report->finals.gaps)
		common_message_warning("flow is missing in %" PRIu64
				       " " COMMON_PLURAL("place", "places") ": stacks and lines may be incomplete",
				       report->finals.gaps);
	if (status == 0 && !report->running)
		status = COMMON_EXIT_FINDING;
	return status;
}

static int crash_run(struct dump_run *run)
{
	const struct crash_options *options = (const struct crash_options *)run->options;
	struct analysis_calls calls = {0};
	struct dump_crash_report report = {
		.limits = {.processes = options->most ? (size_t)options->most : PROCESSES_DEFAULT,
			   .steps = options->lines ? (size_t)options->lines : LINES_DEFAULT,
			   .events = options->events ? (size_t)options->events : EVENTS_DEFAULT},
	};
	int status = dump_calls_open(&calls, run);

	report.run = run;
	report.timeline = calls.timeline;
	report.symbols = calls.symbols;
	report.functions = calls.functions;
	if (status == 0)
		status = dump_crash_report_make(&report);
	if (status == 0)
		status = crash_print(run, &report);
	dump_crash_report_free(&report);
	dump_calls_close(&calls, run);
	return status;
}

static const char examples[] = "ptl-dump crash test.ptl\n"
			       "ptl-dump crash --pid 2309 --lines 100 test.ptl\n"
			       "ptl-dump crash --json test.ptl | jq -r .text";

const struct dump_command dump_command_crash = {
	.name = "crash",
	.summary = "what crashed or hung, where, and what ran before",
	.details =
		"Shows each process that died of a signal, or ended with a status other than 0: the thread, the "
		"function, "
		"the source line, the stack, and the last lines and events. Without such a process: where each thread "
		"of a running process is at the end of the trace. The exit status is 1 if a process failed.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES | DUMP_TAKES_FULL,
	.options = own_options,
	.options_size = sizeof(struct crash_options),
	.run = crash_run,
};
