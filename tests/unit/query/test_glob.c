/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests patterns of rules: matches, text of wildcards, and replacements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "query/glob.h"

static bool matches(const char *pattern, const char *text)
{
	return query_glob(pattern, text, strlen(text), NULL);
}

static void matches_all_of_a_text(void **state)
{
	(void)state;
	assert_true(matches("", ""));
	assert_false(matches("", "a"));
	assert_true(matches("abc", "abc"));
	assert_false(matches("abc", "abcd"));
	assert_false(matches("abcd", "abc"));
	assert_true(matches("*", ""));
	assert_true(matches("*", "a/b"));
	assert_true(matches("a?c", "abc"));
	assert_false(matches("a?c", "ac"));
	assert_true(matches("*b*b", "abbb"));
	assert_false(matches("*b*c", "abbb"));
	assert_true(matches("\\*\\?", "*?"));
	assert_false(matches("\\*", "a"));
	assert_true(matches("a\\", "a\\"));
	assert_true(matches("***a", "a"));
}

static void looks_at_the_last_part_of_a_path(void **state)
{
	(void)state;
	assert_true(query_glob_path("ho*", "/opt/bin/host"));
	assert_false(query_glob_path("opt*", "/opt/bin/host"));
	assert_true(query_glob_path("/opt/*", "/opt/bin/host"));
	assert_true(query_glob_path("host", "host"));
	assert_true(query_glob_path("", "/a/"));
}

static void replaced(const char *pattern, const char *text, const char *replacement, const char *expected)
{
	struct query_captures captures;
	struct ptl_bytes out = {0};

	assert_true(query_glob(pattern, text, strlen(text), &captures));
	query_replace(&out, replacement, &captures);
	assert_int_equal(out.size, strlen(expected));
	if (out.size)
		assert_memory_equal(out.data, expected, out.size);
	common_bytes_free(&out);
}

static void replaces_what_wildcards_matched(void **state)
{
	(void)state;
	replaced("/build/*/lib/*", "/build/a/lib/b/lib/c", "/usr/lib/$2", "/usr/lib/b/lib/c");
	replaced("/build/*/lib/*", "/build/a/lib/b/lib/c", "$1", "a");
	replaced("*b*b", "abbb", "$1-$2", "a-b");
	replaced("?-*?", "x-yz", "$3$2$1", "zyx");
	replaced("**", "ab", "[$1][$2]", "[][ab]");
	replaced("a", "a", "$$1 $", "$1 $");
	replaced("???????????", "abcdefghijk", "$9", "i");
}

/* Patterns with exponential time in a recursive matcher. */
static void is_never_slow(void **state)
{
	char text[5001];

	(void)state;
	memset(text, 'a', 5000);
	text[5000] = '\0';
	assert_false(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_all_of_a_text),
		cmocka_unit_test(looks_at_the_last_part_of_a_path),
		cmocka_unit_test(replaces_what_wildcards_matched),
		cmocka_unit_test(is_never_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
