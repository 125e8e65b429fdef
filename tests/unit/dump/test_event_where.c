/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions on fields: what is taken, what is refused and why, and what they hold for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/error.h"
#include "dump/analysis/event_activity.h"
#include "dump/analysis/event_where.h"

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
	{"Large == 18446744073709551616", true}, /* past 64 bits it is a float, and so is the comparison */
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
	{"Small == \"-2\"", true},
	{"User == \"Zo\\\"\\\\\\n\\t\"", false},
};

static const struct {
	const char *text, *error;
} wrong[] = {
	{"", "the name of a field was expected at the end"},
	{"   ", "the name of a field was expected at the end"},
	{"== 3", "the name of a field was expected at '== 3'"},
	{"A", "one of == != < <= > >= ~ & was expected at the end"},
	{"A = 3", "one of == != < <= > >= ~ & was expected at '= 3'"},
	{"A && B == 1", "one of == != < <= > >= ~ & was expected at '&& B == 1'"},
	{"A ==", "a value was expected at the end"},
	{"A == && B == 1", "a value was expected at '&& B == 1'"},
	{"A == \"x", "\" was expected at the end"},
	{"A == 'x\\'", "' was expected at the end"},
	{"A == 1 B == 2", "&& or the end was expected at 'B == 2'"},
	{"A == 1 &&", "the name of a field was expected at the end"},
	{"A & 1.5", "a whole number of bits was expected"},
};

static void holds(void **state)
{
	const struct ptl_schema schema = {.fields = fields, .field_count = sizeof(fields) / sizeof(fields[0])};

	(void)state;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		struct dump_values values = {.start_time = 10};
		struct dump_where where = {0};

		assert_int_equal(dump_where_add(&where, conditions[i].text), 0);
		if (dump_where_matches(&where, &values, &schema, payload, sizeof(payload)) != conditions[i].holds)
			fail_msg("%s", conditions[i].text);
		assert_false(dump_where_matches(&where, &values, NULL, payload, sizeof(payload)));
		dump_where_free(&where);
		common_bytes_free(&values.scratch);
	}
}

static void a_cut_payload_still_has_its_first_fields(void **state)
{
	const struct ptl_schema schema = {.fields = fields, .field_count = sizeof(fields) / sizeof(fields[0])};
	struct dump_values values = {0};
	struct dump_where where = {0};

	(void)state;
	assert_int_equal(dump_where_add(&where, "User ~ 'Z*'"), 0);
	assert_true(dump_where_matches(&where, &values, &schema, payload, 6));
	assert_int_equal(dump_where_add(&where, "Empty == ''"), 0);
	assert_false(dump_where_matches(&where, &values, &schema, payload, 6));
	assert_true(dump_where_matches(&where, &values, &schema, payload, sizeof(payload)));
	assert_string_equal(dump_where_field(&where, 1), "Empty");
	assert_null(dump_where_field(&where, 2));
	dump_where_free(&where);
	assert_true(dump_where_matches(&where, &values, NULL, NULL, 0));
	common_bytes_free(&values.scratch);
}

static void refuses(void **state)
{
	struct dump_where many = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct dump_where where = {0};

		assert_int_equal(dump_where_add(&where, wrong[i].text), PTL_MISUSE);
		if (!strstr(ptl_error_text(), wrong[i].error))
			fail_msg("%s: %s", wrong[i].text, ptl_error_text());
		dump_where_free(&where);
	}
	for (unsigned i = 0; i < DUMP_CONDITIONS_MAX; i++)
		assert_int_equal(dump_where_add(&many, "A == 1"), 0);
	assert_int_equal(dump_where_add(&many, "A == 1"), PTL_MISUSE);
	dump_where_free(&many);
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
	struct dump_activities activities = {0};
	struct ptl_event zero = joined(2, 0), other = joined(8, 0);

	(void)state;
	assert_int_equal(dump_activities_ask(&activities, &two), 0);
	assert_true(dump_activities_want(&activities, &edges[4]));
	assert_true(dump_activities_want(&activities, &edges[1]));
	assert_false(dump_activities_want(&activities, &edges[0]));
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		assert_int_equal(dump_activities_join(&activities, &edges[i]), 0);
	assert_true(dump_activities_want(&activities, &edges[0]));
	assert_false(dump_activities_want(&activities, &edges[3]));
	assert_false(dump_activities_want(&activities, &edges[5]));
	/* An id of zeros is no activity: it joins nothing. */
	zero.flags |= PTL_EVENT_HAS_RELATED;
	other.flags |= PTL_EVENT_HAS_RELATED;
	assert_int_equal(dump_activities_join(&activities, &zero), 0);
	assert_int_equal(dump_activities_join(&activities, &other), 0);
	assert_false(dump_activities_want(&activities, &edges[3]));
	dump_activities_free(&activities);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holds),
		cmocka_unit_test(a_cut_payload_still_has_its_first_fields),
		cmocka_unit_test(refuses),
		cmocka_unit_test(trees_are_joined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
