/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump lint: checks for CI whether a trace is complete enough. */
#include <string.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/crash/brief.h"
#include "dump/command/info.h"
#include "dump/print/lint_report.h"
#include "dump/run/run.h"

struct lint_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	struct analysis_lint_limits limits;
	bool github;
	const char *junit;
	const char *gitlab;
};

static int take_limit(void *limits, const char *argument)
{
	return analysis_lint_limits_set(limits, argument, strlen(argument));
}

static int take_rules(void *limits, const char *argument)
{
	return analysis_lint_limits_read(limits, argument);
}

static const struct common_option own_options[] = {
	{"", 0, NULL, "What may be missing (in the order given; the last counts):"},
	{"limit", 0, "CHECK=VALUE",
	 "The limit of a check: a number, percent for shares (at least so many for \"decoded\", at most for others), "
	 "or any. The table names the checks.",
	 COMMON_CALLBACK(struct lint_options, limits, take_limit)},
	{"rules", 'r', "FILE", "Limits from a file, a line each: CHECK = VALUE; # begins a comment.",
	 COMMON_CALLBACK(struct lint_options, limits, take_rules)},
	{"", 0, NULL, "Reports:"},
	{"junit", 0, "FILE", "Writes JUnit XML to FILE, too: each check is a test.",
	 COMMON_PATH(struct lint_options, junit)},
	{"gitlab", 0, "FILE", "Writes a Code Quality report of GitLab to FILE, too.",
	 COMMON_PATH(struct lint_options, gitlab)},
	{"github", 0, NULL, "Prints annotations as GitHub reads them, too: lines that begin with \"::error\".",
	 COMMON_FLAG(struct lint_options, github)},
	{NULL},
};

static int lint_check(const struct dump_options *shared)
{
	if (shared->json && ((const struct lint_options *)shared)->github)
		return common_fail(PTL_MISUSE, "--github does not go with --json");
	return 0;
}

static int write_report(const char *path, const struct ptl_bytes *text)
{
	struct common_output_file file = {.fd = -1};
	int status = text->failed ? common_fail_memory("a report", text->size) : common_output_open(&file, path, true);

	if (!status)
		status = common_write_all(file.fd, text->data, text->size);
	if (!status)
		status = common_output_commit(&file);
	common_output_abandon(&file);
	return status;
}

static int write_reports(const struct dump_lint_report *report, const struct lint_options *options, FILE *out)
{
	struct ptl_bytes text = {0};
	int status = 0;

	if (options->github) {
		dump_lint_report_github(report, &text);
		if (text.size)
			fwrite(text.data, 1, text.size, out);
		status = text.failed ? common_fail_memory("a report", text.size) : 0;
	}
	text.size = 0;
	if (!status && options->junit) {
		dump_lint_report_junit(report, &text);
		status = write_report(options->junit, &text);
	}
	text.size = 0;
	if (!status && options->gitlab)
		status = dump_lint_report_gitlab(report, &text);
	if (!status && options->gitlab)
		status = write_report(options->gitlab, &text);
	common_bytes_free(&text);
	return status;
}

static int show_findings(struct dump_run *run, const struct dump_lint_report *report)
{
	const struct lint_options *options = (const struct lint_options *)run->options;
	int status = 0;

	/* A shard cannot judge: only the merge has all values. */
	if (run->saver)
		return 0;
	if (options->shared.json)
		dump_lint_report_json(report, run);
	else
		status = dump_lint_report_text(report, run);
	if (!status)
		status = write_reports(report, options, run->out);
	if (status || dump_lint_report_passes(report))
		return status;
	common_message_warning("%s does not keep all limits", run->path);
	return COMMON_EXIT_FINDING;
}

/* Failures of the recorded programs. Only a whole trace is decoded for their places. */
static int add_failures(struct dump_run *run, const struct flow_timeline *timeline, struct analysis_lint *lint)
{
	struct dump_crash_brief brief = {0};
	int status = dump_crash_brief_make(&brief, run, timeline, !run->saver && !run->merged);

	lint->values[ANALYSIS_LINT_FAILURES].number = brief.failures;
	for (size_t i = 0; !status && i < DUMP_CRASH_BRIEF_LINES && brief.lines[i]; i++)
		status = analysis_lint_add(lint, ANALYSIS_LINT_FAILURES, brief.lines[i]);
	dump_crash_brief_free(&brief);
	return status;
}

static int lint_run(struct dump_run *run)
{
	struct lint_options *options = (struct lint_options *)run->options;
	struct analysis_lint lint = {0};
	const struct dump_lint_report report = {run->path, &lint, &options->limits};
	struct analysis_input input;
	struct flow_timeline *timeline;
	size_t broken_blobs = 0;
	int status = run->saver ? 0 : dump_info_check(run, &broken_blobs);

	analysis_lint_limits_begin(&options->limits);
	if (!status)
		status = dump_run_timeline(run, &timeline);
	if (status < 0)
		return status;
	input = dump_run_input(run);
	status = analysis_lint_measure(&input, timeline, broken_blobs, &lint);
	if (!status)
		status = add_failures(run, timeline, &lint);
	common_progress_end();
	if (!status)
		status = show_findings(run, &report);
	analysis_lint_free(&lint);
	flow_timeline_free(timeline);
	return status;
}

static const char *const unsharded[] = {"junit", "gitlab", NULL};

const struct dump_command dump_command_lint = {
	.name = "lint",
	.summary = "whether enough of the trace is there, for CI",
	.details = "Holds what is missing in a trace against limits: packets without flow, gaps by cause, code that "
		   "nobody has, "
		   "losses, damage, functions without names. The exit status is 1 where a limit is passed.",
	.examples = "ptl-dump lint build.ptl\n"
		    "ptl-dump lint --limit decoded=99.5 --limit gaps.overflow=any build.ptl\n"
		    "ptl-dump lint --rules trace.limits --junit trace.xml build.ptl\n"
		    "ptl-dump lint --json build.ptl | jq -r '.checks[] | select(.passed | not) | .findings[]'",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE | DUMP_TAKES_SHARD,
	.options = own_options,
	.unsharded = unsharded,
	.lists_damage = true,
	.judges_damage = true,
	.options_size = sizeof(struct lint_options),
	.check = lint_check,
	.run = lint_run,
};
