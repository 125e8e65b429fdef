/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/value/spec.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"

/* ---- expressions ----------------------------------------------------------------------------- */

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c & 0x80;
}

/* Returns the end of a name, which may have "::". */
static char *end_of_name(char *at, bool qualified)
{
	while (is_name(*at) || (qualified && at[0] == ':' && at[1] == ':' && is_name(at[2])))
		at += *at == ':' ? 2 : 1;
	return at;
}

static bool add_access(struct value_expression *expression, struct value_access access)
{
	if (expression->access_count == VALUE_ACCESSES_MAX)
		return false;
	expression->accesses[expression->access_count++] = access;
	return true;
}

/* Reads "->member", ".member" or "[number]" at *at. The byte behind a name is cleared once the next access is read. */
static bool read_access(struct value_expression *expression, char **at)
{
	char *name = *at, *end;
	const bool arrow = name[0] == '-' && name[1] == '>';

	if (*name == '[') {
		const unsigned long long index = strtoull(name + 1, &end, 0);

		if (!isdigit((unsigned char)name[1]) || *end != ']')
			return false;
		*name = 0;
		*at = end + 1;
		return add_access(expression, (struct value_access){.kind = VALUE_INDEX, .index = index});
	}
	if (!arrow && *name != '.')
		return false;
	*name = 0;
	name += arrow ? 2 : 1;
	end = end_of_name(name, false);
	if (end == name)
		return false;
	*at = end;
	return add_access(expression, (struct value_access){.kind = VALUE_MEMBER, .name = name});
}

/* Parses `copy`, which the result points into. */
static int parse_expression(const char *text, char *copy, struct value_expression *expression)
{
	char *at = copy;
	unsigned targets = 0;
	bool read = true;

	*expression = (struct value_expression){.text = text};
	for (; *at == '*'; at++)
		targets++;
	expression->root = at;
	at = end_of_name(at, true);
	if (at == expression->root)
		read = false;
	while (read && *at)
		read = read_access(expression, &at);
	while (read && targets--)
		read = add_access(expression, (struct value_access){.kind = VALUE_TARGET});
	if (!read)
		return common_fail(PTL_MISUSE,
				   "'%s': expected a parameter, a global variable or $return, and members such as "
				   "a->b.c[1]",
				   text);
	expression->result = !strcmp(expression->root, "$return");
	return 0;
}

/* ---- functions ------------------------------------------------------------------------------- */

/* Returns whether each '(' has a ')'. */
static bool has_pairs(const char *text)
{
	int depth = 0;

	for (; *text && depth >= 0; text++)
		depth += (*text == '(') - (*text == ')');
	return depth == 0;
}

/* Separates "FILE:FUNCTION". A C++ or Rust name has two colons. */
static void separate_file(struct value_spec *spec, char *text)
{
	char *colon = strchr(text, ':');

	while (colon && colon[1] == ':')
		colon = strchr(colon + 2, ':');
	spec->function = colon ? colon + 1 : text;
	spec->file = colon ? text : NULL;
	if (colon)
		*colon = 0;
}

static char *trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = 0;
	return text;
}

/* second: memory of the same size as the list, for names. */
static int parse_list(struct value_spec *spec, char *list, char *second)
{
	char *rest = NULL;

	for (char *word = strtok_r(list, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		char *text = trim(word);
		int status;

		if (spec->count == VALUE_EXPRESSIONS_MAX)
			return common_fail(PTL_MISUSE, "at most %u expressions are possible", VALUE_EXPRESSIONS_MAX);
		strcpy(second, text);
		status = parse_expression(text, second, &spec->expressions[spec->count++]);
		if (status < 0)
			return status;
		second += strlen(text) + 1;
	}
	return 0;
}

int value_spec_parse(const char *text, struct value_spec *spec)
{
	const size_t size = strlen(text) + 1;
	char *list, *function;
	int status = 0;

	*spec = (struct value_spec){.all = true};
	spec->memory = malloc(4 * size);
	spec->expressions = calloc(VALUE_EXPRESSIONS_MAX, sizeof(*spec->expressions));
	if (!spec->memory || !spec->expressions) {
		value_spec_free(spec);
		return common_fail_memory("--values", size);
	}
	spec->text = strcpy(spec->memory, text);
	function = strcpy(spec->memory + size, text);
	if (!has_pairs(function)) {
		value_spec_free(spec);
		return common_fail(PTL_MISUSE, "'%s': a bracket is not closed: FUNCTION(EXPRESSION, ...)", text);
	}
	list = common_text_last_brackets(function);
	if (list) {
		list[strlen(list) - 1] = 0;
		*list++ = 0;
		spec->all = !*trim(list);
		status = parse_list(spec, list, spec->memory + 2 * size);
	}
	separate_file(spec, trim(function));
	if (status == 0 && !*spec->function)
		status = common_fail(PTL_MISUSE, "'%s' names no function", text);
	if (status < 0)
		value_spec_free(spec);
	return status;
}

void value_spec_free(struct value_spec *spec)
{
	free(spec->memory);
	free(spec->expressions);
	*spec = (struct value_spec){0};
}

bool value_spec_is_in(const struct value_spec *spec, const char *path)
{
	return !spec->file || !strcmp(strchr(spec->file, '/') ? path : common_base_name(path), spec->file);
}
