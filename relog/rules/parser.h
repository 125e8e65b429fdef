/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of the parser share: a word of lookahead, and how they refuse one. */
#ifndef RELOG_RULES_PARSER_H
#define RELOG_RULES_PARSER_H

#include "relog/rules/ast.h"

/* Which names expressions may have. */
enum rules_scope { RULES_SCOPE_EVENT, RULES_SCOPE_PROCESS /* no event: only pid */ };

struct rules_parser {
	struct rules_lexer lexer;
	struct rules_token token; /* the next word */
	struct rules *rules;
	struct rules_arena *arena;
	enum rules_scope scope;
	struct rules_rule *rule; /* that is being read, or NULL */
	size_t field_room;
	unsigned depth;
	unsigned in_has; /* within has(...) */
	bool in_where, in_delete;
	const char *loops[RULES_LOOPS_MAX]; /* names of the loops around the next word */
	unsigned loop_count;
	size_t count; /* statements, actions, fields so far */
};

/* All of these return 0 or a ptl_status, and leave its text. */

int rules_advance(struct rules_parser *parser);
/* PTL_CORRUPT: "FILE:LINE:COLUMN: expected WHAT, found ..." of the next word. */
int rules_expected(const struct rules_parser *parser, const char *what);
/* PTL_CORRUPT at a place, with a whole text. */
int rules_refuse(const struct rules_parser *parser, struct rules_place at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Counts one more statement, action or field against the bound. */
int rules_count_one(struct rules_parser *parser, struct rules_place at);

/* Whether the next word is this word of the language, or this symbol. */
bool rules_is_word(const struct rules_parser *parser, const char *word);
bool rules_is_symbol(const struct rules_parser *parser, const char *symbol);
/* Moves over the word or symbol if it is there: 1 if so, 0 if not. */
int rules_take_word(struct rules_parser *parser, const char *word);
int rules_take_symbol(struct rules_parser *parser, const char *symbol);
/* Moves over the symbol, which must be there. `what` is what the message expects; NULL: itself. */
int rules_need_symbol(struct rules_parser *parser, const char *symbol, const char *what);
int rules_need_word(struct rules_parser *parser, const char *word);

int rules_need_string(struct rules_parser *parser, const char *what, const char **text);
int rules_need_name(struct rules_parser *parser, const char *what, const char **text);
int rules_need_number(struct rules_parser *parser, const char *what, uint64_t limit, uint64_t *number);
/* [ "@" ] NUMBER */
int rules_need_moment(struct rules_parser *parser, struct rules_moment *moment);
/* The short name of a provider; PTL_CORRUPT where there is none of that name. */
int rules_need_provider(struct rules_parser *parser, const struct rules_provider **provider);
const struct rules_provider *rules_find_provider(const struct rules *rules, const char *alias);

/* Index of a word in a list, or -1. */
int rules_find_word(const struct rules_parser *parser, const char *const *words, size_t count);
/* "expected `intro` a, b or c, found ..." */
int rules_expected_of(const struct rules_parser *parser, const char *intro, const char *const *words, size_t count);

/* parse_expression.c */
int rules_parse_expression(struct rules_parser *parser, struct rules_expr **expr);
/* NAME "in" FIELD: from here on the name stands for an element's number, up to rules_leave_loop. */
int rules_parse_loop(struct rules_parser *parser, struct rules_loop *loop);
void rules_leave_loop(struct rules_parser *parser);
/* A field of the rule's, by its index. */
int rules_parse_field(struct rules_parser *parser, unsigned *index);

/* parse_schema.c */
int rules_parse_schema(struct rules_parser *parser, struct rules_schema **schema);
/* TYPE [ "[" NUMBER "]" ] of a field that is added. */
int rules_parse_type(struct rules_parser *parser, struct ptl_field *field);

/* parse_body.c */
enum rules_body_kind {
	RULES_BODY_IMAGE, /* of an image statement */
	RULES_BODY_LOAD,  /* of an action, as are those below */
	RULES_BODY_UNLOAD,
	RULES_BODY_PROCESS,
	RULES_BODY_THREAD,
};
int rules_parse_body(struct rules_parser *parser, enum rules_body_kind kind, struct rules_body *body);

/* parse_rule.c */
int rules_parse_rule(struct rules_parser *parser, struct rules_rule **rule);
int rules_parse_ranges(struct rules_parser *parser, uint64_t limit, bool opcodes, struct rules_ranges *ranges);

#endif
