/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests expressions of --where: accepted expressions, errors, and matching events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/event/event_activity.h"
#include "analysis/event/event_query.h"
#include "common/error.h"

static const struct ptl_field fields[] = {
	{.name = "User", .type = PTL_TYPE_UTF8},
	{.name = "Small", .type = PTL_TYPE_I8},
	{.name = "Large", .type = PTL_TYPE_U64},
	{.name = "Real", .type = PTL_TYPE_F64},
	{.name = "Wide", .type = PTL_TYPE_UTF16},
	{.name = "S", .type = PTL_TYPE_STRUCT, .length = 2, .array = PTL_ARRAY_COUNTED},
	{.name = "X", .type = PTL_TYPE_U8},
	{.name = "Name", .type = PTL_TYPE_UTF8_COUNTED},
	{.name = "Flag", .type = PTL_TYPE_BOOL8},
	{.name = "Id", .type = PTL_TYPE_GUID},
	{.name = "Text", .type = PTL_TYPE_U8, .array = PTL_ARRAY_FIXED, .array_length = 4, .format = PTL_FORMAT_STRING},
	{.name = "Port", .type = PTL_TYPE_U16, .format = PTL_FORMAT_PORT},
	{.name = "Mask", .type = PTL_TYPE_U16, .format = PTL_FORMAT_HEX},
	{.name = "When", .type = PTL_TYPE_TIME},
	{.name = "Bytes", .type = PTL_TYPE_BYTES_COUNTED},
	{.name = "Empty", .type = PTL_TYPE_UTF8},
};

static const uint8_t payload[] = "Zo\xc3\xab\0"
				 "\xfe"
				 "\xff\xff\xff\xff\xff\xff\xff\xff"
				 "\0\0\0\0\0\0\xf8\x3f"
				 "a\0 \0b\0\0\0"
				 "\x02\0"
				 "\x05\x02\0hi"
				 "\x09\0\0"
				 "\x01"
				 "\xad\x4a\x81\x9e\x04\x32\xd2\x11\x9a\x82\x00\x60\x08\xa8\x69\x39"
				 "ok\0\0"
				 "\x01\xbb"
				 "\x06\0"
				 "\x64\0\0\0\0\0\0\0"
				 "\x02\0\xca\xfe";

static const struct {
	const char *text;
	bool holds;
} conditions[] = {
	{"User == \"Zo\xc3\xab\"", true},
	{"User == 'Zo\xc3\xab'", true},
	{"User==Zo\xc3\xab", true},
	{"User == Zo", false},
	{"User != Zo", true},
	{"User < Zz", true},
	{"User > Zo", true},
	{"User ~ 'Z*'", true},
	{"User ~ 'z*'", false},
	{"user == Zo\xc3\xab", false},
	{"Small == -2", true},
	{"Small < 0", true},
	{"Small < -2", false},
	{"Small <= -2", true},
	{"Small > 18446744073709551615", false},
	{"Small == -2.0", true},
	{"Large == 18446744073709551615", true},
	{"Large == 0xffffffffffffffff", true},
	{"Large > 18446744073709551614", true},
	{"Large > -1", true},
	{"Large == 18446744073709551616", true}, /* beyond 64 bits: a float comparison */
	{"Real == 1.5", true},
	{"Real > 1", true},
	{"Real >= 2", false},
	{"Wide == \"a b\"", true},
	{"S.X == 9", true},
	{"S.X == 5 && S.X == 9", true},
	{"S.X == 6", false},
	{"S.X != 5", true},
	{"X == 9", false},
	{"S.Name == hi", true},
	{"S.Name == ''", true},
	{"Flag == true", true},
	{"Flag == 1", true},
	{"Flag == false", false},
	{"Id == 9E814AAD-3204-11D2-9A82-006008A86939", true},
	{"Text == ok", true},
	{"Text ~ o?", true},
	{"Port == 443", true},
	{"Mask & 2", true},
	{"Mask & 0x9", false},
	{"Mask == 6", true},
	{"Mask & Read", false},
	{"When == 90", true},
	{"Bytes == cafe", true},
	{"User & 1", false},
	{"Nothing == 1", false},
	{"Nothing != 1", false},
	{"  Small   ==   -2   &&User~Z* && Real<2  ", true},
	{"Small == -2 && Real == 2", false},
	{"Small==-2&&Real==1.5", true},
	{"not == 3", false},
	{"User == (null)", false},
	{"User != (null)", true},
	{"User == a+b", false},
	{"User < /a/b", false},
	{"User ~ [A-Z]o*", true},
	{"User ~ [a-z]o*", false},
	{"User != #1 && #2 == 3", false},
	{"User != #1", true},
	/* other parts of expressions */
	{"Small == -2 and Real == 2", false},
	{"Small == -2 and Real == 1.5", true},
	{"Small == -2 or Real == 2", true},
	{"Small == 3 || Real == 1.5", true},
	{"not User ~ 'z*'", true},
	{"not User == Zo\xc3\xab", false},
	{"not Nothing == 1", false},
	{"Nothing == 1 or Small == -2", true},
	{"not (Nothing == 1) or has(Nothing)", false},
	{"(User == Zo\xc3\xab)", true},
	{"(User == Zo\xc3\xab and (S.X == 5 or Small > 3)) && Flag == true", true},
	{"len(User) == 4", true},
	{"len(User) > 4", false},
	{"lower(User) == zo\xc3\xab", true},
	{"lower(User) == 'zo\xc3\xab'", true},
	{"lower(User) like \"z*\"", true},
	{"User like 'Z*'", true},
	{"User == User", false}, /* still a plain word */
	{"User == `User`", true},
	{"`User` == \"Zo\xc3\xab\"", true},
	{"Small + 3 == 1", true},
	{"Small < Mask + 1", true},
	{"Mask & 2 == 2", true},
	{"Mask & 2 != 2", false},
	{"Mask << 1 == 12", true},
	{"S[0].X == 5", true},
	{"S[1].X == 5", false},
	{"any(i in S, S[i].X == 9 and i == 1)", true},
	{"all(i in S, S[i].X > 5)", false},
	{"count(i in S, S[i].X > 5) == 1", true},
	{"any(i in S, len(S[i].Name) == i)", false},
	{"any(i in S, S[i].X > `Mask`)", true},
	{"has(S[1]) and not has(S[2])", true},
	{"has(Nothing) or has(User)", true},
	{"event.id == 7", true},
	{"event.level <= 3 and event.pid != 5", false},
	{"event.level <= 3 and (event.pid != 5 or event.cpu == 2)", true},
	{"event.size > 1K", false},
	{"event.time > 5us", true},
	{"event.process == ''", true},
	{"event.provider like '00000000-*'", true},
	{"replace(User, \"Z*\", \"K$1\") == Ko\xc3\xab", true},
	{"true", true},
	{"not true", false},
	{"Small == \"-2\"", true},
	{"User == \"Zo\\\"\\\\\\n\\t\"", false},
};

static const struct {
	const char *text, *error;
} wrong[] = {
	{"", "--where:1:1: expected a value, found the end"},
	{"   ", "--where:1:4: expected a value, found the end"},
	{"== 3", "--where:1:1: expected a value, found '=='"},
	{"A", "--where:1:1: expected a condition such as UserName == \"Zoe\" or Count > 3, found a value"},
	{"A = 3", "--where:1:3: expected an operator, found '=': == compares"},
	{"A && B == 1", "--where:1:1: expected a condition"},
	{"B == 1 && A", "--where:1:11: expected a condition"},
	{"B == 1 or A + 1", "--where:1:13: expected a condition"},
	{"not len(A)", "--where:1:5: expected a condition"},
	{"A ==", "--where:1:5: expected a value, found the end"},
	{"A == && B == 1", "--where:1:6: expected a value, found '&&'"},
	{"A == \"x", "--where:1:8: expected a closing \", found the end"},
	{"A == 'x\\'", "--where:1:10: expected a closing ', found the end"},
	{"A == 1 B == 2", "--where:1:8: expected &&, and, or, an operator or the end, found 'B'"},
	{"A == 1 &&", "--where:1:10: expected a value, found the end"},
	{"A == 1 and", "--where:1:11: expected a value, found the end"},
	{"A & 1.5", "--where:1:1: expected a whole number of bits, found 1.5"},
	{"(A == 1", "--where:1:8: expected ')', found the end"},
	{"lenn(A) + 1 > 1", "expected a function such as str, len or replace, found 'lenn'"},
	{"len(A) == 1 == 2", "--where:1:13: expected one comparison"},
	{"event.nothing + 1 == 2", "--where:1:7: expected one of provider, id"},
	{"\xc3\xab + 1 == 2", "--where:1:1: expected a word of the language, found byte 0xc3"},
	{"A == 1 and \xc3\xab", "--where:1:12: expected a word of the language, found byte 0xc3"},
};

static const struct ptl_schema schema = {.fields = fields, .field_count = sizeof(fields) / sizeof(fields[0])};

static const struct ptl_event sample = {
	.descriptor = {.id = 7, .level = 3},
	.time = 6000,
	.pid = 5,
	.cpu = 2,
	.payload = payload,
	.payload_size = sizeof(payload),
};

static void holds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		struct analysis_values values = {.start_time = 10};
		struct analysis_query query = {0};

		if (analysis_query_add(&query, conditions[i].text))
			fail_msg("%s: %s", conditions[i].text, ptl_error_text());
		/* Twice: nothing of an event is left. */
		for (unsigned k = 0; k < 2; k++)
			if (analysis_query_matches(&query, &values, &sample, &schema) != conditions[i].holds)
				fail_msg("%s", conditions[i].text);
		assert_int_equal(query.failures, 0);
		analysis_query_free(&query);
		common_bytes_free(&values.scratch);
	}
}

static void a_cut_payload_still_has_its_first_fields(void **state)
{
	struct ptl_event cut = sample;
	struct analysis_values values = {0};
	struct analysis_query query = {0};
	const char *name;

	(void)state;
	cut.payload_size = 6;
	assert_int_equal(analysis_query_add(&query, "User ~ 'Z*' and len(User) > 1"), 0);
	assert_true(analysis_query_matches(&query, &values, &cut, &schema));
	assert_int_equal(analysis_query_add(&query, "Empty == ''"), 0);
	assert_false(analysis_query_matches(&query, &values, &cut, &schema));
	assert_true(analysis_query_matches(&query, &values, &sample, &schema));
	analysis_query_free(&query);
	assert_null(analysis_query_field(&query, 0, &name));
	cut.payload_size = 0;
	assert_true(analysis_query_matches(&query, &values, &cut, NULL));
	common_bytes_free(&values.scratch);
}

/* Lists the fields of the expression, so that the user learns which of them no event has. */
static void names_its_fields(void **state)
{
	struct analysis_query query = {0};
	const char *name;

	(void)state;
	assert_int_equal(analysis_query_add(&query, "A.B == 1 and lower(C.D) == x and not has(E)"), 0);
	assert_string_equal(analysis_query_field(&query, 0, &name), "A.B");
	assert_string_equal(name, "B");
	assert_string_equal(analysis_query_field(&query, 1, &name), "C.D");
	assert_string_equal(name, "D");
	assert_null(analysis_query_field(&query, 2, &name));
	analysis_query_free(&query);
}

/* An event without a schema has only header fields. */
static void without_a_schema(void **state)
{
	struct analysis_values values = {0};
	struct analysis_query query = {0};

	(void)state;
	assert_int_equal(analysis_query_add(&query, "event.id == 7"), 0);
	assert_true(analysis_query_matches(&query, &values, &sample, NULL));
	assert_int_equal(analysis_query_add(&query, "User == x or event.level == 3"), 0);
	assert_true(analysis_query_matches(&query, &values, &sample, NULL));
	assert_int_equal(analysis_query_add(&query, "not User == x"), 0);
	assert_false(analysis_query_matches(&query, &values, &sample, NULL));
	analysis_query_free(&query);
}

/* An event with an evaluation error is left out, and the first error is kept. */
static void an_expression_that_makes_no_sense_of_an_event(void **state)
{
	struct analysis_values values = {0};
	struct analysis_query query = {0};

	(void)state;
	assert_int_equal(analysis_query_add(&query, "Small == 3 or len(Small) > 1"), 0);
	assert_false(analysis_query_matches(&query, &values, &sample, &schema));
	assert_false(analysis_query_matches(&query, &values, &sample, &schema));
	assert_int_equal(query.failures, 2);
	assert_string_equal(query.failure, "--where:1:19: expected a text, found a number");
	analysis_query_free(&query);
	common_bytes_free(&values.scratch);
}

static void refuses(void **state)
{
	struct analysis_query many = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct analysis_query query = {0};

		if (analysis_query_add(&query, wrong[i].text) != PTL_MISUSE ||
		    !strstr(ptl_error_text(), wrong[i].error))
			fail_msg("%s: %s", wrong[i].text, ptl_error_text());
		analysis_query_free(&query);
	}
	for (unsigned i = 0; i < QUERY_CONDITIONS_MAX; i++)
		assert_int_equal(analysis_query_add(&many, "A == 1"), 0);
	assert_int_equal(analysis_query_add(&many, "A == 1"), PTL_MISUSE);
	analysis_query_free(&many);
}

/* ---- activities ---------------------------------------------------------------------------------- */

static struct ptl_event joined(uint8_t activity, uint8_t related)
{
	struct ptl_event event = {.activity = {{activity}}, .related = {{related}}};

	event.flags = (activity ? PTL_EVENT_HAS_ACTIVITY : 0) | (related ? PTL_EVENT_HAS_RELATED : 0);
	return event;
}

static void trees_are_joined(void **state)
{
	static const struct ptl_guid two = {{2}};
	const struct ptl_event edges[] = {joined(5, 4), joined(3, 2), joined(4, 3),
					  joined(9, 8), joined(2, 0), joined(0, 7)};
	struct analysis_activities activities = {0};
	struct ptl_event zero = joined(2, 0), other = joined(8, 0);

	(void)state;
	assert_int_equal(analysis_activities_ask(&activities, &two), 0);
	assert_true(analysis_activities_want(&activities, &edges[4]));
	assert_true(analysis_activities_want(&activities, &edges[1]));
	assert_false(analysis_activities_want(&activities, &edges[0]));
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		assert_int_equal(analysis_activities_join(&activities, &edges[i]), 0);
	assert_true(analysis_activities_want(&activities, &edges[0]));
	assert_false(analysis_activities_want(&activities, &edges[3]));
	assert_false(analysis_activities_want(&activities, &edges[5]));
	/* An id of zeros is not an activity and joins nothing. */
	zero.flags |= PTL_EVENT_HAS_RELATED;
	other.flags |= PTL_EVENT_HAS_RELATED;
	assert_int_equal(analysis_activities_join(&activities, &zero), 0);
	assert_int_equal(analysis_activities_join(&activities, &other), 0);
	assert_false(analysis_activities_want(&activities, &edges[3]));
	analysis_activities_free(&activities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds),
		cmocka_unit_test(a_cut_payload_still_has_its_first_fields),
		cmocka_unit_test(names_its_fields),
		cmocka_unit_test(without_a_schema),
		cmocka_unit_test(an_expression_that_makes_no_sense_of_an_event),
		cmocka_unit_test(refuses),
		cmocka_unit_test(trees_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
