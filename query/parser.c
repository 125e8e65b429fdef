/* SPDX-License-Identifier: BSD-2-Clause */
/* Examines, consumes or refuses the next token. */
#include "query/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

int query_advance(struct query_parser *parser)
{
	int status = query_next_token(&parser->lexer, &parser->token);

	if (status != PTL_CORRUPT || !parser->conditions)
		return status;
	parser->token.kind = QUERY_TOKEN_WRONG;
	return 0;
}

int query_expected(const struct query_parser *parser, const char *what)
{
	char shown[QUERY_SHOWN_MAX + 8];

	if (parser->token.kind == QUERY_TOKEN_WRONG) {
		struct query_lexer lexer = parser->lexer;
		struct query_token token;

		/* Lex again, for the error text. */
		query_move(&lexer, &parser->token, 0);
		return query_next_token(&lexer, &token);
	}
	return common_fail(PTL_CORRUPT, "%s:%u:%u: expected %s, found %s", parser->lexer.name, parser->token.at.line,
			   parser->token.at.column, what, query_token_shown(&parser->lexer, &parser->token, shown));
}

int query_refuse(const struct query_parser *parser, struct query_place at, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return common_fail(PTL_CORRUPT, "%s:%u:%u: %s", parser->lexer.name, at.line, at.column, text);
}

int query_count_one(struct query_parser *parser, struct query_place at)
{
	if (++parser->count > QUERY_STATEMENTS_MAX)
		return query_refuse(parser, at, "expected at most %u statements and actions, found more",
				    QUERY_STATEMENTS_MAX);
	return 0;
}

bool query_is_word(const struct query_parser *parser, const char *word)
{
	return parser->token.kind == QUERY_TOKEN_NAME && !parser->token.quoted && !strcmp(parser->token.text, word);
}

bool query_is_symbol(const struct query_parser *parser, const char *symbol)
{
	return parser->token.kind == QUERY_TOKEN_SYMBOL && !strcmp(parser->token.text, symbol);
}

int query_take_word(struct query_parser *parser, const char *word)
{
	int status;

	if (!query_is_word(parser, word))
		return 0;
	status = query_advance(parser);
	return status < 0 ? status : 1;
}

int query_take_symbol(struct query_parser *parser, const char *symbol)
{
	int status;

	if (!query_is_symbol(parser, symbol))
		return 0;
	status = query_advance(parser);
	return status < 0 ? status : 1;
}

int query_need_symbol(struct query_parser *parser, const char *symbol, const char *what)
{
	char text[16];

	if (query_is_symbol(parser, symbol))
		return query_advance(parser);
	snprintf(text, sizeof(text), "'%s'", symbol);
	return query_expected(parser, what ? what : text);
}

int query_need_word(struct query_parser *parser, const char *word)
{
	char text[32];

	if (query_is_word(parser, word))
		return query_advance(parser);
	snprintf(text, sizeof(text), "'%s'", word);
	return query_expected(parser, text);
}

static int need(struct query_parser *parser, enum query_token_kind kind, const char *what, const char **text)
{
	if (parser->token.kind != kind)
		return query_expected(parser, what);
	*text = parser->token.text;
	return query_advance(parser);
}

int query_need_string(struct query_parser *parser, const char *what, const char **text)
{
	return need(parser, QUERY_TOKEN_STRING, what, text);
}

int query_need_name(struct query_parser *parser, const char *what, const char **text)
{
	return need(parser, QUERY_TOKEN_NAME, what, text);
}

int query_need_number(struct query_parser *parser, const char *what, uint64_t limit, uint64_t *number)
{
	if (parser->token.kind != QUERY_TOKEN_NUMBER)
		return query_expected(parser, what);
	if (parser->token.number > limit) {
		char text[96];

		snprintf(text, sizeof(text), "%s of at most %llu", what, (unsigned long long)limit);
		return query_expected(parser, text);
	}
	*number = parser->token.number;
	return query_advance(parser);
}

int query_find_word(const struct query_parser *parser, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] && query_is_word(parser, words[i]))
			return (int)i;
	return -1;
}

int query_expected_of(const struct query_parser *parser, const char *intro, const char *const *words, size_t count)
{
	char text[512];
	size_t last = count, n = (size_t)snprintf(text, sizeof(text), "%s", intro);
	const size_t start = n;

	while (last && !words[last - 1])
		last--;
	for (size_t i = 0; i < last && n < sizeof(text); i++)
		if (words[i])
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
					      n == start      ? ""
					      : i + 1 == last ? " or "
							      : ", ",
					      words[i]);
	return query_expected(parser, text);
}
