/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses regular expressions in two passes. The first pass makes a tree, in which a repetition is one node. The second
 * pass writes the steps, with repetitions written out. The tree is bounded by the size of the text; the steps are
 * counted.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "relog/settings/pattern.h"

#define TEXT_MAX 4096u
#define DEPTH_MAX 100u
#define SHOWN 80 /* bytes of the expression in messages */
#define NO_NODE UINT32_MAX
#define NO_END UINT32_MAX /* repetition without a maximum */
/* limit of written-out nodes; repetitions of an empty group produce nodes but no steps */
#define WORK_MAX (20u * RELOG_PATTERN_MAX)

enum node_type { NODE_EMPTY, NODE_STEP, NODE_BOTH, NODE_EITHER, NODE_REPEAT };

struct node {
	enum node_type type;
	struct relog_step step;
	uint32_t left, right; /* a repetition uses only left */
	uint32_t min, max;
};

struct parser {
	struct relog_pattern *pattern;
	const char *text, *at;
	struct node *nodes;
	size_t count, room;
	unsigned depth, work;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static int add_node(struct parser *parser, struct node node, uint32_t *number)
{
	if (parser->count == parser->room)
		return common_fail(PTL_MISUSE, "'%.*s' is too long", SHOWN, parser->text);
	*number = (uint32_t)parser->count;
	parser->nodes[parser->count++] = node;
	return 0;
}

static int add_set(struct parser *parser, const struct relog_byte_set *set, uint32_t *node)
{
	struct relog_pattern *pattern = parser->pattern;

	pattern->sets[pattern->set_count] = *set;
	return add_node(parser,
			(struct node){NODE_STEP, .step = {RELOG_STEP_SET, .set = (uint32_t)pattern->set_count++}},
			node);
}

static void set_byte(struct relog_byte_set *set, unsigned byte)
{
	set->bits[byte / 64] |= (uint64_t)1 << (byte % 64);
}

static void invert(struct relog_byte_set *set)
{
	for (size_t i = 0; i < 4; i++)
		set->bits[i] = ~set->bits[i];
}

/* ---- brackets -------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*has)(int c);
} classes[] = {
	{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
	{"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
	{"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

static int wrong(const struct parser *parser, const char *what)
{
	return common_fail(PTL_MISUSE, "'%.*s' is no regular expression: %s", SHOWN, parser->text, what);
}

/* Parses [:name:] at text. Returns its size; 0: unknown class name. */
static size_t read_class(const char *text, struct relog_byte_set *set)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const size_t size = strlen(classes[i].name);

		if (strncmp(text + 2, classes[i].name, size) != 0 || strncmp(text + 2 + size, ":]", 2) != 0)
			continue;
		for (int c = 0; c < 256; c++)
			if (classes[i].has(c))
				set_byte(set, (unsigned)c);
		return size + 4;
	}
	return 0;
}

/* Parses one byte within brackets: the byte itself, [.x.] or [=x=]. */
static int read_bracket_byte(struct parser *parser, unsigned *byte)
{
	const char *at = parser->at;

	if (at[0] == '[' && (at[1] == '.' || at[1] == '=')) {
		if (!at[2] || at[3] != at[1] || at[4] != ']')
			return wrong(parser, "[. .] and [= =] take one character");
		*byte = (uint8_t)at[2];
		parser->at += 5;
		return 0;
	}
	if (!*at)
		return wrong(parser, "a ] is missing");
	*byte = (uint8_t)*parser->at++;
	return 0;
}

static int read_bracket_range(struct parser *parser, struct relog_byte_set *set)
{
	unsigned first, last;
	int status = read_bracket_byte(parser, &first);

	last = first;
	if (!status && parser->at[0] == '-' && parser->at[1] && parser->at[1] != ']') {
		parser->at++;
		status = read_bracket_byte(parser, &last);
	}
	if (!status && last < first)
		return wrong(parser, "a range in brackets ends before it begins");
	for (; !status && first <= last; first++)
		set_byte(set, first);
	return status;
}

/* Parses a bracket expression. The opening bracket was consumed. */
static int read_brackets(struct parser *parser, uint32_t *node)
{
	struct relog_byte_set set = {{0}};
	const bool inverse = *parser->at == '^';
	int status = 0;

	parser->at += inverse;
	do {
		const bool is_class = parser->at[0] == '[' && parser->at[1] == ':';
		const size_t size = is_class ? read_class(parser->at, &set) : 0;

		if (is_class && !size)
			return wrong(parser, "there is no character class of this name");
		parser->at += size;
		if (!size)
			status = read_bracket_range(parser, &set);
	} while (!status && *parser->at != ']');
	if (status)
		return status;
	parser->at++;
	if (inverse)
		invert(&set);
	return add_set(parser, &set, node);
}

/* ---- atoms ----------------------------------------------------------------------------------- */

static int add_step(struct parser *parser, enum relog_step_type type, bool inverse, uint32_t *node)
{
	return add_node(parser, (struct node){NODE_STEP, .step = {type, .inverse = inverse}}, node);
}

/* Parses an escape. The backslash was consumed. */
static int read_escape(struct parser *parser, uint32_t *node)
{
	static const struct {
		char c;
		enum relog_step_type type;
		bool inverse;
	} places[] = {{'b', RELOG_STEP_BOUNDARY, false}, {'B', RELOG_STEP_BOUNDARY, true},
		      {'<', RELOG_STEP_WORD, false},     {'>', RELOG_STEP_WORD, true},
		      {'`', RELOG_STEP_START, false},    {'\'', RELOG_STEP_END, false}};
	struct relog_byte_set set = {{0}};
	const char c = *parser->at;

	if (!c)
		return wrong(parser, "it ends with a backslash");
	parser->at++;
	if (c >= '1' && c <= '9')
		return wrong(parser, "back-references take any amount of time; write the text again, or a text: rule");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (c == places[i].c)
			return add_step(parser, places[i].type, places[i].inverse, node);
	if (c == 'w' || c == 'W' || c == 's' || c == 'S') {
		read_class(tolower(c) == 'w' ? "[:alnum:]" : "[:space:]", &set);
		if (tolower(c) == 'w')
			set_byte(&set, '_');
		if (isupper(c))
			invert(&set);
	} else {
		set_byte(&set, (uint8_t)c);
	}
	return add_set(parser, &set, node);
}

static int read_either(struct parser *parser, uint32_t *node);

static int read_group(struct parser *parser, uint32_t *node)
{
	int status;

	if (++parser->depth > DEPTH_MAX)
		return wrong(parser, "parentheses are nested too deeply; write it flat");
	status = read_either(parser, node);
	if (!status && *parser->at != ')')
		return wrong(parser, "a ) is missing");
	parser->depth--;
	parser->at++;
	return status;
}

static int read_atom(struct parser *parser, uint32_t *node)
{
	struct relog_byte_set set = {{0}};
	const char c = *parser->at++;

	switch (c) {
	case '(':
		return read_group(parser, node);
	case '[':
		return read_brackets(parser, node);
	case '\\':
		return read_escape(parser, node);
	case '^':
		return add_step(parser, RELOG_STEP_START, false, node);
	case '$':
		return add_step(parser, RELOG_STEP_END, false, node);
	case '*':
	case '+':
	case '?':
		return wrong(parser,
			     "there is nothing before *, + or ? to repeat; \\*, \\+ and \\? are these characters");
	case '{':
		return wrong(parser, "there is nothing before { to repeat; \\{ is this character");
	case '.':
		invert(&set);
		break;
	default:
		set_byte(&set, (uint8_t)c);
	}
	return add_set(parser, &set, node);
}

/* ---- repetitions ----------------------------------------------------------------------------- */

/* Parses a number. Returns RELOG_PATTERN_MAX + 1 for larger numbers. */
static uint32_t read_number(struct parser *parser)
{
	uint32_t number = 0;

	for (; isdigit((unsigned char)*parser->at); parser->at++)
		if (number <= RELOG_PATTERN_MAX)
			number = 10 * number + (uint32_t)(*parser->at - '0');
	return number > RELOG_PATTERN_MAX ? RELOG_PATTERN_MAX + 1 : number;
}

/* Parses an interval: m}, m,}, m,n} or ,n}. The opening brace was consumed. */
static int read_interval(struct parser *parser, struct node *repeat)
{
	const char *start = parser->at;

	repeat->min = read_number(parser);
	repeat->max = repeat->min;
	if (*parser->at == ',') {
		parser->at++;
		repeat->max = isdigit((unsigned char)*parser->at) ? read_number(parser) : NO_END;
	}
	if (*parser->at != '}' || parser->at == start)
		return wrong(parser, "expected {m}, {m,}, {m,n} or {,n}; \\{ is the brace itself");
	parser->at++;
	return repeat->max < repeat->min ? wrong(parser, "a repetition ends before it begins") : 0;
}

static int read_repeated(struct parser *parser, uint32_t *node)
{
	int status = read_atom(parser, node);

	while (!status && *parser->at && strchr("*+?{", *parser->at)) {
		const char c = *parser->at++;
		struct node repeat = {NODE_REPEAT, .left = *node, .min = c == '+', .max = c == '?' ? 1 : NO_END};

		if (c == '{')
			status = read_interval(parser, &repeat);
		if (!status)
			status = add_node(parser, repeat, node);
	}
	return status;
}

/* ---- sequences ------------------------------------------------------------------------------- */

static int join_nodes(struct parser *parser, enum node_type type, uint32_t right, uint32_t *node)
{
	if (*node == NO_NODE) {
		*node = right;
		return 0;
	}
	return add_node(parser, (struct node){type, .left = *node, .right = right}, node);
}

static int read_sequence(struct parser *parser, uint32_t *node)
{
	uint32_t next;
	int status = 0;

	*node = NO_NODE;
	while (!status && *parser->at && *parser->at != '|' && *parser->at != ')') {
		status = read_repeated(parser, &next);
		if (!status)
			status = join_nodes(parser, NODE_BOTH, next, node);
	}
	return status || *node != NO_NODE ? status : add_node(parser, (struct node){NODE_EMPTY}, node);
}

static int read_either(struct parser *parser, uint32_t *node)
{
	uint32_t next;
	int status = read_sequence(parser, node);

	while (!status && *parser->at == '|') {
		parser->at++;
		status = read_sequence(parser, &next);
		if (!status)
			status = join_nodes(parser, NODE_EITHER, next, node);
	}
	return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int too_large(const struct parser *parser)
{
	return common_fail(
		PTL_MISUSE,
		"'%.*s' has more than %u steps, with repetitions written out; repeat less, or without bounds (* "
		"and + instead of {m,n}), or give several rules",
		SHOWN, parser->text, RELOG_PATTERN_MAX);
}

static int put_step(struct parser *parser, const struct relog_step *step, uint32_t *number)
{
	struct relog_pattern *pattern = parser->pattern;

	if (pattern->count > RELOG_PATTERN_MAX)
		return too_large(parser);
	*number = (uint32_t)pattern->count++;
	pattern->steps[*number] = *step;
	pattern->steps[*number].next = *number + 1;
	return 0;
}

static int write_node(struct parser *parser, uint32_t number);

/* Writes an alternation: a split, the left side, a jump behind the right side, the right side. */
static int write_either(struct parser *parser, const struct node *node)
{
	static const struct relog_step split = {RELOG_STEP_SPLIT};
	struct relog_pattern *pattern = parser->pattern;
	uint32_t choice = 0, jump = 0;
	int status = put_step(parser, &split, &choice);

	if (!status)
		status = write_node(parser, node->left);
	if (!status)
		status = put_step(parser, &split, &jump);
	if (status)
		return status;
	pattern->steps[choice].other = (uint32_t)pattern->count;
	status = write_node(parser, node->right);
	pattern->steps[jump].next = pattern->steps[jump].other = (uint32_t)pattern->count;
	return status;
}

/* Writes an optional node; a loop if the repetition has no maximum. */
static int write_optional(struct parser *parser, const struct node *node)
{
	static const struct relog_step split = {RELOG_STEP_SPLIT};
	struct relog_pattern *pattern = parser->pattern;
	uint32_t choice = 0, again;
	int status = put_step(parser, &split, &choice);

	if (!status)
		status = write_node(parser, node->left);
	if (!status && node->max == NO_END) {
		status = put_step(parser, &split, &again);
		if (!status)
			pattern->steps[again].next = pattern->steps[again].other = choice;
	}
	if (!status)
		pattern->steps[choice].other = (uint32_t)pattern->count;
	return status;
}

static int write_repeat(struct parser *parser, const struct node *node)
{
	int status = 0;

	for (uint32_t i = 0; i < node->min && !status; i++)
		status = write_node(parser, node->left);
	if (node->max == NO_END)
		return status ? status : write_optional(parser, node);
	for (uint32_t i = node->min; i < node->max && !status; i++)
		status = write_optional(parser, node);
	return status;
}

static int write_node(struct parser *parser, uint32_t number)
{
	const struct node *node = &parser->nodes[number];
	uint32_t step;
	int status;

	if (++parser->work > WORK_MAX)
		return too_large(parser);
	switch (node->type) {
	case NODE_STEP:
		return put_step(parser, &node->step, &step);
	case NODE_BOTH:
		status = write_node(parser, node->left);
		return status ? status : write_node(parser, node->right);
	case NODE_EITHER:
		return write_either(parser, node);
	case NODE_REPEAT:
		return write_repeat(parser, node);
	default:
		return 0;
	}
}

int relog_pattern_parse(struct relog_pattern *pattern, const char *text)
{
	static const struct relog_step match = {RELOG_STEP_MATCH};
	const size_t size = strlen(text);
	struct parser parser = {.pattern = pattern, .text = text, .at = text, .room = 3 * size + 4};
	uint32_t root, end;
	int status = 0;

	if (size > TEXT_MAX)
		return common_fail(PTL_MISUSE, "a regular expression of %zu bytes: expected at most %u", size,
				   TEXT_MAX);
	parser.nodes = calloc(parser.room, sizeof(*parser.nodes));
	pattern->sets = calloc(size + 1, sizeof(*pattern->sets));
	pattern->steps = calloc(RELOG_PATTERN_MAX + 1, sizeof(*pattern->steps));
	if (!parser.nodes || !pattern->sets || !pattern->steps)
		status = common_fail_memory("an expression", size);
	if (!status)
		status = read_either(&parser, &root);
	if (!status && *parser.at)
		status = wrong(&parser, "a ) has no (");
	if (!status)
		status = write_node(&parser, root);
	if (!status)
		status = put_step(&parser, &match, &end);
	free(parser.nodes);
	return status;
}
