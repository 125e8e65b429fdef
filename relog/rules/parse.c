/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses a rule file statement by statement. */
#include "relog/rules/parse.h"

#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "relog/rules/parser.h"

static int add_provider(struct query_parser *parser, const struct rules_provider *provider)
{
	struct rules_provider *copy = common_arena_zeroed(parser->arena, sizeof(*copy));

	if (!copy)
		return PTL_NO_MEMORY;
	*copy = *provider;
	copy->next = rules_owner(parser)->rules->providers;
	rules_owner(parser)->rules->providers = copy;
	return 0;
}

static int add_kernel_classes(struct query_parser *parser)
{
	const struct rules_provider classes[] = {
		{.alias = "process", .has_guid = true, .guid = PTL_PROVIDER_PROCESS},
		{.alias = "thread", .has_guid = true, .guid = PTL_PROVIDER_THREAD},
		{.alias = "image", .has_guid = true, .guid = PTL_PROVIDER_IMAGE},
		{.alias = "code", .has_guid = true, .guid = PTL_PROVIDER_CODE},
		{.alias = "signal", .has_guid = true, .guid = PTL_PROVIDER_SIGNAL},
	};
	int status = 0;

	for (size_t i = 0; !status && i < sizeof(classes) / sizeof(classes[0]); i++)
		status = add_provider(parser, &classes[i]);
	return status;
}

static bool looks_like_guid(const char *text)
{
	return strspn(text, "{}-0123456789abcdefABCDEF") == strlen(text) && strchr(text, '-');
}

/* Parses a provider statement. The word "provider" was consumed. */
static int parse_provider(struct query_parser *parser)
{
	struct rules_provider provider = {.at = parser->token.at};
	const struct rules_provider *known;
	const char *text;
	int status = query_need_string(parser, "a provider's GUID or name in quotes", &text);

	if (status < 0)
		return status;
	provider.has_guid = common_guid_parse(text, &provider.guid);
	if (!provider.has_guid && looks_like_guid(text))
		return query_refuse(parser, provider.at,
				    "expected a GUID such as 9e814aad-3204-11d2-9a82-006008a86939, found "
				    "\"%.40s\"",
				    text);
	if (!provider.has_guid && !*text)
		return query_refuse(parser, provider.at, "expected a provider's GUID or name, found nothing");
	if (!provider.has_guid)
		provider.name = text;
	else if ((status = query_take_word(parser, "named")) > 0)
		status = query_need_string(parser, "the provider's name in quotes", &provider.name);
	if (!status)
		status = query_need_word(parser, "as");
	provider.at = parser->token.at;
	if (!status)
		status = query_need_name(parser, "a short name for the provider", &provider.alias);
	if (status < 0)
		return status;
	known = rules_find_provider(rules_owner(parser)->rules, provider.alias);
	if (known || !strcmp(provider.alias, "any"))
		return query_refuse(parser, provider.at, "expected a new short name, found '%s', which is taken",
				    provider.alias);
	status = query_need_symbol(parser, ";", NULL);
	return status < 0 ? status : add_provider(parser, &provider);
}

/* Counts wildcards of a pattern. A backslash escapes the next character. */
static unsigned count_wildcards(const char *pattern)
{
	unsigned count = 0;

	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else
			count += *p == '*' || *p == '?';
	}
	return count;
}

static int check_replacement(const struct query_parser *parser, const struct rules_rename *rename,
			     struct query_place at)
{
	unsigned count = count_wildcards(rename->pattern);

	for (const char *p = rename->replacement; *p; p++) {
		if (*p != '$')
			continue;
		p++;
		if (*p != '$' && (*p < '1' || *p > '9'))
			return query_refuse(parser, at, "expected $1 to $9 or $$, found another $");
		if (*p != '$' && (unsigned)(*p - '0') > count)
			return query_refuse(parser, at,
					    "expected at most $%u, since the pattern has so many * and ?, found "
					    "$%c",
					    count, *p);
	}
	return 0;
}

static int parse_rename(struct query_parser *parser, struct rules_rename **result)
{
	struct rules_rename *rename = common_arena_zeroed(parser->arena, sizeof(*rename));
	struct query_place at;
	int status;

	if (!rename)
		return PTL_NO_MEMORY;
	rename->at = parser->token.at;
	status = query_need_string(parser, "a pattern in quotes", &rename->pattern);
	if (!status)
		status = query_need_word(parser, "to");
	at = parser->token.at;
	if (!status)
		status = query_need_string(parser, "the new path in quotes", &rename->replacement);
	if (!status)
		status = check_replacement(parser, rename, at);
	*result = rename;
	return status < 0 ? status : query_need_symbol(parser, ";", NULL);
}

static int parse_image(struct query_parser *parser, struct rules_image **result)
{
	struct rules_image *image = common_arena_zeroed(parser->arena, sizeof(*image));
	uint64_t pid = 0;
	int status;

	if (!image)
		return PTL_NO_MEMORY;
	image->at = parser->token.at;
	*result = image;
	parser->names = QUERY_NAMES_PROCESS;
	if ((status = query_take_word(parser, "process")))
		status = status < 0 ? status : query_need_string(parser, "a pattern in quotes", &image->process);
	else if ((status = query_take_word(parser, "pid")))
		status = status < 0 ? status : query_need_number(parser, "a process id", UINT32_MAX - 1, &pid);
	else
		return query_expected(parser, "process \"PATTERN\" or pid NUMBER");
	image->pid = (uint32_t)pid;
	return status < 0 ? status : rules_parse_body(parser, RULES_BODY_IMAGE, &image->body);
}

/* Links for the next statement of each kind. */
struct tails {
	struct rules_schema **schema;
	struct rules_rule **rule;
	struct rules_image **image;
	struct rules_rename **rename;
	struct rules_ptwrite **ptwrite;
};

#define LINK(tails, kind)                                                                                              \
	do {                                                                                                           \
		if (!status && *(tails)->kind)                                                                         \
			(tails)->kind = &(*(tails)->kind)->next;                                                       \
	} while (0)

static int parse_statement(struct query_parser *parser, struct tails *tails)
{
	int status;

	if ((status = query_take_word(parser, "provider")))
		return status < 0 ? status : parse_provider(parser);
	if ((status = query_take_word(parser, "schema"))) {
		struct rules_schema *schema = NULL;

		/* Link the schema only when complete: its check compares it with earlier schemas. */
		status = status < 0 ? status : rules_parse_schema(parser, &schema);
		*tails->schema = status ? NULL : schema;
		LINK(tails, schema);
	} else if ((status = query_take_word(parser, "ptwrite"))) {
		status = status < 0 ? status : rules_parse_ptwrite(parser, tails->ptwrite);
		*tails->schema = status ? NULL : (*tails->ptwrite)->schema;
		LINK(tails, schema);
		LINK(tails, ptwrite);
	} else if ((status = query_take_word(parser, "on"))) {
		status = status < 0 ? status : rules_parse_rule(parser, tails->rule);
		if (!status)
			(*tails->rule)->index = (uint32_t)rules_owner(parser)->rules->rule_count++;
		LINK(tails, rule);
	} else if ((status = query_take_word(parser, "image"))) {
		status = status < 0 ? status : parse_image(parser, tails->image);
		LINK(tails, image);
	} else if ((status = query_take_word(parser, "rename"))) {
		status = status < 0 ? status : parse_rename(parser, tails->rename);
		LINK(tails, rename);
	} else {
		return query_expected(parser, "provider, schema, on, image, rename or ptwrite");
	}
	return status;
}

static int parse_file(struct query_parser *parser)
{
	struct rules *rules = rules_owner(parser)->rules;
	struct tails tails = {&rules->schemas, &rules->rules, &rules->images, &rules->renames, &rules->ptwrites};
	int status = add_kernel_classes(parser);

	if (!status)
		status = query_advance(parser);
	while (!status && parser->token.kind != QUERY_TOKEN_END) {
		status = query_count_one(parser, parser->token.at);
		if (!status)
			status = parse_statement(parser, &tails);
	}
	return status;
}

int rules_parse(const char *name, const char *text, size_t size, struct rules *rules)
{
	const char *slash = strrchr(name, '/');
	struct rules_owner owner = {.rules = rules};
	struct query_parser parser = {.arena = &rules->arena, .owner = &owner};
	int status = 0;

	*rules = (struct rules){0};
	if (size > RULES_FILE_MAX)
		return common_fail(PTL_CORRUPT, "%s: expected at most %u bytes, found %zu", name, RULES_FILE_MAX, size);
	rules->name = common_arena_copy(&rules->arena, name, strlen(name));
	rules->folder = common_arena_copy(&rules->arena, name, slash ? (size_t)(slash - name) + 1 : 0);
	rules->text = common_arena_copy(&rules->arena, text, size);
	if (!rules->name || !rules->folder || !rules->text)
		status = PTL_NO_MEMORY;
	parser.lexer = (struct query_lexer){
		.name = rules->name,
		.text = rules->text,
		.size = size,
		.place = {1, 1},
		.arena = &rules->arena,
	};
	if (!status)
		status = parse_file(&parser);
	if (status < 0)
		rules_free(rules);
	return status;
}

void rules_free(struct rules *rules)
{
	common_arena_free(&rules->arena);
	*rules = (struct rules){0};
}
