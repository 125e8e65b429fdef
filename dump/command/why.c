/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump why: compares the slow calls of a function with its other calls. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/function/source_note.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "dump/command/commands.h"
#include "dump/command/why_print.h"
#include "dump/run/calls.h"

#define LIMIT_DEFAULT 10

struct why_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	uint64_t slower_than;
	double slowest;
	struct common_string_list slow;
	bool instructions;
	bool limit_given;
	uint64_t limit;
};

/* Takes "5", "5%", "0.1 %". */
static int take_per_cent(void *member, const char *argument)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(argument, &end);
	end += strspn(end, " ");
	end += *end == '%';
	if (end == argument || *end || errno || !(value > 0 && value < 100))
		return common_fail(PTL_MISUSE, "expected a share of the calls, above 0 and below 100: 5%%");
	*(double *)member = value;
	return 0;
}

static const struct common_option own_options[] = {
	{"", 0, NULL, "Which calls are slow (default: those that stand out, else --slowest 5%):"},
	{"slower-than", 0, "TIME", "Calls that took longer (5ms, 20us).",
	 COMMON_DURATION(struct why_options, slower_than, 1)},
	{"slowest", 0, "PERCENT", "This share of the calls: 5%.",
	 COMMON_CALLBACK(struct why_options, slowest, take_per_cent)},
	{"slow", 0, "EXPRESSION",
	 "Calls for which EXPRESSION is true, such as 'kernel > 1ms or caller == retry': of the fields of --calls.",
	 COMMON_STRINGS(struct why_options, slow, UINT64_MAX)},
	{"", 0, NULL, "What is shown:"},
	{"instructions", 0, NULL, "Compares instructions instead of time.",
	 COMMON_FLAG(struct why_options, instructions)},
	{"limit", 'n', "N", "At most N rows of each table (default: 10; 0: all).",
	 COMMON_NUMBER(struct why_options, limit, 0, UINT64_MAX), COMMON_GIVEN(struct why_options, limit_given)},
	{NULL},
};

static int why_check(const struct dump_options *shared)
{
	const struct why_options *options = (const struct why_options *)shared;

	if ((options->slower_than > 0) + (options->slowest > 0) + (options->slow.count > 0) > 1)
		return common_fail(PTL_MISUSE, "--slower-than, --slowest and --slow exclude each other");
	if (options->instructions && options->slower_than)
		return common_fail(PTL_MISUSE, "--instructions and --slower-than exclude each other");
	return 0;
}

static void note_missing(const struct dump_why *why)
{
	if (why->set.incomplete) {
		common_message_note(
			"%" PRIu64
			" " COMMON_PLURAL("call", "calls") " began or ended outside of the flow, and " COMMON_PLURAL(
				"is", "are") " not compared",
			why->set.incomplete);
		common_message_hint("ptl-dump stats shows where flow is missing");
	}
	if (why->cut_calls)
		common_message_note(
			"%" PRIu64
			" " COMMON_PLURAL("call is", "calls are") " too deep, or of too many paths, and " COMMON_PLURAL(
				"counts for its caller", "count for their callers"),
			why->cut_calls);
	analysis_warn_of_sources(why->sources, NULL);
}

static int show_why(struct dump_run *run, struct analysis_calls *calls, const struct why_options *options,
		    const struct query_row *slow)
{
	const struct dump_why_options chosen = {
		.slower_than = options->slower_than,
		.slowest = options->slowest,
		.slow = slow->expr ? slow : NULL,
		.by_instructions = options->instructions,
	};
	const uint64_t given = options->limit_given ? options->limit : LIMIT_DEFAULT;
	const uint64_t limit = given ? given : UINT64_MAX;
	struct dump_why why = {.run = run, .calls = calls, .options = &chosen};
	int status = dump_why_run(&why);

	if (status == 0 && why.node_count) {
		note_missing(&why);
		status = options->shared.json ? dump_why_json(&why, limit) : dump_why_text(&why, limit);
	}
	dump_why_free(&why);
	return status;
}

static int why_run_command(struct dump_run *run)
{
	const struct why_options *options = (const struct why_options *)run->options;
	struct analysis_calls calls = {0};
	struct query_row slow = {.option = "--slow", .takes_values = true};
	int status = query_row_make(&slow, analysis_set_fields, &options->slow);

	if (status == 0) {
		status = dump_calls_open(&calls, run);
		if (status == 0)
			status = show_why(run, &calls, options, &slow);
		dump_calls_close(&calls, run);
	}
	query_row_free(&slow);
	return status;
}

static void why_free_options(struct dump_options *options)
{
	common_string_list_free(&((struct why_options *)options)->slow);
}

static const char examples[] = "ptl-dump why handle_request server.ptl\n"
			       "ptl-dump why --slower-than 5ms handle_request server.ptl\n"
			       "ptl-dump why --slowest 1% --last 10s 'Parser::parse' a.ptl\n"
			       "ptl-dump why --slow 'kernel > 1ms' commit a.ptl\n"
			       "ptl-dump why --json handle_request a.ptl | jq '.branches[0]'";

const struct dump_command dump_command_why = {
	.name = "why",
	.operand = "FUNCTION",
	.summary = "what the slow calls of a function did that the others did not",
	.details = "Compares the slow calls of a function with its other calls: callees, branches, lines, events and "
		   "waiting, by the excess of a slow call over another call. Names a slow call and an ordinary call to "
		   "open.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_DECODE | DUMP_TAKES_NAMES |
		 DUMP_TAKES_FULL,
	.options = own_options,
	.options_size = sizeof(struct why_options),
	.check = why_check,
	.run = why_run_command,
	.free_options = why_free_options,
};
