/* SPDX-License-Identifier: BSD-2-Clause */
/* Evaluates constant C expressions in print formats of the kernel, such as ((1UL) << 4) | 0x10. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "perf/trace_format.h"

#define DEPTH_MAX 64

static bool read_binary(const char **text, int least, unsigned depth, uint64_t *value);

static void skip_space(const char **text)
{
	while (isspace((unsigned char)**text))
		++*text;
}

static bool read_literal(const char **text, uint64_t *value)
{
	char *end;

	*value = strtoull(*text, &end, 0);
	if (end == *text)
		return false;
	*text = end + strspn(end, "uUlL");
	return !isalnum((unsigned char)**text) && **text != '_';
}

/* Skips a cast, such as "(unsigned long)" or "( gfp_t)": values keep 64 bits. */
static bool skip_cast(const char **text)
{
	const char *at = *text + 1;

	skip_space(&at);
	if (!isalpha((unsigned char)*at) && *at != '_')
		return false;
	while (isalnum((unsigned char)*at) || *at == '_' || *at == '*' || isspace((unsigned char)*at))
		at++;
	if (*at != ')')
		return false;
	*text = at + 1;
	return true;
}

static bool read_unary(const char **text, unsigned depth, uint64_t *value)
{
	skip_space(text);
	if (depth > DEPTH_MAX)
		return false;
	switch (**text) {
	case '-':
	case '~':
	case '+': {
		const char operator= *(*text)++;

		if (!read_unary(text, depth + 1, value))
			return false;
		*value = operator== '-' ? 0 - *value : operator== '~' ? ~*value : * value;
		return true;
	}
	case '(':
		if (skip_cast(text))
			return read_unary(text, depth + 1, value);
		++*text;
		if (!read_binary(text, 0, depth + 1, value))
			return false;
		skip_space(text);
		if (**text != ')')
			return false;
		++*text;
		return true;
	default:
		return isdigit((unsigned char)**text) && read_literal(text, value);
	}
}

/* Returns the precedence of the operator at text, and its length; -1: no operator. */
static int operator_at(const char *text, size_t *length)
{
	*length = 1;
	switch (*text) {
	case '|':
		return text[1] == '|' ? -1 : 0;
	case '^':
		return 1;
	case '&':
		return text[1] == '&' ? -1 : 2;
	case '<':
	case '>':
		*length = 2;
		return text[1] == text[0] ? 3 : -1;
	case '+':
	case '-':
		return 4;
	case '*':
		return 5;
	default:
		return -1;
	}
}

static uint64_t combine(char operator, uint64_t a, uint64_t b)
{
	switch (operator) {
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '&':
		return a & b;
	case '<':
		return b < 64 ? a << b : 0;
	case '>':
		return b < 64 ? a >> b : 0;
	case '+':
		return a + b;
	case '-':
		return a - b;
	default:
		return a * b;
	}
}

/* Evaluates operators whose precedence is `least` or higher. */
static bool read_binary(const char **text, int least, unsigned depth, uint64_t *value)
{
	if (!read_unary(text, depth, value))
		return false;
	for (;;) {
		size_t length;
		uint64_t right;
		char operator;
		int strength;

		skip_space(text);
		strength = operator_at(*text, &length);
		if (strength < least)
			return true;
		operator= ** text;
		*text += length;
		if (!read_binary(text, strength + 1, depth + 1, &right))
			return false;
		*value = combine(operator, * value, right);
	}
}

bool perf_trace_number(const char **text, uint64_t *value)
{
	return read_binary(text, 0, 0, value);
}
