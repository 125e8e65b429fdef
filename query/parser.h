/* SPDX-License-Identifier: BSD-2-Clause */
/* Parser of expressions, and basic functions for larger languages: one token of lookahead, and error messages. */
#ifndef QUERY_PARSER_H
#define QUERY_PARSER_H

#include "query/expression.h"

/* Names that expressions may use. */
enum query_names { QUERY_NAMES_EVENT, QUERY_NAMES_PROCESS /* no event: only pid */ };

struct query_parser {
	struct query_lexer lexer;
	struct query_token token; /* next token */
	struct common_arena *arena;
	enum query_names names;
	struct query_fields *fields; /* list of fields; NULL: fields are not allowed */
	unsigned depth;
	unsigned in_has;                     /* nesting of has(...) */
	unsigned parentheses;                /* nesting of parentheses */
	struct query_conditions *conditions; /* list of conditions; NULL: conditions are not allowed (condition.h) */
	bool in_condition;
	bool takes_arrays;                  /* a field may be a whole array */
	const char *loops[QUERY_LOOPS_MAX]; /* variables of the loops around the next token */
	unsigned loop_count;
	size_t count; /* number of statements, actions and fields */
	void *owner;  /* state of a larger language that contains expressions */
};

/* All functions of type int return 0 or a ptl_status with an error text, unless noted. */

int query_advance(struct query_parser *parser);
/* Returns PTL_CORRUPT: "FILE:LINE:COLUMN: expected WHAT, found ..." with the next token. */
int query_expected(const struct query_parser *parser, const char *what);
/* Returns PTL_CORRUPT with a position and a complete text. */
int query_refuse(const struct query_parser *parser, struct query_place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Counts a statement, action or field against the limit. */
int query_count_one(struct query_parser *parser, struct query_place at);

/* Whether the next token equals the keyword or symbol. */
bool query_is_word(const struct query_parser *parser, const char *word);
bool query_is_symbol(const struct query_parser *parser, const char *symbol);
/* Consume the keyword or symbol if it is next. Return 1 if so, 0 if not. */
int query_take_word(struct query_parser *parser, const char *word);
int query_take_symbol(struct query_parser *parser, const char *symbol);
/* Consume a required token. `what`: description for messages; NULL: the symbol itself. */
int query_need_symbol(struct query_parser *parser, const char *symbol, const char *what);
int query_need_word(struct query_parser *parser, const char *word);

int query_need_string(struct query_parser *parser, const char *what, const char **text);
int query_need_name(struct query_parser *parser, const char *what, const char **text);
int query_need_number(struct query_parser *parser, const char *what, uint64_t limit, uint64_t *number);

/* Returns the index of the next token in a list of words, or -1. */
int query_find_word(const struct query_parser *parser, const char *const *words, size_t count);
/* Returns PTL_CORRUPT: "expected `intro` a, b or c, found ..." */
int query_expected_of(const struct query_parser *parser, const char *intro, const char *const *words, size_t count);

/* parse_expression.c */
int query_parse_expression(struct query_parser *parser, struct query_expr **expr);
/* Parses NAME "in" FIELD. The name is the index of an element until query_leave_loop. */
int query_parse_loop(struct query_parser *parser, struct query_loop *loop);
void query_leave_loop(struct query_parser *parser);
/* Parses a field. Returns its index. */
int query_parse_field(struct query_parser *parser, unsigned *index);

#endif
