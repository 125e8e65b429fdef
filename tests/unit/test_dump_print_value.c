/* SPDX-License-Identifier: BSD-2-Clause */
/* Payload fields of events as text and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dump/print_text.h"
#include "dump/print_value.h"

static const struct ptl_field scalars[] = {
	{.name = "A", .type = PTL_TYPE_U8},
	{.name = "B", .type = PTL_TYPE_I16},
	{.name = "C", .type = PTL_TYPE_U32, .format = PTL_FORMAT_HEX},
	{.name = "D", .type = PTL_TYPE_POINTER},
	{.name = "E", .type = PTL_TYPE_BOOL8},
	{.name = "Reserved1", .type = PTL_TYPE_U8},
	{.name = "F", .type = PTL_TYPE_F32},
};

static const struct ptl_field strings[] = {
	{.name = "A", .type = PTL_TYPE_UTF8},
	{.name = "B", .type = PTL_TYPE_UTF16},
	{.name = "C", .type = PTL_TYPE_UTF8_COUNTED},
	{.name = "D", .type = PTL_TYPE_UTF16_COUNTED},
	{.name = "E", .type = PTL_TYPE_BYTES_COUNTED, .format = PTL_FORMAT_HASH},
	{.name = "F", .type = PTL_TYPE_UTF8},
};

static const struct ptl_field nested[] = {
	{.name = "N", .type = PTL_TYPE_U8, .array = PTL_ARRAY_COUNTED},
	{.name = "S", .type = PTL_TYPE_STRUCT, .length = 2, .array = PTL_ARRAY_FIXED, .array_length = 2},
	{.name = "X", .type = PTL_TYPE_U8},
	{.name = "Y", .type = PTL_TYPE_U8, .array = PTL_ARRAY_FIXED, .array_length = 2},
	{.name = "Z", .type = PTL_TYPE_U8},
};

static const struct ptl_field guid_and_time[] = {
	{.name = "G", .type = PTL_TYPE_GUID},
	{.name = "T", .type = PTL_TYPE_TIME},
};

#define SCHEMA(list) {.event_name = "E", .fields = (list), .field_count = sizeof(list) / sizeof((list)[0])}
#define BYTES(text) text, sizeof(text) - 1

static const struct {
	struct ptl_schema schema;
	const char *payload;
	size_t size;
	const char *text;
	const char *json;
} cases[] = {
	{SCHEMA(scalars), BYTES("\x07\xfe\xff\x10\0\0\0\x34\x12\0\0\0\0\0\0\x01\x09\0\0\0\x3f"),
	 " A=7 B=-2 C=0x10 D=0x1234 E=true F=0.5",
	 "{\"fields\":{\"A\":7,\"B\":-2,\"C\":\"0x10\",\"D\":\"0x1234\",\"E\":true,\"Reserved1\":9,\"F\":0.5}}"},
	{SCHEMA(strings), BYTES("a b\0\x41\0\xe4\0\0\0\x02\0q\"\x01\0\x42\0\x02\0\xca\xfe\x1b[2J\0"),
	 " A=\"a b\" B=A\xc3\xa4 C=\"q\"\" D=B E=cafe F=\"\\x1b[2J\"",
	 "{\"fields\":{\"A\":\"a b\",\"B\":\"A\xc3\xa4\",\"C\":\"q\\\"\",\"D\":\"B\",\"E\":\"cafe\",\"F\":\"\\u001b[2J\"}}"},
	{SCHEMA(nested), BYTES("\x03\0\x01\x02\x03\x0a\x0b\x0c\x14\x15\x16\x63"),
	 " N=[1,2,3] S[0].X=10 S[0].Y=[11,12] S[1].X=20 S[1].Y=[21,22] Z=99",
	 "{\"fields\":{\"N\":[1,2,3],\"S[0].X\":10,\"S[0].Y\":[11,12],\"S[1].X\":20,\"S[1].Y\":[21,22],\"Z\":99}}"},
	{SCHEMA(nested), BYTES("\0\0\x0a\x0b"), " S[0].X=10 S[0].Y=[11] payload=00000a0b",
	 "{\"fields\":{\"S[0].X\":10,\"S[0].Y\":[11]},\"payload\":\"00000a0b\"}"},
	{SCHEMA(guid_and_time),
	 BYTES("\xad\x4a\x81\x9e\x04\x32\xd2\x11\x9a\x82\x00\x60\x08\xa8\x69\x39\x64\0\0\0\0\0\0\0\xff\xee"),
	 " G=9e814aad-3204-11d2-9a82-006008a86939 T=0.000090ms payload=ffee",
	 "{\"fields\":{\"G\":\"9e814aad-3204-11d2-9a82-006008a86939\",\"T\":90},\"payload\":\"ffee\"}"},
	{SCHEMA(scalars), BYTES(""), "", "{\"fields\":{}}"},
};

static void shows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *payload = (const uint8_t *)cases[i].payload;
		struct ptl_bytes text = {0};
		struct ptl_json json;
		char *data = NULL;
		size_t size;
		FILE *file = open_memstream(&data, &size);

		dump_text_payload(&text, &cases[i].schema, payload, cases[i].size, 10);
		assert_string_equal(dump_text_string(&text), cases[i].text);
		ptl_bytes_free(&text);
		ptl_json_start(&json, file);
		ptl_json_object(&json, NULL);
		dump_json_payload(&json, &cases[i].schema, payload, cases[i].size, 10);
		ptl_json_object_end(&json);
		fclose(file);
		assert_string_equal(data, cases[i].json);
		free(data);
	}
}

static void shows_unknown(void **state)
{
	struct ptl_bytes text = {0};

	(void)state;
	dump_text_payload(&text, NULL, (const uint8_t *)"\x01\xff", 2, 0);
	assert_string_equal(dump_text_string(&text), " payload=01ff");
	text.size = 0;
	dump_text_payload(&text, NULL, NULL, 0, 0);
	assert_string_equal(dump_text_string(&text), "");
	ptl_bytes_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows),
		cmocka_unit_test(shows_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
