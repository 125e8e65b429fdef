/* SPDX-License-Identifier: BSD-2-Clause */
/* Parses conditions directly from the text: words of conditions may have more characters than words of expressions. */
#include "query/condition.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/bytes.h"
#include "common/error.h"

static const char *skip_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

static bool is_name_character(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
	size_t length = 0;

	while (is_name_character(text[length]))
		length++;
	return length;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* ---- telling conditions from expressions ----------------------------------------------------------- */

static bool is_loop(const struct query_parser *parser, const char *text)
{
	const size_t length = name_length(text);

	for (unsigned i = 0; i < parser->loop_count; i++)
		if (is_word(text, length, parser->loops[i]))
			return true;
	return false;
}

static bool is_header(const char *text, size_t length)
{
	static const char event[] = "event.";
	const size_t skipped = sizeof(event) - 1;

	if (length <= skipped || memcmp(text, event, skipped) != 0)
		return false;
	for (size_t i = 0; i < QUERY_HEADERS; i++)
		if (is_word(text + skipped, length - skipped, query_header_names[i]))
			return true;
	return false;
}

/* Returns the length of the word up to a closing parenthesis or comma of an enclosing pair. */
static size_t cut_at_parenthesis(const struct query_parser *parser, const char *text, size_t length)
{
	unsigned open = 0;

	for (size_t i = 0; parser->parentheses && i < length; i++) {
		if ((text[i] == ')' && !open) || (text[i] == ',' && !open))
			return i;
		open += text[i] == '(';
		open -= text[i] == ')';
	}
	return length;
}

/* Whether the text begins an expression: FUNCTION(...), event.PART, the variable of a loop, `...`. */
static bool is_computed(const struct query_parser *parser, const char *text, size_t length)
{
	const size_t name = name_length(text);

	return *text == '`' || is_loop(parser, text) || is_header(text, length) ||
	       (name < length && text[name] == '(' && (query_is_function(text, name) || parser->parentheses));
}

/* "(null)" is a common value of events. */
static bool is_word_in_parentheses(const char *text, size_t length)
{
	return length > 2 && *text == '(' && name_length(text + 1) == length - 2 && text[length - 1] == ')';
}

/* Whether the rest of the text may follow a condition. */
static bool ends_here(const struct query_parser *parser, const char *at)
{
	const size_t name = name_length(at);

	if (!*at || strncmp(at, "&&", 2) == 0 || strncmp(at, "||", 2) == 0)
		return true;
	if (parser->parentheses && (*at == ')' || *at == ','))
		return true;
	return is_word(at, name, "and") || is_word(at, name, "or");
}

/* ---- the parts of a condition -------------------------------------------------------------------- */

/* Each function parses a part and moves *at; returns false if the text is no condition. */

/* Takes a name in back quotes: `o->kind` == CARD. */
static bool take_quoted_field(const struct query_parser *parser, const char **at, struct query_condition *condition)
{
	const char *end = strchr(*at + 1, '`');

	if (!end || end == *at + 1)
		return false;
	condition->field = common_arena_copy(parser->arena, *at + 1, (size_t)(end - *at - 1));
	*at = skip_blanks(end + 1);
	return true;
}

static bool take_field(const struct query_parser *parser, const char **at, struct query_condition *condition)
{
	const size_t length = strcspn(*at, " \t\n=!<>~&\"'");

	if (**at == '`')
		return take_quoted_field(parser, at, condition);
	if (!length || **at == '(' || memchr(*at, '[', length) || is_computed(parser, *at, length) ||
	    cut_at_parenthesis(parser, *at, length) != length)
		return false;
	condition->field = common_arena_copy(parser->arena, *at, length);
	*at = skip_blanks(*at + length);
	return true;
}

static bool take_test(const char **at, struct query_condition *condition)
{
	static const struct {
		const char *text;
		enum query_test test;
	} tests[] = {
		{"==", QUERY_TEST_EQUAL},         {"!=", QUERY_TEST_UNEQUAL}, {"<=", QUERY_TEST_LESS_EQUAL},
		{">=", QUERY_TEST_GREATER_EQUAL}, {"<", QUERY_TEST_LESS},     {">", QUERY_TEST_GREATER},
		{"~", QUERY_TEST_GLOB},           {"&", QUERY_TEST_BITS},
	};

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]) && strncmp(*at, "&&", 2) != 0; i++) {
		const size_t size = strlen(tests[i].text);

		if (strncmp(*at, tests[i].text, size) != 0)
			continue;
		condition->test = tests[i].test;
		*at = skip_blanks(*at + size);
		return true;
	}
	return false;
}

/* Copies text up to the closing quote. */
static bool take_quoted(const char **at, struct ptl_bytes *text)
{
	static const char letters[] = "n\nt\t";
	const char quote = *(*at)++;

	for (; **at && **at != quote; ++*at) {
		char c = **at;

		if (c == '\\' && (*at)[1]) {
			c = *++*at;
			for (size_t i = 0; i < 4; i += 2)
				if (c == letters[i]) {
					c = letters[i + 1];
					break;
				}
		}
		common_write_bytes(text, &c, 1);
	}
	if (!**at)
		return false;
	++*at;
	return true;
}

/* Returns the length of a word, which ends at a blank or &&. */
static size_t word_length(const struct query_parser *parser, const char *at)
{
	size_t length = 0;

	while (at[length] && !isspace((unsigned char)at[length]) && strncmp(at + length, "&&", 2) != 0)
		length++;
	return cut_at_parenthesis(parser, at, length);
}

static bool take_word(const struct query_parser *parser, const char **at, struct ptl_bytes *text)
{
	const size_t length = word_length(parser, *at);

	if (!length || is_computed(parser, *at, length) || (**at == '(' && !is_word_in_parentheses(*at, length)))
		return false;
	common_write_bytes(text, *at, length);
	*at += length;
	return true;
}

/* Parses the literal as a number, if possible. */
static bool read_number(struct query_condition *condition)
{
	const char *text = condition->text, *digits = text + (*text == '-');
	char *end;

	if (!isdigit((unsigned char)*digits) && *digits != '.')
		return false;
	errno = 0;
	if (*text == '-')
		condition->number = strtoll(text, &end, 0);
	else
		condition->number = strtoull(text, &end, 0);
	if (!*end && !errno && strncmp(digits, "00", 2) != 0)
		return true;
	condition->real = strtod(text, &end);
	condition->is_real = !*end;
	return condition->is_real;
}

static bool take_value(const struct query_parser *parser, const char **at, struct query_condition *condition,
		       struct ptl_bytes *text)
{
	const bool quoted = **at == '"' || **at == '\'';

	if (quoted ? !take_quoted(at, text) : !take_word(parser, at, text))
		return false;
	condition->text = common_arena_copy(parser->arena, text->data, text->size);
	condition->text_size = text->size;
	condition->is_number = condition->text && !quoted && read_number(condition);
	return true;
}

/* Parses a condition. Returns its end, or NULL. */
static const char *read_condition(const struct query_parser *parser, struct query_condition *condition)
{
	const char *at = skip_blanks(parser->token.source);
	struct ptl_bytes text = {0};
	const bool whole = take_field(parser, &at, condition) && take_test(&at, condition) &&
			   take_value(parser, &at, condition, &text);

	if (text.failed)
		condition->text = NULL;
	common_bytes_free(&text);
	return whole && ends_here(parser, skip_blanks(at)) ? at : NULL;
}

/* ---- conditions in expressions ------------------------------------------------------------------- */

static int add_condition(struct query_parser *parser, const struct query_condition *condition)
{
	struct query_conditions *conditions = parser->conditions;

	if (conditions->count == QUERY_CONDITIONS_MAX)
		return query_refuse(parser, condition->at, "expected at most %u conditions, found more",
				    QUERY_CONDITIONS_MAX);
	if (!common_arena_room(parser->arena, &conditions->list, conditions->count, sizeof(*conditions->list)))
		return PTL_NO_MEMORY;
	conditions->list[conditions->count++] = *condition;
	return 0;
}

static int new_expr(struct query_parser *parser, enum query_op op, struct query_expr **expr)
{
	*expr = common_arena_zeroed(parser->arena, sizeof(**expr));
	if (!*expr)
		return PTL_NO_MEMORY;
	(*expr)->op = op;
	(*expr)->at = parser->token.at;
	return 0;
}

int query_take_condition(struct query_parser *parser, struct query_expr **expr)
{
	struct query_condition condition = {.at = parser->token.at};
	const char *end = read_condition(parser, &condition);
	int status;

	if (!end)
		return 0;
	if (!condition.field || !condition.text)
		return common_fail_memory("a condition", strlen(parser->token.source));
	if (condition.test == QUERY_TEST_BITS && condition.is_real && condition.is_number)
		return query_refuse(parser, condition.at, "expected a whole number of bits, found %.40s",
				    condition.text);
	status = new_expr(parser, QUERY_CONDITION, expr);
	if (!status)
		status = add_condition(parser, &condition);
	if (status < 0)
		return status;
	(*expr)->index = (unsigned)parser->conditions->count - 1;
	query_move(&parser->lexer, &parser->token, (size_t)(end - parser->token.source));
	status = query_advance(parser);
	return status < 0 ? status : 1;
}

int query_take_word_value(struct query_parser *parser, struct query_expr **expr)
{
	const char *behind = parser->token.source + parser->token.source_size, *at = skip_blanks(behind);
	const size_t length = word_length(parser, at);
	int status;

	if (!length || strchr("\"'`(-~.", *at) || isdigit((unsigned char)*at) || is_computed(parser, at, length) ||
	    is_word(at, length, "true") || is_word(at, length, "false") || !ends_here(parser, skip_blanks(at + length)))
		return 0;
	query_move(&parser->lexer, &parser->token, (size_t)(at - parser->token.source));
	parser->token.at = parser->lexer.place;
	parser->token.source = at;
	status = new_expr(parser, QUERY_TEXT, expr);
	if (status < 0)
		return status;
	(*expr)->text = common_arena_copy(parser->arena, at, length);
	(*expr)->text_size = length;
	query_move(&parser->lexer, &parser->token, length);
	status = (*expr)->text ? query_advance(parser) : PTL_NO_MEMORY;
	return status < 0 ? status : 1;
}

/* ---- comparison ---------------------------------------------------------------------------------- */

static bool test_holds(enum query_test test, bool less, bool equal, bool greater)
{
	switch (test) {
	case QUERY_TEST_EQUAL:
		return equal;
	case QUERY_TEST_UNEQUAL:
		return !equal;
	case QUERY_TEST_LESS:
		return less;
	case QUERY_TEST_LESS_EQUAL:
		return less || equal;
	case QUERY_TEST_GREATER:
		return greater;
	case QUERY_TEST_GREATER_EQUAL:
		return greater || equal;
	default:
		return false;
	}
}

bool query_condition_number(const struct query_condition *condition, const struct query_value *number)
{
	const query_number a = number->number, b = condition->number;

	if (number->kind == QUERY_VALUE_REAL || condition->is_real) {
		const double x = number->kind == QUERY_VALUE_REAL ? number->real : (double)a;
		const double y = condition->is_real ? condition->real : (double)b;

		return test_holds(condition->test, x < y, x <= y && x >= y, x > y);
	}
	return test_holds(condition->test, a<b, a == b, a> b);
}

bool query_condition_text(const struct query_condition *condition, const char *text, size_t size, bool any_case)
{
	const size_t other = condition->text_size, both = size < other ? size : other;
	int order;

	if (condition->test == QUERY_TEST_GLOB)
		return fnmatch(condition->text, text, 0) == 0;
	order = any_case ? strcasecmp(text, condition->text) : memcmp(text, condition->text, both);
	if (!order)
		order = (size > other) - (size < other);
	return test_holds(condition->test, order<0, !order, order> 0);
}
