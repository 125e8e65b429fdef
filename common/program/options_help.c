/* SPDX-License-Identifier: BSD-2-Clause */
/* The help text of a command line, made from the tables that the parser uses. */
#include "common/program/options_help.h"

#include <stdbool.h>
#include <string.h>

#define WIDTH 80
#define HELP_COLUMN 26 /* column of help texts; after a longer option, the text starts on the next line */

void common_options_join_choices(const char *const *choices, char *text, size_t size)
{
	size_t length = 0;

	*text = 0;
	for (size_t i = 0; choices[i] && length < size; i++) {
		const char *between = choices[i + 1] ? ", " : " or ";

		length += (size_t)snprintf(text + length, size - length, "%s%s", i ? between : "", choices[i]);
	}
}

/*
 * Prints text between column `indent` and WIDTH, broken at blanks. The cursor is at `column` on entry and at the start
 * of a line on return.
 */
static void print_wrapped(FILE *file, int column, int indent, const char *text)
{
	while (*text) {
		const int length = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + length > WIDTH) {
			putc('\n', file);
			column = 0;
		} else if (column > indent) {
			putc(' ', file);
			column++;
		}
		if (column < indent)
			column += fprintf(file, "%*s", indent - column, "");
		column += fprintf(file, "%.*s", length, text);
		text += length;
		if (*text == '\n') {
			putc('\n', file);
			column = 0;
		}
		if (*text)
			text++;
	}
	if (column)
		putc('\n', file);
}

static void print_option(FILE *file, const struct common_option *option)
{
	char choices[512], help[2048];
	int column;

	if (option->short_name)
		column = fprintf(file, "  -%c, --%s", option->short_name, option->long_name);
	else
		column = fprintf(file, "      --%s", option->long_name);
	if (option->argument)
		column += fprintf(file, "%s%s", strncmp(option->argument, "[=", 2) == 0 ? "" : " ", option->argument);
	if (column + 2 > HELP_COLUMN) {
		putc('\n', file);
		column = 0;
	}
	if (option->choices) {
		common_options_join_choices(option->choices, choices, sizeof(choices));
		snprintf(help, sizeof(help), "%s (%s)", option->help, choices);
		print_wrapped(file, column, HELP_COLUMN, help);
	} else {
		print_wrapped(file, column, HELP_COLUMN, option->help);
	}
}

/*
 * Prints a table, which may start with a heading. hide: omit the options below headings marked rare. Returns whether
 * options were omitted.
 */
static bool print_table(FILE *file, const struct common_option *table, bool hide)
{
	bool hidden = false, any = false;

	for (; table->long_name; table++) {
		if (!table->help)
			continue;
		if (!*table->long_name) {
			hidden = hide && table->rare;
			any |= hidden;
		}
		if (hidden)
			continue;
		if (*table->long_name)
			print_option(file, table);
		else
			fprintf(file, "\n%s\n", table->help);
	}
	return any;
}

static bool starts_with_heading(const struct common_option *table)
{
	return table->long_name && !*table->long_name;
}

static bool has_heading(const struct common_option *table)
{
	for (; table->long_name; table++)
		if (starts_with_heading(table))
			return true;
	return false;
}

static void print_examples(FILE *file, const char *examples)
{
	fputs("\nExamples:\n", file);
	while (*examples) {
		const int length = (int)strcspn(examples, "\n");

		fprintf(file, "  %.*s\n", length, examples);
		examples += length + (examples[length] == '\n');
	}
}

static const struct common_option help_all = {"help=all", 0, NULL, "Shows the options that few need, too."};

void common_options_print_help(const struct common_command_line *line, const struct common_option *standard, bool all,
			       FILE *file)
{
	const struct common_option *const *table = line->tables;
	const int column = fprintf(file, "Usage: %s", line->program);
	bool headed = false, hidden = false;

	print_wrapped(file, column, 7, line->usage ? line->usage : "");
	if (line->summary) {
		putc('\n', file);
		print_wrapped(file, 0, 0, line->summary);
	}
	if (!table || !*table || !starts_with_heading(*table))
		fputs("\nOptions:\n", file);
	for (; table && *table; table++) {
		hidden |= print_table(file, *table, !all);
		headed |= has_heading(*table);
	}
	if (headed)
		fputs("\nOther:\n", file);
	(void)print_table(file, standard, false);
	if (hidden)
		print_option(file, &help_all);
	if (line->examples)
		print_examples(file, line->examples);
}
