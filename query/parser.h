/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads expressions, and what stands around them: a word of lookahead, and how a word is refused. */
#ifndef QUERY_PARSER_H
#define QUERY_PARSER_H

#include "query/expression.h"

/* Which names expressions may have. */
enum query_names { QUERY_NAMES_EVENT, QUERY_NAMES_PROCESS /* no event: only pid */ };

struct query_parser {
	struct query_lexer lexer;
	struct query_token token; /* the next word */
	struct common_arena *arena;
	enum query_names names;
	struct query_fields *fields; /* where fields are counted; NULL: there are none */
	unsigned depth;
	unsigned in_has;                     /* within has(...) */
	unsigned parentheses;                /* around the next word */
	struct query_conditions *conditions; /* where conditions are counted; NULL: there are none (condition.h) */
	bool in_condition;
	bool takes_arrays;                  /* a field may be an array without an element */
	const char *loops[QUERY_LOOPS_MAX]; /* names of the loops around the next word */
	unsigned loop_count;
	size_t count; /* statements, actions, fields so far */
	void *owner;  /* of a larger language that has expressions: its own */
};

/* All of these return 0 or a ptl_status, and leave its text. */

int query_advance(struct query_parser *parser);
/* PTL_CORRUPT: "FILE:LINE:COLUMN: expected WHAT, found ..." of the next word. */
int query_expected(const struct query_parser *parser, const char *what);
/* PTL_CORRUPT at a place, with a whole text. */
int query_refuse(const struct query_parser *parser, struct query_place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Counts one more statement, action or field against the bound. */
int query_count_one(struct query_parser *parser, struct query_place at);

/* Whether the next word is this word of the language, or this symbol. */
bool query_is_word(const struct query_parser *parser, const char *word);
bool query_is_symbol(const struct query_parser *parser, const char *symbol);
/* Moves over the word or symbol if it is there: 1 if so, 0 if not. */
int query_take_word(struct query_parser *parser, const char *word);
int query_take_symbol(struct query_parser *parser, const char *symbol);
/* Moves over the symbol, which must be there. `what` is what the message expects; NULL: itself. */
int query_need_symbol(struct query_parser *parser, const char *symbol, const char *what);
int query_need_word(struct query_parser *parser, const char *word);

int query_need_string(struct query_parser *parser, const char *what, const char **text);
int query_need_name(struct query_parser *parser, const char *what, const char **text);
int query_need_number(struct query_parser *parser, const char *what, uint64_t limit, uint64_t *number);

/* Whether this is the name of a function, or any, all or count. */
bool query_is_function(const char *name, size_t size);
/* Index of a word in a list, or -1. */
int query_find_word(const struct query_parser *parser, const char *const *words, size_t count);
/* "expected `intro` a, b or c, found ..." */
int query_expected_of(const struct query_parser *parser, const char *intro, const char *const *words, size_t count);

/* parse_expression.c */
int query_parse_expression(struct query_parser *parser, struct query_expr **expr);
/* NAME "in" FIELD: from here on the name stands for an element's number, up to query_leave_loop. */
int query_parse_loop(struct query_parser *parser, struct query_loop *loop);
void query_leave_loop(struct query_parser *parser);
/* A field, by its index. */
int query_parse_field(struct query_parser *parser, unsigned *index);

#endif
