/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump stats: executed instructions of each thread, and missing flow. */
#include "analysis/profile/stats.h"
#include "analysis/profile/unmapped.h"
#include "common/error.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/command/stats.h"
#include "dump/run/run.h"

#define GAPS_DEFAULT 10
#define GAPS_MAX 1000000

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"hash", 0, NULL,
	 "Adds to each thread the SHA-256 of the addresses of all its instructions in order, 8 bytes "
	 "little-endian each: equal flows have equal hashes.",
	 COMMON_FLAG(struct stats_options, hash)},
	{"branches", 0, NULL,
	 "Tells branches that were taken, which are those that flow --level branch shows, from others.",
	 COMMON_FLAG(struct stats_options, branches)},
	{"gaps", 'g', "N", "Lists the first N gaps (default: 10).",
	 COMMON_NUMBER(struct stats_options, gaps, 0, GAPS_MAX), COMMON_GIVEN(struct stats_options, gaps_given)},
	{NULL},
};

/* Counts instructions outside images, in a pass of its own: only traces with unnamed code need the pass. */
static int count_unmapped(const struct dump_run *run, const struct flow_timeline *timeline,
			  const struct flow_view_options *view_options, uint64_t *unmapped)
{
	struct analysis_unmapped_list list;
	int status;

	if (!flow_timeline_has_unnamed_code(timeline))
		return 0;
	status = analysis_unmapped_run(run->trace, timeline, view_options, false, &list);
	if (status)
		return status;
	for (size_t i = 0; i < list.count; i++)
		*unmapped += list.ranges[i].instructions;
	analysis_unmapped_free(&list);
	return 0;
}

static struct analysis_stats_wanted stats_wanted(const struct stats_options *options)
{
	return (struct analysis_stats_wanted){
		.hash = options->hash,
		.taken = options->branches,
		.gap_limit = options->gaps_given ? options->gaps : GAPS_DEFAULT,
	};
}

static int stats_check(const struct dump_options *shared)
{
	const struct stats_options *options = (const struct stats_options *)shared;

	if (shared->follow && (options->hash || options->branches || common_time_span_given(&shared->filter.span)))
		return common_fail(PTL_MISUSE, "--follow does not go with --hash, --branches and --time");
	if (shared->follow && shared->filter.processes.count)
		return common_fail(PTL_MISUSE, "--follow does not go with --process: who will run the program is not "
					       "known yet");
	return 0;
}

static int stats_run_command(struct dump_run *run)
{
	const struct stats_options *options = (const struct stats_options *)run->options;
	const struct analysis_stats_wanted wanted = stats_wanted(options);
	struct flow_view_options view_options;
	struct flow_timeline *timeline;
	struct analysis_stats stats = {0};
	uint64_t unmapped = 0; /* instructions executed outside all images */
	int status;

	if (run->options->follow)
		return dump_stats_follow(run, &wanted);
	status = dump_run_timeline(run, &timeline);
	if (status < 0)
		return status;
	view_options = dump_run_view_options(run);
	status = analysis_stats_run(run->trace, timeline, &view_options, &wanted, &stats);
	if (status == 0)
		status = count_unmapped(run, timeline, &view_options, &unmapped);
	common_progress_end();
	if (status == 0)
		status = dump_stats_print(run, timeline, &stats, unmapped);
	if (status == 0 && unmapped && !options->shared.json)
		common_message_hint("ptl-dump images --unmapped %s    shows where", run->path);
	if (status == 0 && stats.total.gap_causes[FLOW_GAP_CODE] && !options->shared.json)
		dump_run_hint_code(run);
	if (status == 0 && !stats.total.instructions && !stats.total.gaps)
		dump_run_note_no_flow(run);
	analysis_stats_free(&stats);
	flow_timeline_free(timeline);
	return status;
}

static const char *const unsharded[] = {"hash", "follow", "live", NULL};

const struct dump_command dump_command_stats = {
	.name = "stats",
	.summary = "instructions, blocks, branches and gaps of each thread",
	.details = "Decodes the trace and counts what each thread executed, what is missing and why.",
	.examples = "ptl-dump stats build.ptl\n"
		    "ptl-dump stats --hash --json build.ptl | jq '.processes[].threads[].ip_sha256'\n"
		    "ptl-dump stats --follow build.ptl      while build.ptl is recorded\n"
		    "ptl-dump stats --gaps 100 build.ptl    where flow is missing",
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES |
		 DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_FOLLOW | DUMP_TAKES_SHARD,
	.options = own_options,
	.unsharded = unsharded,
	.check = stats_check,
	.options_size = sizeof(struct stats_options),
	.run = stats_run_command,
};
