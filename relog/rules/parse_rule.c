/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules: what they match and what they do. man/ptl-rules.5, MATCHING and ACTIONS. */
#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "relog/rules/parser.h"

static const struct {
	const char *name;
	uint8_t opcode;
} opcodes[] = {
	{"start", PTL_OPCODE_START},
	{"end", PTL_OPCODE_END},
	{"start_rundown", PTL_OPCODE_START_RUNDOWN},
	{"end_rundown", PTL_OPCODE_END_RUNDOWN},
	{"load", PTL_OPCODE_LOAD},
	{"unload", PTL_OPCODE_UNLOAD},
	{"protect", PTL_OPCODE_PROTECT},
	{"exec", PTL_OPCODE_EXEC},
	{"change", PTL_OPCODE_CODE},
};
#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

/* ---- numbers ----------------------------------------------------------------------------- */

static int parse_end(struct rules_parser *parser, uint64_t limit, bool names, uint64_t *value)
{
	for (size_t i = 0; names && i < OPCODES; i++)
		if (rules_is_word(parser, opcodes[i].name)) {
			*value = opcodes[i].opcode;
			return rules_advance(parser);
		}
	return rules_need_number(parser, names ? "an opcode's number or name" : "a number", limit, value);
}

static int parse_range(struct rules_parser *parser, uint64_t limit, bool names, struct rules_range *range)
{
	struct rules_place at = parser->token.at;
	bool from_start = rules_is_symbol(parser, "..");
	int status = 0;

	*range = (struct rules_range){0, limit};
	if (!from_start) {
		status = parse_end(parser, limit, names, &range->first);
		range->last = range->first;
		if (status < 0 || !rules_is_symbol(parser, ".."))
			return status;
		range->last = limit;
	}
	status = rules_advance(parser);
	if (!status && (from_start || parser->token.kind == RULES_TOKEN_NUMBER))
		status = parse_end(parser, limit, names, &range->last);
	if (!status && range->last < range->first)
		return rules_refuse(parser, at, "expected a range that goes up, found one that goes down");
	return status;
}

int rules_parse_ranges(struct rules_parser *parser, uint64_t limit, bool names, struct rules_ranges *ranges)
{
	size_t room = 0;
	int status;

	do {
		if (ranges->count == room) {
			struct rules_range *larger;

			room = room ? room * 2 : 4;
			larger = rules_alloc(parser->arena, room * sizeof(*larger));
			if (!larger)
				return PTL_NO_MEMORY;
			if (ranges->count)
				memcpy(larger, ranges->range, ranges->count * sizeof(*larger));
			ranges->range = larger;
		}
		status = rules_count_one(parser, parser->token.at);
		if (!status)
			status = parse_range(parser, limit, names, &ranges->range[ranges->count++]);
	} while (!status && (status = rules_take_symbol(parser, ",")) > 0);
	return status;
}

/* ---- criteria ---------------------------------------------------------------------------- */

static const char *const criteria[] = {
	[RULES_MATCH_ID] = "id",           [RULES_MATCH_VERSION] = "version", [RULES_MATCH_OPCODE] = "opcode",
	[RULES_MATCH_CHANNEL] = "channel", [RULES_MATCH_LEVEL] = "level",     [RULES_MATCH_TASK] = "task",
	[RULES_MATCH_CPU] = "cpu",         [RULES_MATCH_PID] = "pid",         [RULES_MATCH_TID] = "tid",
	[RULES_MATCHES] = "keyword",       [RULES_MATCHES + 1] = "process",   [RULES_MATCHES + 2] = "image",
	[RULES_MATCHES + 3] = "time",      [RULES_MATCHES + 4] = "where",     [RULES_MATCHES + 5] = "nth",
	[RULES_MATCHES + 6] = "'{'",
};
#define CRITERIA (sizeof(criteria) / sizeof(criteria[0]))

static uint64_t limit_of(int criterion)
{
	switch (criterion) {
	case RULES_MATCH_ID:
	case RULES_MATCH_TASK:
		return UINT16_MAX;
	case RULES_MATCH_CPU:
	case RULES_MATCH_PID:
	case RULES_MATCH_TID:
		return UINT32_MAX;
	default:
		return UINT8_MAX;
	}
}

static int parse_span(struct rules_parser *parser, struct rules_rule *rule)
{
	struct rules_place at = parser->token.at;
	int status = 0;

	if (!rules_is_symbol(parser, ".."))
		status = rules_need_moment(parser, &rule->from);
	if (!status)
		status = rules_need_symbol(parser, "..", "'..' in a span of time");
	if (!status && (rules_is_symbol(parser, "@") || parser->token.kind == RULES_TOKEN_NUMBER))
		status = rules_need_moment(parser, &rule->to);
	if (!status && rule->from.given && rule->to.given && rule->from.absolute == rule->to.absolute &&
	    rule->to.time < rule->from.time)
		return rules_refuse(parser, at,
				    "expected a span that ends behind its start, found one that "
				    "ends before");
	return status;
}

static int parse_criterion(struct rules_parser *parser, int criterion, struct rules_rule *rule)
{
	int status;

	switch (criterion) {
	case RULES_MATCHES:
		rule->has_keyword = true;
		return rules_need_number(parser, "the bits of a keyword", UINT64_MAX, &rule->keyword);
	case RULES_MATCHES + 1:
		return rules_need_string(parser, "a pattern in quotes", &rule->process);
	case RULES_MATCHES + 2:
		return rules_need_string(parser, "a pattern in quotes", &rule->image);
	case RULES_MATCHES + 3:
		return parse_span(parser, rule);
	case RULES_MATCHES + 4:
		parser->in_where = true;
		status = rules_parse_expression(parser, &rule->where);
		parser->in_where = false;
		return status;
	case RULES_MATCHES + 5:
		return rules_parse_ranges(parser, UINT64_MAX, false, &rule->nth);
	default:
		return rules_parse_ranges(parser, limit_of(criterion), criterion == RULES_MATCH_OPCODE,
					  &rule->match[criterion]);
	}
}

static int parse_criteria(struct rules_parser *parser, struct rules_rule *rule)
{
	uint32_t given = 0;

	while (!rules_is_symbol(parser, "{")) {
		int criterion = rules_find_word(parser, criteria, CRITERIA - 1), status;

		if (criterion < 0)
			return rules_expected_of(parser, "one of ", criteria, CRITERIA);
		if (given & 1u << criterion)
			return rules_expected(parser, "each criterion once");
		given |= 1u << criterion;
		status = rules_advance(parser);
		if (!status)
			status = parse_criterion(parser, criterion, rule);
		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- actions ----------------------------------------------------------------------------- */

static int new_body(struct rules_parser *parser, enum rules_body_kind kind, struct rules_action *action)
{
	action->body = rules_alloc(parser->arena, sizeof(*action->body));
	return action->body ? rules_parse_body(parser, kind, action->body) : PTL_NO_MEMORY;
}

static int parse_event(struct rules_parser *parser, struct rules_action *action)
{
	static const char *const images[] = {"load", "unload"};
	static const char *const processes[] = {"start", "end", "exec", "rundown"};
	static const uint8_t numbers[] = {PTL_OPCODE_START, PTL_OPCODE_END, PTL_OPCODE_EXEC, PTL_OPCODE_START_RUNDOWN};
	enum rules_body_kind kind;
	int found, status;

	if (action->kind == RULES_ACTION_IMAGE_LOAD) {
		found = rules_find_word(parser, images, 2);
		if (found < 0)
			return rules_expected(parser, "load or unload");
		kind = found ? RULES_BODY_UNLOAD : RULES_BODY_LOAD;
		action->kind = found ? RULES_ACTION_IMAGE_UNLOAD : RULES_ACTION_IMAGE_LOAD;
	} else {
		bool thread = action->kind == RULES_ACTION_THREAD;

		found = rules_find_word(parser, processes, 4);
		if (found < 0 || (thread && found == 2))
			return rules_expected(parser, thread ? "start, end or rundown" : "start, end, exec or rundown");
		action->index = numbers[found];
		kind = thread ? RULES_BODY_THREAD : RULES_BODY_PROCESS;
	}
	status = rules_advance(parser);
	return status < 0 ? status : new_body(parser, kind, action);
}

static int parse_set_header(struct rules_parser *parser, struct rules_action *action)
{
	int index = rules_find_word(parser, rules_header_names, RULES_HEADER_PROCESS), status;

	if (index < 0)
		return rules_expected_of(parser, "one of ", rules_header_names, RULES_HEADER_PROCESS);
	action->kind = RULES_ACTION_SET_HEADER;
	action->index = (unsigned)index;
	status = rules_advance(parser);
	if (!status)
		status = rules_need_symbol(parser, "=", NULL);
	if (!status && index == RULES_HEADER_PROVIDER && parser->token.kind == RULES_TOKEN_NAME &&
	    rules_find_provider(parser->rules, parser->token.text))
		return rules_need_provider(parser, &action->provider);
	return status < 0 ? status : rules_parse_expression(parser, &action->value);
}

static int parse_set(struct rules_parser *parser, struct rules_action *action)
{
	struct rules_lexer saved = parser->lexer;
	struct rules_token name = parser->token;
	int status;

	if (rules_is_word(parser, "event")) {
		status = rules_advance(parser);
		if (!status && rules_is_symbol(parser, ".")) {
			status = rules_advance(parser);
			return status < 0 ? status : parse_set_header(parser, action);
		}
		if (status < 0)
			return status;
		parser->lexer = saved;
		parser->token = name;
	}
	status = rules_parse_field(parser, &action->index);
	if (!status)
		status = rules_need_symbol(parser, "=", NULL);
	return status < 0 ? status : rules_parse_expression(parser, &action->value);
}

static int parse_delete(struct rules_parser *parser, struct rules_action *action)
{
	struct rules_place at = parser->token.at;
	const struct rules_field *field;
	int status;

	parser->in_delete = true;
	status = rules_parse_field(parser, &action->index);
	parser->in_delete = false;
	if (status < 0)
		return status;
	field = &parser->rule->fields[action->index];
	for (size_t i = 0; i < field->step_count; i++)
		if (!field->steps[i].name)
			return rules_refuse(parser, at,
					    "expected a field, found an element: all elements of "
					    "an array are there, or none");
	parser->rule->reshapes = true;
	return 0;
}

static int parse_add(struct rules_parser *parser, struct rules_action *action)
{
	struct rules_place at = parser->token.at;
	int status = rules_parse_type(parser, &action->field);

	if (!status && action->field.type == PTL_TYPE_STRUCT)
		return rules_refuse(parser, at, "expected a type that is no structure, found 'struct'");
	if (!status)
		status = rules_need_name(parser, "the name of the new field", &action->field.name);
	if (!status)
		status = rules_need_symbol(parser, "=", NULL);
	parser->rule->reshapes = true;
	return status < 0 ? status : rules_parse_expression(parser, &action->value);
}

static int parse_actions(struct rules_parser *parser, struct rules_action **first);

static int parse_for(struct rules_parser *parser, struct rules_action *action)
{
	int status = rules_parse_loop(parser, &action->loop);

	if (status < 0)
		return status;
	status = parse_actions(parser, &action->actions);
	rules_leave_loop(parser);
	return status;
}

static int parse_action(struct rules_parser *parser, struct rules_action *action)
{
	static const char *const words[] = {"drop",  "keep",    "set",    "add", "delete",
					    "image", "process", "thread", "for"};
	static const char *const looped[] = {NULL, NULL, "set", NULL, NULL, "image", "process", "thread", "for"};
	const char *const *allowed = parser->loop_count ? looped : words;
	static const enum rules_action_kind kinds[] = {
		RULES_ACTION_DROP,    RULES_ACTION_KEEP,   RULES_ACTION_SET_FIELD,
		RULES_ACTION_ADD,     RULES_ACTION_DELETE, RULES_ACTION_IMAGE_LOAD,
		RULES_ACTION_PROCESS, RULES_ACTION_THREAD, RULES_ACTION_FOR,
	};
	int word = rules_find_word(parser, allowed, 9), status;

	if (word < 0)
		return rules_expected_of(parser,
					 parser->loop_count ? "in a loop, one of the actions " : "one of the actions ",
					 allowed, 9);
	action->kind = kinds[word];
	status = rules_advance(parser);
	if (status < 0)
		return status;
	if (action->kind == RULES_ACTION_FOR)
		return parse_for(parser, action);
	if (word >= 5)
		return parse_event(parser, action);
	if (action->kind == RULES_ACTION_SET_FIELD)
		status = parse_set(parser, action);
	else if (action->kind == RULES_ACTION_ADD)
		status = parse_add(parser, action);
	else if (action->kind == RULES_ACTION_DELETE)
		status = parse_delete(parser, action);
	return status < 0 ? status : rules_need_symbol(parser, ";", NULL);
}

static bool gives_identity(const struct rules_action *action)
{
	return action->kind == RULES_ACTION_SET_HEADER &&
	       (action->index == RULES_HEADER_PROVIDER || action->index == RULES_HEADER_ID ||
		action->index == RULES_HEADER_VERSION || action->index == RULES_HEADER_OPCODE);
}

static int check_actions(const struct rules_parser *parser, const struct rules_rule *rule)
{
	bool identity = false;

	for (const struct rules_action *action = rule->actions; action; action = action->next) {
		identity |= gives_identity(action);
		if ((action->kind == RULES_ACTION_DROP || action->kind == RULES_ACTION_KEEP) && action->next)
			return rules_refuse(parser, action->next->at,
					    "expected the end of the actions: nothing can follow drop or keep");
	}
	for (const struct rules_action *action = rule->actions; action; action = action->next)
		if ((action->kind == RULES_ACTION_ADD || action->kind == RULES_ACTION_DELETE) && !identity)
			return rules_refuse(parser, action->at,
					    "expected another provider, id, version or opcode for events with "
					    "other fields (such as set event.version = 100;), found none set");
	return 0;
}

static int parse_actions(struct rules_parser *parser, struct rules_action **first)
{
	struct rules_action **tail = first;
	int status = rules_need_symbol(parser, "{", NULL);

	while (!status && !rules_is_symbol(parser, "}")) {
		struct rules_action *action = rules_alloc(parser->arena, sizeof(*action));

		if (!action)
			return PTL_NO_MEMORY;
		action->at = parser->token.at;
		*tail = action;
		tail = &action->next;
		status = rules_count_one(parser, action->at);
		if (!status)
			status = parse_action(parser, action);
	}
	if (!status && !*first)
		return rules_expected(parser, "an action");
	return status < 0 ? status : rules_advance(parser);
}

int rules_parse_rule(struct rules_parser *parser, struct rules_rule **result)
{
	struct rules_rule *rule = rules_alloc(parser->arena, sizeof(*rule));
	int status;

	if (!rule)
		return PTL_NO_MEMORY;
	rule->at = parser->token.at;
	*result = rule;
	parser->rule = rule;
	parser->field_room = 0;
	parser->scope = RULES_SCOPE_EVENT;
	parser->loop_count = 0;
	status = rules_take_word(parser, "any");
	if (!status)
		status = rules_need_provider(parser, &rule->provider);
	if (status >= 0)
		status = parse_criteria(parser, rule);
	if (!status)
		status = parse_actions(parser, &rule->actions);
	if (!status)
		status = check_actions(parser, rule);
	parser->rule = NULL;
	return status;
}
