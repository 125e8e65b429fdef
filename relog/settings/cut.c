/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that say which part of a trace is kept. */
#include "relog/settings/cut.h"

#include <stdlib.h>

#include "common/error.h"
#include "format/reader/trace_end.h"
#include "relog/settings/settings.h"

static struct relog_cut_settings *cut_of(void *target)
{
	return &((struct relog_settings *)target)->cut;
}

static int take_time(void *target, const char *argument)
{
	struct relog_cut_settings *cut = cut_of(target);

	return common_time_span_parse(argument, &cut->from, &cut->to);
}

static int take_last(void *target, const char *argument)
{
	struct relog_cut_settings *cut = cut_of(target);

	return common_time_span_last(argument, &cut->from, &cut->to);
}

static int take_pid(void *target, const char *argument)
{
	return common_id_set_parse(&cut_of(target)->pids, argument);
}

static int take_tid(void *target, const char *argument)
{
	return common_id_set_parse(&cut_of(target)->tids, argument);
}

static int take_process(void *target, const char *argument)
{
	struct relog_cut_settings *cut = cut_of(target);
	const char **processes = realloc(cut->processes, (cut->process_count + 1) * sizeof(*processes));

	if (!processes)
		return common_fail_memory("names of processes", cut->process_count);
	processes[cut->process_count++] = argument;
	cut->processes = processes;
	return 0;
}

static int take_tree(void *target, const char *argument)
{
	(void)argument;
	cut_of(target)->tree = true;
	return 0;
}

static int take_drop_pt(void *target, const char *argument)
{
	(void)argument;
	cut_of(target)->drop_pt = true;
	return 0;
}

static int take_drop_code(void *target, const char *argument)
{
	(void)argument;
	cut_of(target)->drop_code = true;
	return 0;
}

const struct common_option relog_cut_options[] = {
	{"", 0, NULL, "Which part of a trace is kept (the result decodes alone):"},
	{"time", 0, "A..B",
	 "A span of time since the start of the trace, such as 1.5s..1.6s or 200us..; - before a bound: "
	 "before its end; @: the trace's clock.",
	 take_time},
	{"last", 0, "TIME", "Only the last TIME of the trace, as with --time -TIME.. .", take_last},
	{"pid", 0, "N,...", "These processes. With raw input: the process id that the trace shows (default 1).",
	 take_pid},
	{"tid", 0, "N,...", "These threads, and what tells of their processes.", take_tid},
	{"process", 0, "NAME",
	 "Processes that ran a program of this name, its own or a link's (a path if it has a slash; patterns may "
	 "have * and ?). "
	 "With raw input: the name that the trace shows (default: the memory file's).",
	 take_process},
	{"tree", 0, NULL, "With --pid and --process: their descendants too.", take_tree},
	{"drop-pt", 0, NULL, "No Intel PT: events and images stay.", take_drop_pt},
	{"drop-code", 0, NULL, "No code bytes: images keep their hashes and build ids.", take_drop_code},
	{NULL},
};

bool relog_cut_wanted(const struct relog_cut_settings *cut)
{
	return cut->from.given || cut->to.given || cut->pids.count || cut->tids.count || cut->process_count ||
	       cut->drop_pt || cut->drop_code;
}

int relog_cut_times(const struct relog_cut_settings *cut, const struct ptl_relogger *relogger, uint64_t *first,
		    uint64_t *last)
{
	const struct ptl_machine *machine = ptl_trace_machine(
		ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0)));
	uint64_t end = 0;

	if ((cut->from.given || cut->to.given) && machine->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "--time: this trace has no clock: nothing in it has a time");
	for (size_t i = 0; i < ptl_relogger_input_count(relogger); i++) {
		const struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, i);
		const uint64_t own = format_trace_end(ptl_relogger_input_trace(input));
		struct ptl_relogger_input_info info;

		ptl_relogger_input_info(input, &info);
		if (own && own + (uint64_t)info.time_shift > end)
			end = own + (uint64_t)info.time_shift;
	}
	return common_time_span_resolve(&cut->from, &cut->to, machine->start_time, end, first, last);
}

int relog_cut_check(const struct relog_cut_settings *cut)
{
	if (cut->tree && !cut->pids.count && !cut->process_count)
		return common_fail(PTL_MISUSE, "--tree needs --pid or --process: whose descendants?");
	return 0;
}

void relog_cut_settings_free(struct relog_cut_settings *cut)
{
	common_id_set_free(&cut->pids);
	common_id_set_free(&cut->tids);
	free(cut->processes);
	*cut = (struct relog_cut_settings){.tree = false};
}
