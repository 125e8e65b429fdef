/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that relate clocks of inputs, and name machines. */
#include "relog/settings/clocks.h"

#include <string.h>

#include "analysis/window/window.h"
#include "common/error.h"
#include "relog/settings/settings.h"

#define NAME_MAX_SIZE 64u                        /* bytes of a machine's name */
#define OFFSET_MAX UINT64_C(3155760000000000000) /* a hundred years in nanoseconds */

const struct common_option relog_clock_options[] = {
	{"", 0, NULL, "Clocks of several machines (else aligned by wall time):"},
	{"offset", 0, "FILE=TIME", "Adds a correction to the times of this input: b.ptl=+1.234s, b=-20ms.",
	 COMMON_STRINGS(struct relog_settings, clocks.offsets, UINT64_MAX)},
	{"anchor", 0, "EXPRESSION",
	 "Events of which it is true happened at the same times in all inputs: 'Sequence == 1'. The first one of an "
	 "input is the first one of the others, and so on.",
	 COMMON_STRING(struct relog_settings, clocks.anchor)},
	{"order", 0, "EXPRESSION", "With --then: warns if events of --then come before events of which it is true.",
	 COMMON_STRING(struct relog_settings, clocks.order)},
	{"then", 0, "EXPRESSION", "The effects of --order: the first effect is of the first cause, and so on.",
	 COMMON_STRING(struct relog_settings, clocks.then)},
	{"machine", 0, "FILE=NAME", "Names the machine of this input.",
	 COMMON_STRINGS(struct relog_settings, clocks.machines, UINT64_MAX)},
	{NULL},
};

bool relog_clocks_wanted(const struct relog_clock_settings *clocks)
{
	return clocks->offsets.count || clocks->machines.count || clocks->anchor || clocks->order || clocks->then;
}

/* Returns the bytes before the last "=": a file's name may have this character, a time and a machine's name may not. */
static int split_file(const char *text, const char *option, const char *what, size_t *file)
{
	const char *equals = strrchr(text, '=');

	if (!equals || equals == text || !equals[1])
		return common_fail(PTL_MISUSE, "%s: expected FILE=%s, found '%s'", option, what, text);
	*file = (size_t)(equals - text);
	return 0;
}

int relog_offset_parse(const char *text, size_t *file, int64_t *nanoseconds)
{
	const char *time;
	uint64_t size;
	int status = split_file(text, "--offset", "TIME", file);

	if (status)
		return status;
	time = text + *file + 1;
	if (common_parse_duration(time + (*time == '+' || *time == '-'), &size) || size > OFFSET_MAX)
		return common_fail(PTL_MISUSE,
				   "--offset: expected a time such as +1.5s or -20ms behind '=', found '%s'", time);
	*nanoseconds = *time == '-' ? -(int64_t)size : (int64_t)size;
	return 0;
}

int relog_machine_parse(const char *text, size_t *file, const char **name)
{
	int status = split_file(text, "--machine", "NAME", file);

	if (status)
		return status;
	*name = text + *file + 1;
	return strlen(*name) <= NAME_MAX_SIZE
		       ? 0
		       : common_fail(PTL_MISUSE, "--machine: a name has at most %u bytes, found '%s'", NAME_MAX_SIZE,
				     *name);
}

static int check_lists(const struct relog_clock_settings *clocks)
{
	const char *name;
	int64_t nanoseconds;
	size_t file;
	int status = 0;

	for (size_t i = 0; !status && i < clocks->offsets.count; i++)
		status = relog_offset_parse(clocks->offsets.list[i], &file, &nanoseconds);
	for (size_t i = 0; !status && i < clocks->machines.count; i++)
		status = relog_machine_parse(clocks->machines.list[i], &file, &name);
	return status;
}

static int check_expression(const char *option, const char *expression)
{
	const struct analysis_window_options options = {.around = expression, .option = option};

	return expression ? analysis_windows_check(&options) : 0;
}

int relog_clocks_check(const struct relog_clock_settings *clocks, size_t inputs)
{
	int status = check_lists(clocks);

	if (!status && (clocks->order != NULL) != (clocks->then != NULL))
		status = common_fail(PTL_MISUSE, "--order 'CAUSE' needs --then 'EFFECT', and the other way round");
	if (!status && (clocks->offsets.count || clocks->anchor) && inputs < 2)
		status = common_fail(PTL_MISUSE, "--offset and --anchor relate several inputs, and there is one");
	if (!status)
		status = check_expression("--anchor", clocks->anchor);
	if (!status)
		status = check_expression("--order", clocks->order);
	return status ? status : check_expression("--then", clocks->then);
}

void relog_clock_settings_free(struct relog_clock_settings *clocks)
{
	common_string_list_free(&clocks->offsets);
	common_string_list_free(&clocks->machines);
}
