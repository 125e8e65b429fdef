/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the JSON reader: values, escapes, invalid texts, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/json_read.h"

static struct common_arena arena;

static int finish(void **state)
{
	(void)state;
	common_arena_free(&arena);
	return 0;
}

static struct common_json_value *read_text(const char *text)
{
	struct common_json_value *value = NULL;

	assert_int_equal(common_json_read(text, strlen(text), &arena, &value), 0);
	assert_non_null(value);
	return value;
}

static void expect_decoded(const char *text, const char *expected, size_t size)
{
	const struct common_json_value *value = read_text(text);

	assert_int_equal(value->kind, COMMON_JSON_STRING);
	assert_int_equal(value->size, size);
	assert_memory_equal(value->text, expected, size + 1);
}

static void values(void **state)
{
	const struct common_json_value *value = read_text(
		" {\"a\": [1, true, false, null, \"x\"], \"b\": {}, \"a\": 2} ");
	const struct common_json_value *child = value->first->first;
	int64_t integer = 0;

	(void)state;
	assert_int_equal(value->kind, COMMON_JSON_OBJECT);
	assert_string_equal(value->first->key, "a");
	assert_int_equal(value->first->kind, COMMON_JSON_ARRAY);
	assert_int_equal(child->kind, COMMON_JSON_NUMBER);
	child = child->next;
	assert_true(child->kind == COMMON_JSON_BOOL && child->truth);
	child = child->next;
	assert_true(child->kind == COMMON_JSON_BOOL && !child->truth);
	child = child->next;
	assert_int_equal(child->kind, COMMON_JSON_NULL);
	assert_true(common_json_is(child->next, "x"));
	assert_null(child->next->next);
	assert_int_equal(common_json_member(value, "b")->kind, COMMON_JSON_OBJECT);
	/* The last of several members counts. */
	assert_true(common_json_integer(common_json_member(value, "a"), &integer));
	assert_int_equal(integer, 2);
	assert_null(common_json_member(value, "c"));
	assert_null(common_json_member(common_json_member(value, "c"), "d"));
	assert_int_equal(value->raw_size, strlen("{\"a\": [1, true, false, null, \"x\"], \"b\": {}, \"a\": 2}"));
}

static void strings(void **state)
{
	(void)state;
	expect_decoded("\"\"", "", 0);
	expect_decoded("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	expect_decoded("\"a\\u0000b\"", "a\0b", 3);
	expect_decoded("\"\\u00e9\xc3\xa9\"", "\xc3\xa9\xc3\xa9", 4);
	expect_decoded("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	/* Halves of pairs. */
	expect_decoded("\"\\ud83d\"", "\xef\xbf\xbd", 3);
	expect_decoded("\"\\ud83dx\"", "\xef\xbf\xbdx", 4);
	expect_decoded("\"\\ude00\"", "\xef\xbf\xbd", 3);
	expect_decoded("\"\\ud83d\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7);
	expect_decoded("\"\\ud83d\\n\"", "\xef\xbf\xbd\n", 4);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		bool is_integer, fits;
		int64_t value;
	} cases[] = {
		{"0", true, true, 0},
		{"-0", true, true, 0},
		{"-9223372036854775808", true, true, INT64_MIN},
		{"9223372036854775807", true, true, INT64_MAX},
		{"9223372036854775808", true, false, 0},
		{"123456789012345678901234567890", true, false, 0},
		{"1.0", false, false, 0},
		{"1e2", false, false, 0},
		{"1E+2", false, false, 0},
		{"-1.5e-300", false, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct common_json_value *value = read_text(cases[i].text);
		int64_t integer = 0;

		assert_int_equal(value->kind, COMMON_JSON_NUMBER);
		assert_int_equal(common_json_is_integer(value), cases[i].is_integer);
		assert_int_equal(common_json_integer(value, &integer), cases[i].fits);
		assert_true(!cases[i].fits || integer == cases[i].value);
	}
}

static void wrong(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"nul",
		"truex",
		"true false",
		"[",
		"]",
		"[1",
		"[1,",
		"[1,]",
		"[,]",
		"[1 2]",
		"{",
		"{\"a\"",
		"{\"a\":",
		"{\"a\":1",
		"{\"a\":1,",
		"{\"a\":1,}",
		"{a:1}",
		"{1:1}",
		"{\"a\" 1}",
		"\"",
		"\"\\",
		"\"\\x\"",
		"\"\\u12\"",
		"\"\\u12g4\"",
		"\"\n\"",
		"\"\x01\"",
		"'a'",
		"01",
		"-",
		"+1",
		".5",
		"1.",
		"1e",
		"1e+",
		"0x1",
		"NaN",
		"Infinity",
		"\"\xff\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"\"\xc3\"",
		"\xef\xbb\xbf{}",
		"/* */ 1",
	};
	struct common_json_value *value;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (common_json_read(texts[i], strlen(texts[i]), &arena, &value) != PTL_CORRUPT)
			fail_msg("accepted: %s", texts[i]);
		assert_non_null(strstr(ptl_error_text(), "offset "));
		ptl_error_clear();
	}
	/* A zero byte is no white space, and does not end the text. */
	assert_int_equal(common_json_read("1\0", 2, &arena, &value), PTL_CORRUPT);
	ptl_error_clear();
}

/* Returns `count` copies of a text, then `count` copies of another, in new memory. */
static char *repeated(const char *open, const char *close, size_t count)
{
	char *text = calloc(count + 1, strlen(open) + strlen(close) + 1);

	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		memcpy(text + i * strlen(open), open, strlen(open));
	for (size_t i = 0; i < count; i++)
		memcpy(text + count * strlen(open) + i * strlen(close), close, strlen(close));
	return text;
}

static void limits(void **state)
{
	struct common_json_value *value;
	char *text = repeated("[", "]", COMMON_JSON_READ_DEPTH);

	(void)state;
	read_text(text);
	free(text);
	text = repeated("[", "]", COMMON_JSON_READ_DEPTH + 1);
	assert_int_equal(common_json_read(text, strlen(text), &arena, &value), PTL_CORRUPT);
	assert_non_null(strstr(ptl_error_text(), "within each other"));
	ptl_error_clear();
	free(text);
	text = repeated("1,", "", COMMON_JSON_READ_VALUES);
	*text = '[';
	assert_int_equal(common_json_read(text, strlen(text), &arena, &value), PTL_CORRUPT);
	ptl_error_clear();
	free(text);
	text = repeated("1,", "", COMMON_JSON_READ_VALUES + 2);
	text[0] = '[';
	text[1] = ' ';
	assert_int_equal(common_json_read(text, strlen(text), &arena, &value), PTL_CORRUPT);
	assert_non_null(strstr(ptl_error_text(), "too many values"));
	ptl_error_clear();
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(values, finish),  cmocka_unit_test_teardown(strings, finish),
		cmocka_unit_test_teardown(numbers, finish), cmocka_unit_test_teardown(wrong, finish),
		cmocka_unit_test_teardown(limits, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
