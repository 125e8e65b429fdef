/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests messages on a pipe and on a terminal, the progress line, and exit statuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"

static int real_stderr, reading_end;
static char said[16384];

static void replace_stderr(int fd)
{
	real_stderr = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

/* stderr becomes a pipe. */
static int use_pipe(void **state)
{
	int ends[2];

	(void)state;
	if (pipe(ends) < 0)
		return -1;
	reading_end = ends[0];
	replace_stderr(ends[1]);
	return 0;
}

/* Replaces stderr by a terminal that does not change the output. */
static int use_terminal(void **state)
{
	struct termios plain;
	int terminal;

	(void)state;
	memset(&plain, 0, sizeof(plain));
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	if (openpty(&reading_end, &terminal, NULL, &plain, NULL) < 0)
		reading_end = -1;
	else
		replace_stderr(terminal);
	return 0;
}

static void need_terminal(void)
{
	if (reading_end >= 0)
		return;
	print_message("skipped: no terminal can be opened: /dev/pts is not mounted\n");
	skip();
}

static int put_stderr_back(void **state)
{
	(void)state;
	if (reading_end < 0)
		return 0;
	dup2(real_stderr, STDERR_FILENO);
	close(real_stderr);
	close(reading_end);
	return 0;
}

/* Expects the text since the last call. Every message is a single write, and readable at once. */
static void expect(const char *expected)
{
	ssize_t length;

	assert_int_equal(write(STDERR_FILENO, "$", 1), 1);
	length = 0;
	do
		length += read(reading_end, said + length, sizeof(said) - (size_t)length - 1);
	while (said[length - 1] != '$');
	said[length - 1] = 0;
	assert_string_equal(said, expected);
}

static void plain_messages(void **state)
{
	(void)state;
	common_message_start("ptl-dump", false);
	common_message_error("cannot open %s", "a.ptl");
	common_message_hint("ptl-dump --help");
	common_message_warning("%d buffers are lost", 2);
	common_message_note("done");
	common_progress("50 %%");
	common_progress_end();
	expect("ptl-dump: error: cannot open a.ptl\n"
	       "  try: ptl-dump --help\n"
	       "ptl-dump: warning: 2 buffers are lost\n"
	       "ptl-dump: done\n");
	common_message_start("ptl-dump", true);
	common_message_note("done");
	common_message_warning("still said");
	expect("ptl-dump: warning: still said\n");
}

/* Names from a trace cannot move the cursor or change colours; text stays readable. */
static void control_characters(void **state)
{
	char text[6000];

	(void)state;
	common_message_start("p", false);
	common_message_note("%s", "a\033[31mb\r\x7f\xc2\x9b"
				  "c\x01 gr\xc3\xbc\xc3\x9f\n\tnext \xff\xc3");
	expect("p: a\\x1b[31mb\\x0d\\x7f\\xc2\\x9bc\\x01 gr\xc3\xbc\xc3\x9f\\x0a\tnext \\xff\\xc3\n");
	common_message_note("%s\n%s", "a", "b");
	expect("p: a\nb\n");
	memset(text, '\033', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	common_message_note("%s", text);
	assert_true(read(reading_end, said, sizeof(said)) > 4000);
}

static void failures(void **state)
{
	(void)state;
	common_message_start("p", false);
	common_fail(PTL_CORRUPT, "bad magic");
	common_fail_in(PTL_CORRUPT, "cannot open a.ptl");
	assert_int_equal(common_message_failure(PTL_CORRUPT), COMMON_EXIT_INPUT);
	ptl_error_clear();
	assert_int_equal(common_message_failure(PTL_NO_MEMORY), COMMON_EXIT_SYSTEM);
	expect("p: error: cannot open a.ptl: bad magic\n"
	       "p: error: out of memory\n");
}

static void exit_statuses(void **state)
{
	static const struct {
		int status, exit;
	} expected[] = {
		{PTL_OK, COMMON_EXIT_OK},           {1, COMMON_EXIT_OK},
		{PTL_NOT_OURS, COMMON_EXIT_INPUT},  {PTL_UNSUPPORTED, COMMON_EXIT_INPUT},
		{PTL_CORRUPT, COMMON_EXIT_INPUT},   {PTL_TRUNCATED, COMMON_EXIT_INPUT},
		{PTL_NOT_FOUND, COMMON_EXIT_INPUT}, {PTL_NO_MEMORY, COMMON_EXIT_SYSTEM},
		{PTL_SYSTEM, COMMON_EXIT_SYSTEM},   {PTL_CANCELLED, COMMON_EXIT_SYSTEM},
		{PTL_MISUSE, COMMON_EXIT_USAGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_int_equal(common_exit_of(expected[i].status), expected[i].exit);
}

static void colour_on_a_terminal(void **state)
{
	(void)state;
	need_terminal();
	common_message_start("p", false);
	common_message_error("e");
	common_message_warning("w");
	common_message_note("n");
	expect("p: \033[1;31merror: \033[0me\n"
	       "p: \033[1;33mwarning: \033[0mw\n"
	       "p: n\n");
	setenv("NO_COLOR", "1", 1);
	common_message_start("p", false);
	common_message_error("e");
	expect("p: error: e\n");
	setenv("TERM", "dumb", 1);
	unsetenv("NO_COLOR");
	common_message_start("p", false);
	common_message_error("e");
	common_progress("50 %%");
	expect("p: error: e\n");
}

/* The progress line is overwritten in place, at most ten times a second, and makes way for messages. */
static void progress_on_a_terminal(void **state)
{
	(void)state;
	need_terminal();
	common_message_start("p", false);
	common_progress("%d\033 %%", 1);
	common_progress("%d %%", 2);
	expect("\r\033[K1\\x1b %");
	usleep(110000);
	common_progress("%d %%", 3);
	common_message_note("n");
	common_message_note("m");
	expect("\r\033[K3 %\r\033[Kp: n\np: m\n");
	common_progress_end();
	expect("");
	common_progress("4 %%");
	common_progress_end();
	expect("\r\033[K4 %\r\033[K");
	common_message_start("p", true);
	common_progress("5 %%");
	expect("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(plain_messages, use_pipe, put_stderr_back),
		cmocka_unit_test_setup_teardown(control_characters, use_pipe, put_stderr_back),
		cmocka_unit_test_setup_teardown(failures, use_pipe, put_stderr_back),
		cmocka_unit_test(exit_statuses),
		cmocka_unit_test_setup_teardown(colour_on_a_terminal, use_terminal, put_stderr_back),
		cmocka_unit_test_setup_teardown(progress_on_a_terminal, use_terminal, put_stderr_back),
	};

	return cmocka_run_group_tests_name("message", tests, NULL, NULL);
}
