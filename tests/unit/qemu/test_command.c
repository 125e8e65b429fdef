/* SPDX-License-Identifier: BSD-2-Clause */
/* What execve would run, and the command line that runs it in QEMU. */

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

#include <ptl/trace.h>

#include "record/qemu/shared/command.h"
#include "record/process/target.h"

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

/* What does not fit is cut, as long as it is not the interpreter's name. */
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

static char folder[] = "/tmp/ptl-qemu-command-XXXXXX";

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

	/* A script run by a script: as the kernel has it, sh -e script -x outer. */
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

/* ---- the command line ----------------------------------------------------------------------- */

static void check_strings(char **strings, const char *const *expected)
{
	size_t i = 0;

	for (; expected[i]; i++) {
		assert_non_null(strings[i]);
		assert_string_equal(strings[i], expected[i]);
	}
	assert_null(strings[i]);
}

static void test_command(void **state)
{
	static char name[] = "name", spaced[] = "a b", empty[] = "";
	static char a[] = "A=1", cpu[] = "QEMU_CPU=x", b[] = "B=2", log[] = "QEMU_LOG=a,b";
	static char slices[] = "G_SLICE=debug-blocks", other[] = "G_SLICES=1";
	static char *const arguments[] = {name, spaced, empty, NULL};
	static char *const variables[] = {a, cpu, slices, b, log, other, NULL};
	static const char *const expected[] = {"/usr/bin/qemu-x86_64",
					       "-U",
					       "G_SLICE",
					       "-E",
					       "QEMU_CPU=x",
					       "-E",
					       "G_SLICE=debug-blocks",
					       "-seed",
					       "0",
					       "-plugin",
					       "/a,,b/ptl-qemu.so,arena=/proc/1/fd/5,program=13,script=15",
					       "-0",
					       "/bin/sh",
					       "/bin/sh",
					       "-e",
					       "script",
					       "a b",
					       "",
					       NULL};
	/* In the order that comes out right when QEMU has turned it round. */
	static const char *const environment[] = {"G_SLICES=1", "B=2", "A=1", "G_SLICE=always-malloc", NULL};
	static struct qemu_channel_config config = {
		.clock = PTL_CLOCK_VIRTUAL,
		.arena_path = "/proc/1/fd/5",
		.plugin_path = "/a,b/ptl-qemu.so",
		.qemu_path = "/usr/bin/qemu-x86_64",
	};
	struct qemu_command command;

	(void)state;
	write_text("script", "#!/bin/sh -e\n", 0755);
	assert_int_equal(qemu_command_make(&command, &config, "script", arguments, variables, NULL), 0);
	assert_string_equal(command.path, "/usr/bin/qemu-x86_64");
	check_strings(command.argv, expected);
	check_strings(command.envp, environment);
	qemu_command_free(&command);
}

static void test_command_after_execve(void **state)
{
	static char *const arguments[] = {NULL};
	static const char *const expected[] = {
		"/q", "-U", "G_SLICE", "-plugin", "/p,arena=/proc/1/fd/5,program=7,process=3,slot=-1,time=99,epoch=7",
		"-0", "",   "/bin/sh", NULL};
	static struct qemu_channel_config config = {
		.clock = PTL_CLOCK_MONOTONIC,
		.arena_path = "/proc/1/fd/5",
		.plugin_path = "/p",
		.qemu_path = "/q",
	};
	const struct qemu_continue from = {.process = 3, .slot = -1, .time = 99, .epoch = 7};
	struct qemu_command command;

	(void)state;
	assert_int_equal(qemu_command_make(&command, &config, "/bin/sh", arguments, NULL, &from), 0);
	check_strings(command.argv, expected);
	assert_string_equal(command.envp[0], "G_SLICE=always-malloc");
	assert_null(command.envp[1]);
	qemu_command_free(&command);
	assert_int_equal(qemu_command_make(&command, &config, "/missing", arguments, NULL, &from), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shebang),
		cmocka_unit_test(test_long_shebang),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_command_after_execve),
	};

	return cmocka_run_group_tests_name("QEMU command", tests, enter_folder, remove_folder);
}
