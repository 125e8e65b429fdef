/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests payloads by schema: each type, arrays, structures, and contradictory schemas. */
#include "tests/unit/format_sample.h"

/* Values as text, so that a test states expectations in one line. */
struct text {
	char data[2048];
	size_t size;
};

static int show(void *context, const struct ptl_value *value)
{
	struct text *text = context;
	char *at = text->data + text->size;
	const size_t left = sizeof(text->data) - text->size;
	int size;

	switch (value->field->type) {
	case PTL_TYPE_STRUCT:
		size = snprintf(at, left, "%s%u:%u ", value->field->name, value->index, value->depth);
		break;
	case PTL_TYPE_F32:
	case PTL_TYPE_F64:
		size = snprintf(at, left, "%s=%g ", value->field->name, value->f);
		break;
	case PTL_TYPE_I8:
	case PTL_TYPE_I16:
	case PTL_TYPE_I32:
	case PTL_TYPE_I64:
	case PTL_TYPE_WALL_TIME:
		size = snprintf(at, left, "%s=%lld ", value->field->name, (long long)value->i);
		break;
	case PTL_TYPE_UTF8:
	case PTL_TYPE_UTF8_COUNTED:
	case PTL_TYPE_BYTES:
	case PTL_TYPE_BYTES_COUNTED:
		size = snprintf(at, left, "%s%u='%.*s' ", value->field->name, value->index, (int)value->size,
				(const char *)value->bytes);
		break;
	case PTL_TYPE_UTF16:
	case PTL_TYPE_UTF16_COUNTED:
	case PTL_TYPE_GUID:
		size = snprintf(at, left, "%s=%zu ", value->field->name, value->size);
		break;
	default:
		size = snprintf(at, left, "%s%u=%llu ", value->field->name, value->index, (unsigned long long)value->u);
	}
	text->size += (size_t)size;
	return 0;
}

static int decode(const struct ptl_field *fields, size_t count, const void *payload, size_t size, struct text *text,
		  size_t *rest)
{
	const struct ptl_schema schema = {.event_name = "Test", .fields = fields, .field_count = count};

	*text = (struct text){0};
	return ptl_payload_decode(&schema, payload, size, show, text, rest);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void each_type_is_decoded(void **state)
{
	static const struct ptl_field fields[] = {
		{"a", PTL_TYPE_U8},
		{"b", PTL_TYPE_I8},
		{"c", PTL_TYPE_U16},
		{"d", PTL_TYPE_I16},
		{"e", PTL_TYPE_U32},
		{"f", PTL_TYPE_I32},
		{"g", PTL_TYPE_U64},
		{"h", PTL_TYPE_I64},
		{"i", PTL_TYPE_F32},
		{"j", PTL_TYPE_F64},
		{"k", PTL_TYPE_BOOL8},
		{"l", PTL_TYPE_BOOL32},
		{"m", PTL_TYPE_POINTER},
		{"n", PTL_TYPE_TIME},
		{"o", PTL_TYPE_WALL_TIME},
		{"p", PTL_TYPE_GUID},
		{"q", PTL_TYPE_UTF8},
		{"r", PTL_TYPE_UTF16},
		{"s", PTL_TYPE_UTF8_COUNTED},
		{"t", PTL_TYPE_UTF16_COUNTED},
		{"u", PTL_TYPE_BYTES_COUNTED},
		{"v", PTL_TYPE_BYTES, .length = 2},
		{"w", PTL_TYPE_BYTES},
	};
	static const uint8_t payload[] = "\xff"
					 "\xff"
					 "\xff\xff"
					 "\xfe\xff"
					 "\xff\xff\xff\xff"
					 "\xfd\xff\xff\xff"
					 "\xff\xff\xff\xff\xff\xff\xff\xff"
					 "\xfc\xff\xff\xff\xff\xff\xff\xff"
					 "\x00\x00\xc0\x3f"
					 "\x00\x00\x00\x00\x00\x00\x02\xc0"
					 "\x01"
					 "\x01\x00\x00\x00"
					 "\x07\0\0\0\0\0\0\0"
					 "\x08\0\0\0\0\0\0\0"
					 "\xf7\xff\xff\xff\xff\xff\xff\xff"
					 "0123456789abcdef"
					 "text\0"
					 "w\0i\0\0\0"
					 "\x03\0abc"
					 "\x02\0a\0b\0"
					 "\x01\0z"
					 "yy"
					 "rest";
	struct text text;
	size_t rest;

	(void)state;
	assert_done(decode(fields, COUNT(fields), payload, sizeof(payload) - 1, &text, &rest));
	assert_string_equal(text.data,
			    "a0=255 b=-1 c0=65535 d=-2 e0=4294967295 f=-3 g0=18446744073709551615 h=-4 i=1.5 "
			    "j=-2.25 k0=1 l0=1 m0=7 n0=8 o=-9 p=16 q0='text' r=4 s0='abc' t=4 u0='z' v0='yy' "
			    "w0='rest' ");
	assert_int_equal(rest, 0);
	/* Any truncation ends inside a field, unless only the final bytes field is shortened. */
	for (size_t size = 0; size + 1 < sizeof(payload); size++) {
		const int expected = size + 5 < sizeof(payload) ? PTL_TRUNCATED : 0;

		assert_int_equal(decode(fields, COUNT(fields), payload, size, &text, &rest), expected);
	}
}

static void arrays_and_structures_nest(void **state)
{
	static const struct ptl_field fields[] = {
		{"s", PTL_TYPE_STRUCT, .array = PTL_ARRAY_COUNTED, .length = 3},
		{"x", PTL_TYPE_U8, .array = PTL_ARRAY_FIXED, .array_length = 2},
		{"t", PTL_TYPE_STRUCT, .length = 1},
		{"y", PTL_TYPE_U16},
		{"z", PTL_TYPE_U8, .array = PTL_ARRAY_COUNTED},
	};
	static const uint8_t payload[] = {2, 0, 1, 2, 3, 0, 4, 5, 6, 0, 1, 0, 9, 99};
	struct text text;
	size_t rest;

	(void)state;
	assert_done(decode(fields, COUNT(fields), payload, sizeof(payload), &text, &rest));
	assert_string_equal(text.data, "s0:0 x0=1 x1=2 t0:1 y0=3 s1:0 x0=4 x1=5 t0:1 y0=6 z0=9 ");
	assert_int_equal(rest, 1);
}

static void contradictions_are_corrupt(void **state)
{
	static const struct ptl_field too_long[] = {{"s", PTL_TYPE_STRUCT, .length = 2}, {"x", PTL_TYPE_U8}};
	static const struct ptl_field unknown[] = {{"x", PTL_TYPE_U8}, {"u", 200}};
	static const struct ptl_field empty[] = {
		{"s", PTL_TYPE_STRUCT, .array = PTL_ARRAY_FIXED, .array_length = UINT32_MAX}};
	struct ptl_field deep[10] = {{0}}, nothing[18] = {{0}};
	struct text text;
	size_t rest;

	(void)state;
	for (unsigned i = 0; i < 10; i++)
		deep[i] = (struct ptl_field){"d", PTL_TYPE_STRUCT, .length = 9 - i};
	assert_int_equal(decode(too_long, 2, "abc", 3, &text, &rest), PTL_CORRUPT);
	assert_int_equal(decode(unknown, 2, "abc", 3, &text, &rest), PTL_UNSUPPORTED);
	assert_int_equal(decode(empty, 1, "abc", 3, &text, &rest), PTL_CORRUPT);
	assert_int_equal(decode(deep, 10, "abc", 3, &text, &rest), PTL_CORRUPT);
	/* The first field takes all bytes and the rest take none, so the number of fields would be unlimited. */
	for (unsigned i = 0; i < COUNT(nothing); i++)
		nothing[i] = (struct ptl_field){"r", PTL_TYPE_BYTES};
	assert_int_equal(decode(nothing, 18, "abc", 3, &text, &rest), PTL_CORRUPT);
	assert_done(decode(nothing, 17, "abc", 3, &text, &rest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_type_is_decoded),
		cmocka_unit_test(arrays_and_structures_nest),
		cmocka_unit_test(contradictions_are_corrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
