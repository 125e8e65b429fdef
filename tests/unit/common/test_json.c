/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the JSON writer: nesting, escapes, invalid UTF-8, exact numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/json.h"

static char *text;
static size_t text_size;
static struct common_json json;

static int start(void **state)
{
	FILE *file = open_memstream(&text, &text_size);

	(void)state;
	if (!file)
		return -1;
	common_json_start(&json, file);
	return 0;
}

static int finish(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

static void expect(const char *expected)
{
	assert_int_equal(fclose(json.file), 0);
	assert_string_equal(text, expected);
}

static void nesting(void **state)
{
	(void)state;
	common_json_object(&json, NULL);
	common_json_u64(&json, "a", 1);
	common_json_array(&json, "list");
	common_json_object(&json, NULL);
	common_json_object_end(&json);
	common_json_array(&json, NULL);
	common_json_bool(&json, NULL, true);
	common_json_bool(&json, NULL, false);
	common_json_array_end(&json);
	common_json_null(&json, NULL);
	common_json_array_end(&json);
	common_json_hex(&json, "at", 0x7f0012345678);
	common_json_object_end(&json);
	common_json_line(&json);
	expect("{\"a\":1,\"list\":[{},[true,false],null],\"at\":\"0x7f0012345678\"}\n");
}

static void lines(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		common_json_array(&json, NULL);
		common_json_i64(&json, NULL, -i);
		common_json_array_end(&json);
		common_json_line(&json);
	}
	expect("[0]\n[-1]\n[-2]\n");
}

static void numbers(void **state)
{
	(void)state;
	common_json_array(&json, NULL);
	common_json_u64(&json, NULL, UINT64_MAX);
	common_json_i64(&json, NULL, INT64_MIN);
	common_json_double(&json, NULL, 0.1);
	common_json_double(&json, NULL, 1.0 / 3);
	common_json_double(&json, NULL, 1e300);
	common_json_double(&json, NULL, (double)NAN);
	common_json_double(&json, NULL, (double)-INFINITY);
	common_json_hex(&json, NULL, UINT64_MAX);
	common_json_hex(&json, NULL, 0);
	common_json_array_end(&json);
	expect("[18446744073709551615,-9223372036854775808,0.1,0.3333333333333333,1e+300,null,null,"
	       "\"0xffffffffffffffff\",\"0x0\"]");
}

static void escapes(void **state)
{
	(void)state;
	common_json_object(&json, NULL);
	common_json_string(&json, "a\"b", "\"\\/\b\f\n\r\t\x01\x1f\x7f");
	common_json_string_n(&json, "zero", "a\0b", 3);
	common_json_string(&json, "none", NULL);
	common_json_string(&json, "empty", "");
	common_json_object_end(&json);
	expect("{\"a\\\"b\":\"\\\"\\\\/"
	       "\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f\",\"zero\":\"a\\u0000b\","
	       "\"none\":null,\"empty\":\"\"}");
}

#define BAD "\xef\xbf\xbd"

/* Each bad byte becomes a U+FFFD; valid neighbours stay. */
static void utf8(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf", "\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf"},
		{"\xff", BAD},
		{"a\x80z", "a" BAD "z"},               /* a continuation alone */
		{"\xc0\xaf", BAD BAD},                 /* overlong */
		{"\xe0\x80\xaf", BAD BAD BAD},         /* overlong */
		{"\xf0\x80\x80\xaf", BAD BAD BAD BAD}, /* overlong */
		{"\xed\xa0\x80", BAD BAD BAD},         /* a surrogate */
		{"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* past U+10FFFF */
		{"\xe2\x82", BAD BAD},                 /* cut */
		{"\xe2\x82z", BAD BAD "z"},            /* cut by another character */
		{"\xf0\x9f\x98", BAD BAD BAD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[64];

		common_json_string(&json, NULL, cases[i].in);
		snprintf(expected, sizeof(expected), "\"%s\"", cases[i].out);
		expect(expected);
		assert_int_equal(finish(NULL), 0);
		assert_int_equal(start(NULL), 0);
	}
	fclose(json.file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nesting, start, finish),
		cmocka_unit_test_setup_teardown(lines, start, finish),
		cmocka_unit_test_setup_teardown(numbers, start, finish),
		cmocka_unit_test_setup_teardown(escapes, start, finish),
		cmocka_unit_test_setup_teardown(utf8, start, finish),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
