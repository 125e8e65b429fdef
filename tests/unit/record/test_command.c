/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests how commands are found and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "common/text/text.h"
#include "record/launch/command.h"

static char folder[] = "/tmp/ptl-command-XXXXXX";

static const char *place(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void make_file(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(place(name), "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(place(name), mode), 0);
}

static int make_files(void **state)
{
	char path[512];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	make_file("script", "#!/bin/sh -e\nexit 0\n", 0755);
	make_file("text", "exit 0\n", 0755);
	make_file("plain", "exit 0\n", 0644);
	make_file("orphan", "#!/nonexistent/interpreter\n", 0755);
	make_file("loop", "", 0755);
	snprintf(path, sizeof(path), "#!%s/loop\n", folder);
	make_file("loop", path, 0755);
	/* header of a program for another CPU */
	make_file("foreign", "\177ELF\1\1\1", 0755);
	snprintf(path, sizeof(path), "/nonexistent:%s:/usr/bin:/bin", folder);
	return setenv("PATH", path, 1);
}

static int remove_files(void **state)
{
	static const char *const names[] = {"script", "text", "plain", "orphan", "loop", "foreign"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(place(names[i]));
	return rmdir(folder);
}

/* Looks name up; on success the path must end in `end`. */
static void expect(const char *name, int status, const char *end)
{
	char *argv[] = {(char *)name, (char *)"argument", NULL};
	struct record_command command;

	assert_int_equal(record_command_find(argv, false, &command), status);
	if (status) {
		assert_non_null(strstr(ptl_error_text(), end));
		return;
	}
	assert_true(strlen(command.path) >= strlen(end));
	assert_string_equal(command.path + strlen(command.path) - strlen(end), end);
	record_command_free(&command);
}

static void finds_programs(void **state)
{
	(void)state;
	expect("true", 0, "/true");
	expect("/bin/true", 0, "/bin/true");
	expect("script", 0, "/script");
	expect(place("script"), 0, "/script");
}

static void gives_texts_to_the_shell(void **state)
{
	char *argv[] = {(char *)"text", (char *)"x", NULL};
	struct record_command command;

	(void)state;
	assert_int_equal(record_command_find(argv, false, &command), 0);
	assert_string_equal(command.path, "/bin/sh");
	assert_string_equal(command.argv[0], "/bin/sh");
	assert_string_equal(command.argv[1], place("text"));
	assert_string_equal(command.argv[2], "x");
	assert_null(command.argv[3]);
	record_command_free(&command);
}

/* Links are resolved. The program of a script is the interpreter in its first line. */
static void says_what_runs(void **state)
{
	char *argv[] = {(char *)"sh", (char *)"-c", (char *)":", NULL};
	char *script[] = {(char *)place("script"), (char *)"x", NULL};
	struct record_command command;
	char *real = realpath("/bin/sh", NULL);

	(void)state;
	assert_int_equal(record_command_find(argv, true, &command), 0);
	assert_string_equal(command.program, real);
	assert_int_equal(command.words.size, 8);
	assert_memory_equal(command.words.data, "sh\0-c\0:", 8);
	record_command_free(&command);
	assert_int_equal(record_command_find(script, true, &command), 0);
	assert_string_equal(command.program, real);
	assert_string_equal((const char *)command.words.data, "/bin/sh");
	assert_string_equal((const char *)command.words.data + 8, "-e");
	assert_string_equal((const char *)command.words.data + 11, script[0]);
	record_command_free(&command);
	free(real);
}

static void says_what_is_wrong(void **state)
{
	(void)state;
	expect("no-such-command", RECORD_EXIT_NOT_FOUND, "no-such-command: command not found");
	expect("", RECORD_EXIT_NOT_FOUND, "command not found");
	expect("/no/such/command", RECORD_EXIT_NOT_FOUND, "No such file");
	expect("/tmp", RECORD_EXIT_NOT_EXECUTABLE, "Is a directory");
	expect("/dev/null", RECORD_EXIT_NOT_EXECUTABLE, "Permission denied");
	expect(place("plain"), RECORD_EXIT_NOT_EXECUTABLE, "Permission denied");
	expect("plain", RECORD_EXIT_NOT_EXECUTABLE, "Permission denied");
	expect(place("orphan"), RECORD_EXIT_NOT_FOUND, "its interpreter does not exist");
	expect(place("loop"), RECORD_EXIT_NOT_EXECUTABLE, "symbolic links");
	expect(place("foreign"), RECORD_EXIT_NOT_EXECUTABLE, "foreign");
}

static void names_the_last_part(void **state)
{
	(void)state;
	assert_string_equal(common_base_name("/usr/bin/ls"), "ls");
	assert_string_equal(common_base_name("ls"), "ls");
	assert_string_equal(common_base_name("/"), "/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_programs),      cmocka_unit_test(gives_texts_to_the_shell),
		cmocka_unit_test(says_what_runs),      cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(names_the_last_part),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
