/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses bodies of images, processes and threads: man/ptl-rules.5, IMAGES and ACTIONS. */
#include <string.h>

#include "common/error.h"
#include "relog/rules/parser.h"

const char *const rules_property_names[RULES_PROPERTY_NAMES] = {
	[RULES_PROPERTY_PID] = "pid",
	[RULES_PROPERTY_TID] = "tid",
	[RULES_PROPERTY_TIME] = "time",
	[RULES_PROPERTY_BASE] = "base",
	[RULES_PROPERTY_SIZE] = "size",
	[RULES_PROPERTY_PATH] = "path",
	[RULES_PROPERTY_FILE_OFFSET] = "file_offset",
	[RULES_PROPERTY_PROTECTION] = "protection",
	[RULES_PROPERTY_DEFAULT_BASE] = "default_base",
	[RULES_PROPERTY_BUILD_ID] = "build_id",
	[RULES_PROPERTY_DEBUG] = "debug",
	[RULES_PROPERTY_RVA] = "rva",
	[RULES_PROPERTY_PARENT] = "parent",
	[RULES_PROPERTY_COMMAND] = "command",
	[RULES_PROPERTY_STATUS] = "status",
	[RULES_PROPERTY_KEY] = "key",
	[RULES_PROPERTY_NAME] = "name",
	[RULES_PROPERTY_START] = "start",
	[RULES_PROPERTY_SYMBOL] = "symbol",
	[RULES_PROPERTY_LOAD] = "load",
	[RULES_PROPERTY_UNLOAD] = "unload",
	[RULES_PROPERTY_CODE] = "code",
	[RULES_PROPERTY_SYMBOLS] = "symbols",
};

#define BIT(name) (1u << RULES_PROPERTY_##name)
#define OF_IMAGES                                                                                                      \
	(BIT(BASE) | BIT(SIZE) | BIT(PATH) | BIT(FILE_OFFSET) | BIT(PROTECTION) | BIT(DEFAULT_BASE) | BIT(BUILD_ID) |  \
	 BIT(DEBUG) | BIT(CODE) | BIT(SYMBOL) | BIT(SYMBOLS))
#define OF_SECTIONS (BIT(RVA) | BIT(FILE_OFFSET) | BIT(SIZE) | BIT(PROTECTION))
#define SECTION ((enum rules_body_kind)(RULES_BODY_THREAD + 1))

/* Allowed and required properties of each kind of body, and its name in messages. */
static const struct {
	uint32_t allowed;
	uint32_t required;
	const char *name;
} kinds[] = {
	[RULES_BODY_IMAGE] = {OF_IMAGES | BIT(LOAD) | BIT(UNLOAD), BIT(BASE) | BIT(SIZE) | BIT(PATH), "an image"},
	[RULES_BODY_LOAD] = {OF_IMAGES | BIT(PID) | BIT(TIME), BIT(BASE) | BIT(SIZE) | BIT(PATH), "an image"},
	[RULES_BODY_UNLOAD] = {BIT(PID) | BIT(BASE) | BIT(TIME), BIT(BASE), "an unloaded image"},
	[RULES_BODY_PROCESS] = {BIT(PID) | BIT(PARENT) | BIT(PATH) | BIT(COMMAND) | BIT(STATUS) | BIT(KEY) | BIT(TIME),
				0, "a process"},
	[RULES_BODY_THREAD] = {BIT(PID) | BIT(TID) | BIT(NAME) | BIT(START) | BIT(TIME), 0, "a thread"},
	[SECTION] = {OF_SECTIONS, BIT(RVA) | BIT(SIZE), "a section"},
};

/* Parses a protection: a word of the letters r, w and x, or an expression. */
static int parse_protection(struct query_parser *parser, struct query_expr **expr)
{
	const struct query_token *token = &parser->token;
	unsigned bits = 0;

	if (token->kind != QUERY_TOKEN_NAME || token->quoted || strspn(token->text, "rwx") != token->size)
		return query_parse_expression(parser, expr);
	for (const char *p = token->text; *p; p++)
		bits |= *p == 'r' ? 1u : *p == 'w' ? 2u : 4u;
	*expr = common_arena_zeroed(parser->arena, sizeof(**expr));
	if (!*expr)
		return PTL_NO_MEMORY;
	**expr = (struct query_expr){.op = QUERY_NUMBER, .at = token->at, .number = bits};
	return query_advance(parser);
}

static int parse_load(struct query_parser *parser, struct rules_body *body)
{
	uint64_t nth = 1;
	int status;

	if ((status = query_take_word(parser, "start"))) {
		body->load = RULES_LOAD_START;
		return status < 0 ? status : 0;
	}
	if (!(status = query_take_word(parser, "mapped"))) {
		body->load = RULES_LOAD_TIME;
		if (!query_is_symbol(parser, "@") && parser->token.kind != QUERY_TOKEN_NUMBER)
			return query_expected(parser, "start, mapped or a time");
		return rules_need_moment(parser, &body->load_time);
	}
	body->load = RULES_LOAD_MAPPED;
	if (status > 0 && parser->token.kind == QUERY_TOKEN_NUMBER) {
		struct query_place at = parser->token.at;

		status = query_need_number(parser, "a count", UINT32_MAX, &nth);
		if (!status && !nth)
			return query_refuse(parser, at, "expected a count from 1, found 0");
	}
	body->load_nth = (uint32_t)nth;
	return status < 0 ? status : 0;
}

static int parse_unload(struct query_parser *parser, struct rules_body *body)
{
	int status = query_take_word(parser, "end");

	if (status)
		return status < 0 ? status : 0;
	if (!query_is_symbol(parser, "@") && parser->token.kind != QUERY_TOKEN_NUMBER)
		return query_expected(parser, "end or a time");
	return rules_need_moment(parser, &body->unload_time);
}

static int parse_code(struct query_parser *parser, struct rules_body *body)
{
	static const char *const words[] = {"captured", "file", "raw"};
	int word = query_find_word(parser, words, 3), status;

	if (word < 0)
		return query_expected(parser, "captured, file(PATH) or raw(PATH, OFFSET)");
	status = query_advance(parser);
	body->code = (enum rules_code)word;
	if (status < 0 || body->code == RULES_CODE_CAPTURED)
		return status;
	status = query_need_symbol(parser, "(", NULL);
	if (!status)
		status = query_parse_expression(parser, &body->code_path);
	if (!status && body->code == RULES_CODE_RAW && query_is_symbol(parser, ",")) {
		status = query_advance(parser);
		if (!status)
			status = query_parse_expression(parser, &body->code_offset);
	}
	return status < 0 ? status : query_need_symbol(parser, ")", NULL);
}

static int parse_addressing(struct query_parser *parser, struct rules_body *body)
{
	int status = query_take_symbol(parser, ",");

	if (status <= 0)
		return status;
	if ((status = query_take_word(parser, "relative")))
		body->addressing = RULES_ADDRESS_RELATIVE;
	else if ((status = query_take_word(parser, "absolute")))
		body->addressing = RULES_ADDRESS_ABSOLUTE;
	else {
		body->addressing = RULES_ADDRESS_FROM;
		status = query_parse_expression(parser, &body->symbols_base);
	}
	return status < 0 ? status : 0;
}

static int parse_symbols(struct query_parser *parser, struct rules_body *body)
{
	static const char *const words[] = {"nm", "perfmap", "elf"};
	int word = query_find_word(parser, words, 3), status;

	if (word < 0)
		return query_expected(parser, "nm(PATH), perfmap(PATH) or elf(PATH)");
	body->symbols = (enum rules_symbols)(RULES_SYMBOLS_NM + word);
	status = query_advance(parser);
	if (!status)
		status = query_need_symbol(parser, "(", NULL);
	if (!status)
		status = query_parse_expression(parser, &body->symbols_path);
	if (!status)
		status = parse_addressing(parser, body);
	return status < 0 ? status : query_need_symbol(parser, ")", NULL);
}

static int parse_value(struct query_parser *parser, enum rules_property name, struct rules_body *body,
		       struct query_expr **values)
{
	switch (name) {
	case RULES_PROPERTY_LOAD:
		return parse_load(parser, body);
	case RULES_PROPERTY_UNLOAD:
		return parse_unload(parser, body);
	case RULES_PROPERTY_CODE:
		return parse_code(parser, body);
	case RULES_PROPERTY_SYMBOLS:
		return parse_symbols(parser, body);
	case RULES_PROPERTY_PROTECTION:
		return parse_protection(parser, &values[name]);
	default:
		return query_parse_expression(parser, &values[name]);
	}
}

/* Parses `name = value;`. given: set of properties parsed so far. body: NULL in a section. */
static int parse_property(struct query_parser *parser, enum rules_body_kind kind, struct rules_body *body,
			  struct query_expr **values, uint32_t *given)
{
	struct query_place at = parser->token.at;
	const char *allowed[RULES_PROPERTY_NAMES + 1];
	int name, status;

	for (unsigned i = 0; i < RULES_PROPERTY_NAMES; i++)
		allowed[i] = kinds[kind].allowed & 1u << i ? rules_property_names[i] : NULL;
	name = query_find_word(parser, allowed, RULES_PROPERTY_NAMES);
	if (name < 0) {
		allowed[RULES_PROPERTY_NAMES] = kind <= RULES_BODY_LOAD ? "section" : NULL;
		return query_expected_of(parser, "one of ", allowed, RULES_PROPERTY_NAMES + 1);
	}
	if (*given & 1u << name)
		return query_refuse(parser, at, "expected each property once, found a second '%s'",
				    rules_property_names[name]);
	*given |= 1u << name;
	status = query_advance(parser);
	if (!status)
		status = query_need_symbol(parser, "=", NULL);
	if (!status)
		status = parse_value(parser, (enum rules_property)name, body, values);
	if (!status)
		status = query_count_one(parser, at);
	return status < 0 ? status : query_need_symbol(parser, ";", NULL);
}

static int check_required(struct query_parser *parser, enum rules_body_kind kind, uint32_t given)
{
	for (unsigned i = 0; i < RULES_PROPERTY_NAMES; i++)
		if (kinds[kind].required & ~given & 1u << i)
			return query_refuse(parser, parser->token.at, "expected %s = ... in %s, found its end",
					    rules_property_names[i], kinds[kind].name);
	return 0;
}

/* Parses a section. loops: `for` is allowed. */
static int parse_section(struct query_parser *parser, bool loops, struct rules_section ***tail)
{
	struct rules_section *section = common_arena_zeroed(parser->arena, sizeof(*section));
	uint32_t given = 0;
	int status;

	if (!section)
		return PTL_NO_MEMORY;
	section->at = parser->token.at;
	status = query_need_string(parser, "the name of a section in quotes", &section->name);
	if (!status && loops && query_is_word(parser, "for")) {
		section->has_loop = true;
		status = query_advance(parser);
		if (!status)
			status = query_parse_loop(parser, &section->loop);
	}
	if (!status)
		status = query_need_symbol(parser, "{", section->has_loop || !loops ? NULL : "'{' or for");
	while (!status && !query_is_symbol(parser, "}"))
		status = parse_property(parser, SECTION, NULL, section->property, &given);
	if (!status)
		status = check_required(parser, SECTION, given);
	if (section->has_loop)
		query_leave_loop(parser);
	**tail = section;
	*tail = &section->next;
	return status < 0 ? status : query_advance(parser);
}

/* Checks properties that exclude each other. */
static int check_image(const struct query_parser *parser, const struct rules_body *body)
{
	static const enum rules_property of_parts[] = {RULES_PROPERTY_FILE_OFFSET, RULES_PROPERTY_PROTECTION};

	for (size_t i = 0; body->sections && i < 2; i++) {
		const struct query_expr *value = body->property[of_parts[i]];

		if (value)
			return query_refuse(parser, value->at,
					    "expected %s in the sections, since there are "
					    "some, found it outside",
					    rules_property_names[of_parts[i]]);
	}
	if (body->property[RULES_PROPERTY_SYMBOL] && body->symbols != RULES_SYMBOLS_NONE)
		return query_refuse(parser, body->property[RULES_PROPERTY_SYMBOL]->at,
				    "expected symbol = ... or symbols = ..., found both");
	if (body->unload_time.given && body->load == RULES_LOAD_TIME &&
	    body->load_time.absolute == body->unload_time.absolute && body->unload_time.time <= body->load_time.time)
		return query_refuse(parser, body->at, "expected an unload time behind the load time, found one before");
	return 0;
}

/* Whether the body is symbols = perfmap(...) without base and size. The map then tells the addresses. */
static bool is_whole_map(enum rules_body_kind kind, const struct rules_body *body, uint32_t given)
{
	return kind == RULES_BODY_IMAGE && body->symbols == RULES_SYMBOLS_PERF_MAP &&
	       !(given & (BIT(BASE) | BIT(SIZE)));
}

static int check_whole_map(struct query_parser *parser, struct rules_body *body, uint32_t given)
{
	const uint32_t others = given & ~(BIT(SYMBOLS) | BIT(PATH));

	for (unsigned i = 0; i < RULES_PROPERTY_NAMES; i++)
		if (others & 1u << i)
			return query_refuse(
				parser, body->at,
				"expected base = ... and size = ... beside %s; a whole perf map has only path and "
				"symbols",
				rules_property_names[i]);
	if (body->sections || (body->addressing != RULES_ADDRESS_DEFAULT && body->addressing != RULES_ADDRESS_ABSOLUTE))
		return query_refuse(
			parser, body->at,
			"expected base = ... and size = ...; a whole perf map has absolute addresses and no "
			"sections");
	body->load = RULES_LOAD_MEMORY;
	return 0;
}

int rules_parse_body(struct query_parser *parser, enum rules_body_kind kind, struct rules_body *body)
{
	struct rules_section **tail = &body->sections;
	uint32_t given = 0;
	int status = query_need_symbol(parser, "{", NULL);

	body->at = parser->token.at;
	while (!status && !query_is_symbol(parser, "}")) {
		if (kind <= RULES_BODY_LOAD && query_is_word(parser, "section")) {
			status = query_advance(parser);
			if (!status)
				status = parse_section(parser, kind == RULES_BODY_LOAD, &tail);
		} else {
			status = parse_property(parser, kind, body, body->property, &given);
		}
	}
	if (!status)
		status = is_whole_map(kind, body, given) ? check_whole_map(parser, body, given)
							 : check_required(parser, kind, given);
	if (!status)
		status = check_image(parser, body);
	return status < 0 ? status : query_advance(parser);
}
