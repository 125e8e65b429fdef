/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that commands of ptl-dump share. */
#include <string.h>

#include "dump/run/command.h"
#include "dump/run/source_map.h"
#include "elf/debug_options.h"

#define JOBS_MAX 1024

static int take_engine(void *engine, const char *argument)
{
	*(const struct flow_engine_class **)engine = flow_engine_find(argument);
	return 0;
}

static const char *const color_words[] = {
	[DUMP_COLOR_AUTO] = "auto", [DUMP_COLOR_ALWAYS] = "always", [DUMP_COLOR_NEVER] = "never", NULL};

static const struct common_option filter_heading[] = {
	{"", 0, NULL, "Which part of the trace (without these: all of it):"},
	{NULL},
};

static const struct common_option process_options[] = {
	{"pid", 0, "PID,...", "Only these processes.", COMMON_IDS(struct dump_options, filter.pids)},
	{"process", 0, "NAME",
	 "Only processes that ran a program of this name, its own or a link's (a path if it has a \"/\"; patterns may "
	 "have * and ?).",
	 COMMON_STRINGS(struct dump_options, filter.processes, UINT64_MAX)},
	{"tid", 't', "TID,...", "Only these threads.", COMMON_IDS(struct dump_options, filter.tids)},
	{NULL},
};

static const struct common_option cpu_options[] = {
	{"cpu", 'c', "CPU,...", "Only what ran on these CPUs.", COMMON_IDS(struct dump_options, filter.cpus)},
	{NULL},
};

static const struct common_option image_options[] = {
	{"image", 'i', "GLOB", "Only images with such a name, or such a path if GLOB has a \"/\".",
	 COMMON_STRINGS(struct dump_options, filter.images, UINT64_MAX)},
	{NULL},
};

static const struct common_option time_options[] = {
	{"time", 0, "A..B",
	 "Only this span of time; either end may be left out. Times count from the start of the trace, "
	 "with a unit (s, ms, us, ns); with - before, from its end; with @ before, they are times "
	 "of its clock.",
	 COMMON_TIME_SPAN(struct dump_options, filter.span)},
	{"last", 0, "TIME", "Only its last TIME, as with --time -TIME.. .",
	 COMMON_LAST(struct dump_options, filter.span)},
	{NULL},
};

static const struct common_option call_options[] = {
	{"calls", 0, "FUNCTION[: EXPRESSION]",
	 "Only what the calls of FUNCTION did for which EXPRESSION is true: 'serve: duration > 5ms and kernel > 1ms'. "
	 "Fields: function, caller, number, nested, time, duration, self, running, kernel, off_cpu, instructions, "
	 "self_instructions, calls, marks, cpu, pid, tid, and the call's values of ptl-record --values.",
	 COMMON_STRING(struct dump_options, calls)},
	{NULL},
};

static const struct common_option decode_options[] = {
	{"", 0, NULL, "Decoding:"},
	{"jobs", 'j', "N", "Decodes on N threads (default: one for each CPU).",
	 COMMON_NUMBER(struct dump_options, jobs, 1, JOBS_MAX)},
	{"engine", 0, "NAME", "What decodes (default: native).",
	 COMMON_CALLBACK(struct dump_options, engine, take_engine)},
	{NULL},
};

static int take_shard(void *options_, const char *argument)
{
	struct dump_options *options = options_;

	return dump_shard_parse(argument, &options->shard.number, &options->shard.count);
}

static const struct common_option shard_options[] = {
	{"", 0, NULL, "Parts of a large work (see ptl-dump merge --help):", .rare = true},
	{"shard", 0, "I/N",
	 "Decodes the I-th of N parts of the trace, which take about the same time; needs --partial.",
	 .take = take_shard},
	{"partial", 0, "FILE", "Writes a partial result to FILE, in place of one that is there, and shows nothing.",
	 COMMON_PATH(struct dump_options, partial)},
	{"slurm", 0, NULL, "Has jobs of Slurm do the work, follows them, and prints the result (see docs/scale.md).",
	 COMMON_FLAG(struct dump_options, cluster.slurm)},
	{"jobs-script", 0, NULL,
	 "Prints a shell script of the jobs and their merge, for other schedulers, and does nothing else.",
	 COMMON_FLAG(struct dump_options, cluster.script)},
	{"shards", 0, "N", "So many jobs (default: 16; for coverage of several traces one each).",
	 COMMON_NUMBER(struct dump_options, cluster.jobs, 1, DUMP_PARTIAL_SHARDS_MAX)},
	{"scratch", 0, "FOLDER", "Where --slurm has partial results: all nodes share it (default: the current folder).",
	 COMMON_PATH(struct dump_options, cluster.options.scratch)},
	{"partition", 0, "NAME", "Of Slurm; this and the next three as sbatch takes them.",
	 COMMON_STRING(struct dump_options, cluster.options.partition)},
	{"account", 0, "NAME", "Of Slurm.", COMMON_STRING(struct dump_options, cluster.options.account)},
	{"time-limit", 0, "TIME", "Of each job.", COMMON_STRING(struct dump_options, cluster.options.time)},
	{"memory", 0, "SIZE", "Of each job.", COMMON_STRING(struct dump_options, cluster.options.memory)},
	{NULL},
};

static const struct common_option follow_options[] = {
	{"follow", 0, NULL,
	 "The trace is being written: shows what comes, until its writer closes it or is gone; Ctrl-C ends it before.",
	 COMMON_FLAG(struct dump_options, follow)},
	{"live", 0, NULL,
	 "FILE is the name of a session (ptl-record start NAME): shows what it records, with --follow.",
	 COMMON_FLAG(struct dump_options, live)},
	{NULL},
};

static const struct common_option name_options[] = {
	{"demangle", 0, NULL, "Shows names of C++ and Rust as in the source (default).",
	 COMMON_CONSTANT(struct dump_options, no_demangle, false)},
	{"no-demangle", 0, NULL, "Shows names as the linker knows them.",
	 COMMON_FLAG(struct dump_options, no_demangle)},
	{NULL},
};

static const struct common_option full_name_options[] = {
	{"full-names", 0, NULL,
	 "Shows names of C++ and Rust with parameters and template arguments, and std::string by its long name.",
	 COMMON_FLAG(struct dump_options, full_names)},
	{NULL},
};

static const struct common_option output_heading[] = {
	{"", 0, NULL, "Output:"},
	{NULL},
};

static const struct common_option file_options[] = {
	{"output", 'o', "FILE", "Writes to FILE, which appears when it is complete (default: standard output).",
	 COMMON_PATH(struct dump_options, output)},
	{"force", 'f', NULL, "Replaces FILE if it exists.", COMMON_FLAG(struct dump_options, force)},
	{NULL},
};

static const struct common_option text_options[] = {
	{"json", 0, NULL, "Prints JSON: one object, or one a line for lists.", COMMON_FLAG(struct dump_options, json)},
	{"color", 0, "WHEN", "Uses colour; auto: on a terminal.",
	 COMMON_CHOICE(struct dump_options, color, color_words)},
	{"no-color", 0, NULL, "The same as --color never.",
	 COMMON_CONSTANT(struct dump_options, color, DUMP_COLOR_NEVER)},
	{NULL},
};

static const struct common_option output_options[] = {
	{"quiet", 'q', NULL, "No progress and no notes.", COMMON_FLAG(struct dump_options, quiet)},
	{NULL},
};

static const struct common_option source_options[] = {
	{"", 0, NULL, "Where code and names come from, beside the trace:"},
	{"code-store", 0, "FOLDER",
	 "Takes code and symbols that ptl-relog --detach-code has left out from this folder, or from the one that an "
	 "https:// URL names (default: $PTL_CODE_STORE).",
	 COMMON_PATH(struct dump_options, code_store)},
	{"debug-path", 0, "FOLDER[:...]",
	 "Takes names of functions and source lines from separate debug files in these folders, before the trace's own "
	 "and "
	 "those of /usr/lib/debug; then in those of $PTL_DEBUG_PATH.",
	 .take = elf_debug_path_take},
	ELF_DEBUGINFOD_OPTION(struct dump_options, debuginfod),
	{"source-map", 0, "FROM=TO",
	 "Reads source files whose path begins with FROM from TO instead, before those of the trace. May be repeated; "
	 "the "
	 "first FROM that fits counts.",
	 .take = dump_source_map_take},
	{"jit", 0, "[PID=]FILE",
	 "Takes names of code that was made while the program ran from this perf map or jitdump (perf-PID.map, "
	 "jit-PID.dump).",
	 COMMON_STRINGS(struct dump_options, jit, UINT64_MAX)},
	{NULL},
};

static const struct common_option rare_options[] = {
	{"", 0, NULL, "Reading of damaged and hostile files:", .rare = true},
	{"ignore-index", 0, NULL, "Reads the file as if its index were not there.",
	 COMMON_FLAG(struct dump_options, ignore_index)},
	{"max-expansion", 0, "N",
	 "Takes compressed events that are up to N times as large as in the file (default: 256; 0: any).",
	 COMMON_LIMIT(struct dump_options, max_expansion)},
	{NULL},
};

static const struct {
	unsigned takes;
	const struct common_option *table;
} filter_tables[] = {
	{DUMP_TAKES_PROCESS, process_options}, {DUMP_TAKES_CPU, cpu_options},    {DUMP_TAKES_TIME, time_options},
	{DUMP_TAKES_IMAGE, image_options},     {DUMP_TAKES_CALLS, call_options},
};

#define DUMP_TAKES_FILTER (DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE | DUMP_TAKES_CALLS)

void dump_options_tables(const struct dump_command *command, struct dump_tables *tables)
{
	const size_t engines_max = sizeof(tables->engine_names) / sizeof(tables->engine_names[0]) - 1;
	const struct common_option **next = tables->tables;

	memset(tables, 0, sizeof(*tables));
	if (command->options)
		*next++ = command->options;
	if (command->takes & DUMP_TAKES_FILTER)
		*next++ = filter_heading;
	for (size_t i = 0; i < sizeof(filter_tables) / sizeof(filter_tables[0]); i++)
		if (command->takes & filter_tables[i].takes)
			*next++ = filter_tables[i].table;
	if (command->takes & DUMP_TAKES_DECODE) {
		for (size_t i = 0; flow_engines[i] && i < engines_max; i++)
			tables->engine_names[i] = flow_engines[i]->name;
		memcpy(tables->decode, decode_options, sizeof(decode_options));
		tables->decode[2].choices = tables->engine_names;
		*next++ = tables->decode;
	}
	*next++ = output_heading;
	*next++ = command->takes & DUMP_TAKES_OUTPUT ? file_options : text_options;
	*next++ = output_options;
	if (command->takes & DUMP_TAKES_FOLLOW)
		*next++ = follow_options;
	if (command->takes & DUMP_TAKES_NAMES)
		*next++ = name_options;
	if (command->takes & DUMP_TAKES_FULL)
		*next++ = full_name_options;
	*next++ = source_options;
	*next++ = rare_options;
	if (command->takes & DUMP_TAKES_SHARD)
		*next++ = shard_options;
}
