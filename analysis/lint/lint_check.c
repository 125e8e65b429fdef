/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of checks, and limits as text. */
#include "analysis/lint/lint_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/text/quote.h"
#include "common/text/rule_lines.h"
#include "common/text/text.h"

#define ALL (100u * (uint64_t)ANALYSIS_LINT_MICRO)

static const struct check {
	const char *name;
	bool is_share;
	bool is_minimum;
	uint64_t limit; /* the default */
	const char *meaning;
} checks[ANALYSIS_LINT_CHECKS] = {
	[ANALYSIS_LINT_DECODED] = {"decoded", true, true, ALL, "share of the PT bytes of which flow was made"},
	[ANALYSIS_LINT_GAPS] = {"gaps", false, false, ANALYSIS_LINT_ANY, "places where flow is missing"},
	[ANALYSIS_LINT_UNKNOWN_CODE] = {"unknown-code", false, false, 0, "ranges that ran and whose code is not there"},
	[ANALYSIS_LINT_OUTSIDE_IMAGES] = {"outside-images", true, false, ANALYSIS_LINT_ANY,
					  "share of the instructions that ran in no image with a name"},
	[ANALYSIS_LINT_UNRESOLVED] = {"unresolved", true, false, ANALYSIS_LINT_ANY,
				      "share of the instructions for which no function is known"},
	[ANALYSIS_LINT_LOSSES] = {"losses", false, false, 0, "losses that the recorder reported"},
	[ANALYSIS_LINT_DAMAGE] = {"damage", false, false, 0, "places of the file that are damaged"},
	[ANALYSIS_LINT_BROKEN_BLOBS] = {"broken-blobs", false, false, 0,
					"code, symbols and the like that are not whole"},
	[ANALYSIS_LINT_INCOMPLETE] = {"incomplete", false, false, 0, "1 where the writer did not finish"},
	[ANALYSIS_LINT_SKIPPED_EVENTS] = {"skipped-events", false, false, 0,
					  "events of processes and images that could not be understood"},
	[ANALYSIS_LINT_UNMATCHED_RULES] = {"unmatched-rules", false, false, 0,
					   "rules of ptl-relog that matched nothing when the trace was rewritten"},
	[ANALYSIS_LINT_FAILURES] = {"failures", false, false, ANALYSIS_LINT_ANY,
				    "processes that died of a signal, or ended with a status other than 0"},
};

static bool is_cause(unsigned check)
{
	return check >= ANALYSIS_LINT_GAP_CAUSES && check < ANALYSIS_LINT_GAP_CAUSES + FLOW_GAP_COUNT - 1;
}

const char *analysis_lint_name(unsigned check, char room[ANALYSIS_LINT_NAME])
{
	if (!is_cause(check))
		return checks[check].name;
	snprintf(room, ANALYSIS_LINT_NAME, "gaps.%s",
		 flow_gap_cause_name((uint8_t)(check - ANALYSIS_LINT_GAP_CAUSES + 1)));
	return room;
}

const char *analysis_lint_meaning(unsigned check)
{
	return is_cause(check) ? "gaps of this cause" : checks[check].meaning;
}

bool analysis_lint_is_share(unsigned check)
{
	return checks[check].is_share;
}

bool analysis_lint_is_minimum(unsigned check)
{
	return checks[check].is_minimum;
}

void analysis_lint_limits_begin(struct analysis_lint_limits *limits)
{
	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS && !limits->begun; i++)
		limits->limit[i] = checks[i].limit;
	limits->begun = true;
}

/* ---- text to limits ------------------------------------------------------------------------------ */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *size)
{
	while (*size && is_blank(**text)) {
		++*text;
		--*size;
	}
	while (*size && is_blank((*text)[*size - 1]))
		--*size;
}

static bool is_word(const char *text, size_t size, const char *word)
{
	return size == strlen(word) && memcmp(text, word, size) == 0;
}

static bool find_check(const char *name, size_t size, unsigned *check)
{
	char room[ANALYSIS_LINT_NAME];

	for (*check = 0; *check < ANALYSIS_LINT_CHECKS; ++*check)
		if (is_word(name, size, analysis_lint_name(*check, room)))
			return true;
	return false;
}

/* Reads digits up to another character. Returns false for no digits or an overflow. */
static bool take_digits(const char **text, size_t *size, uint64_t *number)
{
	const size_t before = *size;

	for (*number = 0; *size && **text >= '0' && **text <= '9'; ++*text, --*size)
		if (*number > (UINT64_MAX - 10) / 10)
			return false;
		else
			*number = *number * 10 + (uint64_t)(**text - '0');
	return *size < before;
}

/* Parses "99.5" or "99.5 %": at most six decimals, at most 100. */
static bool take_share(const char *text, size_t size, uint64_t *share)
{
	uint64_t whole, part = 0, unit = ANALYSIS_LINT_MICRO;

	if (size && text[size - 1] == '%')
		size--;
	trim(&text, &size);
	if (!take_digits(&text, &size, &whole) || whole > 100)
		return false;
	if (size && *text == '.') {
		text++;
		size--;
		for (; size && *text >= '0' && *text <= '9' && unit > 1; text++, size--) {
			unit /= 10;
			part += unit * (uint64_t)(*text - '0');
		}
	}
	*share = whole * ANALYSIS_LINT_MICRO + part;
	return !size && *share <= ALL;
}

static bool take_limit(unsigned check, const char *text, size_t size, uint64_t *limit)
{
	if (is_word(text, size, "any")) {
		*limit = ANALYSIS_LINT_ANY;
		return true;
	}
	if (checks[check].is_share)
		return take_share(text, size, limit);
	return take_digits(&text, &size, limit) && !size;
}

static void list_names(struct ptl_bytes *names)
{
	char room[ANALYSIS_LINT_NAME];

	for (unsigned i = 0; i < ANALYSIS_LINT_CHECKS; i++)
		common_text_format(names, "%s%s", i ? ", " : "", analysis_lint_name(i, room));
}

static int fail_name(const char *name, size_t size)
{
	struct ptl_bytes shown = {0}, names = {0};
	int status;

	common_text_safe_n(&shown, name, size < 64 ? size : 64);
	list_names(&names);
	status = common_fail(PTL_MISUSE, "there is no check '%s'; there are: %s", common_text_string(&shown),
			     common_text_string(&names));
	common_bytes_free(&shown);
	common_bytes_free(&names);
	return status;
}

int analysis_lint_limits_set(struct analysis_lint_limits *limits, const char *text, size_t size)
{
	const char *equals = memchr(text, '=', size), *name = text, *value = equals ? equals + 1 : NULL;
	size_t name_size = equals ? (size_t)(equals - text) : size, value_size = equals ? size - name_size - 1 : 0;
	unsigned check;

	analysis_lint_limits_begin(limits);
	trim(&name, &name_size);
	if (!find_check(name, name_size, &check))
		return fail_name(name, name_size);
	if (value)
		trim(&value, &value_size);
	if (!value || !take_limit(check, value, value_size, &limits->limit[check]))
		return common_fail(PTL_MISUSE, "%s: expected =%s or =any",
				   checks[check].name ? checks[check].name : "gaps",
				   checks[check].is_share ? "PERCENT, such as 99.5" : "NUMBER");
	return 0;
}

static int visit_limit(void *limits, const char *rule, size_t size)
{
	return analysis_lint_limits_set(limits, rule, size);
}

int analysis_lint_limits_parse(struct analysis_lint_limits *limits, const char *name, const char *text, size_t size)
{
	return common_rule_lines(name, text, size, true, visit_limit, limits);
}

int analysis_lint_limits_read(struct analysis_lint_limits *limits, const char *path)
{
	return common_rule_file(path, true, visit_limit, limits);
}

/* ---- values -------------------------------------------------------------------------------------- */

bool analysis_lint_passes(unsigned check, const struct analysis_lint_value *value, uint64_t limit)
{
	unsigned __int128 have, want;

	if (limit == ANALYSIS_LINT_ANY)
		return true;
	if (!checks[check].is_share)
		return value->number <= limit;
	/* An empty whole passes: no part can be missing. */
	if (!value->of)
		return true;
	have = (unsigned __int128)value->number * ALL;
	want = (unsigned __int128)value->of * limit;
	return checks[check].is_minimum ? have >= want : have <= want;
}

double analysis_lint_percent(const struct analysis_lint_value *value)
{
	return value->of ? 100.0 * (double)value->number / (double)value->of : 0;
}

void analysis_lint_text_value(struct ptl_bytes *text, unsigned check, const struct analysis_lint_value *value)
{
	if (checks[check].is_share)
		common_text_share(text, value->number, value->of);
	else
		common_text_count(text, value->number);
}

void analysis_lint_text_limit(struct ptl_bytes *text, unsigned check, uint64_t limit)
{
	uint64_t part = limit % ANALYSIS_LINT_MICRO;
	unsigned digits = 6;

	if (limit == ANALYSIS_LINT_ANY) {
		common_text_add(text, "any");
		return;
	}
	common_text_add(text, checks[check].is_minimum ? ">= " : "<= ");
	if (!checks[check].is_share) {
		common_text_count(text, limit);
		return;
	}
	common_text_decimal(text, limit / ANALYSIS_LINT_MICRO);
	for (; part && part % 10 == 0; digits--)
		part /= 10;
	if (part)
		common_text_format(text, ".%0*" PRIu64, (int)digits, part);
	common_text_add(text, " %");
}
