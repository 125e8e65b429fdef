/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that choose the part of a trace to keep. */
#include "relog/settings/cut.h"

#include "common/error.h"
#include "format/reader/trace_end.h"
#include "relog/settings/settings.h"

const struct common_option relog_cut_options[] = {
	{"", 0, NULL, "Which part of a trace is kept (the result decodes alone):"},
	{"time", 0, "A..B",
	 "A span of time since the start of the trace, such as 1.5s..1.6s or 200us..; - before a bound: "
	 "before its end; @: the trace's clock.",
	 COMMON_TIME_SPAN(struct relog_settings, cut.span)},
	{"last", 0, "TIME", "Only the last TIME of the trace, as with --time -TIME.. .",
	 COMMON_LAST(struct relog_settings, cut.span)},
	{"pid", 0, "N,...", "These processes. With raw input: the process id that the trace shows (default 1).",
	 COMMON_IDS(struct relog_settings, cut.pids)},
	{"tid", 0, "N,...", "These threads, and what belongs to their processes.",
	 COMMON_IDS(struct relog_settings, cut.tids)},
	{"process", 0, "NAME",
	 "Processes that ran a program of this name, its own or a link's (a path if it has a slash; patterns may "
	 "have * and ?). "
	 "With raw input: the name that the trace shows (default: the memory file's).",
	 COMMON_STRINGS(struct relog_settings, cut.processes, UINT64_MAX)},
	{"tree", 0, NULL, "With --pid and --process: their descendants too.",
	 COMMON_FLAG(struct relog_settings, cut.tree)},
	{"drop-pt", 0, NULL, "No Intel PT: events and images stay.", COMMON_FLAG(struct relog_settings, cut.drop_pt)},
	{"drop-code", 0, NULL, "No code bytes: images keep their hashes and build ids.",
	 COMMON_FLAG(struct relog_settings, cut.drop_code)},
	{NULL},
};

bool relog_cut_wanted(const struct relog_cut_settings *cut)
{
	return common_time_span_given(&cut->span) || cut->pids.count || cut->tids.count || cut->processes.count ||
	       cut->drop_pt || cut->drop_code;
}

static bool span_streams(const struct relog_cut_settings *cut, bool pt)
{
	return !common_time_span_given(&cut->span) ||
	       (!cut->span.from.from_end && !cut->span.to.from_end && (cut->drop_pt || !pt));
}

bool relog_cut_streams(const struct relog_cut_settings *cut, bool pt)
{
	return span_streams(cut, pt) && (!cut->tids.count || cut->pids.count || cut->processes.count);
}

int relog_cut_times(const struct relog_cut_settings *cut, const struct ptl_relogger *relogger, uint64_t *first,
		    uint64_t *last)
{
	const struct ptl_machine *machine = ptl_trace_machine(
		ptl_relogger_input_trace(ptl_relogger_input_at(relogger, 0)));
	uint64_t end = 0;

	if (common_time_span_given(&cut->span) && machine->clock == PTL_CLOCK_NONE)
		return common_fail(PTL_MISUSE, "--time: this trace has no clock: nothing in it has a time");
	for (size_t i = 0; i < ptl_relogger_input_count(relogger); i++) {
		const struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, i);
		const uint64_t own = format_trace_end(ptl_relogger_input_trace(input));
		struct ptl_relogger_input_info info;

		ptl_relogger_input_info(input, &info);
		if (own && own + (uint64_t)info.time_shift > end)
			end = own + (uint64_t)info.time_shift;
	}
	return common_time_span_resolve(&cut->span, machine->start_time, end, first, last);
}

int relog_cut_check(const struct relog_cut_settings *cut)
{
	if (cut->tree && !cut->pids.count && !cut->processes.count)
		return common_fail(PTL_MISUSE, "--tree needs --pid or --process: whose descendants?");
	return 0;
}

void relog_cut_settings_free(struct relog_cut_settings *cut)
{
	common_id_set_free(&cut->pids);
	common_id_set_free(&cut->tids);
	common_string_list_free(&cut->processes);
	*cut = (struct relog_cut_settings){.tree = false};
}
