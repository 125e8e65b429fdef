/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions on fields: a small parser, and one walk over a payload for all of them. */
#include "dump/analysis/event_where.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/error.h"
#include "common/text.h"

#define DEPTH_MAX 16

enum op { OP_EQUAL, OP_UNEQUAL, OP_LESS, OP_LESS_EQUAL, OP_MORE, OP_MORE_EQUAL, OP_GLOB, OP_BITS };

struct dump_condition {
	char *field;
	char *text; /* the value as written, without quotes */
	enum op op;
	bool is_number;
	struct dump_number number;
};

/* ---- parser ---------------------------------------------------------------------------------------- */

struct parser {
	const char *whole;
	const char *at;
};

static int fail_at(const struct parser *parser, const char *expected)
{
	const char *at = parser->at;

	return common_fail(PTL_MISUSE,
			   "'%s': %s was expected at %s%s%s; conditions are like UserName == \"Zoe\" && Count > 3",
			   parser->whole, expected, *at ? "'" : "the end", at, *at ? "'" : "");
}

static void skip_blanks(struct parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static int take_field(struct parser *parser, struct dump_condition *condition)
{
	size_t length;

	skip_blanks(parser);
	length = strcspn(parser->at, " \t\n=!<>~&\"'");
	if (!length)
		return fail_at(parser, "the name of a field");
	condition->field = strndup(parser->at, length);
	parser->at += length;
	return condition->field ? 0 : common_fail_memory("a condition", length);
}

static int take_op(struct parser *parser, struct dump_condition *condition)
{
	static const struct {
		const char *text;
		enum op op;
	} ops[] = {
		{"==", OP_EQUAL}, {"!=", OP_UNEQUAL}, {"<=", OP_LESS_EQUAL}, {">=", OP_MORE_EQUAL},
		{"<", OP_LESS},   {">", OP_MORE},     {"~", OP_GLOB},        {"&", OP_BITS},
	};

	skip_blanks(parser);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && strncmp(parser->at, "&&", 2) != 0; i++) {
		if (strncmp(parser->at, ops[i].text, strlen(ops[i].text)) != 0)
			continue;
		condition->op = ops[i].op;
		parser->at += strlen(ops[i].text);
		return 0;
	}
	return fail_at(parser, "one of == != < <= > >= ~ &");
}

/* Copies up to the closing quote. */
static int take_quoted(struct parser *parser, struct ptl_bytes *text)
{
	static const char letters[] = "n\nt\t";
	const char quote = *parser->at++;

	for (; *parser->at && *parser->at != quote; parser->at++) {
		char c = *parser->at;

		if (c == '\\' && parser->at[1]) {
			c = *++parser->at;
			for (size_t i = 0; i < 4; i += 2)
				if (c == letters[i]) {
					c = letters[i + 1];
					break;
				}
		}
		common_write_bytes(text, &c, 1);
	}
	if (!*parser->at)
		return fail_at(parser, quote == '"' ? "\"" : "'");
	parser->at++;
	return 0;
}

/* Reads a literal as a number, if it is one. */
static bool read_number(const char *text, struct dump_number *number)
{
	const char *digits = text + (*text == '-');
	char *end;

	if (!isdigit((unsigned char)*digits) && *digits != '.')
		return false;
	*number = (struct dump_number){.is_signed = *text == '-'};
	errno = 0;
	if (number->is_signed)
		number->i = strtoll(text, &end, 0);
	else
		number->u = strtoull(text, &end, 0);
	if (!*end && !errno && strncmp(digits, "00", 2) != 0)
		return true;
	*number = (struct dump_number){.is_float = true};
	number->f = strtod(text, &end);
	return !*end;
}

static int take_value(struct parser *parser, struct dump_condition *condition)
{
	struct ptl_bytes text = {0};
	bool quoted;
	int status = 0;

	skip_blanks(parser);
	quoted = *parser->at == '"' || *parser->at == '\'';
	if (quoted)
		status = take_quoted(parser, &text);
	else
		for (; *parser->at && !isspace((unsigned char)*parser->at) && strncmp(parser->at, "&&", 2) != 0;
		     parser->at++)
			common_write_bytes(&text, parser->at, 1);
	if (!status && !quoted && !text.size)
		status = fail_at(parser, "a value");
	if (!status) {
		condition->text = strdup(common_text_string(&text));
		if (!condition->text || text.failed)
			status = common_fail_memory("a condition", text.size);
		else
			condition->is_number = !quoted && read_number(condition->text, &condition->number);
	}
	common_bytes_free(&text);
	return status;
}

static int take_condition(struct parser *parser, struct dump_where *where)
{
	struct dump_condition *condition;
	int status;

	if (!where->conditions)
		where->conditions = calloc(DUMP_CONDITIONS_MAX, sizeof(*where->conditions));
	if (!where->conditions)
		return common_fail_memory("conditions", DUMP_CONDITIONS_MAX);
	if (where->count == DUMP_CONDITIONS_MAX)
		return common_fail(PTL_MISUSE, "more than %d conditions", DUMP_CONDITIONS_MAX);
	condition = &where->conditions[where->count++];
	status = take_field(parser, condition);
	if (!status)
		status = take_op(parser, condition);
	if (!status)
		status = take_value(parser, condition);
	if (!status && condition->op == OP_BITS && condition->is_number && condition->number.is_float)
		status = fail_at(parser, "a whole number of bits");
	return status;
}

int dump_where_add(struct dump_where *where, const char *text)
{
	struct parser parser = {text, text};
	int status;

	for (;;) {
		status = take_condition(&parser, where);
		if (status)
			return status;
		skip_blanks(&parser);
		if (!*parser.at)
			return 0;
		if (strncmp(parser.at, "&&", 2) != 0)
			return fail_at(&parser, "&& or the end");
		parser.at += 2;
	}
}

void dump_where_free(struct dump_where *where)
{
	for (size_t i = 0; i < where->count; i++) {
		free(where->conditions[i].field);
		free(where->conditions[i].text);
	}
	free(where->conditions);
	*where = (struct dump_where){0};
}

const char *dump_where_field(const struct dump_where *where, size_t i)
{
	return i < where->count ? where->conditions[i].field : NULL;
}

/* ---- comparison ------------------------------------------------------------------------------------ */

static double as_double(const struct dump_number *number)
{
	if (number->is_float)
		return number->f;
	return number->is_signed ? (double)number->i : (double)number->u;
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b) ? 1 : 0)

/* -1, 0, 1; 2 for what has no order (NaN). */
static int compare_numbers(const struct dump_number *a, const struct dump_number *b)
{
	const bool a_negative = a->is_signed && a->i < 0, b_negative = b->is_signed && b->i < 0;

	if (a->is_float || b->is_float) {
		const double left = as_double(a), right = as_double(b);

		return left == right ? 0 : left < right ? -1 : left > right ? 1 : 2;
	}
	if (a_negative != b_negative)
		return a_negative ? -1 : 1;
	return a_negative ? ORDER(a->i, b->i) : ORDER(a->u, b->u);
}

static bool holds(enum op op, int order)
{
	if (order == 2)
		return op == OP_UNEQUAL;
	switch (op) {
	case OP_EQUAL:
		return order == 0;
	case OP_UNEQUAL:
		return order != 0;
	case OP_LESS:
		return order < 0;
	case OP_LESS_EQUAL:
		return order <= 0;
	case OP_MORE:
		return order > 0;
	case OP_MORE_EQUAL:
		return order >= 0;
	default:
		return false;
	}
}

/* text may have zero bytes within. */
static bool compare_texts(const struct dump_condition *condition, struct ptl_bytes *text, bool any_case)
{
	const size_t size = text->size, other = strlen(condition->text);
	const size_t both = size < other ? size : other;
	int order;

	if (condition->op == OP_GLOB)
		return fnmatch(condition->text, common_text_string(text), 0) == 0;
	order = any_case ? strcasecmp(common_text_string(text), condition->text)
			 : memcmp(common_text_string(text), condition->text, both);
	return holds(condition->op, order ? ORDER(order, 0) : ORDER(size, other));
}

/* The bits that the literal names, "Read|Write". */
static uint64_t bits_of_names(const struct ptl_map *map, const char *names)
{
	uint64_t bits = 0;

	while (*names) {
		const size_t length = strcspn(names, "|");

		for (size_t i = 0; map && i < map->count; i++)
			if (strlen(map->entries[i].name) == length && memcmp(map->entries[i].name, names, length) == 0)
				bits |= map->entries[i].value;
		names += length + (names[length] == '|');
	}
	return bits;
}

/* ---- the walk -------------------------------------------------------------------------------------- */

struct search {
	const struct dump_where *where;
	struct dump_values *values;
	uint32_t met; /* conditions, by bit */
	struct ptl_bytes path, text, characters;
	size_t path_sizes[DEPTH_MAX];
	bool is_characters;
};

static bool meets_value(struct search *search, const struct dump_condition *condition, const struct ptl_value *value)
{
	struct dump_number number;
	const bool has_number = dump_value_number(&number, search->values, value);

	if (condition->op == OP_BITS) {
		const uint64_t bits = condition->is_number
					      ? condition->number.u
					      : bits_of_names(dump_values_map(search->values, value), condition->text);

		return has_number && !number.is_float && (number.u & bits);
	}
	if (has_number && condition->is_number && condition->op != OP_GLOB)
		return holds(condition->op, compare_numbers(&number, &condition->number));
	search->text.size = 0;
	if (!dump_value_string(&search->text, value))
		dump_text_value(&search->text, search->values, value, false);
	return compare_texts(condition, &search->text, value->field->type == PTL_TYPE_GUID);
}

static const char *path_of(struct search *search, const struct ptl_value *value)
{
	const size_t before = search->path.size;
	const char *path;

	if (!before)
		return value->field->name;
	common_text_add(&search->path, value->field->name);
	path = common_text_string(&search->path);
	search->path.size = before;
	return path;
}

/* Holds a value, or with text the text of a whole array, against the conditions on its field. */
static void check(struct search *search, const struct ptl_value *value, struct ptl_bytes *text)
{
	const char *path = path_of(search, value);

	for (size_t i = 0; i < search->where->count; i++) {
		const struct dump_condition *condition = &search->where->conditions[i];

		if ((search->met >> i & 1) || strcmp(path, condition->field) != 0)
			continue;
		if (text ? compare_texts(condition, text, false) : meets_value(search, condition, value))
			search->met |= 1u << i;
	}
}

static void end_characters(struct search *search, const struct ptl_value *value)
{
	search->is_characters = false;
	search->text.size = 0;
	dump_text_array_string(&search->text, value->field, search->characters.data, search->characters.size);
	check(search, value, &search->text);
}

static int visit(void *context, enum ptl_step step, const struct ptl_value *value)
{
	struct search *search = context;

	switch (step) {
	case PTL_STEP_VALUE:
		if (search->is_characters)
			common_write_bytes(&search->characters, value->bytes, value->size);
		else
			check(search, value, NULL);
		break;
	case PTL_STEP_ARRAY:
		search->is_characters = dump_is_text_array(value->field);
		search->characters.size = 0;
		break;
	case PTL_STEP_ARRAY_END:
		if (search->is_characters)
			end_characters(search, value);
		break;
	case PTL_STEP_STRUCT:
		search->path_sizes[value->depth] = search->path.size;
		common_text_add(&search->path, value->field->name);
		common_text_add(&search->path, ".");
		break;
	case PTL_STEP_STRUCT_END:
		search->path.size = search->path_sizes[value->depth];
		break;
	}
	return search->met == (uint32_t)((1ull << search->where->count) - 1) ? PTL_CANCELLED : 0;
}

bool dump_where_matches(const struct dump_where *where, struct dump_values *values, const struct ptl_schema *schema,
			const uint8_t *payload, size_t size)
{
	struct search search = {.where = where, .values = values};

	if (!where->count)
		return true;
	if (!schema)
		return false;
	values->schema = schema;
	(void)ptl_payload_walk(schema, payload, size, visit, &search, NULL);
	common_bytes_free(&search.path);
	common_bytes_free(&search.text);
	common_bytes_free(&search.characters);
	return search.met == (uint32_t)((1ull << where->count) - 1);
}
