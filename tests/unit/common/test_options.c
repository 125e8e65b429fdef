/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of the option parser: order, operands, abbreviations, choices, errors and the help text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "common/options.h"

/* What was taken, in order: "output=a.ptl;quiet;". */
struct taken {
	char log[256];
};

static int record(struct taken *taken, const char *name, const char *argument)
{
	const size_t length = strlen(taken->log);

	snprintf(taken->log + length, sizeof(taken->log) - length, "%s%s%s;", name, argument ? "=" : "",
		 argument ? argument : "");
	return 0;
}

static int take_output(void *target, const char *argument)
{
	return record(target, "output", argument);
}

static int take_quiet(void *target, const char *argument)
{
	return record(target, "quiet", argument);
}

static int take_level(void *target, const char *argument)
{
	return record(target, "level", argument);
}

static int take_flags(void *target, const char *argument)
{
	return record(target, "flags", argument);
}

static int take_period(void *target, const char *argument)
{
	uint64_t bytes;
	int status = common_parse_size(argument, &bytes);

	return status < 0 ? status : record(target, "period", argument);
}

static const char *const levels[] = {"block", "insn", "branch", NULL};
static const char *const flags[] = {"process", "thread", NULL};

static const struct common_option first_table[] = {
	{"output", 'o', "FILE", "Writes to FILE.", take_output, NULL},
	{"quiet", 'q', NULL, "Says nothing unless something goes wrong, which is then said on standard error.",
	 take_quiet, NULL},
	{NULL},
};

static const struct common_option second_table[] = {
	{"", 0, NULL, "Filters:", NULL, NULL},
	{"level", 0, "LEVEL", "How much is shown", take_level, levels},
	{"flags", 0, "FLAG,...", "What is recorded", take_flags, flags},
	{"psb-period-of-the-packets", 'p', "SIZE", "First line.\nSecond line.", take_period, NULL},
	{"secret", 's', NULL, NULL, take_quiet, NULL},
	{NULL},
};

static const struct common_option *const tables[] = {first_table, second_table, NULL};

static const struct common_command_line line = {
	.program = "ptl-dump flow",
	.usage = "[options] FILE",
	.summary = "Shows what each thread executed, in order.",
	.examples = "ptl-dump flow a.ptl\nptl-dump flow --level insn a.ptl",
	.tables = tables,
};

/* What one run of the parser did. */
static struct {
	int status, first;
	struct taken taken;
	char operands[256];
	char out[4096], err[1024];
} run;

/* Reads what was written to the file behind fd, and puts back the descriptor that was saved. */
static void restore(int saved, int number, int fd, char *text, size_t size)
{
	ssize_t length;

	fflush(stdout);
	length = pread(fd, text, size - 1, 0);
	text[length > 0 ? length : 0] = 0;
	dup2(saved, number);
	close(saved);
	close(fd);
}

static int redirect(int number, int *fd)
{
	const int saved = dup(number);

	*fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	assert_true(saved >= 0 && *fd >= 0);
	fflush(stdout);
	dup2(*fd, number);
	return saved;
}

static void parse_with(const struct common_command_line *command_line, const char *words)
{
	char copy[256], *argv[32] = {(char *)"ptl-dump"}, *rest = copy;
	int argc = 1, out, err, saved_out, saved_err;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((argv[argc] = strsep(&rest, " ")) && argc < 31)
		argc++;
	if (!*words)
		argc = 1;
	memset(&run, 0, sizeof(run));
	run.first = -1;
	saved_out = redirect(STDOUT_FILENO, &out);
	saved_err = redirect(STDERR_FILENO, &err);
	run.status = common_options_parse(command_line, &run.taken, argc, argv, &run.first);
	restore(saved_out, STDOUT_FILENO, out, run.out, sizeof(run.out));
	restore(saved_err, STDERR_FILENO, err, run.err, sizeof(run.err));
	for (int i = run.first; i < argc; i++) {
		const size_t length = strlen(run.operands);

		snprintf(run.operands + length, sizeof(run.operands) - length, "%s ", argv[i]);
	}
}

static void expect(const char *words, const char *taken, const char *operands)
{
	parse_with(&line, words);
	assert_string_equal(run.err, "");
	assert_int_equal(run.status, 0);
	assert_string_equal(run.taken.log, taken);
	assert_string_equal(run.operands, operands);
}

static void options_and_operands(void **state)
{
	(void)state;
	expect("", "", "");
	expect("a b", "", "a b ");
	expect("-q a", "quiet;", "a ");
	expect("a -q b -o x c", "quiet;output=x;", "a b c ");
	expect("-qo x", "quiet;output=x;", "");
	expect("-qox", "quiet;output=x;", "");
	expect("-o-q -", "output=-q;", "- ");
	expect("--output x --output=y --output=", "output=x;output=y;output=;", "");
	expect("--output=a=b", "output=a=b;", "");
	expect("a -- -q --output", "", "a -q --output ");
	expect("-q --", "quiet;", "");
	expect("-q -- --", "quiet;", "-- ");
	expect("-o -- a", "output=--;", "a ");
}

static void abbreviations(void **state)
{
	(void)state;
	expect("--out x --qui --l insn", "output=x;quiet;level=insn;", "");
	expect("--secret", "quiet;", "");
	parse_with(&line, "--secre");
	assert_int_equal(run.status, PTL_MISUSE);
	parse_with(&line, "--");
	assert_int_equal(run.status, 0);
}

static void stop_at_operand(void **state)
{
	struct common_command_line record_line = line;

	(void)state;
	record_line.stop_at_operand = 1;
	parse_with(&record_line, "-q gcc -o x --output y");
	assert_int_equal(run.status, 0);
	assert_string_equal(run.taken.log, "quiet;");
	assert_string_equal(run.operands, "gcc -o x --output y ");
	parse_with(&record_line, "-q -- -gcc -o");
	assert_string_equal(run.operands, "-gcc -o ");
}

static void choices(void **state)
{
	(void)state;
	expect("--level branch --flags thread --flags process,thread",
	       "level=branch;flags=thread;flags=process,thread;", "");
	parse_with(&line, "--level blocks");
	assert_string_equal(run.err, "ptl-dump: error: --level: 'blocks' is not one of block, insn or branch\n"
				     "  try: ptl-dump flow --help\n");
	parse_with(&line, "--flags process,,thread");
	assert_non_null(strstr(run.err, "--flags: '' is not one of process or thread\n"));
	parse_with(&line, "--level block,insn");
	assert_non_null(strstr(run.err, "'block,insn' is not one of"));
	assert_string_equal(run.taken.log, "");
}

static void errors(void **state)
{
	static const struct {
		const char *words, *message;
	} cases[] = {
		{"--nothing", "there is no option --nothing"},
		{"--nothing=x", "there is no option --nothing"},
		{"-x", "there is no option -x"},
		{"-qx", "there is no option -x"},
		{"--=x", "there is no option --"},
		{"--output", "--output needs its argument FILE"},
		{"-qo", "-o needs its argument FILE"},
		{"--quiet=1", "--quiet takes no argument"},
		{"-p x", "-p: 'x' is not a size such as 4096, 16K or 1M"},
		{"--psb 12Q", "--psb-period-of-the-packets: '12Q' is not a size such as 4096, 16K or 1M"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[256];

		parse_with(&line, cases[i].words);
		assert_int_equal(run.status, PTL_MISUSE);
		snprintf(expected, sizeof(expected), "ptl-dump: error: %s\n  try: ptl-dump flow --help\n",
			 cases[i].message);
		assert_string_equal(run.err, expected);
		assert_string_equal(run.out, "");
	}
}

static void meant(void **state)
{
	static const struct {
		const char *words, *hint;
	} cases[] = {
		{"--levle block", "--level, or ptl-dump flow --help"},
		{"--quite", "--quiet, or ptl-dump flow --help"},
		{"--fagls=x", "--flags, or ptl-dump flow --help"},
		{"--a", "ptl-dump flow --help"},
		{"--abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
		 "ptl-dump flow --help"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[256];

		parse_with(&line, cases[i].words);
		assert_int_equal(run.status, PTL_MISUSE);
		snprintf(expected, sizeof(expected), "\n  try: %s\n", cases[i].hint);
		assert_non_null(strstr(run.err, expected));
	}
}

static const struct common_option twins[] = {
	{"time", 't', "TIME", "When", take_output, NULL},
	{"timing", 0, "HOW", "How", take_level, NULL},
	{NULL},
};

static void ambiguous(void **state)
{
	static const struct common_option *const twin_tables[] = {twins, NULL};
	const struct common_command_line twin_line = {.program = "p", .tables = twin_tables};

	(void)state;
	parse_with(&twin_line, "--tim x");
	assert_string_equal(run.err, "ptl-dump: error: --tim is short for --time and for --timing\n"
				     "  try: p --help\n");
	parse_with(&twin_line, "--time x --timi y");
	assert_int_equal(run.status, 0);
	assert_string_equal(run.taken.log, "output=x;level=y;");
}

static void help(void **state)
{
	(void)state;
	parse_with(&line, "-q --help --nothing");
	assert_int_equal(run.status, 1);
	assert_string_equal(run.err, "");
	assert_string_equal(run.out, "Usage: ptl-dump flow [options] FILE\n"
				     "\n"
				     "Shows what each thread executed, in order.\n"
				     "\n"
				     "Options:\n"
				     "  -o, --output FILE       Writes to FILE.\n"
				     "  -q, --quiet             Says nothing unless something goes wrong, which is\n"
				     "                          then said on standard error.\n"
				     "\n"
				     "Filters:\n"
				     "      --level LEVEL       How much is shown (block, insn or branch)\n"
				     "      --flags FLAG,...    What is recorded (process or thread)\n"
				     "  -p, --psb-period-of-the-packets SIZE\n"
				     "                          First line.\n"
				     "                          Second line.\n"
				     "\n"
				     "Other:\n"
				     "  -h, --help              Shows this text.\n"
				     "  -V, --version           Shows the version.\n"
				     "\n"
				     "Examples:\n"
				     "  ptl-dump flow a.ptl\n"
				     "  ptl-dump flow --level insn a.ptl\n");
	parse_with(&line, "-h");
	assert_int_equal(run.status, 1);
	assert_memory_equal(run.out, "Usage: ", 7);
}

static void version(void **state)
{
	(void)state;
	parse_with(&line, "--version");
	assert_int_equal(run.status, 1);
	assert_memory_equal(run.out, "ptl-dump 0.", 11);
	assert_string_equal(run.err, "");
}

static void completion(void **state)
{
	(void)state;
	parse_with(&line, "--completion-words");
	assert_int_equal(run.status, 1);
	assert_string_equal(run.out, "--output=\n--quiet\n--level=\n--flags=\n--psb-period-of-the-packets=\n"
				     "--help\n--version\n");
	parse_with(&line, "--completion-words=level");
	assert_string_equal(run.out, "block\ninsn\nbranch\n");
	parse_with(&line, "--completion-words=output");
	assert_string_equal(run.out, "");
	parse_with(&line, "--completion-words=nothing");
	assert_string_equal(run.out, "");
}

/* The first operand is where the operands are even when argv is empty. */
static void no_words_at_all(void **state)
{
	char *argv[] = {NULL};
	int first = -1;

	(void)state;
	assert_int_equal(common_options_parse(&line, &run.taken, 0, argv, &first), 0);
	assert_int_equal(first, 0);
}

static int name_program(void **state)
{
	(void)state;
	common_message_start("ptl-dump", false);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_and_operands),
		cmocka_unit_test(abbreviations),
		cmocka_unit_test(stop_at_operand),
		cmocka_unit_test(choices),
		cmocka_unit_test(errors),
		cmocka_unit_test(meant),
		cmocka_unit_test(ambiguous),
		cmocka_unit_test(help),
		cmocka_unit_test(version),
		cmocka_unit_test(completion),
		cmocka_unit_test(no_words_at_all),
	};

	return cmocka_run_group_tests_name("options", tests, name_program, NULL);
}
