/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump serve: answers the questions of a client about a trace. This file has the table of tools. */
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/print/source_text.h"
#include "dump/run/run.h"
#include "dump/serve/server.h"
#include "query/files.h"

#define TIMEOUT_DEFAULT UINT64_C(120000000000)

struct serve_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	uint64_t timeout;           /* nanoseconds */
	const char *source;         /* folder of source files; NULL: the current folder */
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "Bounds:"},
	{"timeout", 0, "TIME", "Stops a request that takes longer (default: 2m).",
	 COMMON_DURATION(struct serve_options, timeout, 1)},
	{"source", 0, "FOLDER",
	 "Answers show lines of source files in this folder only (default: the current folder; /: of all files). The "
	 "trace "
	 "names the files.",
	 COMMON_PATH(struct serve_options, source)},
	{NULL},
};

/* ---- the tools ----------------------------------------------------------------------------------- */

#define TEXT(name_, description_) .name = (name_), .kind = DUMP_SERVE_TEXT, .description = (description_)
#define INTEGER(name_, description_) .name = (name_), .kind = DUMP_SERVE_INTEGER, .description = (description_)
#define SWITCH(name_, description_) .name = (name_), .kind = DUMP_SERVE_SWITCH, .description = (description_)

#define PROCESS                                                                                                        \
	{INTEGER("pid", "Only this process.")}, {TEXT("process", "Only processes that ran a program of this name.")},  \
	{                                                                                                              \
		INTEGER("tid", "Only this thread.")                                                                    \
	}
#define TIME                                                                                                           \
	{                                                                                                              \
		TEXT("time", "Only this span of time since the start of the trace: \"1ms..2.5ms\", \"-10us..\".")      \
	}
#define CALLS                                                                                                          \
	{                                                                                                              \
		TEXT("calls", "Only the calls of a function for which an expression is true: \"serve: duration > "     \
			      "5ms and kernel > 1ms\".")                                                               \
	}

static const struct dump_serve_argument info_arguments[] = {
	{SWITCH("check", "Reads all of the file, and lists every damage.")},
	{NULL},
};

static const struct dump_serve_argument crash_arguments[] = {
	PROCESS,
	{INTEGER("most", "Details of at most this many processes (default: 3).")},
	{INTEGER("lines", "The last source lines of a thread (default: 20).")},
	{INTEGER("events", "The last events of a thread (default: 10).")},
	{NULL},
};

static const struct dump_serve_argument why_arguments[] = {
	{TEXT("function", "The function whose slow calls are compared with its other calls."), .operand = true},
	{TEXT("slow", "Slow calls are the calls for which this expression is true: \"kernel > 1ms\".")},
	{TEXT("slower_than", "Slow calls took longer: \"5ms\".")},
	{TEXT("slowest", "Slow calls are this share of the calls: \"5%\".")},
	{SWITCH("instructions", "Compares instructions instead of time.")},
	PROCESS,
	TIME,
	{NULL},
};

static const struct dump_serve_argument calls_arguments[] = {
	{TEXT("function", "Only calls of this function, and their callees (patterns may have * and ?).")},
	{TEXT("where",
	      "Only calls for which the expression is true: \"duration > 1ms and image ~ libz*\"; of function, image, "
	      "path, address, time, duration, self, instructions, self_instructions, calls, repeats, depth, stack, "
	      "marks, cpu, pid, tid, process, and the call's values of ptl-record --values.")},
	CALLS,
	{TEXT("min_time", "Only calls that took as long: \"1us\".")},
	{INTEGER("min_instructions", "Only calls that executed as many instructions.")},
	{INTEGER("depth", "Only calls that are nested up to this deep.")},
	{INTEGER("tail", "The last lines of each thread, and their callers.")},
	{SWITCH("events", "Events too, each in its place by time.")},
	PROCESS,
	TIME,
	{NULL},
};

static const char *const report_by[] = {"function", "image", "line", "inline", "process", "thread", NULL};
static const char *const report_sort[] = {
	"self", "total", "self-time", "total-time", "self-instructions", "total-instructions", "calls", "name", NULL};

static const struct dump_serve_argument report_arguments[] = {
	{TEXT("by", "A row for each of these (default: function)."), .choices = report_by},
	{TEXT("sort", "Largest first; self and total are instructions (default: self)."), .choices = report_sort},
	CALLS,
	{TEXT("image", "Only images with this name; patterns may have * and ?.")},
	PROCESS,
	TIME,
	{NULL},
};

static const struct dump_serve_argument events_arguments[] = {
	{TEXT("where", "Only events for which the expression is true: \"UserName == Zoe and Count > 3\"; fields of the "
		       "event, and event.level, event.pid, event.tid, event.opcode and so on.")},
	{TEXT("event", "Only events with this name, such as \"Process/*\".")},
	{TEXT("provider", "Only events of this provider: a name with * and ?, or a GUID.")},
	{TEXT("level", "Only events as severe as this level: critical, error, warning, informational, verbose.")},
	{SWITCH("count", "Counts the events of each kind instead.")},
	{SWITCH("stacks", "The stack of each event that has a stack.")},
	PROCESS,
	TIME,
	{NULL},
};

static const struct dump_serve_argument source_arguments[] = {
	{TEXT("function", "The function to show."), .operand = true},
	CALLS,
	{TEXT("image", "Only images with this name; patterns may have * and ?.")},
	{SWITCH("executed", "Only instructions that ran.")},
	PROCESS,
	TIME,
	{NULL},
};

static const struct dump_serve_tool tools[] = {
	{"info", "About the trace", "Machine, clock, streams, losses, damage and history of the trace.",
	 &dump_command_info, info_arguments},
	{"crash", "Failures",
	 "Who failed and where: crashes, aborts, panics, exit statuses other than 0 and hangs, with the last source "
	 "lines, "
	 "events and callers of each thread.",
	 &dump_command_crash, crash_arguments, .reads_sources = true},
	{"why", "Slow calls", "What the slow calls of a function did that its other calls did not.", &dump_command_why,
	 why_arguments, .reads_sources = true},
	{"calls", "Calls", "Function calls of each thread in order, with times and instructions.", &dump_command_calls,
	 calls_arguments},
	{"report", "Where the work went", "Instructions, times and calls by function, image, line, process or thread.",
	 &dump_command_report, report_arguments},
	{"events", "Events", "Events of programs and the kernel in order of time, with their fields.",
	 &dump_command_events, events_arguments},
	{"source", "Code that ran", "Instructions and source lines of a function, with execution counts.",
	 &dump_command_annotate, source_arguments, .reads_sources = true},
	{NULL},
};

/* ---- the command --------------------------------------------------------------------------------- */

static int serve_run(struct dump_run *run)
{
	const struct serve_options *options = (const struct serve_options *)run->options;
	struct dump_prepared prepared = {.trace = run->trace};
	const struct dump_serve_server server = {
		.run = run,
		.prepared = &prepared,
		.tools = tools,
		.timeout = options->timeout ? options->timeout : TIMEOUT_DEFAULT,
		.requests = STDIN_FILENO,
	};
	int status;

	if (strcmp(run->path, "-") == 0)
		return common_fail(PTL_MISUSE, "requests come from standard input: FILE is a file");
	/* Requests and the trace decide which files are read, and the client may be a stranger's program. */
	query_files_forbid();
	dump_source_texts_within(options->source ? options->source : ".");
	if (isatty(STDIN_FILENO))
		common_message_note("requests are lines of JSON on standard input, such as "
				    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
	status = dump_run_timeline(run, &prepared.timeline);
	if (!status)
		status = dump_serve(&server);
	flow_timeline_free(prepared.timeline);
	return status;
}

static int serve_check(const struct dump_options *shared)
{
	return shared->json ? common_fail(PTL_MISUSE, "--json: each answer is JSON anyway") : 0;
}

const struct dump_command dump_command_serve = {
	.name = "serve",
	.summary = "answers questions of editors, notebooks and assistants",
	.details = "Keeps the trace open, and answers requests on standard input until its end: JSON-RPC 2.0, as the "
		   "Model Context Protocol has it. The tools are info, crash, why, calls, report, events and source; "
		   "each answer is bounded, and says what was left out.",
	.examples = "ptl-dump serve build.ptl\n"
		    "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\n"
		    "  \"params\":{\"name\":\"crash\"}}' | tr -d '\\n' | ptl-dump serve build.ptl",
	.options = own_options,
	.options_size = sizeof(struct serve_options),
	.check = serve_check,
	.run = serve_run,
};
