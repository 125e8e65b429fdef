/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump diff: differences in executed code between two traces, or between two sides of several traces. */
#include "dump/command/diff.h"

#include <string.h>

#include "analysis/difference/diff_counts.h"
#include "common/error.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/command/diff_traces.h"

#define LIMIT_DEFAULT 20
#define LIMIT_MAX 1000000000
#define CONTEXT_DEFAULT 5
#define CONTEXT_MAX 100000
#define SLOWER_MAX 1000000

struct diff_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct analysis_ignore ignore;
	struct common_string_list with;
	const char *with_calls;
	bool first, waiting;
	bool has_limit, has_context, has_slower;
	uint64_t limit, context, slower;
	unsigned changes; /* bits of changes to show; 0: all */
};

static int take_ignore(void *ignore, const char *argument)
{
	return analysis_ignore_add(ignore, argument, strlen(argument));
}

static const char *const change_words[] = {"new", "gone", "more", "fewer", "slower", "faster", NULL};

static int take_change(void *changes, const char *argument)
{
	for (unsigned i = ANALYSIS_DIFF_SAME + 1; i < ANALYSIS_DIFF_CHANGES; i++)
		if (!strcmp(argument, analysis_diff_change_name(i)))
			*(unsigned *)changes |= 1u << i;
	return 0;
}

static int take_ignore_file(void *ignore, const char *argument)
{
	return analysis_ignore_read(ignore, argument);
}

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is compared:"},
	{"with", 0, "FILE",
	 "A run of side B; all FILEs are runs of side A then. What varies within a side is no difference. May be given "
	 "several times.",
	 COMMON_STRINGS(struct diff_options, with, UINT64_MAX)},
	{"with-calls", 0, "FUNCTION[: EXPRESSION]",
	 "With --calls: the calls of side B, if these are others; both FILEs may be one trace then.",
	 COMMON_STRING(struct diff_options, with_calls)},
	{"first", 0, NULL, "The first divergence of each thread instead of counts.",
	 COMMON_FLAG(struct diff_options, first)},
	{"waiting", 0, NULL,
	 "With --first: also compares the code of functions of the C library that wait for other threads, such as "
	 "pthread_mutex_lock, which differs by chance.",
	 COMMON_FLAG(struct diff_options, waiting)},
	{"slower", 0, "PERCENT",
	 "Compares also how long functions took by themselves: those that took so many percent more or less (of traces "
	 "without times, that executed so many instructions).",
	 COMMON_NUMBER(struct diff_options, slower, 1, SLOWER_MAX), COMMON_GIVEN(struct diff_options, has_slower)},
	{"ignore", 'I', "WHAT",
	 "Leaves out functions (a name or pattern), image:IMAGE, or range:IMAGE:0xFIRST..0xLAST. May be given several "
	 "times.",
	 COMMON_CALLBACK(struct diff_options, ignore, take_ignore)},
	{"ignore-file", 0, "FILE", "The same from a file, a line each; # begins a comment.",
	 COMMON_CALLBACK(struct diff_options, ignore, take_ignore_file)},
	{"", 0, NULL, "What is shown:"},
	{"change", 0, "WHICH", "Only differences of this kind of change. May be given several times.",
	 COMMON_CALLBACK(struct diff_options, changes, take_change), .choices = change_words},
	{"limit", 'n', "N", "So many of each kind, those that differ most first (default: 20; 0: all). JSON has all.",
	 COMMON_NUMBER(struct diff_options, limit, 0, LIMIT_MAX), COMMON_GIVEN(struct diff_options, has_limit)},
	{"context", 'C', "N", "So many branches before and behind a divergence (default: 5).",
	 COMMON_NUMBER(struct diff_options, context, 0, CONTEXT_MAX), COMMON_GIVEN(struct diff_options, has_context)},
	{NULL},
};

static int diff_check(const struct dump_options *shared)
{
	const struct diff_options *options = (const struct diff_options *)shared;

	if (options->with_calls && !shared->calls)
		return common_fail(PTL_MISUSE, "--with-calls needs --calls");
	if (options->has_context && !options->first)
		return common_fail(PTL_MISUSE, "--context needs --first");
	if (options->has_slower && options->first)
		return common_fail(PTL_MISUSE, "--slower does not go with --first");
	if (options->waiting && !options->first)
		return common_fail(PTL_MISUSE, "--waiting needs --first");
	if (options->changes && options->first)
		return common_fail(PTL_MISUSE, "--change does not go with --first");
	if (options->has_limit && options->first)
		return common_fail(PTL_MISUSE, "--limit does not go with --first");
	return 0;
}

static void diff_free_options(struct dump_options *shared)
{
	struct diff_options *options = (struct diff_options *)shared;

	analysis_ignore_free(&options->ignore);
	common_string_list_free(&options->with);
}

static int compare_traces(struct dump_run *run, struct analysis_diff *diff)
{
	const struct diff_options *options = (const struct diff_options *)run->options;

	diff->slower = options->slower;
	diff->waiting = options->waiting;
	if (options->first)
		return dump_diff_show_first(run, diff, options->has_context ? options->context : CONTEXT_DEFAULT);
	return dump_diff_show_counts(run, diff, options->changes, options->has_limit ? options->limit : LIMIT_DEFAULT);
}

/* Opens the traces of both sides. */
static int open_sides(struct dump_run *run, struct dump_diff_traces *traces, struct analysis_diff *diff)
{
	const struct diff_options *options = (const struct diff_options *)run->options;
	const char *const *with = options->with.list;
	const size_t count = options->with.count;

	if (!count && run->more_count != 1)
		return common_fail(PTL_MISUSE, "%s",
				   run->more_count
					   ? "more than two traces need --with, which names those of side B"
					   : "which two traces? one FILE is missing: ptl-dump diff A.ptl B.ptl");
	if (options->first && run->more_count + count != 1)
		return common_fail(PTL_MISUSE, "--first compares two traces: a side cannot have several");
	if (!count)
		return dump_diff_traces_open(traces, diff, run, NULL, 0, (const char *const *)run->more, 1,
					     &options->ignore);
	return dump_diff_traces_open(traces, diff, run, run->more, run->more_count, with, count, &options->ignore);
}

static int diff_run(struct dump_run *run)
{
	const struct diff_options *options = (const struct diff_options *)run->options;
	struct dump_diff_traces traces = {0};
	struct analysis_diff diff = {0};
	int status = open_sides(run, &traces, &diff);

	if (!status)
		status = analysis_diff_select(&diff, options->shared.calls,
					      options->with_calls ? options->with_calls : options->shared.calls);
	if (!status)
		status = compare_traces(run, &diff);
	dump_diff_traces_close(&traces, &diff);
	if (traces.damaged && status >= 0)
		status = COMMON_EXIT_INPUT;
	return status;
}

static const char *const unsharded[] = {"first", NULL};

const struct dump_command dump_command_diff = {
	.name = "diff",
	.many = true,
	.summary = "what ran differently in two traces",
	.details = "Compares what ran in two traces, wherever code was loaded: functions, blocks and edges that are "
		   "new, gone, "
		   "more or fewer in the second one; or where each thread first went another way. The exit status is 0 "
		   "if both "
		   "are equal, 1 if they differ, 2 and more for trouble.",
	.examples = "ptl-dump diff good.ptl bad.ptl\n"
		    "ptl-dump diff --first good.ptl bad.ptl           the very branch\n"
		    "ptl-dump diff --slower 10 before.ptl after.ptl   what took 10 % more or less time\n"
		    "ptl-dump diff good1.ptl good2.ptl --with bad1.ptl --with bad2.ptl\n"
		    "ptl-dump diff --ignore 'malloc*' --ignore 'image:ld-*' good.ptl bad.ptl",
	.takes = DUMP_TAKES_IMAGE | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES | DUMP_TAKES_FULL | DUMP_TAKES_CUT |
		 DUMP_TAKES_SHARD | DUMP_TAKES_CALLS,
	.options = own_options,
	.unsharded = unsharded,
	.options_size = sizeof(struct diff_options),
	.check = diff_check,
	.run = diff_run,
	.free_options = diff_free_options,
};
