/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/serve/tool.h"

#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"

/* Arguments that every tool has: a part of the records. */
static const struct dump_serve_argument paging[] = {
	{"limit", DUMP_SERVE_INTEGER, "At most this many records, 1 to 10000 (default: 100).", NULL, false},
	{"skip", DUMP_SERVE_INTEGER, "Leaves out this many records at the beginning: `next` of an earlier answer.",
	 NULL, false},
	{NULL, DUMP_SERVE_TEXT, NULL, NULL, false},
};

/* ---- tools/list ---------------------------------------------------------------------------------- */

static const char *const type_names[] = {
	[DUMP_SERVE_TEXT] = "string",
	[DUMP_SERVE_INTEGER] = "integer",
	[DUMP_SERVE_SWITCH] = "boolean",
};

static void list_arguments(struct common_json *json, const struct dump_serve_argument *arguments)
{
	for (; arguments->name; arguments++) {
		common_json_object(json, arguments->name);
		common_json_string(json, "type", type_names[arguments->kind]);
		if (arguments->kind == DUMP_SERVE_INTEGER)
			common_json_u64(json, "minimum", strcmp(arguments->name, "limit") == 0);
		if (arguments->choices) {
			common_json_array(json, "enum");
			for (const char *const *choice = arguments->choices; *choice; choice++)
				common_json_string(json, NULL, *choice);
			common_json_array_end(json);
		}
		common_json_string(json, "description", arguments->description);
		common_json_object_end(json);
	}
}

static void list_input(struct common_json *json, const struct dump_serve_tool *tool)
{
	common_json_object(json, "inputSchema");
	common_json_string(json, "type", "object");
	common_json_object(json, "properties");
	list_arguments(json, tool->arguments);
	list_arguments(json, paging);
	common_json_object_end(json);
	common_json_array(json, "required");
	for (const struct dump_serve_argument *argument = tool->arguments; argument->name; argument++)
		if (argument->operand)
			common_json_string(json, NULL, argument->name);
	common_json_array_end(json);
	common_json_bool(json, "additionalProperties", false);
	common_json_object_end(json);
}

static void list_output(struct common_json *json)
{
	static const char schema[] =
		"{\"type\":\"object\",\"properties\":{"
		"\"records\":{\"type\":\"array\",\"items\":{\"type\":\"object\"},\"description\":\"records of ptl-dump "
		"--json\"},"
		"\"left_out\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"records behind the last record of "
		"the "
		"answer\"},"
		"\"left_out_more\":{\"type\":\"boolean\",\"description\":\"more records than left_out may exist\"},"
		"\"next\":{\"type\":[\"integer\",\"null\"],\"description\":\"`skip` for the next records; null: none "
		"are "
		"left\"},"
		"\"messages\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		"\"messages_left_out\":{\"type\":\"integer\",\"minimum\":0},"
		"\"exit_status\":{\"type\":[\"integer\",\"null\"],\"description\":\"of ptl-dump; null: it did not end "
		"by "
		"itself\"}},"
		"\"required\":[\"records\",\"left_out\",\"left_out_more\",\"next\",\"messages\",\"messages_left_out\","
		"\"exit_status\"]}";

	common_json_raw(json, "outputSchema", schema, sizeof(schema) - 1);
}

void dump_serve_tools_list(struct common_json *json, const struct dump_serve_tool *tools)
{
	common_json_array(json, "tools");
	for (; tools->name; tools++) {
		common_json_object(json, NULL);
		common_json_string(json, "name", tools->name);
		common_json_string(json, "title", tools->title);
		common_json_string(json, "description", tools->description);
		list_input(json, tools);
		list_output(json);
		common_json_object(json, "annotations");
		common_json_bool(json, "readOnlyHint", true);
		common_json_bool(json, "openWorldHint", false);
		common_json_object_end(json);
		common_json_object_end(json);
	}
	common_json_array_end(json);
}

const struct dump_serve_tool *dump_serve_tool_find(const struct dump_serve_tool *tools,
						   const struct common_json_value *name)
{
	for (; tools->name; tools++)
		if (common_json_is(name, tools->name))
			return tools;
	return NULL;
}

/* ---- command lines ------------------------------------------------------------------------------- */

static int add_word(struct dump_serve_words *words, const char *word, size_t size)
{
	const char *copy = common_arena_copy(&words->arena, word, size);

	return copy ? common_string_list_add(&words->list, copy) : PTL_NO_MEMORY;
}

/* Adds --name or --name=value. */
static int add_option(struct dump_serve_words *words, const char *name, const char *value, size_t size)
{
	struct ptl_bytes word = {0};
	int status;

	common_text_add(&word, "--");
	common_text_add(&word, name);
	for (size_t i = 2; !word.failed && i < word.size; i++)
		if (word.data[i] == '_')
			word.data[i] = '-';
	if (value) {
		common_text_add(&word, "=");
		common_write_bytes(&word, value, size);
	}
	status = word.failed ? common_fail_memory("arguments", word.size)
			     : add_word(words, (const char *)word.data, word.size);
	common_bytes_free(&word);
	return status;
}

static int fail_argument(const char *name, const char *expected)
{
	return common_fail(PTL_MISUSE, "%.64s: expected %s", name, expected);
}

static const struct dump_serve_argument *find_argument(const struct dump_serve_argument *arguments,
						       const struct common_json_value *given)
{
	for (; arguments->name; arguments++)
		if (given->key_size == strlen(arguments->name) &&
		    memcmp(given->key, arguments->name, given->key_size) == 0)
			return arguments;
	return NULL;
}

static bool is_choice(const struct dump_serve_argument *argument, const struct common_json_value *given)
{
	for (const char *const *choice = argument->choices; choice && *choice; choice++)
		if (common_json_is(given, *choice))
			return true;
	return !argument->choices;
}

static int check_argument(const struct dump_serve_argument *argument, const struct common_json_value *given)
{
	int64_t integer;

	switch (argument->kind) {
	case DUMP_SERVE_TEXT:
		if (given->kind != COMMON_JSON_STRING || memchr(given->text, 0, given->size))
			return fail_argument(argument->name, "a string without zeros");
		return is_choice(argument, given) ? 0
						  : fail_argument(argument->name, "one of the strings of the schema");
	case DUMP_SERVE_INTEGER:
		if (!common_json_integer(given, &integer) || integer < 0)
			return fail_argument(argument->name, "an integer from 0 on");
		return 0;
	default:
		return given->kind == COMMON_JSON_BOOL ? 0 : fail_argument(argument->name, "true or false");
	}
}

/* limit and skip are no options of the command. */
static int take_paging(struct dump_serve_words *words, const struct common_json_value *given, const char *name)
{
	int64_t integer = 0;

	(void)common_json_integer(given, &integer);
	if (strcmp(name, "skip") == 0) {
		words->skip = (uint64_t)integer;
		return 0;
	}
	words->limit = (uint64_t)integer;
	return integer >= 1 && integer <= DUMP_SERVE_LIMIT_MAX ? 0 : fail_argument(name, "an integer from 1 to 10000");
}

static int take_argument(struct dump_serve_words *words, const struct dump_serve_tool *tool,
			 const struct common_json_value *given)
{
	const struct dump_serve_argument *argument = find_argument(tool->arguments, given);
	const bool pages = !argument;
	int status;

	if (!argument)
		argument = find_argument(paging, given);
	if (!argument)
		return common_fail(PTL_MISUSE, "%s has no argument of this name: %.64s", tool->name, given->key);
	status = check_argument(argument, given);
	if (status)
		return status;
	if (pages)
		return take_paging(words, given, argument->name);
	if (argument->operand || (argument->kind == DUMP_SERVE_SWITCH && !given->truth))
		return 0;
	if (argument->kind == DUMP_SERVE_SWITCH)
		return add_option(words, argument->name, NULL, 0);
	return argument->kind == DUMP_SERVE_INTEGER ? add_option(words, argument->name, given->raw, given->raw_size)
						    : add_option(words, argument->name, given->text, given->size);
}

static int add_operand(struct dump_serve_words *words, const struct dump_serve_tool *tool,
		       const struct common_json_value *arguments)
{
	for (const struct dump_serve_argument *argument = tool->arguments; argument->name; argument++) {
		const struct common_json_value *given = common_json_member(arguments, argument->name);

		if (!argument->operand)
			continue;
		if (!given || !given->size)
			return fail_argument(argument->name, "a value: the argument is required");
		return add_word(words, given->text, given->size);
	}
	return 0;
}

int dump_serve_words_make(struct dump_serve_words *words, const struct dump_serve_tool *tool,
			  const struct common_json_value *arguments, const char *path)
{
	int status;

	words->limit = DUMP_SERVE_LIMIT;
	if (arguments && arguments->kind != COMMON_JSON_OBJECT)
		return fail_argument("arguments", "an object");
	status = common_string_list_add(&words->list, tool->command->name);
	if (!status)
		status = common_string_list_add(&words->list, "--json");
	for (const struct common_json_value *given = arguments ? arguments->first : NULL; !status && given;
	     given = given->next)
		status = take_argument(words, tool, given);
	if (!status)
		status = common_string_list_add(&words->list, "--");
	if (!status)
		status = add_operand(words, tool, arguments);
	return status ? status : common_string_list_add(&words->list, path);
}

void dump_serve_words_free(struct dump_serve_words *words)
{
	common_string_list_free(&words->list);
	common_arena_free(&words->arena);
}
