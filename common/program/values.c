/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses numbers, sizes and durations. */
#include <stdbool.h>
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"

/* Adds a digit to value; false on overflow. */
static bool push_digit(uint64_t *value, unsigned base, unsigned digit)
{
	return !__builtin_mul_overflow(*value, base, value) && !__builtin_add_overflow(*value, digit, value);
}

/* Returns the digit's value, or `base` if c is no digit. */
static unsigned digit_of(char c, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	const char *found;

	if (c >= 'A' && c <= 'F')
		c = (char)(c - 'A' + 'a');
	found = c ? strchr(digits, c) : NULL;
	return found && (unsigned)(found - digits) < base ? (unsigned)(found - digits) : base;
}

/* Reports an invalid value. at: first character not consumed; a digit there means that the number exceeds 64 bits. */
static int fail_value(const char *text, const char *at, const char *expected)
{
	const unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;

	if (digit_of(*at, base) < base)
		return common_fail(PTL_MISUSE, "'%s' is too large: it has more than 64 bits", text);
	return common_fail(PTL_MISUSE, "'%s' is not a %s", text, expected);
}

/*
 * Parses the digits at *text and advances *text. Returns false without a digit, or if the number exceeds 64 bits: then
 * *text stays at the first digit too many.
 */
static bool take_digits(const char **text, unsigned base, uint64_t *value)
{
	const char *start = *text;

	*value = 0;
	for (unsigned digit; (digit = digit_of(**text, base)) < base; ++*text)
		if (!push_digit(value, base, digit))
			return false;
	return *text > start;
}

static bool take_number(const char **text, uint64_t *value)
{
	if ((*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X')) {
		*text += 2;
		return take_digits(text, 16, value);
	}
	return take_digits(text, 10, value);
}

int common_parse_u64(const char *text, uint64_t *value)
{
	const char *at = text;
	uint64_t result;

	if (!take_number(&at, &result) || *at)
		return fail_value(text, at, "number such as 4096 or 0x1000");
	*value = result;
	return 0;
}

int common_parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	const char *at = text, *unit;
	uint64_t result;

	if (!take_number(&at, &result))
		goto bad;
	unit = *at ? strchr(units, *at == 'k' ? 'K' : *at) : NULL;
	if (unit) {
		if (__builtin_mul_overflow(result, (uint64_t)1 << 10 * (unit - units + 1), &result))
			return common_fail(PTL_MISUSE, "'%s' is too large: it has more than 64 bits", text);
		at++;
	}
	if (*at)
		goto bad;
	*bytes = result;
	return 0;
bad:
	return fail_value(text, at, "size such as 4096, 16K or 1M");
}

static const struct {
	const char *name;
	uint64_t nanoseconds;
} units_of_time[] = {
	{"", 1000000000}, {"s", 1000000000},  {"ms", 1000000},      {"us", 1000},
	{"ns", 1},        {"m", 60000000000}, {"h", 3600000000000},
};

/* Returns the unit's nanoseconds; 0 for an unknown unit. */
static uint64_t unit_of_time(const char *name)
{
	for (size_t i = 0; i < sizeof(units_of_time) / sizeof(units_of_time[0]); i++)
		if (strcmp(units_of_time[i].name, name) == 0)
			return units_of_time[i].nanoseconds;
	return 0;
}

int common_parse_duration(const char *text, uint64_t *nanoseconds)
{
	const char *at = text, *fraction_start;
	uint64_t whole, fraction = 0, scale = 1, unit, result;

	if (!take_digits(&at, 10, &whole))
		goto bad;
	if (*at == '.') {
		fraction_start = ++at;
		/* At most 18 digits, so that neither the fraction nor its scale exceeds 64 bits. */
		if (!take_digits(&at, 10, &fraction) || at - fraction_start > 18)
			goto bad;
		for (; fraction_start < at; fraction_start++)
			scale *= 10;
	}
	unit = unit_of_time(at);
	if (!unit)
		goto bad;
	if (__builtin_mul_overflow(whole, unit, &result))
		return common_fail(PTL_MISUSE, "'%s' is too large: it has more than 64 bits of nanoseconds", text);
	/* Drops fractions of a nanosecond. */
	fraction = (uint64_t)((unsigned __int128)fraction * unit / scale);
	if (__builtin_add_overflow(result, fraction, &result))
		return common_fail(PTL_MISUSE, "'%s' is too large: it has more than 64 bits of nanoseconds", text);
	*nanoseconds = result;
	return 0;
bad:
	return fail_value(text, at, "time such as 1.5s, 20ms, 3us or 7ns");
}
