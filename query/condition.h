/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: FIELD OPERATOR VALUE with nothing quoted that need not be, as in UserName == Zoe && Wanted & Write. They
 * hold for what is shown of a field, and of an array for any element. Parsers with a list of them take them wherever
 * an expression may compare.
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
	QUERY_TEST_GLOB, /* as of fnmatch(3) */
	QUERY_TEST_BITS, /* has any of them */
};

struct query_condition {
	struct query_place at;
	const char *field; /* its name; members of structures as Outer.Inner */
	const char *text;  /* the value as written, without quotes */
	size_t text_size;
	enum query_test test;
	bool is_number, is_real; /* the latter only with the former */
	query_number number;
	double real;
};

#define QUERY_CONDITIONS_MAX 64u /* a bit each */

struct query_conditions {
	struct query_condition *list;
	size_t count, room;
};

/* 1: a condition begins at the next word, and *expr is it; 0: none does. PTL_CORRUPT, PTL_NO_MEMORY. */
int query_take_condition(struct query_parser *parser, struct query_expr **expr);
/*
 * The same for a word that stands for a text, behind the operator that is the next word: lower(Name) == zoe. What may
 * be computed (numbers, calls, event.PART, anything in parentheses or back quotes) is none.
 */
int query_take_word_value(struct query_parser *parser, struct query_expr **expr);

/* Whether a number, or a text of the field, meets a condition. */
bool query_condition_number(const struct query_condition *condition, const struct query_value *number);
bool query_condition_text(const struct query_condition *condition, const char *text, size_t size, bool any_case);

/*
 * Parses text, which is zero-terminated, as an expression with conditions that comes to true or false. fields and
 * conditions are added to. name is for messages, which are as those of rules, with PTL_CORRUPT.
 */
int query_parse_condition(const char *name, const char *text, struct common_arena *arena, struct query_fields *fields,
			  struct query_conditions *conditions, struct query_expr **expr);
/* An expression of a command line that is wrong is misuse: PTL_CORRUPT becomes PTL_MISUSE, with the same text. Gives the status. */
int query_misuse(int status);
/* Adds to *all, which may be NULL, an expression that has to hold, too. PTL_MISUSE beyond the bound; PTL_NO_MEMORY. */
int query_join(struct common_arena *arena, struct query_expr **all, struct query_expr *expr);

#endif
