/* SPDX-License-Identifier: BSD-2-Clause */
/* Words that depend on a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/error.h"
#include "common/plural.h"
#include "common/text/text.h"

static void check(const char *given, const char *expected)
{
	char text[256];

	strcpy(text, given);
	common_plural_choose(given, text);
	assert_string_equal(text, expected);
}

static void test_words_follow_the_last_whole_number(void **state)
{
	(void)state;
	check("1 " COMMON_PLURAL("call", "calls") " began, and " COMMON_PLURAL("is", "are") " lost",
	      "1 call began, and is lost");
	check("21 " COMMON_PLURAL("call", "calls"), "21 calls");
	check("0 " COMMON_PLURAL("call", "calls"), "0 calls");
	check("1,001 " COMMON_PLURAL("call", "calls"), "1,001 calls");
	check("2 of 1 " COMMON_PLURAL("call", "calls"), "2 of 1 call");
	check("1 of 3 " COMMON_PLURAL("file", "files"), "1 of 3 files");
	check("/tmp/1: 7 " COMMON_PLURAL("file", "files"), "/tmp/1: 7 files");
	check("7.1 " COMMON_PLURAL("file", "files"), "7.1 files");
	check("(1 " COMMON_PLURAL("", "s") ")", "(1 )");
	check(COMMON_PLURAL("call", "calls"), "calls");
}

static void test_bytes_of_names_stay(void **state)
{
	(void)state;
	check("a\001b", "a\001b");
	check("a\001b\002c", "a\001b\002c");
	check("\003\002\001", "\003\002\001");
	check("", "");
}

static void test_messages_choose(void **state)
{
	struct ptl_bytes text = {0};

	(void)state;
	common_text_format(&text, "%d " COMMON_PLURAL("gap", "gaps"), 1);
	assert_string_equal(common_text_string(&text), "1 gap");
	common_bytes_free(&text);
	(void)common_fail(PTL_MISUSE, "%d " COMMON_PLURAL("gap", "gaps") " of %d", 1, 2);
	assert_string_equal(ptl_error_text(), "1 gap of 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_follow_the_last_whole_number),
		cmocka_unit_test(test_bytes_of_names_stay),
		cmocka_unit_test(test_messages_choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
