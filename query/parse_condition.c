/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a text as an expression with conditions, and combines expressions. */
#include <stdio.h>
#include <string.h>

#include "common/error.h"
#include "query/condition.h"

/* Refuses expressions that can never be true or false: the mistake would show only later. */
static int check_truth(const struct query_parser *parser, const struct query_expr *expr)
{
	int status = 0;

	switch (expr->op) {
	case QUERY_AND:
	case QUERY_OR:
	case QUERY_NOT:
		for (unsigned i = 0; !status && i < QUERY_ARGUMENTS_MAX && expr->argument[i]; i++)
			status = check_truth(parser, expr->argument[i]);
		return status;
	case QUERY_CONDITION:
	case QUERY_BOOL:
	case QUERY_ANY:
	case QUERY_ALL:
		return 0;
	case QUERY_CALL:
		if (expr->index == QUERY_HAS)
			return 0;
		break;
	default:
		if (expr->op >= QUERY_EQUAL && expr->op <= QUERY_LIKE)
			return 0;
	}
	return query_refuse(parser, expr->at,
			    "expected a condition such as UserName == \"Zoe\" or Count > 3, found a value");
}

int query_parse_condition(const char *name, const char *text, struct common_arena *arena, struct query_fields *fields,
			  struct query_conditions *conditions, struct query_expr **expr)
{
	struct query_parser parser = {.arena = arena, .fields = fields, .conditions = conditions, .in_condition = true};
	const size_t size = strlen(text);
	char *copy = common_arena_copy(arena, text, size);
	char shown[QUERY_SHOWN_MAX + 8];
	int status;

	if (!copy)
		return PTL_NO_MEMORY;
	parser.lexer = (struct query_lexer){.name = name,
					    .text = copy,
					    .size = size,
					    .place = {1, 1},
					    .arena = arena,
					    .end = "the end",
					    .without_comments = true};
	status = query_advance(&parser);
	if (!status)
		status = query_parse_expression(&parser, expr);
	if (!status && strcmp(query_token_shown(&parser.lexer, &parser.token, shown), "'='") == 0)
		status = query_refuse(&parser, parser.token.at, "expected an operator, found '=': == compares");
	else if (!status && parser.token.kind != QUERY_TOKEN_END)
		status = query_expected(&parser, "&&, and, or, an operator or the end");
	return status < 0 ? status : check_truth(&parser, *expr);
}

int query_misuse(int status)
{
	char cause[1024];

	if (status != PTL_CORRUPT)
		return status;
	snprintf(cause, sizeof(cause), "%s", ptl_error_text());
	return common_fail(PTL_MISUSE, "%s", cause);
}

int query_join(struct common_arena *arena, struct query_expr **all, struct query_expr *expr)
{
	struct query_expr *both;

	if (!*all) {
		*all = expr;
		return 0;
	}
	both = common_arena_zeroed(arena, sizeof(*both));
	if (!both)
		return PTL_NO_MEMORY;
	*both = (struct query_expr){.op = QUERY_AND, .argument = {*all, expr}};
	both->depth = ((*all)->depth > expr->depth ? (*all)->depth : expr->depth) + 1;
	*all = both;
	return both->depth <= QUERY_CHAIN_MAX ? 0 : common_fail(PTL_MISUSE, "more than %u conditions", QUERY_CHAIN_MAX);
}
