/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests payload fields of events as text and JSON, and messages made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/text/text.h"
#include "dump/print/payload.h"

static const struct ptl_field scalars[] = {
	{.name = "A", .type = PTL_TYPE_U8},
	{.name = "B", .type = PTL_TYPE_I16},
	{.name = "C", .type = PTL_TYPE_U32, .format = PTL_FORMAT_HEX},
	{.name = "D", .type = PTL_TYPE_POINTER},
	{.name = "E", .type = PTL_TYPE_BOOL8},
	{.name = "Reserved1", .type = PTL_TYPE_U8},
	{.name = "F", .type = PTL_TYPE_F32},
};

static const struct ptl_field integers[] = {
	{.name = "A", .type = PTL_TYPE_I8},
	{.name = "B", .type = PTL_TYPE_U16},
	{.name = "C", .type = PTL_TYPE_U32},
	{.name = "D", .type = PTL_TYPE_I32},
	{.name = "E", .type = PTL_TYPE_U64},
	{.name = "F", .type = PTL_TYPE_I64},
	{.name = "G", .type = PTL_TYPE_I8, .format = PTL_FORMAT_HEX},
	{.name = "H", .type = PTL_TYPE_U64, .format = PTL_FORMAT_ADDRESS},
};

static const struct ptl_field floats[] = {
	{.name = "A", .type = PTL_TYPE_F32},
	{.name = "B", .type = PTL_TYPE_F64},
	{.name = "N", .type = PTL_TYPE_F64, .array = PTL_ARRAY_FIXED, .array_length = 3},
};

static const struct ptl_field strings[] = {
	{.name = "A", .type = PTL_TYPE_UTF8},
	{.name = "B", .type = PTL_TYPE_UTF16},
	{.name = "C", .type = PTL_TYPE_UTF8_COUNTED},
	{.name = "D", .type = PTL_TYPE_UTF16_COUNTED},
	{.name = "E", .type = PTL_TYPE_BYTES_COUNTED, .format = PTL_FORMAT_HASH},
	{.name = "F", .type = PTL_TYPE_UTF8},
};

static const struct ptl_field odd_strings[] = {
	{.name = "A", .type = PTL_TYPE_UTF8},
	{.name = "B", .type = PTL_TYPE_UTF16_COUNTED},
	{.name = "C", .type = PTL_TYPE_UTF8_COUNTED, .format = PTL_FORMAT_LATIN1},
	{.name = "D", .type = PTL_TYPE_UTF8_COUNTED},
	{.name = "E", .type = PTL_TYPE_UTF8},
};

static const struct ptl_field characters[] = {
	{.name = "A", .type = PTL_TYPE_U8, .format = PTL_FORMAT_STRING, .array = PTL_ARRAY_FIXED, .array_length = 6},
	{.name = "B", .type = PTL_TYPE_U16, .format = PTL_FORMAT_STRING, .array = PTL_ARRAY_COUNTED},
	{.name = "C", .type = PTL_TYPE_U32, .format = PTL_FORMAT_STRING, .array = PTL_ARRAY_COUNTED},
	{.name = "D", .type = PTL_TYPE_U8, .format = PTL_FORMAT_STRING},
	{.name = "E", .type = PTL_TYPE_BYTES, .length = 2, .format = PTL_FORMAT_STRING},
	{.name = "F", .type = PTL_TYPE_U8, .format = PTL_FORMAT_LATIN1, .array = PTL_ARRAY_COUNTED},
};

static const struct ptl_field network[] = {
	{.name = "A", .type = PTL_TYPE_U32, .format = PTL_FORMAT_IP},
	{.name = "B", .type = PTL_TYPE_GUID, .format = PTL_FORMAT_IP},
	{.name = "C", .type = PTL_TYPE_BYTES_COUNTED, .format = PTL_FORMAT_IP},
	{.name = "D", .type = PTL_TYPE_U16, .format = PTL_FORMAT_PORT},
	{.name = "E", .type = PTL_TYPE_I32, .format = PTL_FORMAT_ERRNO},
	{.name = "F", .type = PTL_TYPE_I32, .format = PTL_FORMAT_ERRNO},
	{.name = "G", .type = PTL_TYPE_U8, .format = 200},
};

static const struct ptl_field nested[] = {
	{.name = "N", .type = PTL_TYPE_U8, .array = PTL_ARRAY_COUNTED},
	{.name = "S", .type = PTL_TYPE_STRUCT, .length = 2, .array = PTL_ARRAY_FIXED, .array_length = 2},
	{.name = "X", .type = PTL_TYPE_U8},
	{.name = "Y", .type = PTL_TYPE_U8, .array = PTL_ARRAY_FIXED, .array_length = 2},
	{.name = "Z", .type = PTL_TYPE_U8},
};

static const struct ptl_field deep[] = {
	{.name = "O", .type = PTL_TYPE_STRUCT, .length = 4},
	{.name = "P", .type = PTL_TYPE_STRUCT, .length = 1, .array = PTL_ARRAY_COUNTED},
	{.name = "Q", .type = PTL_TYPE_UTF8_COUNTED},
	{.name = "R", .type = PTL_TYPE_STRUCT},
	{.name = "Reserved", .type = PTL_TYPE_U8},
	{.name = "Reserved2", .type = PTL_TYPE_STRUCT, .length = 1, .array = PTL_ARRAY_FIXED, .array_length = 2},
	{.name = "T", .type = PTL_TYPE_U8},
	{.name = "U", .type = PTL_TYPE_U8},
};

static const struct ptl_field guid_and_time[] = {
	{.name = "G", .type = PTL_TYPE_GUID},
	{.name = "T", .type = PTL_TYPE_TIME},
	{.name = "W", .type = PTL_TYPE_WALL_TIME},
};

static const struct ptl_field booleans[] = {
	{.name = "A", .type = PTL_TYPE_BOOL32},
	{.name = "B", .type = PTL_TYPE_BOOL8},
};

#define SCHEMA(list)                                                                                                   \
	{                                                                                                              \
		.event_name = "E", .fields = (list), .field_count = sizeof(list) / sizeof((list)[0])                   \
	}
#define BYTES(text) text, sizeof(text) - 1
#define GUID_BYTES "\xad\x4a\x81\x9e\x04\x32\xd2\x11\x9a\x82\x00\x60\x08\xa8\x69\x39"

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
	{SCHEMA(integers),
	 BYTES("\x80\xff\xff\xff\xff\xff\xff\0\0\0\x80\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\x80\xfe\xff\0\0\0"
	       "\0\0\0\x80"),
	 " A=-128 B=65535 C=4294967295 D=-2147483648 E=18446744073709551615 F=-9223372036854775808 G=0xfe"
	 " H=0x80000000000000ff",
	 "{\"fields\":{\"A\":-128,\"B\":65535,\"C\":4294967295,\"D\":-2147483648,\"E\":18446744073709551615,"
	 "\"F\":-9223372036854775808,\"G\":\"0xfe\",\"H\":\"0x80000000000000ff\"}}"},
	{SCHEMA(floats),
	 BYTES("\xcd\xcc\xcc\x3d\x9a\x99\x99\x99\x99\x99\xb9\x3f\0\0\0\0\0\0\xf8\x7f\0\0\0\0\0\0\xf0\x7f\0\0\0\0\0\0"
	       "\xf0\xff"),
	 " A=0.1 B=0.1 N=[nan,inf,-inf]",
	 "{\"fields\":{\"A\":0.10000000149011612,\"B\":0.1,\"N\":[\"NaN\",\"Infinity\",\"-Infinity\"]}}"},
	{SCHEMA(strings), BYTES("a b\0\x41\0\xe4\0\0\0\x02\0q\"\x01\0\x42\0\x02\0\xca\xfe\x1b[2J\0"),
	 " A=\"a b\" B=A\xc3\xa4 C=\"q\\\"\" D=B E=cafe F=\"\\x1b[2J\"",
	 "{\"fields\":{\"A\":\"a "
	 "b\",\"B\":\"A\xc3\xa4\",\"C\":\"q\\\"\",\"D\":\"B\",\"E\":\"cafe\",\"F\":\"\\u001b[2J\"}}"},
	/*
	 * Invalid UTF-8, a lone surrogate and a zero unit, ISO 8859-1, a zero byte inside, a mark that reverses the
	 * direction.
	 */
	{SCHEMA(odd_strings), BYTES("a\xff\0\x04\0\0\xd8x\0\0\0y\0\x02\0\xe4\xff\x03\0p\0q\xe2\x80\xae\n\0"),
	 " A=\"a\\xff\" B=\"\\xed\\xa0\\x80x\\x00y\" C=\xc3\xa4\xc3\xbf D=\"p\\x00q\" E=\"\\xe2\\x80\\xae\\n\"",
	 "{\"fields\":{\"A\":\"a\xef\xbf\xbd\",\"B\":\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdx\\u0000y\",\"C\":"
	 "\"\xc3\xa4\xc3\xbf\","
	 "\"D\":\"p\\u0000q\",\"E\":\"\xe2\x80\xae\\n\"},\"raw\":{\"A\":\"61ff\",\"B\":\"eda080780079\"}}"},
	{SCHEMA(characters), BYTES("a\xc3\xa4\0\0\0\x02\0\x3d\xd8\0\xde\x02\0\xe4\0\0\0\0\0\x11\0zhi\x02\0\xe4\xff"),
	 " A=a\xc3\xa4 B=\xf0\x9f\x98\x80 C=\xc3\xa4\xef\xbf\xbd D=z E=hi F=\xc3\xa4\xc3\xbf",
	 "{\"fields\":{\"A\":\"a\xc3\xa4\",\"B\":\"\xf0\x9f\x98\x80\",\"C\":\"\xc3\xa4\xef\xbf\xbd\",\"D\":\"z\",\"E\":"
	 "\"hi\",\"F\":\"\xc3\xa4\xc3\xbf\"}}"},
	{SCHEMA(network),
	 BYTES("\x7f\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x03\0abc\x01\xbb\x02\0\0\0\xff\xff\xff\xff\x05"),
	 " A=127.0.0.1 B=2001:db8::1 C=616263 D=443 E=ENOENT F=-1 G=5",
	 "{\"fields\":{\"A\":\"127.0.0.1\",\"B\":\"2001:db8::1\",\"C\":\"616263\",\"D\":443,\"E\":{\"value\":2,"
	 "\"name\":"
	 "\"ENOENT\"},\"F\":{\"value\":-1,\"name\":null},\"G\":5}}"},
	{SCHEMA(nested), BYTES("\x03\0\x01\x02\x03\x0a\x0b\x0c\x14\x15\x16\x63"),
	 " N=[1,2,3] S=[{X=10 Y=[11,12]},{X=20 Y=[21,22]}] Z=99",
	 "{\"fields\":{\"N\":[1,2,3],\"S\":[{\"X\":10,\"Y\":[11,12]},{\"X\":20,\"Y\":[21,22]}],\"Z\":99}}"},
	{SCHEMA(nested), BYTES("\0\0\x0a\x0b"), " N=[] S=[{X=10 Y=[11]}] payload=00000a0b",
	 "{\"fields\":{\"N\":[],\"S\":[{\"X\":10,\"Y\":[11]}]},\"payload\":\"00000a0b\"}"},
	{SCHEMA(deep), BYTES("\x02\0\x01\0a\x02\0\xff\xfe\x01\x02\x03\x04"),
	 " O={P=[{Q=a},{Q=\"\\xff\\xfe\"}] R={} Reserved=1} U=4",
	 "{\"fields\":{\"O\":{\"P\":[{\"Q\":\"a\"},{\"Q\":\"\xef\xbf\xbd\xef\xbf\xbd\"}],\"R\":{},\"Reserved\":1},"
	 "\"Reserved2\":[{\"T\":2},{\"T\":3}],\"U\":4},\"raw\":{\"O.P[1].Q\":\"fffe\"}}"},
	{SCHEMA(guid_and_time), BYTES(GUID_BYTES "\x64\0\0\0\0\0\0\0\x15\xcd\x5b\x07\0\0\0\0\xff\xee"),
	 " G=9e814aad-3204-11d2-9a82-006008a86939 T=0.000090ms W=\"1970-01-01 00:00:00.123456789 UTC\" payload=ffee",
	 "{\"fields\":{\"G\":\"9e814aad-3204-11d2-9a82-006008a86939\",\"T\":90,\"W\":123456789},\"payload\":\"ffee\"}"},
	{SCHEMA(booleans), BYTES("\x01\0\0\0\x09"), " A=true B=true(9)",
	 "{\"fields\":{\"A\":true,\"B\":true},\"raw\":{\"B\":\"09\"}}"},
	{SCHEMA(scalars), BYTES(""), "", "{\"fields\":{}}"},
};

static void check_json(const struct ptl_schema *schema, const void *payload, size_t size, const char *expected)
{
	struct analysis_values values = {.start_time = 10};
	struct common_json json;
	char *data = NULL;
	size_t made;
	FILE *file = open_memstream(&data, &made);

	common_json_start(&json, file);
	common_json_object(&json, NULL);
	dump_json_payload(&json, &values, schema, payload, size);
	common_json_object_end(&json);
	fclose(file);
	assert_string_equal(data, expected);
	free(data);
	common_bytes_free(&values.scratch);
}

static void shows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t *payload = (const uint8_t *)cases[i].payload;
		struct analysis_values values = {.start_time = 10};
		struct ptl_bytes text = {0};

		dump_text_payload(&text, &values, &cases[i].schema, payload, cases[i].size, NULL);
		assert_string_equal(common_text_string(&text), cases[i].text);
		common_bytes_free(&text);
		common_bytes_free(&values.scratch);
		check_json(&cases[i].schema, payload, cases[i].size, cases[i].json);
	}
}

static void shows_unknown(void **state)
{
	struct analysis_values values = {0};
	struct ptl_bytes text = {0};

	(void)state;
	dump_text_payload(&text, &values, NULL, (const uint8_t *)"\x01\xff", 2, NULL);
	assert_string_equal(common_text_string(&text), " payload=01ff");
	text.size = 0;
	dump_text_payload(&text, &values, NULL, NULL, 0, NULL);
	assert_string_equal(common_text_string(&text), "");
	common_bytes_free(&text);
}

static void shows_many_fields(void **state)
{
	struct ptl_field fields[128];
	const struct ptl_schema schema = {.event_name = "E", .fields = fields, .field_count = 128};
	char names[128][8], expected[128 * 12];
	struct analysis_values values = {0};
	struct dump_places places = {0};
	struct ptl_bytes text = {0}, message = {0};
	uint8_t payload[128];
	size_t size = 0;

	(void)state;
	for (unsigned i = 0; i < 128; i++) {
		snprintf(names[i], sizeof(names[i]), "F%u", i);
		fields[i] = (struct ptl_field){.name = names[i], .type = PTL_TYPE_U8};
		payload[i] = (uint8_t)i;
		size += (size_t)snprintf(expected + size, sizeof(expected) - size, " F%u=%u", i, i);
	}
	dump_text_payload(&text, &values, &schema, payload, sizeof(payload), &places);
	assert_string_equal(common_text_string(&text), expected);
	assert_int_equal(places.count, 128);
	dump_text_message(&message, &values, "{127} {128} {0}", &text, &places);
	assert_string_equal(common_text_string(&message), "127 {128} 0");
	common_bytes_free(&text);
	common_bytes_free(&message);
	dump_places_free(&places);
}

/* ---- messages ------------------------------------------------------------------------------------ */

static const struct ptl_field places_fields[] = {
	{.name = "User", .type = PTL_TYPE_UTF8},
	{.name = "Count", .type = PTL_TYPE_I16},
	{.name = "S", .type = PTL_TYPE_STRUCT, .length = 1},
	{.name = "X", .type = PTL_TYPE_U8},
	{.name = "List", .type = PTL_TYPE_U8, .array = PTL_ARRAY_COUNTED},
	{.name = "Reserved", .type = PTL_TYPE_U8},
	{.name = "Real", .type = PTL_TYPE_F32},
};

static const struct {
	const char *message, *shown;
} messages[] = {
	{"plain", "plain"},
	{"", ""},
	{"{0} has {1}", "Zo\xc3\xab M has -2"},
	{"{{0}} {{{0}}}", "{0} {Zo\xc3\xab M}"},
	{"{1:x} {1:X} {1:x8} {1:X6} {1:d} {1:D4}", "fffe FFFE 0000fffe 00FFFE -2 -0002"},
	{"{2} {3} {4} {4:x4}", "{X=7} [1,2] 9 0009"},
	{"{5} {5:x} {0:x}", "0.5 0.5 Zo\xc3\xab M"},
	{"{6} {99999999999999999999} {} {a} {0", "{6} {99999999999999999999} {} {a} {0"},
	{"{-1} {0:yyyy-MM} {0:x999} {1:N2} {1:}", "{-1} {0:yyyy-MM} {0:x999} -2 -2"},
	{"} { }} {{ {0}}", "} { } { Zo\xc3\xab M}"},
	{"line\nbreak \x1b[2J{1}", "line\\x0abreak \\x1b[2J-2"},
};

static void fills_messages(void **state)
{
	static const uint8_t payload[] = "Zo\xc3\xab M\0\xfe\xff\x07\x02\0\x01\x02\x09\0\0\0\x3f";
	const struct ptl_schema schema = SCHEMA(places_fields);
	struct analysis_values values = {0};
	struct dump_places places = {0};
	struct ptl_bytes text = {0}, message = {0};

	(void)state;
	dump_text_payload(&text, &values, &schema, payload, sizeof(payload) - 1, &places);
	assert_int_equal(places.count, 6);
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		message.size = 0;
		dump_text_message(&message, &values, messages[i].message, &text, &places);
		assert_string_equal(common_text_string(&message), messages[i].shown);
	}
	/* If the payload ends early, placeholders of missing fields are printed unchanged. */
	text.size = message.size = 0;
	dump_text_payload(&text, &values, &schema, payload, 9, &places);
	dump_text_message(&message, &values, "{0} {1} {2}", &text, &places);
	assert_string_equal(common_text_string(&message), "Zo\xc3\xab M -2 {}");
	common_bytes_free(&text);
	common_bytes_free(&message);
	common_bytes_free(&values.scratch);
	dump_places_free(&places);
}

/* A message that repeats a long field must not exhaust memory. */
static void messages_end_growing(void **state)
{
	enum { LENGTH = 1 << 14, TIMES = 100 };
	static uint8_t payload[LENGTH + 1];
	static char words[TIMES * 3 + 1];
	static const struct ptl_field field = {.name = "Long", .type = PTL_TYPE_UTF8};
	const struct ptl_schema schema = {.event_name = "E", .fields = &field, .field_count = 1};
	struct analysis_values values = {0};
	struct dump_places places = {0};
	struct ptl_bytes text = {0}, message = {0};

	(void)state;
	memset(payload, 'a', LENGTH);
	for (size_t i = 0; i < TIMES; i++)
		memcpy(words + 3 * i, "{0}", 3);
	dump_text_payload(&text, &values, &schema, payload, sizeof(payload), &places);
	dump_text_message(&message, &values, words, &text, &places);
	assert_int_equal(message.size, 4 * LENGTH + (TIMES - 4) * 3);
	assert_memory_equal(message.data + message.size - 6, "{0}{0}", 6);
	common_bytes_free(&text);
	common_bytes_free(&message);
	common_bytes_free(&values.scratch);
	dump_places_free(&places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shows),
		cmocka_unit_test(shows_unknown),
		cmocka_unit_test(shows_many_fields),
		cmocka_unit_test(fills_messages),
		cmocka_unit_test(messages_end_growing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
