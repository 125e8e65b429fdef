/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests texts with a rule per line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/rule_lines.h"
#include "common/text/text.h"

static int add(void *context, const char *rule, size_t size)
{
	struct ptl_bytes *rules = context;

	if (size == 3 && memcmp(rule, "bad", 3) == 0)
		return common_fail(PTL_MISUSE, "this is bad");
	if (size == 3 && memcmp(rule, "end", 3) == 0)
		return 7;
	common_write_bytes(rules, rule, size);
	common_text_add(rules, "|");
	return 0;
}

/* Cuts a copy of the exact size, so that a sanitizer sees reads beyond the end. */
static int cut(const char *text, size_t size, bool anywhere, struct ptl_bytes *rules)
{
	char *copy = malloc(size ? size : 1);
	int status;

	assert_non_null(copy);
	memcpy(copy, text, size);
	rules->size = 0;
	status = common_rule_lines("list", copy, size, anywhere, add, rules);
	free(copy);
	return status;
}

static void test_rules(void **state)
{
	static const struct {
		const char *text, *behind, *anywhere;
	} cases[] = {
		{"", "", ""},
		{"\n\n", "", ""},
		{"#", "", ""},
		{"a", "a|", "a|"},
		{"a\nb\n", "a|b|", "a|b|"},
		{" \ta b\t \r\n\r\n  b", "a b|b|", "a b|b|"},
		{"# a\n  # b\nc # d\n#", "c # d|", "c|"},
		{"c#d \n#e", "c#d|", "c|"},
	};
	struct ptl_bytes rules = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cut(cases[i].text, strlen(cases[i].text), false, &rules), 0);
		assert_string_equal(common_text_string(&rules), cases[i].behind);
		assert_int_equal(cut(cases[i].text, strlen(cases[i].text), true, &rules), 0);
		assert_string_equal(common_text_string(&rules), cases[i].anywhere);
	}
	common_bytes_free(&rules);
}

static void test_ends(void **state)
{
	struct ptl_bytes rules = {0};

	(void)state;
	assert_int_equal(cut("a\n\n bad\nb", 9, false, &rules), PTL_MISUSE);
	assert_string_equal(ptl_error_text(), "list:3: this is bad");
	assert_int_equal(cut("a\nend\nb", 7, false, &rules), 7);
	assert_string_equal(common_text_string(&rules), "a|");
	assert_int_equal(cut("a\nb\0c\n", 6, false, &rules), PTL_MISUSE);
	assert_string_equal(ptl_error_text(), "list:2: a zero byte: this is no text");
	common_bytes_free(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
