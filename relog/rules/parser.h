/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations of the parser of rule files. */
#ifndef RELOG_RULES_PARSER_H
#define RELOG_RULES_PARSER_H

#include "query/parser.h"
#include "relog/rules/ast.h"

/* Owner of a parser. */
struct rules_owner {
	struct rules *rules;
	struct rules_rule *rule; /* the rule being parsed, or NULL */
};

static inline struct rules_owner *rules_owner(const struct query_parser *parser)
{
	return parser->owner;
}

/* All functions return 0 or a ptl_status with an error text. */

/* [ "@" ] NUMBER */
int rules_need_moment(struct query_parser *parser, struct rules_moment *moment);
/* Parses the alias of a provider. Returns PTL_CORRUPT for an unknown alias. */
int rules_need_provider(struct query_parser *parser, const struct rules_provider **provider);
const struct rules_provider *rules_find_provider(const struct rules *rules, const char *alias);

/* parse_schema.c */
int rules_parse_schema(struct query_parser *parser, struct rules_schema **schema);
/* Parses TYPE [ "[" NUMBER "]" ] of an added field. */
int rules_parse_type(struct query_parser *parser, struct ptl_field *field);

/* parse_ptwrite.c: parses a ptwrite statement. The schema is not in the list of schemas yet. */
int rules_parse_ptwrite(struct query_parser *parser, struct rules_ptwrite **ptwrite);

/* parse_body.c */
enum rules_body_kind {
	RULES_BODY_IMAGE, /* body of an image statement */
	RULES_BODY_LOAD,  /* this and the following: bodies of actions */
	RULES_BODY_UNLOAD,
	RULES_BODY_PROCESS,
	RULES_BODY_THREAD,
};
int rules_parse_body(struct query_parser *parser, enum rules_body_kind kind, struct rules_body *body);

/* parse_rule.c */
int rules_parse_rule(struct query_parser *parser, struct rules_rule **rule);
int rules_parse_ranges(struct query_parser *parser, uint64_t limit, bool opcodes, struct rules_ranges *ranges);

#endif
