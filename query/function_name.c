/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the beginning of the name, and the parameters, in a function such as "int ns::twice<int>(int) const". */
#include "query/function_name.h"

#include <ctype.h>
#include <string.h>

#include "query/glob.h"

#define OPERATOR "operator"
#define ANONYMOUS "(anonymous namespace)"

struct scan {
	const char *at;
	unsigned depth;     /* nesting of brackets */
	const char *begin;  /* behind the last blank before parameters */
	const char *open;   /* opening bracket of the last candidate for the parameters; NULL: none */
	const char *closed; /* behind the closing bracket */
	bool is_conversion; /* "operator unsigned long": blanks belong to the type */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c & 0x80;
}

static bool begins_operator(const struct scan *scan, const char *name)
{
	return !strncmp(scan->at, OPERATOR, strlen(OPERATOR)) && !is_word(scan->at[strlen(OPERATOR)]) &&
	       (scan->at == name || !is_word(scan->at[-1]));
}

/* Skips an operator name, whose brackets are no brackets: "operator()", "operator<". */
static void skip_operator(struct scan *scan)
{
	scan->at += strlen(OPERATOR);
	if (scan->at[0] == ' ' && is_word(scan->at[1])) {
		scan->is_conversion |= !scan->depth;
		scan->at++;
		return;
	}
	scan->at += strncmp(scan->at, "()", 2) ? strspn(scan->at, "<>=!+-*/%&|^~[],") : 2;
	/* Template arguments follow. */
	if (scan->at[0] == ' ' && scan->at[1] == '<')
		scan->at++;
}

static void step_scan(struct scan *scan)
{
	const char *at = scan->at++;

	switch (*at) {
	case '(':
		if (!scan->depth)
			scan->open = at;
		scan->depth++;
		break;
	case '<':
	case '[':
	case '{':
		scan->depth++;
		break;
	case ')':
	case '>':
	case ']':
	case '}':
		scan->depth -= scan->depth > 0;
		if (*at == ')' && !scan->depth)
			scan->closed = scan->at;
		break;
	case ' ':
		if (!scan->depth && !scan->open && !scan->is_conversion)
			scan->begin = scan->at;
		break;
	default:
		break;
	}
}

static bool is_part(const char *begin, const char *end, const char *text, bool is_pattern)
{
	const size_t size = (size_t)(end - begin);

	return is_pattern ? query_glob(text, begin, size, NULL) : strlen(text) == size && !memcmp(begin, text, size);
}

bool query_function_is_called(const char *name, const char *text)
{
	const bool is_pattern = strpbrk(text, "*?");
	const char *end = name + strlen(name), *short_end;
	struct scan scan = {.at = name, .begin = name};

	if (is_part(name, end, text, false) || (is_pattern && is_part(name, end, text, true)))
		return true;
	while (*scan.at) {
		if (begins_operator(&scan, name))
			skip_operator(&scan);
		else if (!scan.depth && !strncmp(scan.at, ANONYMOUS, strlen(ANONYMOUS)))
			scan.at += strlen(ANONYMOUS);
		else
			step_scan(&scan);
	}
	/* "const", "[clone .cold]" or "@plt" may follow parameters. "runtime.(*mcache).refill" has no parameters. */
	short_end = scan.open && scan.closed > scan.open && strchr(" [@", *scan.closed) ? scan.open : end;
	return is_part(name, short_end, text, is_pattern) ||
	       (scan.begin != name && (is_part(scan.begin, end, text, is_pattern) ||
				       (scan.begin < short_end && is_part(scan.begin, short_end, text, is_pattern))));
}
