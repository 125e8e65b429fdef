/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines from tables: parsing and completion. options_help.c prints the help text. */
#include "common/program/options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/program/options_help.h"
#include "common/program/options_store.h"
#include "common/text/nearest.h"
#include "common/version.h"

/* State of one parser run. */
struct parse {
	const struct common_command_line *line;
	void *target;
	int argc;
	char **argv;
	int at; /* index of the next word */
};

/* ---- options of every command line --------------------------------------------------------- */

enum { HELP, VERSION, COMPLETION };

/* Options that the parser handles without a target, indexed by the enum above. */
static const struct common_option standard[] = {
	[HELP] = {"help", 'h', NULL, "Shows this text."},
	[VERSION] = {"version", 'V', NULL, "Shows the version."},
	[COMPLETION] = {"completion-words", 0, "NAME", NULL},
	{NULL},
};

static int fail_usage(const struct parse *parse, int status)
{
	common_message_error("%s", ptl_error_text());
	common_message_hint("%s --help", parse->line->program);
	return status;
}

/* ---- finding an option ----------------------------------------------------------------------- */

/*
 * Calls `matches` for every option of every table after `after` (NULL: from the start), the standard options last.
 * Returns the first match, or NULL.
 */
static const struct common_option *find_option(const struct common_command_line *line,
					       bool (*matches)(const struct common_option *, const void *),
					       const void *argument, const struct common_option *after)
{
	bool passed = !after;

	for (size_t t = 0;; t++) {
		const struct common_option *option = line->tables && line->tables[t] ? line->tables[t] : standard;
		const bool last = option == standard;

		for (; option->long_name; option++) {
			if (passed && *option->long_name && matches(option, argument))
				return option;
			if (option == after)
				passed = true;
		}
		if (last)
			return NULL;
	}
}

struct name {
	const char *text;
	size_t length;
};

static bool matches_name(const struct common_option *option, const void *argument)
{
	const struct name *name = argument;

	return strlen(option->long_name) == name->length && memcmp(option->long_name, name->text, name->length) == 0;
}

static bool matches_start(const struct common_option *option, const void *argument)
{
	const struct name *name = argument;

	/* A hidden option is matched by its full name only. */
	return option->help && strncmp(option->long_name, name->text, name->length) == 0;
}

static bool matches_letter(const struct common_option *option, const void *argument)
{
	return option->short_name == *(const char *)argument;
}

/* Never matches; remembers the nearest name among the options shown in the help. */
static bool look_at_name(const struct common_option *option, const void *argument)
{
	if (option->help)
		common_nearest_look(*(struct common_nearest *const *)argument, option->long_name);
	return false;
}

/* Reports the error in the chain, and suggests the nearest option if any is near. */
static int fail_no_option(const struct parse *parse, const struct name *name)
{
	char word[64];
	struct common_nearest nearest = {.word = word}, *argument = &nearest;

	snprintf(word, sizeof(word), "%.*s", (int)name->length, name->text);
	/* No suggestion for an ambiguous abbreviation: the error names the candidates. */
	if (!find_option(parse->line, matches_start, name, NULL))
		find_option(parse->line, look_at_name, &argument, NULL);
	if (!nearest.best)
		return fail_usage(parse, PTL_MISUSE);
	common_message_error("%s", ptl_error_text());
	common_message_hint("--%s, or %s --help", nearest.best, parse->line->program);
	return PTL_MISUSE;
}

/*
 * Returns the option with this full or abbreviated name. NULL, with the reason in the chain, if none or several match.
 */
static const struct common_option *find_long(const struct common_command_line *line, const struct name *name)
{
	const struct common_option *option = find_option(line, matches_name, name, NULL), *other;

	if (option)
		return option;
	option = name->length ? find_option(line, matches_start, name, NULL) : NULL;
	if (!option) {
		common_fail(PTL_MISUSE, "there is no option --%.*s", (int)name->length, name->text);
		return NULL;
	}
	for (other = option; (other = find_option(line, matches_start, name, other));) {
		if (strcmp(other->long_name, option->long_name) == 0)
			continue;
		common_fail(PTL_MISUSE, "--%.*s is short for --%s and for --%s", (int)name->length, name->text,
			    option->long_name, other->long_name);
		return NULL;
	}
	return option;
}

/* ---- taking an option ------------------------------------------------------------------------ */

static bool is_choice(const char *const *choices, const char *word, size_t length)
{
	for (; *choices; choices++)
		if (strlen(*choices) == length && memcmp(*choices, word, length) == 0)
			return true;
	return false;
}

static int check_choices(const struct common_option *option, const char *argument)
{
	const bool is_list = strchr(option->argument, ',') != NULL;
	char known[512];

	for (const char *word = argument;;) {
		const size_t length = is_list ? strcspn(word, ",") : strlen(word);

		if (!is_choice(option->choices, word, length)) {
			common_options_join_choices(option->choices, known, sizeof(known));
			return common_fail(PTL_MISUSE, "'%.*s' is not one of %s", (int)length, word, known);
		}
		if (!word[length])
			return 0;
		word += length + 1;
	}
}

/* An optional argument must follow a "=", since the next word may be an operand. */
static bool is_optional(const struct common_option *option)
{
	return option->argument && strncmp(option->argument, "[=", 2) == 0;
}

static int print_completion(const struct common_command_line *line, const char *name)
{
	const struct common_option *option;

	for (size_t t = 0; !name; t++) {
		option = line->tables && line->tables[t] ? line->tables[t] : standard;
		for (const struct common_option *o = option; o->long_name; o++)
			if (*o->long_name && o->help)
				printf("--%s%s\n", o->long_name, o->argument && !is_optional(o) ? "=" : "");
		if (option == standard)
			return 1;
	}
	option = find_option(line, matches_name, &(struct name){name, strlen(name)}, NULL);
	for (const char *const *choice = option ? option->choices : NULL; choice && *choice; choice++)
		puts(*choice);
	return 1;
}

/* Flushes stdout. Returns 1, or a failure that has been reported. */
static int finish_output(void)
{
	int status;

	if (!fflush(stdout) && !ferror(stdout))
		return 1;
	status = common_fail_errno("cannot write standard output");
	common_message_error("%s", ptl_error_text());
	return status;
}

/* Handles the parser's own options. Returns 1, or a failure that has been reported. */
static int serve_standard(const struct parse *parse, const struct common_option *option, const char *argument)
{
	switch (option - standard) {
	case HELP:
		if (argument && strcmp(argument, "all") != 0)
			return fail_usage(parse, common_fail(PTL_MISUSE, "--help: '%s' is not all", argument));
		common_options_print_help(parse->line, standard, argument, stdout);
		return finish_output();
	case VERSION:
		printf("%.*s %s\n", (int)strcspn(parse->line->program, " "), parse->line->program, COMMON_VERSION);
		return finish_output();
	default:
		return print_completion(parse->line, argument);
	}
}

/* Checks and stores the option's argument. shown: the option as the user wrote it, for messages. */
static int take_option(const struct parse *parse, const struct common_option *option, const char *shown,
		       const char *argument)
{
	int status = 0;

	if (option >= standard && option <= &standard[COMPLETION])
		return serve_standard(parse, option, argument);
	if (option->choices && argument)
		status = check_choices(option, argument);
	if (status == 0)
		status = common_options_store(option, parse->target, argument);
	if (status < 0)
		return fail_usage(parse, common_fail_in(status, "%s", shown));
	if (parse->line->taken)
		parse->line->taken(parse->line->context, option, argument);
	return 0;
}

static int fail_no_argument(const struct parse *parse, const char *shown, const char *argument)
{
	return fail_usage(parse, common_fail(PTL_MISUSE, "%s needs its argument %s", shown, argument));
}

/* "--name", "--name=value" or "--name" "value". */
static int take_long(struct parse *parse, const char *word)
{
	const struct name name = {word + 2, strcspn(word + 2, "=")};
	const char *argument = name.text[name.length] ? name.text + name.length + 1 : NULL;
	const struct common_option *option = find_long(parse->line, &name);
	char shown[64];

	if (!option)
		return fail_no_option(parse, &name);
	snprintf(shown, sizeof(shown), "--%s", option->long_name);
	if (argument && !option->argument && option != &standard[HELP])
		return fail_usage(parse, common_fail(PTL_MISUSE, "%s takes no argument", shown));
	if (option == &standard[COMPLETION] || argument || !option->argument || is_optional(option))
		return take_option(parse, option, shown, argument);
	if (parse->at == parse->argc)
		return fail_no_argument(parse, shown, option->argument);
	return take_option(parse, option, shown, parse->argv[parse->at++]);
}

/* "-abc". The last letter may have an argument: the rest of the word or the next word. */
static int take_short(struct parse *parse, const char *word)
{
	for (const char *letter = word + 1; *letter; letter++) {
		const struct common_option *option = find_option(parse->line, matches_letter, letter, NULL);
		const char shown[] = {'-', *letter, 0};
		int status;

		if (!option)
			return fail_usage(parse, common_fail(PTL_MISUSE, "there is no option %s", shown));
		if (option->argument && letter[1])
			return take_option(parse, option, shown, letter + 1);
		if (option->argument && parse->at == parse->argc)
			return fail_no_argument(parse, shown, option->argument);
		status = take_option(parse, option, shown, option->argument ? parse->argv[parse->at++] : NULL);
		if (status || option->argument)
			return status;
	}
	return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

/*
 * Moves the options argv[from] to argv[to - 1] before the operands argv[first] to argv[from - 1]. Both keep their
 * order. Returns the new index of the first operand.
 */
static int move_before(char **argv, int first, int from, int to)
{
	const int count = to - from;

	for (int i = 0; i < count; i++) {
		char *word = argv[from + i];

		memmove(argv + first + i + 1, argv + first + i, (size_t)(from - first) * sizeof(*argv));
		argv[first + i] = word;
	}
	return first + count;
}

int common_options_parse(const struct common_command_line *line, void *target, int argc, char **argv,
			 int *first_operand)
{
	struct parse parse = {line, target, argc, argv, argc ? 1 : 0};
	int first = parse.at, status = 0;

	while (parse.at < argc && status == 0) {
		const int from = parse.at;
		const char *word = argv[from];

		if (word[0] != '-' || !word[1]) { /* an operand, including "-" */
			if (line->stop_at_operand)
				break;
			parse.at++;
			continue;
		}
		parse.at++;
		if (strcmp(word, "--") == 0) {
			first = move_before(argv, first, from, parse.at);
			break;
		}
		status = word[1] == '-' ? take_long(&parse, word) : take_short(&parse, word);
		first = move_before(argv, first, from, parse.at);
	}
	*first_operand = first;
	return status;
}
