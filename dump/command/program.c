/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the help, and finds the command. */
#include "dump/command/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/nearest.h"
#include "common/text/text.h"

struct program_options {
	bool list_commands;
};

/* For shell completion. */
static const struct common_option hidden_options[] = {
	{"list-commands", 0, NULL, NULL, COMMON_FLAG(struct program_options, list_commands)},
	{NULL},
};

static void list_command(struct ptl_bytes *text, const char *name, const char *summary)
{
	const size_t start = text->size + 3;

	common_text_add(text, "\n  ");
	common_text_add(text, name);
	common_text_pad(text, start, 24);
	common_text_add(text, summary);
}

/* Returns the list of commands as text of a heading, which the help prints unchanged. */
static const char *command_list(const struct dump_command *const *commands, struct ptl_bytes *text)
{
	common_text_add(text, "Commands:");
	for (const struct dump_command *const *command = commands; *command; command++)
		list_command(text, (*command)->name, (*command)->summary);
	list_command(text, "help [COMMAND]", "the options and examples of a command");
	return common_text_string(text);
}

/* Words of perf, gdb, xperf and others. */
static const char *const foreign_words[][2] = {
	{"script", "events"},   {"dumper", "events"},   {"list", "events"},          {"trace", "flow"},
	{"backtrace", "crash"}, {"bt", "crash"},        {"stack", "crash"},          {"where", "crash"},
	{"top", "browse"},      {"tui", "browse"},      {"profile", "report"},       {"functions", "report"},
	{"source", "annotate"}, {"lines", "annotate"},  {"disassemble", "annotate"}, {"callers", "graph"},
	{"header", "info"},     {"tracestats", "info"}, {"summary", "info"},         {"ps", "processes"},
	{"modules", "images"},  {"maps", "images"},     {"cpuschedule", "cpu"},      {"sched", "cpu"},
	{"diskio", "io"},       {"view", "open"},       {"perfetto", "timeline"},    {"chrome", "timeline"},
};

static const char *translate_word(const char *name)
{
	for (size_t i = 0; i < sizeof(foreign_words) / sizeof(foreign_words[0]); i++)
		if (!strcmp(foreign_words[i][0], name))
			return foreign_words[i][1];
	return NULL;
}

static int fail_command(const struct dump_command *const *commands, const char *name)
{
	struct common_nearest nearest = {.word = name};
	const char *translated = translate_word(name);

	if (access(name, F_OK) == 0) {
		common_message_error("'%s' is a file: a command was expected before it", name);
		common_message_hint("ptl-dump info %s", name);
		return COMMON_EXIT_USAGE;
	}
	for (const struct dump_command *const *command = commands; *command; command++)
		common_nearest_look(&nearest, (*command)->name);
	common_message_error("there is no command '%s'", name);
	if (translated || nearest.best)
		common_message_hint("ptl-dump %s", translated ? translated : nearest.best);
	else
		common_message_hint("ptl-dump --help");
	return COMMON_EXIT_USAGE;
}

static int run_command(const struct dump_command *const *commands, int argc, char **argv);

/* Handles "help" and "help COMMAND", which equal "--help" and "COMMAND --help". */
static int help(const struct dump_command *const *commands, const char *examples, int argc, char **argv)
{
	static char option[] = "--help";
	char *words[] = {argc > 1 ? argv[1] : argv[0], option, NULL};

	if (argc > 2) {
		common_message_error("one COMMAND was expected, and '%s' is one more", argv[2]);
		common_message_hint("ptl-dump help %s", argv[1]);
		return COMMON_EXIT_USAGE;
	}
	return argc == 1 ? dump_program_main(commands, examples, 2, words) : run_command(commands, 2, words);
}

static const struct dump_command *find_command(const struct dump_command *const *commands, const char *name)
{
	while (*commands && strcmp((*commands)->name, name) != 0)
		commands++;
	return *commands;
}

static int run_command(const struct dump_command *const *commands, int argc, char **argv)
{
	const struct dump_command *command = find_command(commands, argv[0]);

	return command ? dump_command_main(command, argc, argv) : fail_command(commands, argv[0]);
}

/* Prints a hint if an unknown option precedes a command: the option may belong to the command. */
static void hint_order(const struct dump_command *const *commands, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (find_command(commands, argv[i])) {
			common_message_hint("ptl-dump %s %s ...    options come behind the command", argv[i], argv[1]);
			return;
		}
}

int dump_program_main(const struct dump_command *const *commands, const char *examples, int argc, char **argv)
{
	struct ptl_bytes text = {0};
	const struct common_option heading[] = {{"", 0, NULL, command_list(commands, &text)}, {NULL}};
	const struct common_option *const tables[] = {heading, hidden_options, NULL};
	const struct common_command_line line = {
		.program = "ptl-dump",
		.usage = "COMMAND [options] FILE",
		.summary = "Shows what is in a PTL trace file. FILE may be \"-\" for standard input.",
		.examples = examples,
		.tables = tables,
		.stop_at_operand = 1,
	};
	struct program_options options = {false};
	int first, status;

	common_message_start("ptl-dump", false);
	status = common_options_parse(&line, &options, argc, argv, &first);
	common_bytes_free(&text);
	if (status < 0)
		hint_order(commands, argc, argv);
	if (status != 0)
		return status > 0 ? COMMON_EXIT_OK : common_exit_of(status);
	if (options.list_commands) {
		for (const struct dump_command *const *command = commands; *command; command++)
			puts((*command)->name);
		return COMMON_EXIT_OK;
	}
	if (first == argc) {
		common_message_error("a command is missing");
		common_message_hint("ptl-dump --help");
		return COMMON_EXIT_USAGE;
	}
	if (strcmp(argv[first], "help") == 0)
		return help(commands, examples, argc - first, argv + first);
	return run_command(commands, argc - first, argv + first);
}
