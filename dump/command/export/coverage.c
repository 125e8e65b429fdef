/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump coverage: executed lines, branches and functions of the source, in one or more traces. */
#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/commands.h"
#include "dump/export/coverage/coverage.h"
#include "dump/export/export.h"
#include "dump/run/run.h"
#include "dump/run/traces.h"
#include "query/glob.h"

#define IMAGES_NAMED 5
#define CHANGES_NAMED 5

enum format { FORMAT_TEXT, FORMAT_LCOV, FORMAT_COBERTURA, FORMAT_JSON };

struct coverage_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	enum format format;
	struct common_string_list sources;
	const char *diff_base;
	bool is_uncovered;
	const char *uncovered; /* pattern of functions; NULL: all */
};

static const char *const format_words[] = {
	[FORMAT_TEXT] = "text", [FORMAT_LCOV] = "lcov", [FORMAT_COBERTURA] = "cobertura", [FORMAT_JSON] = "json", NULL};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"format", 0, "FORMAT",
	 "text: a line for each file (default); lcov: a tracefile, for genhtml and the like; cobertura: XML; json: an "
	 "object a "
	 "line.",
	 COMMON_CHOICE(struct coverage_options, format, format_words)},
	{"json", 0, NULL, "The same as --format json.", COMMON_CONSTANT(struct coverage_options, format, FORMAT_JSON)},
	{"uncovered", 0, "[=FUNCTION]",
	 "Only lines that did not run, with their text, function by function; of FUNCTION alone (patterns may have * "
	 "and "
	 "?). Also with --json.",
	 COMMON_STRING(struct coverage_options, uncovered), COMMON_GIVEN(struct coverage_options, is_uncovered)},
	{"source", 0, "GLOB",
	 "Only source files with such a name, or such a path if GLOB has a \"/\". May be given several times.",
	 COMMON_STRINGS(struct coverage_options, sources, UINT64_MAX)},
	{"diff-base", 0, "DIFF",
	 "Only lines that a change added or changed: those of a unified diff in a file (\"-\": standard input), or of "
	 "what git "
	 "diff shows of such a revision or range.",
	 COMMON_PATH(struct coverage_options, diff_base)},
	{NULL},
};

static void coverage_free_options(struct dump_options *shared)
{
	common_string_list_free(&((struct coverage_options *)shared)->sources);
}

/* Whether lines of the function may be missing, or the function did not run: only a found function can say so. */
static int check_found(const struct coverage_options *options, struct dump_coverage_print *how)
{
	if (how->found || !options->is_uncovered || how->run->saver)
		return 0;
	if (options->uncovered)
		return common_fail(PTL_MISUSE, "--uncovered: no function with source lines is called '%s'%s",
				   options->uncovered, query_near_question(&how->near));
	common_message_note("all lines ran");
	return 0;
}

static int print(struct dump_run *run, const struct analysis_coverage *coverage, const struct coverage_options *options)
{
	static int (*const formats[])(struct dump_coverage_print *) = {
		[FORMAT_TEXT] = dump_coverage_text,
		[FORMAT_LCOV] = dump_coverage_lcov,
		[FORMAT_COBERTURA] = dump_coverage_cobertura,
		[FORMAT_JSON] = dump_coverage_json,
	};
	struct dump_coverage_print how = {.run = run,
					  .coverage = coverage,
					  .function = options->uncovered,
					  .near = {.text = options->uncovered},
					  .json = options->format == FORMAT_JSON};
	int status = options->is_uncovered ? dump_coverage_uncovered(&how) : formats[options->format](&how);

	if (!status)
		status = check_found(options, &how);
	if (!status && (how.line.failed || how.name.failed))
		status = common_fail_memory("lines", how.line.size);
	common_bytes_free(&how.line);
	common_bytes_free(&how.name);
	return status;
}

/*
 * Prints "12,345 of 56,789 instructions ran in images that are left out, without source lines or libraries of the
 * system: libc.so.6".
 */
static void note_images(const struct analysis_coverage *coverage)
{
	struct ptl_bytes text = {0};

	if (!coverage->left_out)
		return;
	common_text_count(&text, coverage->left_out);
	common_text_add(&text, " of ");
	common_text_count(&text, coverage->instructions);
	common_text_add(&text, " instructions ran in images that are left out, without source lines or libraries "
			       "of the system: ");
	for (size_t i = 0; i < coverage->image_count && i < IMAGES_NAMED; i++) {
		common_text_add(&text, i ? ", " : "");
		common_text_safe(&text, common_base_name(coverage->images[i]));
	}
	if (coverage->image_count > IMAGES_NAMED)
		common_text_format(&text, " and %zu more", coverage->image_count - IMAGES_NAMED);
	common_message_note("%s", common_text_string(&text));
	common_bytes_free(&text);
}

/* Returns the path as git prints it, without the diff's prefix for new files. */
static const char *changed_path(const char *path)
{
	return strncmp(path, "b/", 2) == 0 ? path + 2 : path;
}

static void note_changes(const struct analysis_changes *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < changes->file_count; i++)
		if (changes->files[i].count && !changes->files[i].is_met && count++ < CHANGES_NAMED)
			common_message_note("%s is changed, but is no source of code that ran",
					    changed_path(changes->files[i].path));
	if (count > CHANGES_NAMED)
		common_message_note(
			"%zu more " COMMON_PLURAL("file is changed that is",
						  "files are changed that are") " no source of code that ran",
			count - CHANGES_NAMED);
}

/* Warns of --source patterns without a match: a misspelt pattern would look like code that did not run. */
static void warn_sources(const struct analysis_coverage *coverage)
{
	for (size_t i = 0; i < coverage->sources->count; i++) {
		bool is_met = false;

		for (size_t j = 0; !is_met && j < coverage->file_count; j++)
			is_met = query_glob_path(coverage->sources->list[i], coverage->files[j].path);
		if (!is_met)
			common_message_warning("no source file with code has a name such as --source %s",
					       coverage->sources->list[i]);
	}
}

static void note_missing(const struct analysis_coverage *coverage)
{
	bool any = false;

	note_images(coverage);
	warn_sources(coverage);
	if (coverage->changes)
		note_changes(coverage->changes);
	if (coverage->gaps)
		common_message_warning("flow is missing in %" PRIu64
				       " " COMMON_PLURAL("place", "places") ": what ran there is not counted",
				       coverage->gaps);
	for (size_t i = 0; i < coverage->file_count; i++)
		any |= coverage->files[i].line_count > 0;
	if (!any && coverage->instructions && coverage->left_out == coverage->instructions)
		common_message_hint("compile with -g, and record with ptl-record --embed debug");
}

static int coverage_check(const struct dump_options *shared)
{
	const struct coverage_options *options = (const struct coverage_options *)shared;

	if (options->is_uncovered && options->format != FORMAT_TEXT && options->format != FORMAT_JSON)
		return common_fail(PTL_MISUSE, "--uncovered is text or JSON: not with --format lcov and cobertura");
	return 0;
}

static int add_run(void *coverage, struct dump_run *run)
{
	return dump_run_cover(run, coverage);
}

static int coverage_run(struct dump_run *run)
{
	const struct coverage_options *options = (const struct coverage_options *)run->options;
	struct analysis_changes changes = {0};
	struct analysis_coverage coverage = {.sources = &options->sources,
					     .changes = options->diff_base ? &changes : NULL};
	int status = options->diff_base ? analysis_changes_read(&changes, options->diff_base) : 0, finding = 0;

	if (!status)
		status = finding = dump_run_traces(run, add_run, &coverage);
	if (status >= 0)
		status = analysis_coverage_finish(&coverage);
	if (!status)
		status = print(run, &coverage, options);
	if (!status)
		note_missing(&coverage);
	analysis_coverage_free(&coverage);
	analysis_changes_free(&changes);
	return status ? status : finding;
}

static const char *const unsharded[] = {"diff-base", NULL};

const struct dump_command dump_command_coverage = {
	.name = "coverage",
	.many = true,
	.summary = "which lines, branches and functions of the source ran",
	.details = "Shows how often each line of the source was run, each function called, and each branch gone either "
		   "way, as gcov does, of a program that needs no instrumentation but debug information. Counts of "
		   "several traces "
		   "are added up.",
	.examples = "ptl-dump coverage test.ptl\n"
		    "ptl-dump coverage --format lcov -o all.info *.ptl && genhtml --branch-coverage -o html all.info\n"
		    "ptl-dump coverage --format cobertura --source '*/src/*' -o coverage.xml test.ptl\n"
		    "ptl-dump coverage --uncovered=parse test.ptl           which lines of parse did not run\n"
		    "ptl-dump coverage --diff-base main...HEAD test.ptl      which lines of a change ran",
	.takes = DUMP_EXPORT_TAKES | DUMP_TAKES_IMAGE | DUMP_TAKES_SHARD,
	.options = own_options,
	.unsharded = unsharded,
	.adds_traces = true,
	.options_size = sizeof(struct coverage_options),
	.check = coverage_check,
	.run = coverage_run,
	.free_options = coverage_free_options,
};
