/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump flow: the code that threads executed, in order. */
#include <stdlib.h>
#include <string.h>

#include "analysis/function/source_note.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/command/flow.h"
#include "dump/flow/flow_view.h"
#include "dump/run/run.h"

static const char *const level_names[] = {
	[DUMP_FLOW_BLOCK] = "block",
	[DUMP_FLOW_INSN] = "insn",
	[DUMP_FLOW_BRANCH] = "branch",
	NULL,
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"level", 'l', "LEVEL", "One line for each block (default), instruction or taken branch.",
	 COMMON_CHOICE(struct flow_options, level, level_names)},
	{"merge", 'm', NULL, "All threads in one order of time, not one after the other.",
	 COMMON_FLAG(struct flow_options, merge)},
	{"where", 'w', "EXPRESSION",
	 "Only blocks of which it is true, such as 'image ~ libz* and branch == call', and gaps: of function, offset, "
	 "image, path, address, ip, instructions, size, branch, time, cpu, pid, tid, process.",
	 COMMON_STRINGS(struct flow_options, where, UINT64_MAX)},
	{"source", 's', NULL,
	 "Adds source lines, from debug information in the trace or in files on disk that have the "
	 "right build id.",
	 COMMON_FLAG(struct flow_options, source)},
	{"events", 0, NULL, "Events of programs and the kernel too, each in its place by time.",
	 COMMON_FLAG(struct flow_options, events)},
	{"bounds", 0, NULL,
	 "Adds to each time between which times the code was executed, as far as timing packets show. The "
	 "native engine only.",
	 COMMON_FLAG(struct flow_options, bounds)},
	{NULL},
};

#define THREAD_WIDTH_MIN 18 /* "cc1plus/4711" */
#define THREAD_WIDTH_MAX 40

/* Returns the width of the longest thread name, "authentication/4711", within limits. */
static size_t find_thread_width(const struct flow_timeline *timeline)
{
	size_t widest = THREAD_WIDTH_MIN;
	struct ptl_bytes text = {0};

	for (size_t i = 0; i < flow_timeline_thread_count(timeline); i++) {
		const struct flow_timeline_thread *thread = flow_timeline_thread(timeline, i);
		size_t width;

		text.size = 0;
		if (thread->process != FLOW_NONE)
			common_text_safe(&text, flow_timeline_process(timeline, thread->process)->name);
		common_text_format(&text, "/%u", thread->tid);
		width = common_text_width(text.data, text.size);
		widest = width > widest && width <= THREAD_WIDTH_MAX ? width : widest;
	}
	common_bytes_free(&text);
	return widest;
}

static int show_flow(struct dump_run *run, struct dump_flow_print *print, const bool *images_wanted,
		     const struct query_row *where)
{
	const struct flow_options *options = (const struct flow_options *)run->options;
	struct flow_view_options view_options = dump_run_view_options(run);
	struct dump_flow_run flow_run = {
		.run = run,
		.print = print,
		.format = options->shared.json ? &dump_flow_json : &dump_flow_text,
		.images_wanted = images_wanted,
		.where = where,
	};
	int status = flow_symbols_open(run->trace, print->timeline, dump_run_names(run), &print->symbols);

	if (status == 0 && options->source)
		status = flow_sources_open(run->trace, print->timeline, &print->sources);
	view_options.by_time = options->merge;
	if (!view_options.threads)
		view_options.threads = dump_flow_threads(options->level);
	/* Text shows where packets are paused, as the flow alone looks like a long system call. */
	if (status == 0 && (options->events || (!options->shared.json && dump_flow_events_tell_pauses(run->trace))))
		status = dump_flow_events_open(run, print, flow_run.format, !options->events, &flow_run.events);
	if (status == 0)
		status = dump_flow_view_run(&flow_run, &view_options);
	common_progress_end();
	if (status == 0)
		analysis_warn_of_sources(print->sources, "source lines");
	if (status == 0 && !flow_run.shown && where->expr)
		common_message_note("no block is what --where asks for");
	else if (status == 0 && !flow_run.shown)
		dump_run_note_no_flow(run);
	dump_run_warn_symbols(run, print->symbols);
	dump_flow_events_close(flow_run.events);
	flow_sources_close(print->sources);
	flow_symbols_close(print->symbols);
	return status;
}

static int flow_run(struct dump_run *run)
{
	const struct flow_options *options = (const struct flow_options *)run->options;
	struct dump_flow_print print = {
		.start_time = ptl_trace_machine(run->trace)->start_time,
		.level = options->level,
		.merged = options->merge,
		.bounds = options->bounds,
		.dim = dump_dim(run),
		.red = dump_red(run),
		.bold = dump_bold(run),
		.plain = dump_plain(run),
	};
	struct flow_timeline *timeline = NULL;
	struct query_row where = {0};
	bool *wanted = NULL;
	int status;

	/* libipt gives the time of a block, but not the packets around the block. */
	if (options->bounds && options->shared.engine && options->shared.engine != &flow_engine_native)
		return common_fail(PTL_MISUSE, "--bounds needs the native engine: %s does not tell how exact times are",
				   options->shared.engine->name);
	status = query_row_make(&where, dump_flow_fields, &options->where);
	if (status == 0 && options->shared.follow) {
		status = dump_flow_follow(run, &print, &where);
		query_row_free(&where);
		return status;
	}
	if (status == 0)
		status = dump_run_timeline(run, &timeline);
	if (status < 0) {
		query_row_free(&where);
		return status;
	}
	print.timeline = timeline;
	print.thread_width = options->merge ? find_thread_width(timeline) : 0;
	status = dump_run_images(run, timeline, &wanted);
	if (status == 0)
		status = show_flow(run, &print, wanted, &where);
	free(wanted);
	query_row_free(&where);
	flow_timeline_free(timeline);
	return status;
}

static void flow_free_options(struct dump_options *options)
{
	common_string_list_free(&((struct flow_options *)options)->where);
}

static int flow_check(const struct dump_options *shared)
{
	const struct flow_options *options = (const struct flow_options *)shared;

	if (!shared->follow)
		return 0;
	if (options->events || options->source || options->level == DUMP_FLOW_BRANCH ||
	    common_time_span_given(&shared->filter.span))
		return common_fail(PTL_MISUSE,
				   "--follow does not go with --events, --source, --level branch and --time");
	if (shared->filter.processes.count || shared->filter.images.count)
		return common_fail(PTL_MISUSE, "--follow does not go with --process and --image: what will be there is "
					       "not known yet");
	return 0;
}

static const char examples[] = "ptl-dump flow --pid 4711 build.ptl             blocks of one process\n"
			       "ptl-dump flow -l insn --time 10ms..10.1ms a.ptl\n"
			       "ptl-dump flow -l branch --image 'libz.so*' a.ptl\n"
			       "ptl-dump flow --where 'function == main and branch == call' a.ptl\n"
			       "ptl-dump flow --merge --source a.ptl | less\n"
			       "ptl-record -o - ./a.out | ptl-dump flow --follow -\n"
			       "ptl-dump flow --json a.ptl | jq -r 'select(.type==\"gap\")'";

const struct dump_command dump_command_flow = {
	.name = "flow",
	.summary = "what each thread executed, in order",
	.details = "Shows what each thread executed, in order, with symbols. Stretches that are "
		   "missing are shown in their place with the cause.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE | DUMP_TAKES_DECODE |
		 DUMP_TAKES_NAMES | DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_FOLLOW,
	.options = own_options,
	.check = flow_check,
	.options_size = sizeof(struct flow_options),
	.run = flow_run,
	.free_options = flow_free_options,
};
