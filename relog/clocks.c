/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/clocks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/window/window.h"
#include "common/error.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "format/relogger/clocks.h"

#define EVENTS_MAX 1000000u /* anchors, causes or effects of an input */

/* ---- names of inputs ----------------------------------------------------------------------------- */

/* Whether the text names the input: by its path, its file name, or its file name without ".ptl". */
static bool is_name_of(const char *text, size_t size, const char *path)
{
	const char *base = common_base_name(path);
	const size_t length = strlen(base);

	if ((size == strlen(path) && memcmp(text, path, size) == 0) ||
	    (size == length && memcmp(text, base, size) == 0))
		return true;
	return length > 4 && strcmp(base + length - 4, ".ptl") == 0 && size == length - 4 &&
	       memcmp(text, base, size) == 0;
}

static const char *name_of(const struct ptl_relogger_input *input)
{
	struct ptl_relogger_input_info info;

	ptl_relogger_input_info(input, &info);
	return info.name;
}

static int find_input(const struct ptl_relogger *relogger, const char *option, const char *text, size_t size,
		      struct ptl_relogger_input **found)
{
	*found = NULL;
	for (size_t i = 0; i < ptl_relogger_input_count(relogger); i++) {
		struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, i);

		if (!is_name_of(text, size, name_of(input)))
			continue;
		if (*found)
			return common_fail(PTL_MISUSE, "%s: two inputs are called %.*s: give the path", option,
					   (int)size, text);
		*found = input;
	}
	return *found ? 0 : common_fail(PTL_MISUSE, "%s: no input is called %.*s", option, (int)size, text);
}

static int name_machine(const struct ptl_relogger *relogger, const char *text)
{
	struct ptl_relogger_input *input;
	const char *name;
	size_t size;
	int status = relog_machine_parse(text, &size, &name);

	if (!status)
		status = find_input(relogger, "--machine", text, size, &input);
	if (!status)
		format_relogger_name_machine(input, name);
	return status;
}

/* ---- clocks -------------------------------------------------------------------------------------- */

static int relate_by_offset(const struct ptl_relogger *relogger, const char *text)
{
	struct format_clock_relation relation = {.given = true, .relative = true};
	struct ptl_relogger_input *input;
	size_t size;
	int status = relog_offset_parse(text, &size, &relation.shift);

	if (!status)
		status = find_input(relogger, "--offset", text, size, &input);
	if (!status && input == ptl_relogger_input_at(relogger, 0))
		status = common_fail(PTL_MISUSE, "--offset: %s is the first input, whose clock is that of the output",
				     name_of(input));
	if (!status)
		format_relogger_relate(input, &relation);
	return status;
}

/* Lists the times of matching events, in the input's own clock. */
static int list_events(const struct ptl_relogger_input *input, const char *option, const char *expression,
		       struct analysis_windows *events)
{
	const struct analysis_window_options options = {.around = expression, .option = option};

	return analysis_windows_find(events, &options, ptl_relogger_input_trace(input), name_of(input), EVENTS_MAX);
}

static int compare_shifts(const void *a, const void *b)
{
	const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

	return left < right ? -1 : left > right;
}

/* The shift is the median of the differences; the largest deviation from the median is its uncertainty. */
static int relate_by_times(struct ptl_relogger_input *input, const struct analysis_windows *first,
			   const struct analysis_windows *own)
{
	struct format_clock_relation relation = {.given = true};
	int64_t *shifts = calloc(own->count, sizeof(*shifts));

	if (!shifts)
		return common_fail_memory("anchors", own->count * sizeof(*shifts));
	for (size_t i = 0; i < own->count; i++)
		shifts[i] = (int64_t)(first->list[i].from - own->list[i].from);
	qsort(shifts, own->count, sizeof(*shifts), compare_shifts);
	relation.shift = shifts[own->count / 2];
	for (size_t i = 0; i < own->count; i++) {
		const uint64_t wrong = (uint64_t)(shifts[i] > relation.shift ? shifts[i] - relation.shift
									     : relation.shift - shifts[i]);

		relation.uncertainty = wrong > relation.uncertainty ? wrong : relation.uncertainty;
	}
	free(shifts);
	common_message_note("%s: %zu anchor%s; the largest deviation is %.9f s", name_of(input), own->count,
			    own->count == 1 ? "" : "s", (double)relation.uncertainty / 1e9);
	format_relogger_relate(input, &relation);
	return 0;
}

static int relate_by_anchor(const struct relog_settings *settings, struct ptl_relogger *relogger, size_t number,
			    const struct analysis_windows *first)
{
	struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, number);
	struct analysis_windows own = {0};
	int status = list_events(input, "--anchor", settings->clocks.anchor, &own);

	if (!status && (!own.count || own.count != first->count))
		status = common_fail(PTL_MISUSE, "--anchor: %zu events of %s match, and %zu of %s: they make no pairs",
				     own.count, name_of(input), first->count,
				     name_of(ptl_relogger_input_at(relogger, 0)));
	if (!status)
		status = relate_by_times(input, first, &own);
	analysis_windows_free(&own);
	return status;
}

static int relate_by_anchors(const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	struct analysis_windows first = {0};
	int status = list_events(ptl_relogger_input_at(relogger, 0), "--anchor", settings->clocks.anchor, &first);

	/* Inputs with the first input's clock need no anchors. */
	for (size_t i = 1; !status && i < ptl_relogger_input_count(relogger); i++)
		if (!format_relogger_shares_clock(ptl_relogger_input_at(relogger, i)))
			status = relate_by_anchor(settings, relogger, i, &first);
	analysis_windows_free(&first);
	return status;
}

int relog_clocks_relate(const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	const struct relog_clock_settings *clocks = &settings->clocks;
	int status = clocks->anchor ? relate_by_anchors(settings, relogger) : 0;

	/* An offset replaces the relation by anchors. */
	for (size_t i = 0; !status && i < clocks->offsets.count; i++)
		status = relate_by_offset(relogger, clocks->offsets.list[i]);
	for (size_t i = 0; !status && i < clocks->machines.count; i++)
		status = name_machine(relogger, clocks->machines.list[i]);
	return status;
}

/* ---- order --------------------------------------------------------------------------------------- */

/* Lists the times of matching events of all inputs, in the output's clock. */
static int list_all(const struct ptl_relogger *relogger, const char *option, const char *expression,
		    struct analysis_windows *events)
{
	int status = 0;

	for (size_t i = 0; !status && i < ptl_relogger_input_count(relogger); i++) {
		const struct ptl_relogger_input *input = ptl_relogger_input_at(relogger, i);
		struct analysis_windows own = {0};
		struct ptl_relogger_input_info info;

		ptl_relogger_input_info(input, &info);
		status = list_events(input, option, expression, &own);
		for (size_t k = 0; k < own.count; k++)
			own.list[k].from += (uint64_t)info.time_shift;
		if (!status)
			status = analysis_windows_merge(events, &own, 0);
		analysis_windows_free(&own);
	}
	return status;
}

static void report_order(const struct analysis_windows *causes, const struct analysis_windows *effects)
{
	const size_t pairs = causes->count < effects->count ? causes->count : effects->count;
	uint64_t most = 0;
	size_t wrong = 0, first = 0;

	for (size_t i = 0; i < pairs; i++) {
		const uint64_t cause = causes->list[i].from, effect = effects->list[i].from;

		if (effect >= cause)
			continue;
		first = wrong++ ? first : i + 1;
		most = cause - effect > most ? cause - effect : most;
	}
	if (causes->count != effects->count)
		common_message_warning(
			"--order: %zu " COMMON_PLURAL(
				"event",
				"events") ", and %zu of --then: the last %zu " COMMON_PLURAL("has",
											     "have") " no partner",
			causes->count, effects->count, causes->count + effects->count - 2 * pairs);
	if (wrong)
		common_message_warning(
			"--order: %zu of %zu pairs of events are out of order, the first is pair %zu: the "
			"effect comes up to %.9f s before the cause",
			wrong, pairs, first, (double)most / 1e9);
	else if (pairs)
		common_message_note("--order: all %zu pairs of events are in order", pairs);
}

static int check_order(void *context, struct ptl_relogger *relogger)
{
	const struct relog_settings *settings = context;
	struct analysis_windows causes = {0}, effects = {0};
	int status = list_all(relogger, "--order", settings->clocks.order, &causes);

	if (!status)
		status = list_all(relogger, "--then", settings->clocks.then, &effects);
	if (!status)
		report_order(&causes, &effects);
	analysis_windows_free(&causes);
	analysis_windows_free(&effects);
	return status;
}

int relog_clocks_watch(const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	static const struct ptl_relogger_callbacks callbacks = {.size = sizeof(callbacks), .begin = check_order};

	if (!settings->clocks.order || settings->repeated)
		return 0;
	return ptl_relogger_callbacks(relogger, &callbacks, (void *)(uintptr_t)settings);
}
