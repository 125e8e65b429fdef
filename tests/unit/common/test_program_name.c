/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests names of programs: from a path, and from the first word of a command, quoted or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "common/text/program_name.h"
#include "common/text/quote.h"

static void first_words(void **state)
{
	static const struct {
		const char *line, *word;
	} lines[] = {
		{"", ""},
		{"gcc -c a.c", "gcc"},
		{"/usr/bin/cc", "/usr/bin/cc"},
		{"'my program' x", "my program"},
		{"\"C:/Program Files/x.exe\" -k", "C:/Program Files/x.exe"},
		{"'it'\\''s' y", "it's"},
		{"a\\ b c", "a b"},
		{"'not closed", "not closed"},
		{"C:\\Windows\\x.exe y", "C:\\Windows\\x.exe"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct ptl_bytes word = {0};

		common_first_word(&word, lines[i].line);
		assert_string_equal((const char *)word.data, lines[i].word);
		common_bytes_free(&word);
	}
}

/* Output of common_quote_words is read back for any name. */
static void quoted(void **state)
{
	static const char *const names[] = {"a b", "it's", "back\\slash", "\"", "''", "=x", "gcc", "tab\there"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *const words[] = {names[i], "second"};
		struct ptl_bytes line = {0}, word = {0};

		common_quote_words(&line, 2, words);
		common_first_word(&word, (const char *)line.data);
		assert_string_equal((const char *)word.data, names[i]);
		common_bytes_free(&line);
		common_bytes_free(&word);
	}
}

static void patterns(void **state)
{
	static const char path[] = "/usr/bin/x86_64-linux-gnu-gcc-12", line[] = "/usr/bin/gcc -c a.c";

	(void)state;
	assert_true(common_program_matches("gcc", path, line));
	assert_true(common_program_matches("*-gcc-1?", path, line));
	assert_true(common_program_matches("/usr/bin/gcc", path, line));
	assert_true(common_program_matches("[kworker/0:1]", "[kworker/0:1]", ""));
	assert_true(common_program_matches("[jit]", "/opt/[jit]", ""));
	assert_false(common_program_matches("[jit]", "/opt/[jiti]", ""));
	assert_true(common_program_matches("*/x86_64-linux-gnu-gcc-12", path, line));
	assert_false(common_program_matches("cc", path, line));
	assert_false(common_program_matches("a.c", path, line));
	assert_false(common_program_matches("/bin/gcc", path, line));
	assert_false(common_program_matches("*", "", ""));
	assert_true(common_program_matches("sh", "", "sh -c true"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_words),
		cmocka_unit_test(quoted),
		cmocka_unit_test(patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
