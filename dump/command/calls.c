/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-dump calls: calls in the order of their begin. */
#include <stdlib.h>

#include "analysis/call/call_selection.h"
#include "analysis/event/call_values.h"
#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "dump/command/calls_print.h"
#include "dump/command/commands.h"
#include "dump/flow/flow_events.h"
#include "dump/run/calls.h"

struct calls_options {
	struct dump_options shared; /* must come first: see dump/run/command.h */
	const char *function;
	const char *from;
	const char *until;
	uint64_t depth;
	uint64_t min_time;
	uint64_t min_instructions;
	uint64_t tail;
	bool no_folding;
	bool events;
	struct common_string_list where;
};

static const struct common_option own_options[] = {
	{"", 0, NULL, "What is shown:"},
	{"depth", 'd', "N", "Calls that are nested up to N deep.",
	 COMMON_NUMBER(struct calls_options, depth, 1, UINT64_MAX)},
	{"function", 'F', "FUNCTION", "Only calls of this function, and what these call (patterns may have * and ?).",
	 COMMON_STRING(struct calls_options, function)},
	{"from", 0, "FUNCTION", "Of each thread, what comes from the first call of this function on.",
	 COMMON_STRING(struct calls_options, from)},
	{"until", 0, "FUNCTION", "What comes before the next call of this function.",
	 COMMON_STRING(struct calls_options, until)},
	{"tail", 0, "N", "The last N lines of each thread, and the calls that they lie in.",
	 COMMON_NUMBER(struct calls_options, tail, 1, UINT64_MAX)},
	{"min-time", 0, "TIME", "Only calls that took as long (1us, 2.5ms).",
	 COMMON_DURATION(struct calls_options, min_time, 0)},
	{"min-instructions", 0, "N", "Only calls that executed as many instructions.",
	 COMMON_NUMBER(struct calls_options, min_instructions, 0, UINT64_MAX)},
	{"where", 'w', "EXPRESSION",
	 "Only calls of which it is true, such as 'duration > 1ms and image ~ libz*': of function, image, path, "
	 "address, time, duration, self, instructions, self_instructions, calls, repeats, depth, stack, marks, cpu, "
	 "pid, tid, process, and the call's values of ptl-record --values.",
	 COMMON_STRINGS(struct calls_options, where, UINT64_MAX)},
	{"no-fold", 0, NULL, "A line for each call, though calls are alike.",
	 COMMON_FLAG(struct calls_options, no_folding)},
	{"events", 0, NULL, "Events of programs and the kernel too, each in its place by time.",
	 COMMON_FLAG(struct calls_options, events)},
	{NULL},
};

struct calls_run {
	struct dump_calls_print print;
	struct dump_flow_events *events;
	/*
	 * --until: output waits in a temporary file until the function has run, since a function that never ran is an
	 * error.
	 */
	struct dump_run *run;
	FILE *held; /* replaces run->out; NULL: no output waits */
	FILE *out;  /* the command's output */
};

static int hold_output(struct calls_run *calls_run)
{
	calls_run->held = tmpfile();
	if (!calls_run->held)
		return common_fail_errno("--until: no temporary file");
	calls_run->out = calls_run->run->out;
	calls_run->run->out = calls_run->held;
	return 0;
}

/* Ends the waiting: writes the held output if `keep`. Later output goes directly to the command's output. */
static int release_output(struct calls_run *calls_run, bool keep)
{
	char bytes[1 << 14];
	size_t size;
	int status = 0;

	if (!calls_run->held)
		return 0;
	calls_run->run->out = calls_run->out;
	if (keep && (fflush(calls_run->held) || fseeko(calls_run->held, 0, SEEK_SET)))
		status = common_fail_errno("--until: the temporary file");
	while (keep && !status && (size = fread(bytes, 1, sizeof(bytes), calls_run->held)) > 0)
		fwrite(bytes, 1, size, calls_run->out);
	if (keep && !status && ferror(calls_run->held))
		status = common_fail(PTL_SYSTEM, "--until: the temporary file cannot be written or read");
	fclose(calls_run->held);
	calls_run->held = NULL;
	return status;
}

static const uint8_t *take_lines(void *context, const struct analysis_call_thread *thread, uint64_t time, size_t *size)
{
	struct calls_run *calls_run = context;
	struct dump_flow_event_list *list = dump_flow_events_of(calls_run->events, thread->pid, thread->tid);

	*size = 0;
	return list ? dump_flow_events_take(list, time, size) : NULL;
}

static int show_tree(void *context, const struct analysis_call_tree *tree, const struct analysis_call_thread *thread)
{
	struct calls_run *calls_run = context;
	const int status = dump_calls_print(&calls_run->print, tree, thread);

	return status || !calls_run->print.until_ran ? status : release_output(calls_run, true);
}

static bool selects_function(void *context, uint32_t function)
{
	struct calls_run *calls_run = context;

	return dump_calls_print_selects(&calls_run->print, function);
}

/* Appends the time column of an event's line. */
static void event_head(const struct dump_flow_print *print, const struct flow_segment *segment,
		       const struct dump_flow_time *time, struct ptl_bytes *text)
{
	(void)segment;
	common_text_time(text, time->time, print->start_time);
	common_text_add(text, "  ");
}

static int check_names(const struct analysis_calls *calls, const struct calls_options *options)
{
	const struct {
		const char *option, *pattern;
	} patterns[] = {{"--function", options->function}, {"--from", options->from}, {"--until", options->until}};
	int status = 0;

	for (size_t i = 0; status == 0 && i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (patterns[i].pattern)
			status = analysis_calls_check(calls, patterns[i].option, patterns[i].pattern);
	return status;
}

static int show_calls(struct dump_run *run, struct analysis_calls *calls, const struct calls_options *options,
		      const struct query_row *query)
{
	struct dump_calls_row row = {.calls = calls};
	struct query_row_asker where = {.query = query, .get = dump_calls_field, .context = &row};
	static const struct dump_flow_format event_format = {.head = event_head};
	const struct dump_flow_print event_print = {
		.timeline = calls->timeline,
		.symbols = calls->symbols,
		.start_time = ptl_trace_machine(run->trace)->start_time,
	};
	struct calls_run calls_run = {
		.print =
			{
				.calls = calls,
				.line = {.run = run, .is_narrow = dump_calls_is_narrow(run)},
				.function = options->function,
				.from = options->from,
				.until = options->until,
				.tail = options->tail,
				.max_depth = options->depth,
				.where = query->expr ? &where : NULL,
			},
		.run = run,
	};
	/* If single functions are selected, their calls may lie deeper than the displayed depth. */
	struct analysis_call_tree tree = {
		.min_time = options->min_time,
		.min_instructions = options->min_instructions,
		.max_depth = options->function || query->expr || options->shared.filter.images.count ? 0
												     : options->depth,
		.no_folding = options->no_folding || query->value_count || !dump_calls_where_folds(query),
		.selects = options->function || options->from || options->until || options->shared.filter.images.count
				   ? selects_function
				   : NULL,
		.events = options->events ? take_lines : NULL,
		.show = show_tree,
		.context = &calls_run,
	};
	struct analysis_call_observer observer = analysis_call_tree_observer;
	struct analysis_call_values *values;
	int status = analysis_call_values_open(run->trace, query, &values);

	row.values = values;
	observer.context = &tree;
	if (status == 0 && options->events)
		status = dump_flow_events_open(run, &event_print, &event_format, false, &calls_run.events);
	if (status == 0 && options->until)
		status = hold_output(&calls_run);
	if (status == 0)
		status = analysis_calls_observe(calls, &observer);
	if (status == 0 && analysis_functions_count(calls->functions))
		status = check_names(calls, options);
	if (status == 0)
		status = release_output(&calls_run, true);
	release_output(&calls_run, false);
	if (status == 0 && analysis_functions_count(calls->functions) && !calls_run.print.shown)
		common_message_note("no call is what was asked for");
	analysis_call_tree_free(&tree);
	dump_calls_print_free(&calls_run.print);
	dump_flow_events_close(calls_run.events);
	query_row_asker_end(&where);
	analysis_call_values_close(values);
	common_bytes_free(&row.text);
	return status;
}

static int calls_run_command(struct dump_run *run)
{
	const struct calls_options *options = (const struct calls_options *)run->options;
	struct analysis_calls calls = {0};
	struct query_row where = {.takes_values = true};
	bool *wanted = NULL;
	int status = query_row_make(&where, dump_calls_fields, &options->where);

	if (status == 0)
		status = dump_calls_open(&calls, run);

	/* Reports a --image pattern that matches no image. */
	if (status == 0)
		status = dump_run_images(run, calls.timeline, &wanted);
	free(wanted);
	if (status == 0)
		status = show_calls(run, &calls, options, &where);
	query_row_free(&where);
	dump_calls_close(&calls, run);
	return status;
}

static int calls_check(const struct dump_options *shared)
{
	const struct calls_options *options = (const struct calls_options *)shared;

	if (options->events && shared->calls)
		return common_fail(PTL_MISUSE, "--events does not go with --calls");
	return 0;
}

static void calls_free_options(struct dump_options *options)
{
	common_string_list_free(&((struct calls_options *)options)->where);
}

static const char examples[] = "ptl-dump calls build.ptl | less\n"
			       "ptl-dump calls --depth 3 --min-time 1ms build.ptl    where time went, from above\n"
			       "ptl-dump calls --function 'deflate*' a.ptl           what these functions call\n"
			       "ptl-dump calls --where 'self > 1ms or marks ~ *unwound*' a.ptl\n"
			       "ptl-dump calls --tail 40 crash.ptl                   what came before the end\n"
			       "ptl-dump calls --json a.ptl | jq -r 'select(.depth==0).function'";

const struct dump_command dump_command_calls = {
	.name = "calls",
	.summary = "who called whom, as it happened, with durations",
	.details = "Shows the calls of each thread as an indented tree in the order in which they began, with the "
		   "time and the instructions that each took. Calls in a row that are alike are one line, with their "
		   "number and sums. What was inferred is marked.",
	.examples = examples,
	.takes = DUMP_TAKES_PROCESS | DUMP_TAKES_CPU | DUMP_TAKES_TIME | DUMP_TAKES_IMAGE | DUMP_TAKES_DECODE |
		 DUMP_TAKES_NAMES | DUMP_TAKES_FULL | DUMP_TAKES_CUT | DUMP_TAKES_SHARD | DUMP_TAKES_CALLS,
	.options = own_options,
	.options_size = sizeof(struct calls_options),
	.check = calls_check,
	.run = calls_run_command,
	.free_options = calls_free_options,
};
