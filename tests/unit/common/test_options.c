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
#include "common/program/message.h"
#include "common/program/options.h"

/* Options in order: "output=a.ptl;quiet;". */
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

static int take_samples(void *target, const char *argument)
{
	return record(target, "samples", argument);
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
	{"samples", 0, "[=EVENT]", "Stacks of events", take_samples, NULL},
	{"names", 0, "[PID=]FILE", "Names of code", take_output, NULL},
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

/* Results of one run of the parser. */
static struct {
	int status, first;
	struct taken taken;
	char operands[256];
	char out[4096], err[1024];
} run;

/* Reads the text written to the file of fd, and restores the saved descriptor. */
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

/* An optional argument is never the next word. */
static void optional_argument(void **state)
{
	(void)state;
	expect("--samples a", "samples;", "a ");
	expect("--samples=x a", "samples=x;", "a ");
	expect("--samples= --sam", "samples=;samples;", "");
	expect("--names a", "output=a;", "");
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

/* ---- targets of every kind ------------------------------------------------------------------- */

enum color { AUTO, ALWAYS, NEVER };

struct settings {
	bool flag, given;
	uint8_t small;
	uint16_t medium;
	int level;
	uint64_t large;
	enum color color;
	uint32_t clock, limit;
	const char *text, *path;
	struct common_string_list names;
	struct common_id_set ids;
	struct common_time_span span;
	struct taken taken;
};

static const char *const color_words[] = {"auto", "always", "never", NULL};
static const char *const clock_words[] = {"real", "virtual", NULL};
static const uint32_t clocks[] = {7, 9};
static const char *const modes[] = {"32", "64", NULL};

static const struct common_option kinds_table[] = {
	{"flag", 'f', NULL, "x", COMMON_FLAG(struct settings, flag)},
	{"no-flag", 0, NULL, "x", COMMON_CONSTANT(struct settings, flag, false)},
	{"no-color", 0, NULL, "x", COMMON_CONSTANT(struct settings, color, NEVER)},
	{"text", 0, "X", "x", COMMON_STRING(struct settings, text)},
	{"path", 0, "X", "x", COMMON_PATH(struct settings, path)},
	{"small", 0, "X", "x", COMMON_NUMBER(struct settings, small, 0, 255), COMMON_GIVEN(struct settings, given)},
	{"medium", 0, "X", "x", COMMON_COUNT(struct settings, medium, 1, 4096)},
	{"level", 0, "X", "x", COMMON_NUMBER(struct settings, level, 1, 19)},
	{"mode", 0, "X", "x", COMMON_NUMBER(struct settings, small, 0, 255), .choices = modes},
	{"limit", 0, "X", "x", COMMON_LIMIT(struct settings, limit)},
	{"size", 0, "X", "x", COMMON_SIZE(struct settings, large, 64 << 10, UINT64_MAX)},
	{"ring", 0, "X", "x", COMMON_POWER_OF_TWO(struct settings, large, 4096, 64 << 20)},
	{"duration", 0, "X", "x", COMMON_DURATION(struct settings, large, 1)},
	{"color", 0, "X", "x", COMMON_CHOICE(struct settings, color, color_words)},
	{"clock", 0, "X", "x", COMMON_CHOICE_OF(struct settings, clock, clock_words, clocks)},
	{"name", 0, "X", "x", COMMON_STRINGS(struct settings, names, 2)},
	{"ids", 0, "X,...", "x", COMMON_IDS(struct settings, ids)},
	{"time", 0, "X", "x", COMMON_TIME_SPAN(struct settings, span)},
	{"last", 0, "X", "x", COMMON_LAST(struct settings, span)},
	{"take", 0, "X", "x", COMMON_CALLBACK(struct settings, taken, take_output)},
	{NULL},
};

static const struct common_option *const kinds_tables[] = {kinds_table, NULL};
static const struct common_command_line kinds_line = {.program = "p", .tables = kinds_tables};

/* Parses words separated by blanks. run.err gets the parser's standard error. */
static int parse_kinds(const char *words, struct settings *settings)
{
	static char copy[512];
	char *argv[32] = {(char *)"p"}, *rest = copy;
	int argc = 1, first, status, err, saved;

	snprintf(copy, sizeof(copy), "%s", words);
	while ((argv[argc] = strsep(&rest, " ")))
		argc++;
	saved = redirect(STDERR_FILENO, &err);
	status = common_options_parse(&kinds_line, settings, argc, argv, &first);
	restore(saved, STDERR_FILENO, err, run.err, sizeof(run.err));
	return status;
}

static void free_settings(struct settings *settings)
{
	common_string_list_free(&settings->names);
	common_id_set_free(&settings->ids);
}

static void stored(void **state)
{
	struct settings all = {.limit = 1};

	(void)state;
	assert_int_equal(parse_kinds("--text= --path a --medium 4K --level 19 --limit 0 --size 1M --color always "
				     "--clock virtual --name a --name b --ids 1,2 --ids 3 --time 1s.. --take x",
				     &all),
			 0);
	assert_string_equal(all.text, "");
	assert_string_equal(all.path, "a");
	assert_int_equal(all.small, 0);
	assert_false(all.given);
	assert_int_equal(all.medium, 4096);
	assert_int_equal(all.level, 19);
	assert_int_equal(all.limit, UINT32_MAX);
	assert_int_equal(all.large, 1 << 20);
	assert_int_equal(all.color, ALWAYS);
	assert_int_equal(all.clock, 9);
	assert_int_equal(all.names.count, 2);
	assert_string_equal(all.names.list[1], "b");
	assert_int_equal(all.ids.count, 3);
	assert_int_equal(all.span.from.nanoseconds, 1000000000);
	assert_false(all.span.to.given);
	assert_string_equal(all.taken.log, "output=x;");
	all.span = (struct common_time_span){0};
	assert_int_equal(parse_kinds("-f --small 0 --limit 5 --ring 64K --no-color --last 2ns", &all), 0);
	assert_true(all.flag && all.given);
	assert_int_equal(all.small, 0);
	assert_int_equal(all.limit, 5);
	assert_int_equal(all.large, 64 << 10);
	assert_int_equal(all.color, NEVER);
	assert_true(all.span.from.from_end);
	/* Neighbours of small members are unchanged. */
	assert_int_equal(parse_kinds("--no-flag --small 255 --mode 64 --duration 3us", &all), 0);
	assert_true(!all.flag && all.given);
	assert_int_equal(all.small, 64);
	assert_int_equal(all.medium, 4096);
	assert_int_equal(all.large, 3000);
	free_settings(&all);
}

/* A wrong value changes nothing, and the message states valid values. */
static void not_stored(void **state)
{
	static const struct {
		const char *words, *error;
	} cases[] = {
		{"--path=", "--path: a file name is missing"},
		{"--small 256", "--small: expected a number of at most 255, found '256'"},
		{"--small 1K", "--small: '1K' is not a number such as 4096 or 0x1000"},
		{"--small 0x1ffffffffffffffff",
		 "--small: '0x1ffffffffffffffff' is too large: it has more than 64 bits"},
		{"--size 18446744073709551616",
		 "--size: '18446744073709551616' is too large: it has more than 64 bits"},
		{"--size 18014398509481984K", "--size: '18014398509481984K' is too large: it has more than 64 bits"},
		{"--medium 0", "--medium: expected a number from 1 to 4096, found '0'"},
		{"--medium 5K", "--medium: expected a number from 1 to 4096, found '5K'"},
		{"--level 20", "--level: expected a number from 1 to 19, found '20'"},
		{"--level 0x100000001", "--level: expected a number from 1 to 19, found '0x100000001'"},
		{"--mode 33", "--mode: '33' is not one of 32 or 64"},
		{"--limit 4294967296", "--limit: expected a number of at most 4294967295, or 0 for any, found '42949"},
		{"--size 1", "--size: expected a size of at least 64K, found '1'"},
		{"--size x", "--size: 'x' is not a size such as 4096, 16K or 1M"},
		{"--ring 5000", "--ring: expected a size that is a power of two, found '5000'"},
		{"--ring 128M", "--ring: expected a size from 4K to 64M, found '128M'"},
		{"--ring 0", "--ring: expected a size from 4K to 64M, found '0'"},
		{"--duration 0", "--duration: expected a time of at least 1ns, found '0'"},
		{"--duration x", "--duration: 'x' is not a time such as 1.5s"},
		{"--color red", "--color: 'red' is not one of auto, always or never"},
		{"--ids x", "--ids: 'x' is not a number"},
		{"--time 5", "--time: '5' is no span of time"},
	};
	static const struct settings unchanged;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct settings settings;

		memset(&settings, 0, sizeof(settings));
		assert_int_equal(parse_kinds(cases[i].words, &settings), PTL_MISUSE);
		if (!strstr(run.err, cases[i].error))
			fail_msg("%s: %s", cases[i].words, run.err);
		assert_memory_equal(&settings, &unchanged, sizeof(settings));
	}
}

static void too_many(void **state)
{
	struct settings settings = {.flag = false};

	(void)state;
	assert_int_equal(parse_kinds("--name a --name b --name c", &settings), PTL_MISUSE);
	assert_non_null(strstr(run.err, "--name: expected at most 2 of them, found 'c'"));
	assert_int_equal(settings.names.count, 2);
	free_settings(&settings);
}

/* ---- help ------------------------------------------------------------------------------------ */

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
				     "      --samples[=EVENT]   Stacks of events\n"
				     "      --names [PID=]FILE  Names of code\n"
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

/* Options under a heading of rare options appear only in --help=all, and work. */
static void rare(void **state)
{
	static const struct common_option options[] = {
		{"", 0, NULL, "Often:"},
		{"quiet", 'q', NULL, "Says nothing.", .take = take_quiet},
		{"", 0, NULL, "Seldom:", .rare = true},
		{"output", 'o', "FILE", "Writes to FILE.", .take = take_output},
		{"", 0, NULL, "Often, too:"},
		{"level", 'l', "LEVEL", "How much.", .take = take_level},
		{NULL},
	};
	static const struct common_option *const of_options[] = {options, NULL};
	static const struct common_command_line rare_line = {.program = "p", .usage = "FILE", .tables = of_options};
	const char *first = "Usage: p FILE\n\nOften:\n  -q, --quiet             Says nothing.\n";
	const char *seldom = "\nSeldom:\n  -o, --output FILE       Writes to FILE.\n";
	const char *last = "\nOften, too:\n  -l, --level LEVEL       How much.\n\nOther:\n"
			   "  -h, --help              Shows this text.\n  -V, --version           Shows the version.\n";
	const char *all = "      --help=all          Shows the options that few need, too.\n";
	char expected[1024];

	(void)state;
	parse_with(&rare_line, "--help");
	assert_int_equal(run.status, 1);
	snprintf(expected, sizeof(expected), "%s%s%s", first, last, all);
	assert_string_equal(run.out, expected);
	parse_with(&rare_line, "--help=all");
	assert_int_equal(run.status, 1);
	snprintf(expected, sizeof(expected), "%s%s%s", first, seldom, last);
	assert_string_equal(run.out, expected);
	parse_with(&rare_line, "--help=more");
	assert_int_equal(run.status, PTL_MISUSE);
	assert_string_equal(run.err, "ptl-dump: error: --help: 'more' is not all\n  try: p --help\n");
	parse_with(&rare_line, "-o a");
	assert_int_equal(run.status, 0);
	assert_string_equal(run.taken.log, "output=a;");
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
	assert_string_equal(
		run.out, "--output=\n--quiet\n--level=\n--flags=\n--psb-period-of-the-packets=\n--samples\n--names=\n"
			 "--help\n--version\n");
	parse_with(&line, "--completion-words=level");
	assert_string_equal(run.out, "block\ninsn\nbranch\n");
	parse_with(&line, "--completion-words=output");
	assert_string_equal(run.out, "");
	parse_with(&line, "--completion-words=nothing");
	assert_string_equal(run.out, "");
}

/* The index of the first operand is right even for an empty argv. */
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
		cmocka_unit_test(optional_argument),
		cmocka_unit_test(abbreviations),
		cmocka_unit_test(stop_at_operand),
		cmocka_unit_test(choices),
		cmocka_unit_test(errors),
		cmocka_unit_test(meant),
		cmocka_unit_test(ambiguous),
		cmocka_unit_test(stored),
		cmocka_unit_test(not_stored),
		cmocka_unit_test(too_many),
		cmocka_unit_test(help),
		cmocka_unit_test(rare),
		cmocka_unit_test(version),
		cmocka_unit_test(completion),
		cmocka_unit_test(no_words_at_all),
	};

	return cmocka_run_group_tests_name("options", tests, name_program, NULL);
}
