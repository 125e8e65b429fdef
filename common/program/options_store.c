/* SPDX-License-Identifier: BSD-2-Clause */
/* Stores the arguments of options: one function per kind. */
#include "common/program/options_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

/* Units for showing a size or time in the largest unit that gives a whole number. Units are in ascending order. */
struct unit {
	uint64_t factor;
	const char *name;
};

static const struct unit size_units[] = {
	{1, ""}, {1 << 10, "K"}, {1 << 20, "M"}, {1 << 30, "G"}, {(uint64_t)1 << 40, "T"}, {0, NULL},
};
static const struct unit time_units[] = {
	{1, "ns"}, {1000, "us"}, {1000000, "ms"}, {1000000000, "s"}, {0, NULL},
};
static const struct unit no_units[] = {{1, ""}, {0, NULL}};

#define UNIT_TEXT 32

static const char *unit_text(uint64_t value, const struct unit *units, char text[UNIT_TEXT])
{
	const struct unit *best = units;

	for (const struct unit *unit = units; unit->name; unit++)
		if (value % unit->factor == 0 && value)
			best = unit;
	snprintf(text, UNIT_TEXT, "%" PRIu64 "%s", value / best->factor, best->name);
	return text;
}

static void store_number(const struct common_option *option, void *member, uint64_t value)
{
	switch (option->size) {
	case 1:
		*(uint8_t *)member = (uint8_t)value;
		return;
	case 2:
		*(uint16_t *)member = (uint16_t)value;
		return;
	case 4:
		*(uint32_t *)member = (uint32_t)value;
		return;
	default:
		*(uint64_t *)member = value;
	}
}

/* Stores a value within the option's bounds. what: "a number" or "a size". */
static int store_bounded(const struct common_option *option, void *member, uint64_t value, const char *argument,
			 const char *what, const struct unit *units)
{
	char least[UNIT_TEXT], most[UNIT_TEXT];

	unit_text(option->least, units, least);
	unit_text(option->most, units, most);
	if (value < option->least && option->most == UINT64_MAX)
		return common_fail(PTL_MISUSE, "expected %s of at least %s, found '%s'", what, least, argument);
	if (value > option->most && !option->least)
		return common_fail(PTL_MISUSE, "expected %s of at most %s, found '%s'", what, most, argument);
	if (value < option->least || value > option->most)
		return common_fail(PTL_MISUSE, "expected %s from %s to %s, found '%s'", what, least, most, argument);
	store_number(option, member, value);
	return 0;
}

static int store_callback(const struct common_option *option, void *member, const char *argument)
{
	return option->take(member, argument);
}

static int store_constant(const struct common_option *option, void *member, const char *argument)
{
	(void)argument;
	store_number(option, member, option->least);
	return 0;
}

static int store_string(const struct common_option *option, void *member, const char *argument)
{
	(void)option;
	*(const char **)member = argument;
	return 0;
}

static int store_path(const struct common_option *option, void *member, const char *argument)
{
	if (!*argument)
		return common_fail(PTL_MISUSE, "a file name is missing");
	return store_string(option, member, argument);
}

static int store_integer(const struct common_option *option, void *member, const char *argument)
{
	uint64_t value;
	const int status = common_parse_u64(argument, &value);

	return status ? status : store_bounded(option, member, value, argument, "a number", no_units);
}

static int store_count(const struct common_option *option, void *member, const char *argument)
{
	uint64_t value;
	const int status = common_parse_size(argument, &value);

	return status ? status : store_bounded(option, member, value, argument, "a number", no_units);
}

static int store_limit(const struct common_option *option, void *member, const char *argument)
{
	uint64_t value;
	const int status = common_parse_u64(argument, &value);

	if (status)
		return status;
	if (value > option->most)
		return common_fail(PTL_MISUSE, "expected a number of at most %" PRIu64 ", or 0 for any, found '%s'",
				   option->most, argument);
	store_number(option, member, value ? value : option->most);
	return 0;
}

static int store_size(const struct common_option *option, void *member, const char *argument)
{
	uint64_t value;
	const int status = common_parse_size(argument, &value);

	return status ? status : store_bounded(option, member, value, argument, "a size", size_units);
}

static int store_power_of_two(const struct common_option *option, void *member, const char *argument)
{
	uint64_t value;
	const int status = common_parse_size(argument, &value);

	if (status)
		return status;
	if (value & (value - 1))
		return common_fail(PTL_MISUSE, "expected a size that is a power of two, found '%s'", argument);
	return store_bounded(option, member, value, argument, "a size", size_units);
}

static int store_duration(const struct common_option *option, void *member, const char *argument)
{
	char least[UNIT_TEXT];
	uint64_t value;
	const int status = common_parse_duration(argument, &value);

	if (status)
		return status;
	if (value < option->least)
		return common_fail(PTL_MISUSE, "expected a time of at least %s, found '%s'",
				   unit_text(option->least, time_units, least), argument);
	store_number(option, member, value);
	return 0;
}

static int store_choice(const struct common_option *option, void *member, const char *argument)
{
	uint32_t at = 0;

	while (strcmp(option->choices[at], argument) != 0)
		at++;
	store_number(option, member, option->numbers ? option->numbers[at] : at);
	return 0;
}

static int store_strings(const struct common_option *option, void *member, const char *argument)
{
	struct common_string_list *strings = member;

	if (strings->count >= option->most)
		return common_fail(PTL_MISUSE, "expected at most %" PRIu64 " of them, found '%s'", option->most,
				   argument);
	return common_string_list_add(strings, argument);
}

static int store_ids(const struct common_option *option, void *member, const char *argument)
{
	(void)option;
	return common_id_set_parse(member, argument);
}

static int store_time_span(const struct common_option *option, void *member, const char *argument)
{
	(void)option;
	return common_time_span_parse(argument, member);
}

static int store_last(const struct common_option *option, void *member, const char *argument)
{
	(void)option;
	return common_time_span_last(argument, member);
}

static int (*const stores[])(const struct common_option *option, void *member, const char *argument) = {
	[COMMON_OPTION_CALLBACK] = store_callback,
	[COMMON_OPTION_CONSTANT] = store_constant,
	[COMMON_OPTION_STRING] = store_string,
	[COMMON_OPTION_PATH] = store_path,
	[COMMON_OPTION_COUNT] = store_count,
	[COMMON_OPTION_NUMBER] = store_integer,
	[COMMON_OPTION_LIMIT] = store_limit,
	[COMMON_OPTION_SIZE] = store_size,
	[COMMON_OPTION_POWER_OF_TWO] = store_power_of_two,
	[COMMON_OPTION_DURATION] = store_duration,
	[COMMON_OPTION_CHOICE] = store_choice,
	[COMMON_OPTION_STRINGS] = store_strings,
	[COMMON_OPTION_IDS] = store_ids,
	[COMMON_OPTION_TIME_SPAN] = store_time_span,
	[COMMON_OPTION_LAST] = store_last,
};

int common_options_store(const struct common_option *option, void *target, const char *argument)
{
	const int status = stores[option->kind](option, (char *)target + option->offset, argument);

	if (status == 0 && option->has_given)
		*(bool *)((char *)target + option->given_offset) = true;
	return status;
}
