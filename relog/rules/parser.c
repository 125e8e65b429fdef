/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses elements that only rule files have. */
#include "relog/rules/parser.h"

#include <string.h>

int rules_need_moment(struct query_parser *parser, struct rules_moment *moment)
{
	int status = query_take_symbol(parser, "@");

	if (status < 0)
		return status;
	moment->given = true;
	moment->absolute = status;
	return query_need_number(parser, "a time such as 1.5ms or @12s", UINT64_MAX, &moment->time);
}

const struct rules_provider *rules_find_provider(const struct rules *rules, const char *alias)
{
	for (const struct rules_provider *p = rules->providers; p; p = p->next)
		if (!strcmp(p->alias, alias))
			return p;
	return NULL;
}

int rules_need_provider(struct query_parser *parser, const struct rules_provider **provider)
{
	if (parser->token.kind != QUERY_TOKEN_NAME)
		return query_expected(parser, "the short name of a provider");
	*provider = rules_find_provider(rules_owner(parser)->rules, parser->token.text);
	if (!*provider)
		return query_expected(parser, "a provider that is named above "
					      "(provider \"GUID or name\" as NAME;)");
	return query_advance(parser);
}
