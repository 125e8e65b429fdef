/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests encoding payloads: decoded values encode to the same bytes, and unfit values are refused. */
#include "tests/unit/format_sample.h"

#include "common/bytes.h"

#define VALUES_MAX 64

struct values {
	struct ptl_value list[VALUES_MAX];
	size_t count;
};

static int keep(void *context, const struct ptl_value *value)
{
	struct values *values = context;

	assert_true(values->count < VALUES_MAX);
	values->list[values->count++] = *value;
	return 0;
}

#define FIELD(field_name, field_type)                                                                                  \
	{                                                                                                              \
		.name = (field_name), .type = (field_type)                                                             \
	}

static const struct ptl_field every_type[] = {
	FIELD("a", PTL_TYPE_U8),
	FIELD("b", PTL_TYPE_I16),
	FIELD("c", PTL_TYPE_F32),
	FIELD("d", PTL_TYPE_F64),
	FIELD("e", PTL_TYPE_POINTER),
	FIELD("f", PTL_TYPE_UTF8),
	FIELD("g", PTL_TYPE_UTF16),
	FIELD("h", PTL_TYPE_UTF8_COUNTED),
	FIELD("i", PTL_TYPE_BYTES_COUNTED),
	{.name = "j", .type = PTL_TYPE_U16, .array = PTL_ARRAY_COUNTED},
	{.name = "k", .type = PTL_TYPE_U8, .array = PTL_ARRAY_FIXED, .array_length = 2},
	{.name = "l", .type = PTL_TYPE_STRUCT, .array = PTL_ARRAY_COUNTED, .length = 2},
	FIELD("m", PTL_TYPE_U8),
	{.name = "n", .type = PTL_TYPE_U8, .array = PTL_ARRAY_COUNTED},
	{.name = "o", .type = PTL_TYPE_BYTES, .length = 2},
	FIELD("p", PTL_TYPE_BOOL32),
	FIELD("q", PTL_TYPE_GUID),
	{.name = "r", .type = PTL_TYPE_BYTES},
};
static const struct ptl_schema every_type_schema = {.event_name = "Every", .fields = every_type, .field_count = 18};
static const uint8_t every_type_payload[] = "\x81"
					    "\xfe\xff"
					    "\0\0\x80\x3f"
					    "\0\0\0\0\0\0\xf0\x3f"
					    "\1\2\3\4\5\6\7\x80"
					    "hi\0"
					    "h\0i\0\0\0"
					    "\3\0abc"
					    "\2\0\0\1"
					    "\2\0\1\0\2\0"
					    "\7\x8"
					    "\3\0"
					    "\1\0\0"
					    "\2\2\0\5\6"
					    "\3\1\0\4"
					    "xy"
					    "\1\0\0\0"
					    "0123456789abcdef"
					    "the rest";

static void encodes_what_was_decoded(void **state)
{
	const size_t size = sizeof(every_type_payload) - 1;
	struct values values = {0};
	struct ptl_bytes out = {0};
	size_t rest;

	(void)state;
	assert_int_equal(ptl_payload_decode(&every_type_schema, every_type_payload, size, keep, &values, &rest), 0);
	assert_int_equal(rest, 0);
	assert_int_equal(ptl_payload_encode(&every_type_schema, values.list, values.count, &out), 0);
	assert_int_equal(out.size, size);
	assert_memory_equal(out.data, every_type_payload, size);
	common_bytes_free(&out);
}

static void refuse_value(const struct ptl_field *field, struct ptl_value value, const char *text)
{
	const struct ptl_schema schema = {.event_name = "Test", .fields = field, .field_count = 1};
	struct ptl_bytes out = {0};

	value.field = field;
	common_write_bytes(&out, "before", 6);
	assert_int_equal(ptl_payload_encode(&schema, &value, 1, &out), PTL_MISUSE);
	assert_string_equal(ptl_error_text(), text);
	assert_int_equal(out.size, 6);
	common_bytes_free(&out);
}

static void refuses_what_does_not_fit(void **state)
{
	static const struct ptl_field u8 = FIELD("X", PTL_TYPE_U8), i8 = FIELD("X", PTL_TYPE_I8),
				      utf8 = FIELD("X", PTL_TYPE_UTF8), utf16 = FIELD("X", PTL_TYPE_UTF16),
				      guid = FIELD("X", PTL_TYPE_GUID), odd = FIELD("X", 99),
				      counted = FIELD("X", PTL_TYPE_BYTES_COUNTED),
				      two = {.name = "X",
					     .type = PTL_TYPE_U8,
					     .array = PTL_ARRAY_FIXED,
					     .array_length = 2};
	static const uint8_t zeros[70000];

	(void)state;
	refuse_value(&u8, (struct ptl_value){.u = 256}, "Test: field X: the number does not fit its type");
	refuse_value(&i8, (struct ptl_value){.i = -129}, "Test: field X: the number does not fit its type");
	refuse_value(&utf8, (struct ptl_value){.bytes = zeros, .size = 1},
		     "Test: field X: a zero is in the text, which ends with one");
	refuse_value(&utf16, (struct ptl_value){.bytes = zeros, .size = 3}, "Test: field X: half a UTF-16 unit");
	refuse_value(&guid, (struct ptl_value){.bytes = zeros, .size = 15},
		     "Test: field X: not as many bytes as its type has");
	refuse_value(&counted, (struct ptl_value){.bytes = zeros, .size = 65536},
		     "Test: field X: more than the 65535 units that its count can tell");
	refuse_value(&odd, (struct ptl_value){.u = 1}, "Test: field X: its type is unknown");
	refuse_value(&two, (struct ptl_value){.u = 1}, "Test: field X: a value is missing");
	refuse_value(&u8, (struct ptl_value){.u = 1, .index = 1}, "Test: field X: a value is missing");
}

static void refuses_a_value_too_many(void **state)
{
	static const struct ptl_field field = FIELD("X", PTL_TYPE_U8);
	const struct ptl_schema schema = {.event_name = "Test", .fields = &field, .field_count = 1};
	const struct ptl_value values[] = {{.field = &field}, {.field = &field}};
	struct ptl_bytes out = {0};

	(void)state;
	assert_int_equal(ptl_payload_encode(&schema, values, 2, &out), PTL_MISUSE);
	assert_string_equal(ptl_error_text(), "Test: field X: its place is not where its value is");
	assert_int_equal(out.size, 0);
	common_bytes_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_what_was_decoded),
		cmocka_unit_test(refuses_what_does_not_fit),
		cmocka_unit_test(refuses_a_value_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
