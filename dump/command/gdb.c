/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump gdb: steps backwards through a trace with gdb. */
#include <unistd.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/gdb/connection.h"
#include "dump/gdb/monitor.h"
#include "dump/run/output.h"

#define INSTRUCTIONS_DEFAULT 1000000

struct gdb_options {
	struct dump_options shared; /* first: see dump/run/command.h */
	bool stdio, batch;
	const char *listen, *program, *from;
	struct common_string_list commands;
	uint64_t instructions;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "How gdb reads the trace:"},
	{"gdb", 0, "PROGRAM", "Starts this gdb (default: gdb).", COMMON_PATH(struct gdb_options, program)},
	{"ex", 'x', "COMMAND", "gdb executes the command at its start, like -ex of gdb. May be repeated.",
	 COMMON_STRINGS(struct gdb_options, commands, UINT64_MAX)},
	{"batch", 0, NULL, "gdb ends behind the commands of --ex.", COMMON_FLAG(struct gdb_options, batch)},
	{"stdio", 0, NULL,
	 "Starts no gdb, and serves a gdb on standard input and output: target remote | ptl-dump gdb --stdio FILE.",
	 COMMON_FLAG(struct gdb_options, stdio)},
	{"listen", 0, "[ADDRESS:]PORT",
	 "Starts no gdb, and serves one gdb after the other at this TCP port, for editors. Without an address, only "
	 "programs of this machine can connect. Port 0 is any free port.",
	 COMMON_STRING(struct gdb_options, listen)},
	{"instructions", 0, "N",
	 "Gives gdb at most the last N instructions of each thread, also with a unit: 10M (default: 1,000,000).",
	 COMMON_COUNT(struct gdb_options, instructions, 1, UINT32_MAX)},
	{"from", 0, "FUNCTION",
	 "Of each thread, what comes from the first call of this function on (patterns may have * and ?).",
	 COMMON_STRING(struct gdb_options, from)},
	{NULL},
};

static int gdb_check(const struct dump_options *options)
{
	const struct gdb_options *own = (const struct gdb_options *)options;
	const bool serves = own->stdio || own->listen;

	if (own->stdio && own->listen)
		return common_fail(PTL_MISUSE, "--stdio does not go with --listen");
	if (serves && (own->program || own->commands.count || own->batch))
		return common_fail(PTL_MISUSE, "--gdb, --ex and --batch do not go with --stdio and --listen, which "
					       "start no gdb");
	return 0;
}

static int gdb_connect(struct dump_run *run, struct dump_gdb_process *process, const struct dump_gdb_files *files)
{
	const struct gdb_options *options = (const struct gdb_options *)run->options;
	const struct dump_gdb_start start = {
		.program = options->program, .commands = &options->commands, .batch = options->batch};
	int exit_status = 0, status;

	if (options->stdio)
		return dump_gdb_serve(process, STDIN_FILENO, STDOUT_FILENO);
	if (options->listen)
		return dump_gdb_listen(process, options->listen, run->out);
	status = dump_gdb_start(process, files, &start, &exit_status);
	return status ? status : exit_status ? COMMON_EXIT_FINDING : 0;
}

static int gdb_run(struct dump_run *run)
{
	const struct gdb_options *options = (const struct gdb_options *)run->options;
	const uint64_t instructions = options->instructions ? options->instructions : INSTRUCTIONS_DEFAULT;
	struct dump_gdb_process process = {0};
	struct dump_gdb_files files = {0};
	struct flow_timeline *timeline = NULL;
	int status = dump_run_timeline(run, &timeline);

	if (status == 0)
		status = dump_gdb_process_open(&process, run, timeline, instructions, options->from, dump_gdb_monitor);
	common_progress_end();
	if (status == 0)
		status = dump_gdb_files_make(&files, &process);
	if (status == 0 && files.missing)
		common_message_note(
			"gdb has no names for code of %zu " COMMON_PLURAL(
				"image, which is", "images, which are") " neither in the trace nor on this machine",
			files.missing);
	if (status == 0)
		status = gdb_connect(run, &process, &files);
	dump_gdb_files_remove(&files);
	dump_gdb_process_close(&process);
	flow_timeline_free(timeline);
	common_interrupt_die();
	return status;
}

static void gdb_free(struct dump_options *options)
{
	common_string_list_free(&((struct gdb_options *)options)->commands);
}

static const char examples[] = "ptl-dump gdb crash.ptl\n"
			       "ptl-dump gdb --batch -x reverse-step -x 'info locals' crash.ptl\n"
			       "ptl-dump gdb --pid 4711 --time ..1.5s build.ptl\n"
			       "ptl-dump gdb --from parse_header --instructions 2M a.ptl\n"
			       "ptl-dump gdb --listen 1234 crash.ptl                 then, in gdb: target remote :1234";

const struct dump_command dump_command_gdb = {
	.name = "gdb",
	.summary = "gdb, which steps backwards through a process",
	.details = "Starts gdb with the executed instructions of a process as gdb's branch trace: reverse-step, "
		   "breakpoints with reverse-continue, and record function-call-history work without the process. "
		   "Shows the process killed by a signal, else the first process.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE,
	.options = own_options,
	.options_size = sizeof(struct gdb_options),
	.check = gdb_check,
	.run = gdb_run,
	.free_options = gdb_free,
};
