/* SPDX-License-Identifier: BSD-2-Clause */
/* Chooses the slow calls, and runs the comparison. */
#include "dump/why/why.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/partition.h"
#include "common/plural.h"
#include "common/text/text.h"

/* ---- choice of the slow calls -------------------------------------------------------------------- */

uint64_t dump_why_value(const struct dump_why *why, const struct analysis_set_call *call)
{
	return why->by_instructions ? call->instructions : call->wall;
}

static int compare_values(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Lists the values of the calls in order. The caller frees the list. */
static uint64_t *sorted_values(const struct dump_why *why, int side, size_t *count)
{
	const struct analysis_call_set *set = &why->set;
	uint64_t *values = calloc(set->count + 1, sizeof(*values));

	*count = 0;
	for (size_t i = 0; values && i < set->count; i++)
		if (side == DUMP_WHY_SIDES || set->calls[i].slow == (side == DUMP_WHY_SLOW))
			values[(*count)++] = dump_why_value(why, &set->calls[i]);
	if (values && *count)
		qsort(values, *count, sizeof(*values), compare_values);
	return values;
}

/* Returns the binary logarithm, to a tenth. */
static double logarithm(double value)
{
	const uint64_t whole = (uint64_t)value;
	const int power = whole ? 63 - __builtin_clzll(whole) : 0;

	return power + value / (double)(1ull << power) - 1;
}

/*
 * Finds calls that stand out: the division of the sorted values into two classes with the largest variance between the
 * classes, in a logarithmic scale. Returns the number of calls below; `count` if no calls stand out clearly, or if these
 * are most of the calls. Differences between usual calls mean nothing, and neither do differences of a few steps of the
 * clock, so the scale begins at the mean of the lower half and at some of the least differences from 0.
 */
#define STEPS 8
#define CLEAR_SHARE 0.75 /* variance between the classes, of the whole variance */
#define CLEAR_FACTOR 4.0 /* logarithm of the factor between the means of the classes, doubled */

static size_t find_outstanding(const uint64_t *values, size_t count)
{
	const size_t zeros = COMMON_PARTITION(count, at, !values[at]);
	double lower = zeros && zeros < count ? STEPS * (double)values[zeros] : 1;
	double sum = 0, squares = 0, below = 0, best = 0;
	size_t found = count;

	for (size_t i = 0; i < count / 2; i++)
		lower += (double)values[i] / (double)(count / 2);
	for (size_t i = 0; i < count; i++) {
		const double value = logarithm((double)values[i] + lower);

		sum += value;
		squares += value * value;
	}
	for (size_t i = 1; i < count; i++) {
		const double left = (double)i, right = (double)(count - i);
		double distance;

		below += logarithm((double)values[i - 1] + lower);
		distance = (sum - below) / right - below / left;
		if (2 * i < count || values[i] == values[i - 1] || distance * 2 < CLEAR_FACTOR)
			continue;
		if (left * right * distance * distance > best) {
			best = left * right * distance * distance;
			found = i;
		}
	}
	return best / (double)count >= CLEAR_SHARE * (squares - sum * sum / (double)count) ? found : count;
}

/* Finds the bound: calls with at least this value are slow. */
static int find_bound(struct dump_why *why, uint64_t *bound)
{
	const struct dump_why_options *options = why->options;
	const double share = options->slowest > 0 ? options->slowest : DUMP_WHY_SLOWEST;
	size_t count, slow;
	uint64_t *values;

	*bound = options->slower_than + 1;
	if (options->slower_than)
		return 0;
	values = sorted_values(why, DUMP_WHY_SIDES, &count);
	if (!values)
		return common_fail_memory("calls", why->set.count * sizeof(*values));
	slow = options->slowest > 0 ? 0 : count - find_outstanding(values, count);
	why->stand_out = slow > 0;
	if (!slow)
		slow = (size_t)((double)count * share / 100);
	slow = slow ? slow : 1;
	/* Equal calls are of one side: rather fewer slow calls, if there are any. */
	*bound = values[count - slow];
	if (slow < count && values[count - slow - 1] == *bound && values[count - 1] > *bound)
		++*bound;
	free(values);
	return 0;
}

static void mark_calls(struct dump_why *why, uint64_t bound)
{
	why->least_slow = UINT64_MAX;
	for (size_t i = 0; i < why->set.count; i++) {
		struct analysis_set_call *call = &why->set.calls[i];
		const uint64_t value = dump_why_value(why, call);

		if (!why->options->slow)
			call->slow = value >= bound;
		why->counts[call->slow ? DUMP_WHY_SLOW : DUMP_WHY_OTHER]++;
		if (call->slow && value < why->least_slow)
			why->least_slow = value;
	}
}

/* Finds the call of the side that is nearest to the median. */
static int find_example(struct dump_why *why, enum dump_why_side side)
{
	size_t count;
	uint64_t *values = sorted_values(why, side, &count);
	uint64_t median;

	if (!values)
		return common_fail_memory("calls", why->set.count * sizeof(*values));
	median = values[count / 2];
	free(values);
	for (size_t i = 0; i < why->set.count; i++)
		if (why->set.calls[i].slow == (side == DUMP_WHY_SLOW) &&
		    dump_why_value(why, &why->set.calls[i]) == median) {
			why->examples[side] = i;
			break;
		}
	return 0;
}

/* Without times, or with those of PSBs alone, calls are compared by instructions. */
static void choose_measure(struct dump_why *why)
{
	const bool has_packets = ptl_trace_machine(why->calls->input.trace)->timing != PTL_TIMING_NONE;
	size_t timed = 0;

	for (size_t i = 0; i < why->set.count; i++)
		timed += why->set.calls[i].start != 0;
	why->by_instructions = why->options->by_instructions || !timed || !has_packets;
}

static int fail_side(const struct dump_why *why, enum dump_why_side side)
{
	struct ptl_bytes text = {0}, name = {0};
	uint64_t least = UINT64_MAX, most = 0;
	int status;

	for (size_t i = 0; i < why->set.count; i++) {
		const uint64_t value = dump_why_value(why, &why->set.calls[i]);

		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	analysis_matches_text(&why->set.matches, &name);
	(why->by_instructions ? common_text_count : common_text_duration)(&text, least);
	common_text_add(&text, " to ");
	(why->by_instructions ? common_text_count : common_text_duration)(&text, most);
	status = common_fail(PTL_MISUSE, "%s: %s of the %zu calls is slow (they took %s%s)", common_text_string(&name),
			     side == DUMP_WHY_SLOW ? "none" : "each", why->set.count, common_text_string(&text),
			     why->by_instructions ? " instructions" : "");
	common_bytes_free(&text);
	common_bytes_free(&name);
	return status;
}

int dump_why_choose(struct dump_why *why)
{
	uint64_t bound;
	int status;

	choose_measure(why);
	if (why->by_instructions && why->options->slower_than)
		return common_fail(PTL_MISUSE, "--slower-than: no call has a time; --slowest and --slow do without");
	status = find_bound(why, &bound);
	if (status < 0)
		return status;
	mark_calls(why, bound);
	for (int side = 0; status == 0 && side < DUMP_WHY_SIDES; side++)
		status = why->counts[side] ? find_example(why, side) : fail_side(why, side);
	return status;
}

/* ---- the run ------------------------------------------------------------------------------------- */

static int fail_empty(const struct dump_why *why)
{
	if (why->set.incomplete)
		return common_fail(PTL_MISUSE,
				   "all %" PRIu64
				   " " COMMON_PLURAL("call", "calls") " began or ended outside of the flow",
				   why->set.incomplete);
	return common_fail(PTL_MISUSE, "no call of '%s' is in the flow", why->set.matches.pattern);
}

int dump_why_run(struct dump_why *why)
{
	struct analysis_calls *calls = why->calls;
	int status;

	why->set.matches = (struct analysis_matches){.calls = calls, .pattern = why->run->operand};
	why->set.outermost = true;
	why->set.mark = why->options->slow;
	status = analysis_call_set_run(&why->set, "FUNCTION");
	if (status == 0 && !analysis_functions_count(calls->functions)) {
		analysis_note_no_flow(&calls->input);
		return 0;
	}
	if (status == 0 && !why->set.count)
		status = fail_empty(why);
	if (status == 0)
		status = dump_why_choose(why);
	if (status == 0)
		status = flow_sources_open(calls->input.trace, calls->timeline, &why->sources);
	if (status == 0)
		status = dump_why_paths(why);
	if (status == 0)
		status = dump_why_places(why);
	return status == 0 ? dump_why_events(why) : status;
}

void dump_why_free(struct dump_why *why)
{
	analysis_call_set_free(&why->set);
	free(why->nodes);
	free(why->functions);
	free(why->branches);
	free(why->lines);
	free(why->events);
	for (size_t i = 0; i < why->value_count; i++)
		free(why->values[i].text);
	free(why->values);
	flow_sources_close(why->sources);
	analysis_names_free(&why->names);
}
