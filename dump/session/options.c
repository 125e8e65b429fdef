/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that ptl-dump's commands share. */
#include <string.h>

#include "common/error.h"
#include "dump/session/command.h"

#define JOBS_MAX 1024

static int take_pid(void *target, const char *argument)
{
	struct dump_options *options = target;

	return common_id_set_parse(&options->filter.pids, argument);
}

static int take_process(void *target, const char *argument)
{
	struct dump_options *options = target;

	return dump_filter_process(&options->filter, argument);
}

static int take_tid(void *target, const char *argument)
{
	struct dump_options *options = target;

	return common_id_set_parse(&options->filter.tids, argument);
}

static int take_cpu(void *target, const char *argument)
{
	struct dump_options *options = target;

	return common_id_set_parse(&options->filter.cpus, argument);
}

static int take_image(void *target, const char *argument)
{
	struct dump_options *options = target;

	return dump_filter_image(&options->filter, argument);
}

static int take_time(void *target, const char *argument)
{
	struct dump_options *options = target;

	return dump_filter_time(&options->filter, argument);
}

static int take_last(void *target, const char *argument)
{
	struct dump_options *options = target;

	return dump_filter_last(&options->filter, argument);
}

static int take_jobs(void *target, const char *argument)
{
	struct dump_options *options = target;
	uint64_t jobs;
	int status = common_parse_u64(argument, &jobs);

	if (status == 0 && (jobs == 0 || jobs > JOBS_MAX))
		return common_fail(PTL_MISUSE, "a number from 1 to %d was expected", JOBS_MAX);
	if (status == 0)
		options->jobs = (unsigned)jobs;
	return status;
}

static int take_engine(void *target, const char *argument)
{
	struct dump_options *options = target;

	options->engine = flow_engine_find(argument);
	return 0;
}

static int take_demangle(void *target, const char *argument)
{
	struct dump_options *options = target;

	(void)argument;
	options->no_demangle = false;
	return 0;
}

static int take_no_demangle(void *target, const char *argument)
{
	struct dump_options *options = target;

	(void)argument;
	options->no_demangle = true;
	return 0;
}

static int take_json(void *target, const char *argument)
{
	struct dump_options *options = target;

	(void)argument;
	options->json = true;
	return 0;
}

static int take_color(void *target, const char *argument)
{
	struct dump_options *options = target;

	options->color = strcmp(argument, "always") == 0  ? DUMP_COLOR_ALWAYS
			 : strcmp(argument, "never") == 0 ? DUMP_COLOR_NEVER
							  : DUMP_COLOR_AUTO;
	return 0;
}

static int take_no_color(void *target, const char *argument)
{
	(void)argument;
	return take_color(target, "never");
}

static int take_quiet(void *target, const char *argument)
{
	struct dump_options *options = target;

	(void)argument;
	options->quiet = true;
	return 0;
}

static int take_ignore_index(void *target, const char *argument)
{
	struct dump_options *options = target;

	(void)argument;
	options->ignore_index = true;
	return 0;
}

static int take_max_expansion(void *target, const char *argument)
{
	return common_parse_expansion(argument, &((struct dump_options *)target)->max_expansion);
}

static const char *const color_words[] = {"auto", "always", "never", NULL};

static const struct common_option filter_heading[] = {
	{"", 0, NULL, "Which part of the trace (without these: all of it):"},
	{NULL},
};

static const struct common_option process_options[] = {
	{"pid", 0, "PID,...", "Only these processes.", take_pid},
	{"process", 0, "NAME",
	 "Only processes that ran a program of this name, its own or a link's (a path if it has a \"/\"; patterns may "
	 "have * and ?).",
	 take_process},
	{"tid", 't', "TID,...", "Only these threads.", take_tid},
	{NULL},
};

static const struct common_option cpu_options[] = {
	{"cpu", 'c', "CPU,...", "Only what ran on these CPUs.", take_cpu},
	{NULL},
};

static const struct common_option image_options[] = {
	{"image", 'i', "GLOB", "Only images with such a name, or such a path if GLOB has a \"/\".", take_image},
	{NULL},
};

static const struct common_option time_options[] = {
	{"time", 0, "A..B",
	 "Only this span of time; either end may be left out. Times count from the start of the trace, "
	 "in seconds or with a unit (s, ms, us, ns); with - before, from its end; with @ before, they are times "
	 "of its clock.",
	 take_time},
	{"last", 0, "TIME", "Only its last TIME, as with --time -TIME.. .", take_last},
	{NULL},
};

static const struct common_option decode_options[] = {
	{"", 0, NULL, "Decoding:"},
	{"jobs", 'j', "N", "Decodes on N threads (default: one for each CPU).", take_jobs},
	{"engine", 0, "NAME", "What decodes (default: native).", take_engine},
	{NULL},
};

static const struct common_option name_options[] = {
	{"demangle", 0, NULL, "Shows names of C++, Rust and D as in the source (default).", take_demangle},
	{"no-demangle", 0, NULL, "Shows names as the linker knows them.", take_no_demangle},
	{NULL},
};

static const struct common_option output_options[] = {
	{"", 0, NULL, "Output:"},
	{"json", 0, NULL, "Prints JSON: one object, or one a line for lists.", take_json},
	{"color", 0, "WHEN", "Uses colour; auto: on a terminal.", take_color, color_words},
	{"no-color", 0, NULL, "The same as --color never.", take_no_color},
	{"quiet", 'q', NULL, "No progress and no notes.", take_quiet},
	{"ignore-index", 0, NULL, "Reads the file as if its index were not there.", take_ignore_index},
	{"max-expansion", 0, "N",
	 "Takes compressed events that are up to N times as large as in the file (default: 256; 0: any).",
	 take_max_expansion},
	{NULL},
};

static const struct {
	unsigned takes;
	const struct common_option *table;
} filter_tables[] = {
	{DUMP_TAKES_PROCESS, process_options},
	{DUMP_TAKES_CPU, cpu_options},
	{DUMP_TAKES_TIME, time_options},
	{DUMP_TAKES_IMAGE, image_options},
};

#define DUMP_TAKES_FILTER (DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE)

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
	*next++ = output_options;
	if (command->takes & DUMP_TAKES_NAMES)
		*next++ = name_options;
}
