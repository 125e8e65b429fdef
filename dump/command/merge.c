/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump merge: combines partial results of all shards into the output of their command. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/run/partial.h"

struct merge_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct common_string_list traces;
};

static const struct common_option own_options[] = {
	{"trace", 0, "FILE",
	 "Where a trace is now, for each of them in the order of the command; default: where it was, by the name that "
	 "was "
	 "given, or its absolute path.",
	 COMMON_STRINGS(struct merge_options, traces, DUMP_PARTIAL_FILES_MAX)},
	{NULL},
};

static const struct dump_command *const commands[] = {
	&dump_command_stats,    &dump_command_calls,   &dump_command_report,
	&dump_command_graph,    &dump_command_latency, &dump_command_diff,
	&dump_command_coverage, &dump_command_lint,    NULL,
};

static const struct dump_command *find_command(const char *name)
{
	for (const struct dump_command *const *command = commands; *command; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

static bool adds_traces(const char *name)
{
	const struct dump_command *command = find_command(name);

	return command && command->adds_traces;
}

/* Returns the path of trace i: from --traces, as given to the shards if the file exists, else the absolute path. */
static const char *choose_path(const struct merge_options *options, const struct dump_partial_set *set, size_t i)
{
	const char *path = dump_partial_set_path(set, i);

	if (i < options->traces.count)
		return options->traces.list[i];
	return access(path, F_OK) == 0 ? path : dump_partial_set_place(set, i);
}

/* Runs the shards' command with its recorded options and files. */
static int merge_shards(const struct merge_options *options, struct dump_partial_set *set)
{
	const struct dump_description *work = dump_partial_set_description(set);
	const struct dump_command *command = find_command(work->command);
	const size_t files = dump_partial_set_path_count(set), count = work->option_count;
	char **argv = calloc(count + files + 4, sizeof(*argv));
	char end[] = "--";
	size_t argc = 0;
	int status;

	if (!argv)
		return common_message_failure(common_fail_memory("options", count * sizeof(*argv)));
	argv[argc++] = work->command;
	for (size_t i = 0; i < count; i++)
		argv[argc++] = work->options[i];
	argv[argc++] = end;
	if (command->operand)
		argv[argc++] = work->operand;
	for (size_t i = 0; i < files; i++)
		argv[argc++] = (char *)(uintptr_t)choose_path(options, set, i);
	status = dump_command_merge(command, (int)argc, argv, &options->shared, set);
	free(argv);
	return status;
}

static int open_and_merge(const struct merge_options *options, char **paths, size_t count)
{
	struct dump_partial_set *set = NULL;
	int status = options->shared.jit.count
			     ? common_fail(PTL_MISUSE, "--jit is an option of the shards, which merge takes from them")
			     : dump_partial_set_open(paths, count, adds_traces, &set);

	if (!status && !find_command(dump_partial_set_description(set)->command))
		status = common_fail(PTL_CORRUPT, "%s is of a command that has no partial results", paths[0]);
	if (!status && options->traces.count && options->traces.count != dump_partial_set_path_count(set))
		status = common_fail(PTL_MISUSE, "--trace was given %zu times, and the command has %zu traces",
				     options->traces.count, dump_partial_set_path_count(set));
	status = status < 0 ? common_message_failure(status) : merge_shards(options, set);
	dump_partial_set_close(set);
	return status;
}

static int whole(const struct dump_command *command, int argc, char **argv)
{
	struct merge_options options = {.traces = {0}};
	struct dump_tables tables;
	const struct common_command_line line = {
		.program = "ptl-dump merge",
		.usage = "[options] PARTIAL...",
		.summary = command->details,
		.examples = command->examples,
		.tables = tables.tables,
	};
	int first, status;

	dump_options_tables(command, &tables);
	status = common_options_parse(&line, &options, argc, argv, &first);
	if (status == 0)
		common_message_start("ptl-dump", options.shared.quiet);
	if (status != 0) {
		status = status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	} else if (first == argc) {
		common_message_error("which partial results? a FILE is missing");
		common_message_hint("%s --help", line.program);
		status = COMMON_EXIT_USAGE;
	} else {
		status = open_and_merge(&options, argv + first, (size_t)(argc - first));
	}
	common_string_list_free(&options.traces);
	common_string_list_free(&options.shared.jit);
	return status;
}

const struct dump_command dump_command_merge_parts = {
	.name = "merge",
	.summary = "partial results of a command on many machines, as one result",
	.details =
		"Merges the partial results that stats, report, calls, graph, latency, diff, coverage or lint have "
		"written with --shard and --partial, and shows what the command would have shown of the whole trace, "
		"byte for byte. The order of files does not matter. The traces have to be there: their events and "
		"symbols are read again, but no Intel PT is decoded.",
	.examples = "ptl-dump report --shard 1/2 --partial 1.part build.ptl      on one machine\n"
		    "ptl-dump report --shard 2/2 --partial 2.part build.ptl      on another\n"
		    "ptl-dump merge 1.part 2.part                                what 'ptl-dump report' shows\n"
		    "ptl-dump coverage --partial a.part a.ptl && ptl-dump merge *.part    of many traces",
	.takes = DUMP_TAKES_OUTPUT,
	.options = own_options,
	.options_size = sizeof(struct merge_options),
	.whole = whole,
};
