/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests shell quoting, also against /bin/sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/text/quote.h"

static void expect(const char *word, const char *quoted)
{
	struct ptl_bytes out = {0};

	common_quote_words(&out, 1, &word);
	assert_false(out.failed);
	assert_string_equal((const char *)out.data, quoted);
	assert_int_equal(out.size, strlen(quoted) + 1);
	common_bytes_free(&out);
}

static void quotes_what_needs_it(void **state)
{
	(void)state;
	expect("plain", "plain");
	expect("/usr/bin/gcc-12", "/usr/bin/gcc-12");
	expect("--cpu=6/78/3", "--cpu=6/78/3");
	expect("", "''");
	expect("two words", "'two words'");
	expect("it's", "'it'\\''s'");
	expect("'", "''\\'''");
	expect("$HOME", "'$HOME'");
	expect("~", "'~'");
	expect("^", "'^'");
	expect("a=b", "a=b");
	expect("=ls", "'=ls'");
	expect("a\nb", "'a\nb'");
	expect("\xff", "'\xff'");
}

static void joins_words(void **state)
{
	static const char *const words[] = {"sh", "-c", "echo 'hi'"};
	struct ptl_bytes out = {0};

	(void)state;
	common_quote_words(&out, 3, words);
	assert_string_equal((const char *)out.data, "sh -c 'echo '\\''hi'\\'''");
	common_bytes_free(&out);
	common_quote_words(&out, 0, words);
	assert_string_equal((const char *)out.data, "");
	common_bytes_free(&out);
}

/* Every byte but zero survives a shell. */
static void survives_a_shell(void **state)
{
	struct ptl_bytes command = {0};
	char word[256];
	char back[300];
	FILE *shell;
	size_t n;

	(void)state;
	for (int i = 1; i < 256; i++)
		word[i - 1] = (char)i;
	word[255] = '\0';
	common_write_bytes(&command, "printf %s ", 10);
	common_quote_word(&command, word);
	common_write_bytes(&command, "", 1);
	assert_false(command.failed);
	shell = popen((const char *)command.data, "r");
	assert_non_null(shell);
	n = fread(back, 1, sizeof(back), shell);
	assert_int_equal(pclose(shell), 0);
	assert_int_equal(n, 255);
	assert_memory_equal(back, word, 255);
	common_bytes_free(&command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_what_needs_it),
		cmocka_unit_test(joins_words),
		cmocka_unit_test(survives_a_shell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
