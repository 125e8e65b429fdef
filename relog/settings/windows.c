/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that choose windows by events and calls. */
#include "relog/settings/windows.h"

#include "common/error.h"
#include "relog/settings/settings.h"

#define CHOICE(member) struct relog_settings, windows.choice.member

const struct common_option relog_window_options[] = {
	{"", 0, NULL, "Windows by events and calls (out.ptl becomes out.1.ptl, out.2.ptl, ...):"},
	{"around", 0, "EXPRESSION",
	 "A window around each event for which EXPRESSION is true, such as 'event.level <= 2 and code > 3'; needs "
	 "--before or --after. Expressions: as ptl-dump events --where takes them.",
	 COMMON_STRING(struct relog_settings, windows.choice.around)},
	{"between", 0, "EXPRESSION",
	 "A window from each event for which EXPRESSION is true to the next event of --and.",
	 COMMON_STRING(struct relog_settings, windows.choice.between)},
	{"and", 0, "EXPRESSION", "With --between: the event that ends a window.",
	 COMMON_STRING(struct relog_settings, windows.choice.until)},
	{"calls", 0, "FUNCTION[: EXPRESSION]",
	 "A window for each call of FUNCTION for which EXPRESSION is true: 'serve: duration > 5ms', as ptl-dump calls "
	 "--calls takes them.",
	 COMMON_STRING(struct relog_settings, windows.choice.calls)},
	{"slowest", 0, "N", "With --calls: only the N slowest calls, the slowest first.",
	 COMMON_NUMBER(struct relog_settings, windows.choice.slowest, 1, RELOG_WINDOWS_MAX)},
	{"before", 0, "TIME", "Windows begin this much earlier, such as 5ms.",
	 COMMON_DURATION(struct relog_settings, windows.choice.before, 0),
	 COMMON_GIVEN(struct relog_settings, windows.widened)},
	{"after", 0, "TIME", "Windows end this much later.",
	 COMMON_DURATION(struct relog_settings, windows.choice.after, 0),
	 COMMON_GIVEN(struct relog_settings, windows.widened)},
	{"together", 0, NULL, "One trace with all windows.", COMMON_FLAG(struct relog_settings, windows.together)},
	{NULL},
};

bool relog_windows_wanted(const struct relog_window_settings *windows)
{
	return windows->choice.around || windows->choice.between || windows->choice.calls;
}

int relog_windows_check(const struct relog_window_settings *windows)
{
	const struct analysis_window_options *choice = &windows->choice;
	const int kinds = (choice->around != NULL) + (choice->between != NULL) + (choice->calls != NULL);

	if (kinds > 1)
		return common_fail(PTL_MISUSE, "only one of --around, --between and --calls is possible");
	if ((choice->between != NULL) != (choice->until != NULL))
		return common_fail(PTL_MISUSE, "--between 'FIRST' needs --and 'LAST', and the other way round");
	if (choice->slowest && !choice->calls)
		return common_fail(PTL_MISUSE, "--slowest needs --calls FUNCTION");
	if (!kinds && (windows->widened || windows->together))
		return common_fail(PTL_MISUSE, "--before, --after and --together need --around, --between or --calls");
	if (choice->around && !choice->before && !choice->after)
		return common_fail(PTL_MISUSE,
				   "--around needs --before TIME or --after TIME: an event has no duration");
	return kinds ? analysis_windows_check(choice) : 0;
}
