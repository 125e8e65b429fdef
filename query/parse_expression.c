/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses expressions by precedence: man/ptl-rules.5, EXPRESSIONS. */
#include <string.h>

#include "common/error.h"
#include "query/condition.h"
#include "query/parser.h"

/*
 * Operators of a precedence level; ends with 0. Words and symbols need no distinction: no name has characters of
 * symbols.
 */
struct operator_of_level {
	const char *text;
	enum query_op op;
};

static const struct operator_of_level or_operators[] = {{"or", QUERY_OR}, {"||", QUERY_OR}, {0}};
static const struct operator_of_level and_operators[] = {{"and", QUERY_AND}, {"&&", QUERY_AND}, {0}};
static const struct operator_of_level compare_operators[] = {
	{"==", QUERY_EQUAL},         {"!=", QUERY_UNEQUAL}, {"<=", QUERY_LESS_EQUAL}, {"<", QUERY_LESS},
	{">=", QUERY_GREATER_EQUAL}, {">", QUERY_GREATER},  {"like", QUERY_LIKE},     {0},
};
static const struct operator_of_level sum_operators[] = {
	{"+", QUERY_ADD}, {"-", QUERY_SUBTRACT}, {"|", QUERY_BIT_OR}, {"^", QUERY_BIT_XOR}, {0},
};
static const struct operator_of_level product_operators[] = {
	{"*", QUERY_MULTIPLY},
	{"/", QUERY_DIVIDE},
	{"%", QUERY_REMAINDER},
	{"&", QUERY_BIT_AND},
	{"<<", QUERY_SHIFT_LEFT},
	{">>", QUERY_SHIFT_RIGHT},
	{0},
};

static int make_expression(struct query_parser *parser, enum query_op op, struct query_place at,
			   struct query_expr **expr)
{
	*expr = common_arena_zeroed(parser->arena, sizeof(**expr));
	if (!*expr)
		return PTL_NO_MEMORY;
	(*expr)->op = op;
	(*expr)->at = at;
	return 0;
}

/* ---- fields ------------------------------------------------------------------------------ */

static int add_step(struct query_parser *parser, struct query_field *field, struct query_step step)
{
	struct query_step *steps = common_arena_zeroed(parser->arena, (field->step_count + 1) * sizeof(*steps));

	if (!steps)
		return PTL_NO_MEMORY;
	if (field->step_count)
		memcpy(steps, field->steps, field->step_count * sizeof(*steps));
	steps[field->step_count++] = step;
	field->steps = steps;
	return 0;
}

#define STEPS_MAX 32u

/* Returns the slot of the innermost loop with this variable, plus one; 0: no such loop. */
static unsigned find_loop(const struct query_parser *parser)
{
	unsigned i = parser->token.kind == QUERY_TOKEN_NAME && !parser->token.quoted ? parser->loop_count : 0;

	while (i && strcmp(parser->loops[i - 1], parser->token.text) != 0)
		i--;
	return i;
}

/* Parses the index between [ and ]. */
static int parse_element(struct query_parser *parser, struct query_step *step)
{
	uint64_t index = 0;
	int status;

	step->loop = find_loop(parser);
	if (step->loop)
		status = query_advance(parser);
	else
		status = query_need_number(parser,
					   parser->loop_count ? "the number of an element, or the name of a loop"
							      : "the number of an element",
					   UINT16_MAX, &index);
	step->index = (uint32_t)index;
	return status < 0 ? status : query_need_symbol(parser, "]", NULL);
}

static int parse_steps(struct query_parser *parser, struct query_field *field)
{
	struct query_step step = {0};
	int status = query_need_name(parser, "the name of a field", &step.name);

	if (!status)
		status = add_step(parser, field, step);
	while (!status && (query_is_symbol(parser, ".") || query_is_symbol(parser, "["))) {
		bool element = query_is_symbol(parser, "[");

		step = (struct query_step){0};
		if (field->step_count == STEPS_MAX)
			return query_expected(parser, "no more than 32 parts of a field's name");
		status = query_advance(parser);
		if (!status && element)
			status = parse_element(parser, &step);
		else if (!status)
			status = query_need_name(parser, "the name of a member", &step.name);
		if (!status)
			status = add_step(parser, field, step);
	}
	return status;
}

static bool same_field(const struct query_field *a, const struct query_field *b)
{
	if (a->step_count != b->step_count)
		return false;
	for (size_t i = 0; i < a->step_count; i++) {
		const struct query_step *x = &a->steps[i], *y = &b->steps[i];

		if (!x->name != !y->name || x->index != y->index || x->loop != y->loop ||
		    (x->name && strcmp(x->name, y->name) != 0))
			return false;
	}
	return true;
}

/* Returns the index of the field; adds a new field. */
static int intern_field(struct query_parser *parser, const struct query_field *field, unsigned *index)
{
	struct query_fields *fields = parser->fields;
	int status;

	for (*index = 0; *index < fields->count; ++*index)
		if (same_field(&fields->list[*index], field)) {
			fields->list[*index].condition |= field->condition;
			fields->list[*index].whole &= field->whole;
			return 0;
		}
	status = query_count_one(parser, field->at);
	if (status < 0)
		return status;
	if (!common_arena_room(parser->arena, &fields->list, fields->count, sizeof(*fields->list)))
		return PTL_NO_MEMORY;
	fields->list[fields->count++] = *field;
	return 0;
}

static int read_field(struct query_parser *parser, bool whole, unsigned *index)
{
	struct query_field field = {
		.at = parser->token.at,
		.condition = parser->in_condition && !parser->in_has,
		.whole = whole,
	};
	const char *start = parser->token.source;
	int status = parse_steps(parser, &field);
	const char *end = parser->token.source;

	if (status < 0)
		return status;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n'))
		end--;
	field.text = common_arena_copy(parser->arena, start, (size_t)(end - start));
	return field.text ? intern_field(parser, &field, index) : PTL_NO_MEMORY;
}

int query_parse_field(struct query_parser *parser, unsigned *index)
{
	return read_field(parser, parser->in_has || parser->takes_arrays, index);
}

static int deepen(const struct query_parser *parser, struct query_expr *expr);

/* ---- loops ------------------------------------------------------------------------------- */

int query_parse_loop(struct query_parser *parser, struct query_loop *loop)
{
	const char *name;
	int status;

	loop->at = parser->token.at;
	if (parser->loop_count == QUERY_LOOPS_MAX)
		return query_expected(parser, "at most 4 loops in each other");
	if (find_loop(parser))
		return query_expected(parser, "a name that no loop around has");
	status = query_need_name(parser, "a name for the number of the element", &name);
	if (!status)
		status = query_need_word(parser, "in");
	if (!status)
		status = read_field(parser, true, &loop->array);
	loop->slot = parser->loop_count;
	parser->loops[parser->loop_count++] = name;
	return status;
}

void query_leave_loop(struct query_parser *parser)
{
	parser->loop_count--;
}

/* Parses any(NAME in FIELD, EXPRESSION). The opening parenthesis is the next token. */
static int parse_quantifier(struct query_parser *parser, enum query_op op, struct query_expr *expr)
{
	int status = query_advance(parser);

	expr->op = op;
	if (!status)
		status = query_parse_loop(parser, &expr->loop);
	if (status < 0)
		return status;
	status = query_need_symbol(parser, ",", NULL);
	if (!status)
		status = query_parse_expression(parser, &expr->argument[0]);
	query_leave_loop(parser);
	if (!status)
		status = deepen(parser, expr);
	return status < 0 ? status : query_need_symbol(parser, ")", NULL);
}

/* ---- primaries --------------------------------------------------------------------------- */

static int parse_header(struct query_parser *parser, struct query_expr *expr)
{
	int index, status = query_need_symbol(parser, ".", NULL);

	if (status < 0)
		return status;
	index = query_find_word(parser, query_header_names, QUERY_HEADERS);
	if (index < 0)
		return query_expected_of(parser, "one of ", query_header_names, QUERY_HEADERS);
	expr->op = QUERY_HEADER;
	expr->index = (unsigned)index;
	return query_advance(parser);
}

static int parse_arguments(struct query_parser *parser, struct query_expr *expr)
{
	unsigned wanted = query_function_forms[expr->index].arguments;
	int status = 0;

	parser->in_has += expr->index == QUERY_HAS;
	if (expr->index == QUERY_HAS) {
		status = query_parse_field(parser, &expr->argument[0]->index);
	} else {
		for (unsigned i = 0; !status && i < wanted; i++) {
			if (i)
				status = query_need_symbol(parser, ",", NULL);
			if (!status)
				status = query_parse_expression(parser, &expr->argument[i]);
		}
		if (!status)
			status = deepen(parser, expr);
	}
	parser->in_has -= expr->index == QUERY_HAS;
	if (!status)
		status = query_need_symbol(parser, ")", NULL);
	return status;
}

/* Parses a call. name: the word before the opening parenthesis, which is the next token. */
static int parse_call(struct query_parser *parser, const struct query_token *name, struct query_expr *expr)
{
	int status;

	for (unsigned i = 0; parser->names == QUERY_NAMES_EVENT && i < QUERY_QUANTIFIERS; i++)
		if (!strcmp(query_quantifier_names[i], name->text))
			return parse_quantifier(parser, (enum query_op)(QUERY_ANY + i), expr);
	status = query_advance(parser);
	if (status < 0)
		return status;
	expr->op = QUERY_CALL;
	for (expr->index = 0; expr->index < QUERY_FUNCTIONS; expr->index++)
		if (!strcmp(query_function_forms[expr->index].name, name->text))
			break;
	if (expr->index == QUERY_FUNCTIONS)
		return query_refuse(parser, name->at,
				    "expected a function such as str, len or replace, "
				    "found '%s'",
				    name->text);
	if (expr->index == QUERY_HAS) {
		if (parser->names != QUERY_NAMES_EVENT)
			return query_refuse(parser, name->at, "expected a value that needs no event, found 'has'");
		status = make_expression(parser, QUERY_FIELD, parser->token.at, &expr->argument[0]);
		if (status < 0)
			return status;
	}
	return parse_arguments(parser, expr);
}

static int parse_name(struct query_parser *parser, struct query_expr *expr)
{
	struct query_token name = parser->token;
	struct query_lexer saved = parser->lexer;
	unsigned loop = find_loop(parser);
	int status = query_advance(parser);

	if (status < 0)
		return status;
	if (loop) {
		expr->op = QUERY_LOOP;
		expr->loop.slot = loop - 1;
		return 0;
	}
	if (query_is_symbol(parser, "(") && !name.quoted) {
		parser->parentheses++;
		status = parse_call(parser, &name, expr);
		parser->parentheses--;
		return status;
	}
	if (parser->names == QUERY_NAMES_PROCESS) {
		if (strcmp(name.text, "pid") != 0)
			return query_refuse(parser, name.at,
					    "expected a number, a text or pid, found '%s': there is no "
					    "event here that could have fields",
					    name.text);
		expr->op = QUERY_PID;
		return 0;
	}
	if (!strcmp(name.text, "event") && !name.quoted && query_is_symbol(parser, "."))
		return parse_header(parser, expr);
	/* The word begins a field: go back to the word. */
	parser->lexer = saved;
	parser->token = name;
	expr->op = QUERY_FIELD;
	return query_parse_field(parser, &expr->index);
}

static int parse_primary(struct query_parser *parser, struct query_expr **result)
{
	const struct query_token *token = &parser->token;
	struct query_expr *expr;
	int status = query_take_symbol(parser, "(");

	if (status > 0) {
		parser->parentheses++;
		status = query_parse_expression(parser, result);
		parser->parentheses--;
		return status < 0 ? status : query_need_symbol(parser, ")", NULL);
	}
	if (status < 0)
		return status;
	status = make_expression(parser, QUERY_NUMBER, token->at, &expr);
	*result = expr;
	if (status < 0)
		return status;
	expr->number = token->number;
	expr->real = token->real;
	expr->text = token->text;
	expr->text_size = token->size;
	if (token->kind == QUERY_TOKEN_REAL)
		expr->op = QUERY_REAL;
	else if (token->kind == QUERY_TOKEN_STRING)
		expr->op = QUERY_TEXT;
	else if (query_is_word(parser, "true") || query_is_word(parser, "false")) {
		expr->op = QUERY_BOOL;
		expr->truth = query_is_word(parser, "true");
	} else if (token->kind == QUERY_TOKEN_NAME)
		return parse_name(parser, expr);
	else if (token->kind != QUERY_TOKEN_NUMBER)
		return query_expected(parser, "a value");
	return query_advance(parser);
}

/* ---- operators --------------------------------------------------------------------------- */

static int enter_expression(struct query_parser *parser)
{
	if (++parser->depth > QUERY_DEPTH_MAX)
		return query_expected(parser, "an expression nested at most 64 deep");
	return 0;
}

static int parse_unary(struct query_parser *parser, struct query_expr **result)
{
	bool negate = query_is_symbol(parser, "-");
	int status;

	if (!negate && !query_is_symbol(parser, "~"))
		return parse_primary(parser, result);
	status = make_expression(parser, negate ? QUERY_NEGATE : QUERY_COMPLEMENT, parser->token.at, result);
	if (!status)
		status = enter_expression(parser);
	if (!status)
		status = query_advance(parser);
	if (!status)
		status = parse_unary(parser, &(*result)->argument[0]);
	if (!status)
		status = deepen(parser, *result);
	parser->depth--;
	return status;
}

/* Checks the depth of the tree, because evaluation recurses. A chain of operators has the depth of its length. */
static int deepen(const struct query_parser *parser, struct query_expr *expr)
{
	for (unsigned i = 0; i < QUERY_ARGUMENTS_MAX; i++)
		if (expr->argument[i] && expr->argument[i]->depth >= expr->depth)
			expr->depth = expr->argument[i]->depth + 1;
	if (expr->depth > QUERY_CHAIN_MAX)
		return query_refuse(parser, expr->at, "expected at most %u operators in a row, found more",
				    QUERY_CHAIN_MAX);
	return 0;
}

static const struct operator_of_level *find_operator(const struct query_parser *parser,
						     const struct operator_of_level *operators)
{
	for (; operators->text; operators++)
		if (query_is_word(parser, operators->text) || query_is_symbol(parser, operators->text))
			return operators;
	return NULL;
}

/* Parses the right operand. If conditions are allowed, the operand of a comparison may be an unquoted word. */
static int parse_right(struct query_parser *parser, bool compares,
		       int (*operand)(struct query_parser *, struct query_expr **), struct query_expr **result)
{
	int status = compares && parser->conditions ? query_take_word_value(parser, result) : 0;

	if (status)
		return status < 0 ? status : 0;
	status = query_advance(parser);
	return status < 0 ? status : operand(parser, result);
}

/* Parses operand { operator operand }, left-associative. once: at most one operator. */
static int parse_level(struct query_parser *parser, const struct operator_of_level *operators, bool once,
		       int (*operand)(struct query_parser *, struct query_expr **), struct query_expr **result)
{
	int status = operand(parser, result);
	const struct operator_of_level *found;

	while (!status && (found = find_operator(parser, operators))) {
		struct query_expr *both;

		status = make_expression(parser, found->op, parser->token.at, &both);
		if (status < 0)
			return status;
		status = query_count_one(parser, parser->token.at);
		if (!status)
			status = parse_right(parser, once, operand, &both->argument[1]);
		both->argument[0] = *result;
		if (!status)
			status = deepen(parser, both);
		*result = both;
		if (once)
			break;
	}
	if (!status && once && find_operator(parser, operators))
		return query_expected(parser, "one comparison (join several with 'and')");
	return status;
}

static int parse_product(struct query_parser *parser, struct query_expr **result)
{
	return parse_level(parser, product_operators, false, parse_unary, result);
}

static int parse_sum(struct query_parser *parser, struct query_expr **result)
{
	return parse_level(parser, sum_operators, false, parse_product, result);
}

static int parse_not(struct query_parser *parser, struct query_expr **result)
{
	int status = parser->conditions ? query_take_condition(parser, result) : 0;

	if (status)
		return status < 0 ? status : 0;
	if (!query_is_word(parser, "not"))
		return parse_level(parser, compare_operators, true, parse_sum, result);
	status = make_expression(parser, QUERY_NOT, parser->token.at, result);
	if (!status)
		status = enter_expression(parser);
	if (!status)
		status = query_advance(parser);
	if (!status)
		status = parse_not(parser, &(*result)->argument[0]);
	if (!status)
		status = deepen(parser, *result);
	parser->depth--;
	return status;
}

static int parse_and(struct query_parser *parser, struct query_expr **result)
{
	return parse_level(parser, and_operators, false, parse_not, result);
}

int query_parse_expression(struct query_parser *parser, struct query_expr **expr)
{
	int status = enter_expression(parser);

	if (!status)
		status = parse_level(parser, or_operators, false, parse_and, expr);
	parser->depth--;
	return status;
}
