/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which program execve would run. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/proc/target.h"

/* ---- the first line of a script ------------------------------------------------------------- */

static int parse(const char *text, struct record_shebang *shebang)
{
	static char head[RECORD_HEAD_SIZE];

	memset(head, 0, sizeof(head));
	memcpy(head, text, strnlen(text, sizeof(head)));
	return record_shebang_parse(head, shebang);
}

static void test_shebang(void **state)
{
	static const struct {
		const char *text, *interpreter, *argument;
	} lines[] = {
		{"#!/bin/sh\n", "/bin/sh", NULL},
		{"#!/bin/sh", "/bin/sh", NULL},
		{"#! \t/bin/sh \t\nrest", "/bin/sh", NULL},
		{"#!/bin/sh -e -u \n", "/bin/sh", "-e -u"},
		{"#!/usr/bin/env   python3\n", "/usr/bin/env", "python3"},
		{"#!a\n", "a", NULL},
	};
	struct record_shebang shebang;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(lines[i].text, &shebang), 0);
		assert_string_equal(shebang.interpreter, lines[i].interpreter);
		if (lines[i].argument)
			assert_string_equal(shebang.argument, lines[i].argument);
		else
			assert_null(shebang.argument);
	}
	assert_int_equal(parse("#!\n/bin/sh\n", &shebang), -ENOEXEC);
	assert_int_equal(parse("#!   \n", &shebang), -ENOEXEC);
	assert_int_equal(parse("#!", &shebang), -ENOEXEC);
}

/* Overlong text is cut, except in the interpreter's name. */
static void test_long_shebang(void **state)
{
	char text[RECORD_HEAD_SIZE + 100];
	struct record_shebang shebang;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "#!/", 3);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(parse(text, &shebang), -ENOEXEC);
	memcpy(text, "#!/bin/sh ", 10);
	assert_int_equal(parse(text, &shebang), 0);
	assert_string_equal(shebang.interpreter, "/bin/sh");
	assert_int_equal(strlen(shebang.argument), RECORD_HEAD_SIZE - 1 - 10);
}

/* ---- files ---------------------------------------------------------------------------------- */

static char folder[] = "/tmp/ptl-target-XXXXXX";

static int enter_folder(void **state)
{
	(void)state;
	return !mkdtemp(folder) || chdir(folder);
}

static int remove_folder(void **state)
{
	static const char *const names[] = {"script", "outer", "loop", "elf32", "text", "plain", "lost", "noint"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(names[i]);
	return chdir("/") || rmdir(folder);
}

static void write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void write_text(const char *name, const char *text, mode_t mode)
{
	write_file(name, text, strlen(text), mode);
}

static void test_targets(void **state)
{
	static const uint8_t elf32[64] = {0x7f, 'E', 'L', 'F', 1, 1, 1, [16] = 2, [18] = 3};
	struct record_target target;

	(void)state;
	assert_int_equal(record_target_find(&target, "/bin/sh"), 0);
	assert_string_equal(target.path, "/bin/sh");
	assert_string_equal(target.script, "");
	assert_int_equal(target.prefix_count, 0);
	record_target_free(&target);

	write_text("script", "#!/bin/sh -e\n", 0755);
	assert_int_equal(record_target_find(&target, "script"), 0);
	assert_string_equal(target.path, "/bin/sh");
	assert_string_equal(target.script, "script");
	assert_int_equal(target.prefix_count, 3);
	assert_string_equal(target.prefix[0], "/bin/sh");
	assert_string_equal(target.prefix[1], "-e");
	assert_string_equal(target.prefix[2], "script");
	record_target_free(&target);

	/* A script with a script as interpreter: as in the kernel, sh -e script -x outer. */
	write_text("outer", "#!script -x\n", 0755);
	assert_int_equal(record_target_find(&target, "outer"), 0);
	assert_string_equal(target.script, "outer");
	assert_int_equal(target.prefix_count, 5);
	assert_string_equal(target.prefix[2], "script");
	assert_string_equal(target.prefix[3], "-x");
	assert_string_equal(target.prefix[4], "outer");
	record_target_free(&target);

	write_text("loop", "#!loop\n", 0755);
	assert_int_equal(record_target_find(&target, "loop"), -ELOOP);
	write_file("elf32", elf32, sizeof(elf32), 0755);
	assert_int_equal(record_target_find(&target, "elf32"), RECORD_TARGET_FORMAT);
	write_text("plain", "#!/bin/sh\n", 0644);
	assert_int_equal(record_target_find(&target, "plain"), -EACCES);
	assert_int_equal(record_target_find(&target, "missing"), -ENOENT);
	assert_int_equal(record_target_find(&target, "."), -EACCES);
	write_text("lost", "#!/nowhere/interpreter\n", 0755);
	assert_int_equal(record_target_find(&target, "lost"), -ENOENT);
	write_text("text", "", 0755);
	assert_int_equal(record_target_find(&target, "text"), -ENOEXEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shebang),
		cmocka_unit_test(test_long_shebang),
		cmocka_unit_test(test_targets),
	};

	return cmocka_run_group_tests(tests, enter_folder, remove_folder);
}
