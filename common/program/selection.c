/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses time spans and sets of numbers. */
#include "common/program/selection.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/vector.h"

/* ---- time ---------------------------------------------------------------------------------------- */

/* Refuses a number without a unit: text shows milliseconds, and durations of other options are in seconds. */
static int parse_time(const char *text, uint64_t *nanoseconds)
{
	const int status = common_parse_duration(text, nanoseconds);
	const size_t size = strlen(text);

	if (status == 0 && *nanoseconds && strspn(text, "0123456789.") == size)
		return common_fail(PTL_MISUSE, "'%s' has no unit: %sms, as text shows times, %ss, %sus or %sns", text,
				   text, text, text, text);
	return status;
}

static int parse_bound(const char *text, size_t length, struct common_time_bound *bound)
{
	char word[64];

	*bound = (struct common_time_bound){0};
	if (!length)
		return 0;
	bound->absolute = *text == '@';
	bound->from_end = *text == '-';
	if (bound->absolute || bound->from_end) {
		text++;
		length--;
	}
	if (length >= sizeof(word))
		return common_fail(PTL_MISUSE, "'%.*s' is no time", (int)length, text);
	memcpy(word, text, length);
	word[length] = 0;
	bound->given = true;
	return parse_time(word, &bound->nanoseconds);
}

int common_time_span_parse(const char *text, struct common_time_span *span)
{
	const char *dots = strstr(text, "..");
	int status;

	if (span->last)
		return common_fail(PTL_MISUSE, "--last says already which span of time; give one of them");
	if (!dots || strcmp(text, "..") == 0)
		return common_fail(PTL_MISUSE,
				   "'%s' is no span of time: A..B, A.. or ..B was expected, "
				   "such as 1.5s..1.6s, 200us.. or -1ms..",
				   text);
	status = parse_bound(text, (size_t)(dots - text), &span->from);
	return status ? status : parse_bound(dots + 2, strlen(dots + 2), &span->to);
}

int common_time_span_last(const char *text, struct common_time_span *span)
{
	if (common_time_span_given(span) && !span->last)
		return common_fail(PTL_MISUSE, "--time says already which span of time; give one of them");
	*span = (struct common_time_span){.from = {.given = true, .from_end = true}, .last = true};
	return parse_time(text, &span->from.nanoseconds);
}

/* Converts a bound to the trace's clock; values out of range become the first or the last time. */
static uint64_t resolve(const struct common_time_bound *bound, uint64_t start, uint64_t end, uint64_t otherwise)
{
	if (!bound->given)
		return otherwise;
	if (bound->absolute)
		return bound->nanoseconds;
	if (bound->from_end)
		return bound->nanoseconds < end && end - bound->nanoseconds > start ? end - bound->nanoseconds : 0;
	return bound->nanoseconds > UINT64_MAX - start ? UINT64_MAX : start + bound->nanoseconds;
}

bool common_time_span_given(const struct common_time_span *span)
{
	return span->from.given || span->to.given;
}

int common_time_span_resolve(const struct common_time_span *span, uint64_t start, uint64_t end, uint64_t *first,
			     uint64_t *last)
{
	if (!end && (span->from.from_end || span->to.from_end))
		return common_fail(PTL_MISUSE, "--time: nothing in this trace has a time: it has no end to count from");
	*first = resolve(&span->from, start, end, 0);
	/* Time 0 belongs to objects without a time, so a span never ends at 0. */
	*last = resolve(&span->to, start, end, UINT64_MAX);
	*last += !*last;
	if (*first > *last)
		return common_fail(PTL_MISUSE, "--time: the span ends before it begins");
	return 0;
}

/* ---- numbers ------------------------------------------------------------------------------------- */

void common_id_set_free(struct common_id_set *set)
{
	free(set->ids);
	*set = (struct common_id_set){0};
}

int common_id_set_add(struct common_id_set *set, uint32_t id)
{
	if (!common_vector_room(&set->ids, set->count, sizeof(*set->ids)))
		return common_fail_memory("list of numbers", (set->count + 1) * sizeof(*set->ids));
	set->ids[set->count++] = id;
	return 0;
}

int common_id_set_parse(struct common_id_set *set, const char *text)
{
	for (;;) {
		const size_t length = strcspn(text, ",");
		char word[24];
		uint64_t id;
		int status;

		if (length >= sizeof(word))
			return common_fail(PTL_MISUSE, "'%.*s' is no number", (int)length, text);
		memcpy(word, text, length);
		word[length] = 0;
		status = common_parse_u64(word, &id);
		if (status == 0 && id >= UINT32_MAX)
			status = common_fail(PTL_MISUSE, "'%s' is too large", word);
		if (status == 0)
			status = common_id_set_add(set, (uint32_t)id);
		if (status < 0)
			return status;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

bool common_id_set_has(const struct common_id_set *set, uint32_t id)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->ids[i] == id)
			return true;
	return set->count == 0;
}
