/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses rules: conditions and actions. man/ptl-rules.5, MATCHING and ACTIONS. */
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
	{"fatal", PTL_OPCODE_FATAL},
};
#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

/* ---- numbers ----------------------------------------------------------------------------- */

static int parse_end(struct query_parser *parser, uint64_t limit, bool names, uint64_t *value)
{
	for (size_t i = 0; names && i < OPCODES; i++)
		if (query_is_word(parser, opcodes[i].name)) {
			*value = opcodes[i].opcode;
			return query_advance(parser);
		}
	return query_need_number(parser, names ? "an opcode's number or name" : "a number", limit, value);
}

static int parse_range(struct query_parser *parser, uint64_t limit, bool names, struct rules_range *range)
{
	struct query_place at = parser->token.at;
	bool from_start = query_is_symbol(parser, "..");
	int status = 0;

	*range = (struct rules_range){0, limit};
	if (!from_start) {
		status = parse_end(parser, limit, names, &range->first);
		range->last = range->first;
		if (status < 0 || !query_is_symbol(parser, ".."))
			return status;
		range->last = limit;
	}
	status = query_advance(parser);
	if (!status && (from_start || parser->token.kind == QUERY_TOKEN_NUMBER))
		status = parse_end(parser, limit, names, &range->last);
	if (!status && range->last < range->first)
		return query_refuse(parser, at, "expected a range that goes up, found one that goes down");
	return status;
}

int rules_parse_ranges(struct query_parser *parser, uint64_t limit, bool names, struct rules_ranges *ranges)
{
	int status;

	do {
		if (!common_arena_room(parser->arena, &ranges->range, ranges->count, sizeof(*ranges->range)))
			return PTL_NO_MEMORY;
		status = query_count_one(parser, parser->token.at);
		if (!status)
			status = parse_range(parser, limit, names, &ranges->range[ranges->count++]);
	} while (!status && (status = query_take_symbol(parser, ",")) > 0);
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

static int parse_span(struct query_parser *parser, struct rules_rule *rule)
{
	struct query_place at = parser->token.at;
	int status = 0;

	if (!query_is_symbol(parser, ".."))
		status = rules_need_moment(parser, &rule->from);
	if (!status)
		status = query_need_symbol(parser, "..", "'..' in a span of time");
	if (!status && (query_is_symbol(parser, "@") || parser->token.kind == QUERY_TOKEN_NUMBER))
		status = rules_need_moment(parser, &rule->to);
	if (!status && rule->from.given && rule->to.given && rule->from.absolute == rule->to.absolute &&
	    rule->to.time < rule->from.time)
		return query_refuse(parser, at,
				    "expected a span that ends behind its start, found one that "
				    "ends before");
	return status;
}

static int parse_criterion(struct query_parser *parser, int criterion, struct rules_rule *rule)
{
	int status;

	switch (criterion) {
	case RULES_MATCHES:
		rule->has_keyword = true;
		return query_need_number(parser, "the bits of a keyword", UINT64_MAX, &rule->keyword);
	case RULES_MATCHES + 1:
		return query_need_string(parser, "a pattern in quotes", &rule->process);
	case RULES_MATCHES + 2:
		return query_need_string(parser, "a pattern in quotes", &rule->image);
	case RULES_MATCHES + 3:
		return parse_span(parser, rule);
	case RULES_MATCHES + 4:
		parser->in_condition = true;
		status = query_parse_expression(parser, &rule->where);
		parser->in_condition = false;
		return status;
	case RULES_MATCHES + 5:
		return rules_parse_ranges(parser, UINT64_MAX, false, &rule->nth);
	default:
		return rules_parse_ranges(parser, limit_of(criterion), criterion == RULES_MATCH_OPCODE,
					  &rule->match[criterion]);
	}
}

static int parse_criteria(struct query_parser *parser, struct rules_rule *rule)
{
	uint32_t given = 0;

	while (!query_is_symbol(parser, "{")) {
		int criterion = query_find_word(parser, criteria, CRITERIA - 1), status;

		if (criterion < 0)
			return query_expected_of(parser, "one of ", criteria, CRITERIA);
		if (given & 1u << criterion)
			return query_expected(parser, "each criterion once");
		given |= 1u << criterion;
		status = query_advance(parser);
		if (!status)
			status = parse_criterion(parser, criterion, rule);
		if (status < 0)
			return status;
	}
	return 0;
}

/* ---- actions ----------------------------------------------------------------------------- */

static int new_body(struct query_parser *parser, enum rules_body_kind kind, struct rules_action *action)
{
	action->body = common_arena_zeroed(parser->arena, sizeof(*action->body));
	return action->body ? rules_parse_body(parser, kind, action->body) : PTL_NO_MEMORY;
}

static int parse_event(struct query_parser *parser, struct rules_action *action)
{
	static const char *const images[] = {"load", "unload"};
	static const char *const processes[] = {"start", "end", "exec", "rundown"};
	static const uint8_t numbers[] = {PTL_OPCODE_START, PTL_OPCODE_END, PTL_OPCODE_EXEC, PTL_OPCODE_START_RUNDOWN};
	enum rules_body_kind kind;
	int found, status;

	if (action->kind == RULES_ACTION_IMAGE_LOAD) {
		found = query_find_word(parser, images, 2);
		if (found < 0)
			return query_expected(parser, "load or unload");
		kind = found ? RULES_BODY_UNLOAD : RULES_BODY_LOAD;
		action->kind = found ? RULES_ACTION_IMAGE_UNLOAD : RULES_ACTION_IMAGE_LOAD;
	} else {
		bool thread = action->kind == RULES_ACTION_THREAD;

		found = query_find_word(parser, processes, 4);
		if (found < 0 || (thread && found == 2))
			return query_expected(parser, thread ? "start, end or rundown" : "start, end, exec or rundown");
		action->index = numbers[found];
		kind = thread ? RULES_BODY_THREAD : RULES_BODY_PROCESS;
	}
	status = query_advance(parser);
	return status < 0 ? status : new_body(parser, kind, action);
}

static int parse_set_header(struct query_parser *parser, struct rules_action *action)
{
	int index = query_find_word(parser, query_header_names, QUERY_HEADER_PROCESS), status;

	if (index < 0)
		return query_expected_of(parser, "one of ", query_header_names, QUERY_HEADER_PROCESS);
	action->kind = RULES_ACTION_SET_HEADER;
	action->index = (unsigned)index;
	status = query_advance(parser);
	if (!status)
		status = query_need_symbol(parser, "=", NULL);
	if (!status && index == QUERY_HEADER_PROVIDER && parser->token.kind == QUERY_TOKEN_NAME &&
	    rules_find_provider(rules_owner(parser)->rules, parser->token.text))
		return rules_need_provider(parser, &action->provider);
	return status < 0 ? status : query_parse_expression(parser, &action->value);
}

static int parse_set(struct query_parser *parser, struct rules_action *action)
{
	struct query_lexer saved = parser->lexer;
	struct query_token name = parser->token;
	int status;

	if (query_is_word(parser, "event")) {
		status = query_advance(parser);
		if (!status && query_is_symbol(parser, ".")) {
			status = query_advance(parser);
			return status < 0 ? status : parse_set_header(parser, action);
		}
		if (status < 0)
			return status;
		parser->lexer = saved;
		parser->token = name;
	}
	status = query_parse_field(parser, &action->index);
	if (!status)
		status = query_need_symbol(parser, "=", NULL);
	return status < 0 ? status : query_parse_expression(parser, &action->value);
}

static int parse_delete(struct query_parser *parser, struct rules_action *action)
{
	struct query_place at = parser->token.at;
	const struct query_field *field;
	int status;

	parser->takes_arrays = true;
	status = query_parse_field(parser, &action->index);
	parser->takes_arrays = false;
	if (status < 0)
		return status;
	field = &rules_owner(parser)->rule->fields.list[action->index];
	for (size_t i = 0; i < field->step_count; i++)
		if (!field->steps[i].name)
			return query_refuse(parser, at,
					    "expected a field, found an element: all elements of "
					    "an array are there, or none");
	rules_owner(parser)->rule->reshapes = true;
	return 0;
}

static int parse_add(struct query_parser *parser, struct rules_action *action)
{
	struct query_place at = parser->token.at;
	int status = rules_parse_type(parser, &action->field);

	if (!status && action->field.type == PTL_TYPE_STRUCT)
		return query_refuse(parser, at, "expected a type that is no structure, found 'struct'");
	if (!status)
		status = query_need_name(parser, "the name of the new field", &action->field.name);
	if (!status)
		status = query_need_symbol(parser, "=", NULL);
	rules_owner(parser)->rule->reshapes = true;
	return status < 0 ? status : query_parse_expression(parser, &action->value);
}

static int parse_actions(struct query_parser *parser, struct rules_action **first);

static int parse_for(struct query_parser *parser, struct rules_action *action)
{
	int status = query_parse_loop(parser, &action->loop);

	if (status < 0)
		return status;
	status = parse_actions(parser, &action->actions);
	query_leave_loop(parser);
	return status;
}

static int parse_action(struct query_parser *parser, struct rules_action *action)
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
	int word = query_find_word(parser, allowed, 9), status;

	if (word < 0)
		return query_expected_of(parser,
					 parser->loop_count ? "in a loop, one of the actions " : "one of the actions ",
					 allowed, 9);
	action->kind = kinds[word];
	status = query_advance(parser);
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
	return status < 0 ? status : query_need_symbol(parser, ";", NULL);
}

static bool gives_identity(const struct rules_action *action)
{
	return action->kind == RULES_ACTION_SET_HEADER &&
	       (action->index == QUERY_HEADER_PROVIDER || action->index == QUERY_HEADER_ID ||
		action->index == QUERY_HEADER_VERSION || action->index == QUERY_HEADER_OPCODE);
}

static int check_actions(const struct query_parser *parser, const struct rules_rule *rule)
{
	bool identity = false;

	for (const struct rules_action *action = rule->actions; action; action = action->next) {
		identity |= gives_identity(action);
		if ((action->kind == RULES_ACTION_DROP || action->kind == RULES_ACTION_KEEP) && action->next)
			return query_refuse(parser, action->next->at,
					    "expected the end of the actions: nothing can follow drop or keep");
	}
	for (const struct rules_action *action = rule->actions; action; action = action->next)
		if ((action->kind == RULES_ACTION_ADD || action->kind == RULES_ACTION_DELETE) && !identity)
			return query_refuse(parser, action->at,
					    "expected another provider, id, version or opcode for events with "
					    "other fields (such as set event.version = 100;), found none set");
	return 0;
}

static int parse_actions(struct query_parser *parser, struct rules_action **first)
{
	struct rules_action **tail = first;
	int status = query_need_symbol(parser, "{", NULL);

	while (!status && !query_is_symbol(parser, "}")) {
		struct rules_action *action = common_arena_zeroed(parser->arena, sizeof(*action));

		if (!action)
			return PTL_NO_MEMORY;
		action->at = parser->token.at;
		*tail = action;
		tail = &action->next;
		status = query_count_one(parser, action->at);
		if (!status)
			status = parse_action(parser, action);
	}
	if (!status && !*first)
		return query_expected(parser, "an action");
	return status < 0 ? status : query_advance(parser);
}

int rules_parse_rule(struct query_parser *parser, struct rules_rule **result)
{
	struct rules_rule *rule = common_arena_zeroed(parser->arena, sizeof(*rule));
	int status;

	if (!rule)
		return PTL_NO_MEMORY;
	rule->at = parser->token.at;
	*result = rule;
	rules_owner(parser)->rule = rule;
	parser->fields = &rule->fields;
	parser->names = QUERY_NAMES_EVENT;
	parser->loop_count = 0;
	status = query_take_word(parser, "any");
	if (!status)
		status = rules_need_provider(parser, &rule->provider);
	if (status >= 0)
		status = parse_criteria(parser, rule);
	if (!status)
		status = parse_actions(parser, &rule->actions);
	if (!status)
		status = check_actions(parser, rule);
	rules_owner(parser)->rule = NULL;
	return status;
}
