/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at the next word, takes it or refuses it. */
#include "relog/rules/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/error.h"

int rules_advance(struct rules_parser *parser)
{
	return rules_next_token(&parser->lexer, &parser->token);
}

int rules_expected(const struct rules_parser *parser, const char *what)
{
	char shown[RULES_SHOWN_MAX + 8];

	return common_fail(PTL_CORRUPT, "%s:%u:%u: expected %s, found %s", parser->lexer.name, parser->token.at.line,
			   parser->token.at.column, what, rules_token_shown(&parser->token, shown));
}

int rules_refuse(const struct rules_parser *parser, struct rules_place at, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	return common_fail(PTL_CORRUPT, "%s:%u:%u: %s", parser->lexer.name, at.line, at.column, text);
}

int rules_count_one(struct rules_parser *parser, struct rules_place at)
{
	if (++parser->count > RULES_STATEMENTS_MAX)
		return rules_refuse(parser, at, "expected at most %u statements and actions, found more",
				    RULES_STATEMENTS_MAX);
	return 0;
}

bool rules_is_word(const struct rules_parser *parser, const char *word)
{
	return parser->token.kind == RULES_TOKEN_NAME && !parser->token.quoted && !strcmp(parser->token.text, word);
}

bool rules_is_symbol(const struct rules_parser *parser, const char *symbol)
{
	return parser->token.kind == RULES_TOKEN_SYMBOL && !strcmp(parser->token.text, symbol);
}

int rules_take_word(struct rules_parser *parser, const char *word)
{
	int status;

	if (!rules_is_word(parser, word))
		return 0;
	status = rules_advance(parser);
	return status < 0 ? status : 1;
}

int rules_take_symbol(struct rules_parser *parser, const char *symbol)
{
	int status;

	if (!rules_is_symbol(parser, symbol))
		return 0;
	status = rules_advance(parser);
	return status < 0 ? status : 1;
}

int rules_need_symbol(struct rules_parser *parser, const char *symbol, const char *what)
{
	char text[16];

	if (rules_is_symbol(parser, symbol))
		return rules_advance(parser);
	snprintf(text, sizeof(text), "'%s'", symbol);
	return rules_expected(parser, what ? what : text);
}

int rules_need_word(struct rules_parser *parser, const char *word)
{
	char text[32];

	if (rules_is_word(parser, word))
		return rules_advance(parser);
	snprintf(text, sizeof(text), "'%s'", word);
	return rules_expected(parser, text);
}

static int need(struct rules_parser *parser, enum rules_token_kind kind, const char *what, const char **text)
{
	if (parser->token.kind != kind)
		return rules_expected(parser, what);
	*text = parser->token.text;
	return rules_advance(parser);
}

int rules_need_string(struct rules_parser *parser, const char *what, const char **text)
{
	return need(parser, RULES_TOKEN_STRING, what, text);
}

int rules_need_name(struct rules_parser *parser, const char *what, const char **text)
{
	return need(parser, RULES_TOKEN_NAME, what, text);
}

int rules_need_number(struct rules_parser *parser, const char *what, uint64_t limit, uint64_t *number)
{
	if (parser->token.kind != RULES_TOKEN_NUMBER)
		return rules_expected(parser, what);
	if (parser->token.number > limit) {
		char text[96];

		snprintf(text, sizeof(text), "%s of at most %llu", what, (unsigned long long)limit);
		return rules_expected(parser, text);
	}
	*number = parser->token.number;
	return rules_advance(parser);
}

int rules_need_moment(struct rules_parser *parser, struct rules_moment *moment)
{
	int status = rules_take_symbol(parser, "@");

	if (status < 0)
		return status;
	moment->given = true;
	moment->absolute = status;
	return rules_need_number(parser, "a time such as 1.5ms or @12s", UINT64_MAX, &moment->time);
}

const struct rules_provider *rules_find_provider(const struct rules *rules, const char *alias)
{
	for (const struct rules_provider *p = rules->providers; p; p = p->next)
		if (!strcmp(p->alias, alias))
			return p;
	return NULL;
}

int rules_need_provider(struct rules_parser *parser, const struct rules_provider **provider)
{
	if (parser->token.kind != RULES_TOKEN_NAME)
		return rules_expected(parser, "the short name of a provider");
	*provider = rules_find_provider(parser->rules, parser->token.text);
	if (!*provider)
		return rules_expected(parser, "a provider that is named above "
					      "(provider \"GUID or name\" as NAME;)");
	return rules_advance(parser);
}

int rules_find_word(const struct rules_parser *parser, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (words[i] && rules_is_word(parser, words[i]))
			return (int)i;
	return -1;
}

int rules_expected_of(const struct rules_parser *parser, const char *intro, const char *const *words, size_t count)
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
	return rules_expected(parser, text);
}
