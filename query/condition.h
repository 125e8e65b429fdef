/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: FIELD OPERATOR VALUE, in which few values need quotes, as in UserName == Zoe && Wanted & Write. A
 * condition is about the displayed value of a field, and about any element of an array. Parsers with a list of
 * conditions accept conditions wherever an expression may compare.
 */
#ifndef QUERY_CONDITION_H
#define QUERY_CONDITION_H

#include "query/parser.h"
#include "query/value.h"

enum query_test {
	QUERY_TEST_EQUAL,
	QUERY_TEST_UNEQUAL,
	QUERY_TEST_LESS,
	QUERY_TEST_LESS_EQUAL,
	QUERY_TEST_GREATER,
	QUERY_TEST_GREATER_EQUAL,
	QUERY_TEST_GLOB, /* as fnmatch(3) */
	QUERY_TEST_BITS, /* has any of the bits */
};

struct query_condition {
	struct query_place at;
	const char *field; /* field name; members of structures as Outer.Inner */
	const char *text;  /* value as written, without quotes */
	size_t text_size;
	enum query_test test;
	bool is_number, is_real; /* is_real only with is_number */
	query_number number;
	double real;
};

#define QUERY_CONDITIONS_MAX 64u /* one bit each */

struct query_conditions {
	struct query_condition *list;
	size_t count;
};

/* Parses a condition at the next word. Returns 1 and *expr; 0: no condition; PTL_CORRUPT, PTL_NO_MEMORY. */
int query_take_condition(struct query_parser *parser, struct query_expr **expr);
/*
 * Parses an unquoted word as a text behind the operator at the next word: lower(Name) == zoe. Expressions (numbers,
 * calls, event.PART, parentheses, back quotes) are not words. Returns as query_take_condition.
 */
int query_take_word_value(struct query_parser *parser, struct query_expr **expr);

/* Whether a number, or a text of the field, meets the condition. */
bool query_condition_number(const struct query_condition *condition, const struct query_value *number);
bool query_condition_text(const struct query_condition *condition, const char *text, size_t size, bool any_case);

/* ---- parse_condition.c ---------------------------------------------------------------------------- */

/*
 * Parses a zero-terminated text as an expression with conditions whose value is true or false. Adds to fields and
 * conditions. name: for messages. Returns PTL_CORRUPT with messages as of rules; PTL_NO_MEMORY.
 */
int query_parse_condition(const char *name, const char *text, struct common_arena *arena, struct query_fields *fields,
			  struct query_conditions *conditions, struct query_expr **expr);
/*
 * Converts PTL_CORRUPT to PTL_MISUSE, with the same text: a wrong expression on a command line is misuse. Returns the
 * status.
 */
int query_misuse(int status);
/* Combines *all (may be NULL) and an expression by `and`. Returns PTL_MISUSE beyond the limit; PTL_NO_MEMORY. */
int query_join(struct common_arena *arena, struct query_expr **all, struct query_expr *expr);

#endif
