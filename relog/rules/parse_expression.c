/* SPDX-License-Identifier: BSD-2-Clause */
/* Expressions, by precedence: man/ptl-rules.5, EXPRESSIONS. */
#include <string.h>

#include "common/error.h"
#include "relog/rules/parser.h"

const char *const rules_header_names[RULES_HEADERS] = {
	"provider", "id",  "version", "channel",  "level",   "opcode",  "task", "keyword", "pid",
	"tid",      "cpu", "time",    "activity", "related", "process", "path", "size",
};

static const struct {
	const char *name;
	uint8_t arguments;
} functions[RULES_FUNCTIONS] = {
	[RULES_HAS] = {"has", 1},         [RULES_STR] = {"str", 1},         [RULES_HEX] = {"hex", 1},
	[RULES_LEN] = {"len", 1},         [RULES_LOWER] = {"lower", 1},     [RULES_BASENAME] = {"basename", 1},
	[RULES_DIRNAME] = {"dirname", 1}, [RULES_REPLACE] = {"replace", 3}, [RULES_GUID] = {"guid", 1},
	[RULES_U8] = {"u8", 2},           [RULES_U16] = {"u16", 2},         [RULES_U32] = {"u32", 2},
	[RULES_U64] = {"u64", 2},
};

/* The operators of one level; 0 ends. Words and symbols do not mix up: no name has such letters. */
struct operator_of_level {
	const char *text;
	enum rules_op op;
};

static const struct operator_of_level or_operators[] = {{"or", RULES_OR}, {0}};
static const struct operator_of_level and_operators[] = {{"and", RULES_AND}, {0}};
static const struct operator_of_level compare_operators[] = {
	{"==", RULES_EQUAL},         {"!=", RULES_UNEQUAL}, {"<=", RULES_LESS_EQUAL}, {"<", RULES_LESS},
	{">=", RULES_GREATER_EQUAL}, {">", RULES_GREATER},  {"like", RULES_LIKE},     {0},
};
static const struct operator_of_level sum_operators[] = {
	{"+", RULES_ADD}, {"-", RULES_SUBTRACT}, {"|", RULES_BIT_OR}, {"^", RULES_BIT_XOR}, {0},
};
static const struct operator_of_level product_operators[] = {
	{"*", RULES_MULTIPLY},
	{"/", RULES_DIVIDE},
	{"%", RULES_REMAINDER},
	{"&", RULES_BIT_AND},
	{"<<", RULES_SHIFT_LEFT},
	{">>", RULES_SHIFT_RIGHT},
	{0},
};

static int make(struct rules_parser *parser, enum rules_op op, struct rules_place at, struct rules_expr **expr)
{
	*expr = rules_alloc(parser->arena, sizeof(**expr));
	if (!*expr)
		return PTL_NO_MEMORY;
	(*expr)->op = op;
	(*expr)->at = at;
	return 0;
}

/* ---- fields ------------------------------------------------------------------------------ */

static int add_step(struct rules_parser *parser, struct rules_field *field, struct rules_step step)
{
	struct rules_step *steps = rules_alloc(parser->arena, (field->step_count + 1) * sizeof(*steps));

	if (!steps)
		return PTL_NO_MEMORY;
	if (field->step_count)
		memcpy(steps, field->steps, field->step_count * sizeof(*steps));
	steps[field->step_count++] = step;
	field->steps = steps;
	return 0;
}

#define STEPS_MAX 32u

/* The slot of the innermost loop of this name, plus one; 0: there is none. */
static unsigned find_loop(const struct rules_parser *parser)
{
	unsigned i = parser->token.kind == RULES_TOKEN_NAME && !parser->token.quoted ? parser->loop_count : 0;

	while (i && strcmp(parser->loops[i - 1], parser->token.text) != 0)
		i--;
	return i;
}

/* What stands between [ and ]. */
static int parse_element(struct rules_parser *parser, struct rules_step *step)
{
	uint64_t index = 0;
	int status;

	step->loop = find_loop(parser);
	if (step->loop)
		status = rules_advance(parser);
	else
		status = rules_need_number(parser,
					   parser->loop_count ? "the number of an element, or the name of a loop"
							      : "the number of an element",
					   UINT16_MAX, &index);
	step->index = (uint32_t)index;
	return status < 0 ? status : rules_need_symbol(parser, "]", NULL);
}

static int parse_steps(struct rules_parser *parser, struct rules_field *field)
{
	struct rules_step step = {0};
	int status = rules_need_name(parser, "the name of a field", &step.name);

	if (!status)
		status = add_step(parser, field, step);
	while (!status && (rules_is_symbol(parser, ".") || rules_is_symbol(parser, "["))) {
		bool element = rules_is_symbol(parser, "[");

		step = (struct rules_step){0};
		if (field->step_count == STEPS_MAX)
			return rules_expected(parser, "no more than 32 parts of a field's name");
		status = rules_advance(parser);
		if (!status && element)
			status = parse_element(parser, &step);
		else if (!status)
			status = rules_need_name(parser, "the name of a member", &step.name);
		if (!status)
			status = add_step(parser, field, step);
	}
	return status;
}

static bool same_field(const struct rules_field *a, const struct rules_field *b)
{
	if (a->step_count != b->step_count)
		return false;
	for (size_t i = 0; i < a->step_count; i++) {
		const struct rules_step *x = &a->steps[i], *y = &b->steps[i];

		if (!x->name != !y->name || x->index != y->index || x->loop != y->loop ||
		    (x->name && strcmp(x->name, y->name) != 0))
			return false;
	}
	return true;
}

/* The rule's own number of the field, which it gets here if it is new. */
static int intern_field(struct rules_parser *parser, const struct rules_field *field, unsigned *index)
{
	struct rules_rule *rule = parser->rule;
	struct rules_field *fields = rule->fields;
	int status;

	for (*index = 0; *index < rule->field_count; ++*index)
		if (same_field(&fields[*index], field)) {
			fields[*index].condition |= field->condition;
			fields[*index].whole &= field->whole;
			return 0;
		}
	status = rules_count_one(parser, field->at);
	if (status < 0)
		return status;
	if (rule->field_count == parser->field_room) {
		parser->field_room = parser->field_room ? parser->field_room * 2 : 8;
		fields = rules_alloc(parser->arena, parser->field_room * sizeof(*fields));
		if (!fields)
			return PTL_NO_MEMORY;
		if (rule->field_count)
			memcpy(fields, rule->fields, rule->field_count * sizeof(*fields));
		rule->fields = fields;
	}
	fields[rule->field_count++] = *field;
	return 0;
}

static int read_field(struct rules_parser *parser, bool whole, unsigned *index)
{
	struct rules_field field = {
		.at = parser->token.at,
		.condition = parser->in_where && !parser->in_has,
		.whole = whole,
	};
	const char *start = parser->token.source;
	int status = parse_steps(parser, &field);
	const char *end = parser->token.source;

	if (status < 0)
		return status;
	while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\n'))
		end--;
	field.text = rules_copy(parser->arena, start, (size_t)(end - start));
	return field.text ? intern_field(parser, &field, index) : PTL_NO_MEMORY;
}

int rules_parse_field(struct rules_parser *parser, unsigned *index)
{
	return read_field(parser, parser->in_has || parser->in_delete, index);
}

static int deepen(const struct rules_parser *parser, struct rules_expr *expr);

/* ---- loops ------------------------------------------------------------------------------- */

int rules_parse_loop(struct rules_parser *parser, struct rules_loop *loop)
{
	const char *name;
	int status;

	loop->at = parser->token.at;
	if (parser->loop_count == RULES_LOOPS_MAX)
		return rules_expected(parser, "at most 4 loops in each other");
	if (find_loop(parser))
		return rules_expected(parser, "a name that no loop around has");
	status = rules_need_name(parser, "a name for the number of the element", &name);
	if (!status)
		status = rules_need_word(parser, "in");
	if (!status)
		status = read_field(parser, true, &loop->array);
	loop->slot = parser->loop_count;
	parser->loops[parser->loop_count++] = name;
	return status;
}

void rules_leave_loop(struct rules_parser *parser)
{
	parser->loop_count--;
}

/* any(NAME in FIELD, EXPRESSION): behind the parenthesis. */
static int parse_quantifier(struct rules_parser *parser, enum rules_op op, struct rules_expr *expr)
{
	int status = rules_advance(parser);

	expr->op = op;
	if (!status)
		status = rules_parse_loop(parser, &expr->loop);
	if (status < 0)
		return status;
	status = rules_need_symbol(parser, ",", NULL);
	if (!status)
		status = rules_parse_expression(parser, &expr->argument[0]);
	rules_leave_loop(parser);
	if (!status)
		status = deepen(parser, expr);
	return status < 0 ? status : rules_need_symbol(parser, ")", NULL);
}

/* ---- what stands alone ------------------------------------------------------------------- */

static int parse_header(struct rules_parser *parser, struct rules_expr *expr)
{
	int index, status = rules_need_symbol(parser, ".", NULL);

	if (status < 0)
		return status;
	index = rules_find_word(parser, rules_header_names, RULES_HEADERS);
	if (index < 0)
		return rules_expected_of(parser, "one of ", rules_header_names, RULES_HEADERS);
	expr->op = RULES_HEADER;
	expr->index = (unsigned)index;
	return rules_advance(parser);
}

static int parse_arguments(struct rules_parser *parser, struct rules_expr *expr)
{
	unsigned wanted = functions[expr->index].arguments;
	int status = 0;

	parser->in_has += expr->index == RULES_HAS;
	if (expr->index == RULES_HAS) {
		status = rules_parse_field(parser, &expr->argument[0]->index);
	} else {
		for (unsigned i = 0; !status && i < wanted; i++) {
			if (i)
				status = rules_need_symbol(parser, ",", NULL);
			if (!status)
				status = rules_parse_expression(parser, &expr->argument[i]);
		}
		if (!status)
			status = deepen(parser, expr);
	}
	parser->in_has -= expr->index == RULES_HAS;
	if (!status)
		status = rules_need_symbol(parser, ")", NULL);
	return status;
}

/* name: the word before the opening parenthesis, at which the cursor is. */
static int parse_call(struct rules_parser *parser, const struct rules_token *name, struct rules_expr *expr)
{
	static const char *const quantifiers[] = {"any", "all", "count"};
	int status;

	for (unsigned i = 0; parser->scope == RULES_SCOPE_EVENT && i < 3; i++)
		if (!strcmp(quantifiers[i], name->text))
			return parse_quantifier(parser, (enum rules_op)(RULES_ANY + i), expr);
	status = rules_advance(parser);
	if (status < 0)
		return status;
	expr->op = RULES_CALL;
	for (expr->index = 0; expr->index < RULES_FUNCTIONS; expr->index++)
		if (!strcmp(functions[expr->index].name, name->text))
			break;
	if (expr->index == RULES_FUNCTIONS)
		return rules_refuse(parser, name->at,
				    "expected a function such as str, len or replace, "
				    "found '%s'",
				    name->text);
	if (expr->index == RULES_HAS) {
		if (parser->scope != RULES_SCOPE_EVENT)
			return rules_refuse(parser, name->at, "expected a value that needs no event, found 'has'");
		status = make(parser, RULES_FIELD, parser->token.at, &expr->argument[0]);
		if (status < 0)
			return status;
	}
	return parse_arguments(parser, expr);
}

static int parse_name(struct rules_parser *parser, struct rules_expr *expr)
{
	struct rules_token name = parser->token;
	struct rules_lexer saved = parser->lexer;
	unsigned loop = find_loop(parser);
	int status = rules_advance(parser);

	if (status < 0)
		return status;
	if (loop) {
		expr->op = RULES_LOOP;
		expr->loop.slot = loop - 1;
		return 0;
	}
	if (rules_is_symbol(parser, "(") && !name.quoted)
		return parse_call(parser, &name, expr);
	if (parser->scope == RULES_SCOPE_PROCESS) {
		if (strcmp(name.text, "pid") != 0)
			return rules_refuse(parser, name.at,
					    "expected a number, a text or pid, found '%s': there is no "
					    "event here that could have fields",
					    name.text);
		expr->op = RULES_PID;
		return 0;
	}
	if (!strcmp(name.text, "event") && !name.quoted && rules_is_symbol(parser, "."))
		return parse_header(parser, expr);
	/* It begins a field: go back to its name. */
	parser->lexer = saved;
	parser->token = name;
	expr->op = RULES_FIELD;
	return rules_parse_field(parser, &expr->index);
}

static int parse_primary(struct rules_parser *parser, struct rules_expr **result)
{
	const struct rules_token *token = &parser->token;
	struct rules_expr *expr;
	int status = rules_take_symbol(parser, "(");

	if (status > 0) {
		status = rules_parse_expression(parser, result);
		return status < 0 ? status : rules_need_symbol(parser, ")", NULL);
	}
	if (status < 0)
		return status;
	status = make(parser, RULES_NUMBER, token->at, &expr);
	*result = expr;
	if (status < 0)
		return status;
	expr->number = token->number;
	expr->real = token->real;
	expr->text = token->text;
	expr->text_size = token->size;
	if (token->kind == RULES_TOKEN_REAL)
		expr->op = RULES_REAL;
	else if (token->kind == RULES_TOKEN_STRING)
		expr->op = RULES_TEXT;
	else if (rules_is_word(parser, "true") || rules_is_word(parser, "false")) {
		expr->op = RULES_BOOL;
		expr->truth = rules_is_word(parser, "true");
	} else if (token->kind == RULES_TOKEN_NAME)
		return parse_name(parser, expr);
	else if (token->kind != RULES_TOKEN_NUMBER)
		return rules_expected(parser, "a value");
	return rules_advance(parser);
}

/* ---- operators --------------------------------------------------------------------------- */

static int enter(struct rules_parser *parser)
{
	if (++parser->depth > RULES_DEPTH_MAX)
		return rules_expected(parser, "an expression nested at most 64 deep");
	return 0;
}

static int parse_unary(struct rules_parser *parser, struct rules_expr **result)
{
	bool negate = rules_is_symbol(parser, "-");
	int status;

	if (!negate && !rules_is_symbol(parser, "~"))
		return parse_primary(parser, result);
	status = make(parser, negate ? RULES_NEGATE : RULES_COMPLEMENT, parser->token.at, result);
	if (!status)
		status = enter(parser);
	if (!status)
		status = rules_advance(parser);
	if (!status)
		status = parse_unary(parser, &(*result)->argument[0]);
	if (!status)
		status = deepen(parser, *result);
	parser->depth--;
	return status;
}

/* Evaluation recurses: the depth of a tree is bounded, and that of a chain of operators is its length. */
static int deepen(const struct rules_parser *parser, struct rules_expr *expr)
{
	for (unsigned i = 0; i < RULES_ARGUMENTS_MAX; i++)
		if (expr->argument[i] && expr->argument[i]->depth >= expr->depth)
			expr->depth = expr->argument[i]->depth + 1;
	if (expr->depth > RULES_CHAIN_MAX)
		return rules_refuse(parser, expr->at, "expected at most %u operators in a row, found more",
				    RULES_CHAIN_MAX);
	return 0;
}

static const struct operator_of_level *find_operator(const struct rules_parser *parser,
						     const struct operator_of_level *operators)
{
	for (; operators->text; operators++)
		if (rules_is_word(parser, operators->text) || rules_is_symbol(parser, operators->text))
			return operators;
	return NULL;
}

/* operand { operator operand }, from left to right; once: at most one operator. */
static int parse_level(struct rules_parser *parser, const struct operator_of_level *operators, bool once,
		       int (*operand)(struct rules_parser *, struct rules_expr **), struct rules_expr **result)
{
	int status = operand(parser, result);
	const struct operator_of_level *found;

	while (!status && (found = find_operator(parser, operators))) {
		struct rules_expr *both;

		status = make(parser, found->op, parser->token.at, &both);
		if (!status)
			status = rules_count_one(parser, parser->token.at);
		if (!status)
			status = rules_advance(parser);
		if (status < 0)
			return status;
		both->argument[0] = *result;
		status = operand(parser, &both->argument[1]);
		if (!status)
			status = deepen(parser, both);
		*result = both;
		if (once)
			break;
	}
	if (!status && once && find_operator(parser, operators))
		return rules_expected(parser, "one comparison (join several with 'and')");
	return status;
}

static int parse_product(struct rules_parser *parser, struct rules_expr **result)
{
	return parse_level(parser, product_operators, false, parse_unary, result);
}

static int parse_sum(struct rules_parser *parser, struct rules_expr **result)
{
	return parse_level(parser, sum_operators, false, parse_product, result);
}

static int parse_not(struct rules_parser *parser, struct rules_expr **result)
{
	int status;

	if (!rules_is_word(parser, "not"))
		return parse_level(parser, compare_operators, true, parse_sum, result);
	status = make(parser, RULES_NOT, parser->token.at, result);
	if (!status)
		status = enter(parser);
	if (!status)
		status = rules_advance(parser);
	if (!status)
		status = parse_not(parser, &(*result)->argument[0]);
	if (!status)
		status = deepen(parser, *result);
	parser->depth--;
	return status;
}

static int parse_and(struct rules_parser *parser, struct rules_expr **result)
{
	return parse_level(parser, and_operators, false, parse_not, result);
}

int rules_parse_expression(struct rules_parser *parser, struct rules_expr **expr)
{
	int status = enter(parser);

	if (!status)
		status = parse_level(parser, or_operators, false, parse_and, expr);
	parser->depth--;
	return status;
}
