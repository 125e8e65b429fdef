/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump cpu: who used the CPUs, who waited for them, and who woke whom. */
#include "dump/command/cpu.h"

#include <inttypes.h>
#include <string.h>

#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/run/run.h"

struct cpu_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	enum dump_cpu_by by;
	bool limited;
	uint64_t limit;
};

static const char *const by_names[] = {
	[CPU_ALL] = "all",       [CPU_CPU] = "cpu",     [CPU_PROCESS] = "process",
	[CPU_THREAD] = "thread", [CPU_WAKER] = "waker", [CPU_CHAIN] = "chain",
	[CPU_AHEAD] = "ahead",   [CPU_SLICE] = "slice", NULL,
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"by", 'b', "WHAT",
	 "One list alone (default: all of them, shortened); waker: pairs of threads that wake each other; chain: "
	 "wake-ups one behind the other; ahead: who ran while another waited; slice: each time of a thread on a CPU, "
	 "in order.",
	 COMMON_CHOICE(struct cpu_options, by, by_names)},
	{"limit", 'n', "N", "The first N rows of each list (default: 10 with --by all).",
	 COMMON_NUMBER(struct cpu_options, limit, 1, UINT64_MAX), COMMON_GIVEN(struct cpu_options, limited)},
	{NULL},
};

/* Says what the sums lack. */
static void note_missing(const struct dump_cpu_run *cpu_run)
{
	const struct usage_schedule *schedule = cpu_run->schedule;

	struct ptl_bytes text = {0};

	if (schedule->begin > schedule->first) {
		common_text_duration(&text, schedule->begin - schedule->first);
		common_message_note("before the first context switch, %s of each CPU are unknown",
				    common_text_string(&text));
	}
	common_bytes_free(&text);
	if (schedule->partial)
		common_message_note(
			"the trace has context switches of some threads only: the rest of the CPUs' time is "
			"unknown");
	else if (schedule->breaks)
		common_message_note("places where a thread left a CPU that another thread had: %" PRIu64
				    "; events are missing there, and the time counts as unknown",
				    schedule->breaks);
	if (cpu_run->rows->total.cpus_absent)
		common_message_note("CPUs without a context switch: %zu; their time is not represented",
				    cpu_run->rows->total.cpus_absent);
	if (!schedule->has_wakeups) {
		common_message_note("no wake-ups were recorded: the time from a wake-up to the CPU counts as sleeping");
		common_message_hint("ptl-record --flags cswitch,dispatcher");
	}
}

static int report_none(const struct dump_run *run)
{
	dump_run_note_nothing(run, "context switch", false);
	common_message_hint("ptl-record --flags cswitch,dispatcher");
	return 0;
}

static int show_usage(struct dump_cpu_run *cpu_run, struct usage_schedule *schedule)
{
	struct dump_run *run = cpu_run->run;
	usage_slice_function *each = cpu_run->by != CPU_SLICE ? NULL
				     : run->options->json     ? dump_cpu_json_slice
							      : dump_cpu_text_slice;
	struct usage_rows rows = {.thread_count = 0};
	int status = usage_schedule_read(schedule, cpu_run->input, cpu_run->timeline, each, cpu_run);

	if (status < 0)
		return status;
	if (!schedule->cpu_count)
		return report_none(run);
	status = usage_rows_make(&rows, schedule, cpu_run->input);
	cpu_run->rows = &rows;
	if (status == 0 && cpu_run->by != CPU_SLICE)
		status = run->options->json ? dump_cpu_json(cpu_run) : dump_cpu_text(cpu_run);
	if (status == 0)
		note_missing(cpu_run);
	usage_rows_free(&rows);
	return status;
}

static int cpu_run_command(struct dump_run *run)
{
	const struct cpu_options *options = (const struct cpu_options *)run->options;
	struct usage_schedule schedule = {.state = NULL};
	struct analysis_input input;
	struct flow_timeline *timeline;
	struct dump_cpu_run cpu_run = {
		.run = run,
		.schedule = &schedule,
		.by = options->by,
		.limited = options->limited || (options->by == CPU_ALL && !options->shared.json),
		.limit = options->limited ? options->limit : 10,
	};
	int status = dump_run_timeline(run, &timeline);

	if (status < 0)
		return status;
	input = dump_run_input(run);
	cpu_run.input = &input;
	cpu_run.timeline = timeline;
	status = show_usage(&cpu_run, &schedule);
	if (status == 0)
		analysis_note_lost_events(run->trace);
	usage_schedule_free(&schedule);
	flow_timeline_free(timeline);
	return status;
}

static const char examples[] = "ptl-record start all --flags cswitch,dispatcher -o all.ptl\n"
			       "ptl-dump cpu all.ptl                        who used the CPUs, and who waited\n"
			       "ptl-dump cpu --by thread --time 1s..2s all.ptl\n"
			       "ptl-dump cpu --by chain --process mysqld all.ptl   who woke whom\n"
			       "ptl-dump cpu --by slice --cpu 0 all.ptl | less\n"
			       "ptl-dump cpu --json all.ptl | jq 'select(.type == \"thread\" and .waiting > 1e9)'";

const struct dump_command dump_command_cpu = {
	.name = "cpu",
	.summary = "who used the CPUs, who waited for them, who woke whom",
	.details =
		"Adds up context switches and wake-ups: how long each CPU, process and thread ran, waited for a CPU, "
		"slept, or was blocked; who woke whom; and who ran while another waited.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_ETL,
	.options = own_options,
	.options_size = sizeof(struct cpu_options),
	.run = cpu_run_command,
};
