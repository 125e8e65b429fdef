/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests formats of tracepoints: fields, names of numbers, payloads; and invalid texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "perf/trace_format.h"
#include "perf/tracing.h"

#define COMMON                                                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                                         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"                                 \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FORMAT(fields, print) "name: sample\nID: 77\nformat:\n" COMMON fields "\nprint fmt: " print "\n"

static const char whole[] = FORMAT(
	"\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:long state;\toffset:16;\tsize:8;\tsigned:1;\n"
	"\tfield:const void * where;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned int vec;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc char[] file;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:u16 pair[2];\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc u32[] list;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__u8 saddr[4];\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:bool good;\toffset:52;\tsize:1;\tsigned:0;\n",
	"\"%s %s %p [%s] %x, %pI4 %5.3f\", REC->comm, (REC->state & ((1 << 2) - 1)) ? "
	"__print_flags(REC->state & 7, \"|\", { 0x00000001, \"S\" }, { (1UL) << (1), \"D, x\" }, { UNKNOWN, \"U\" }, "
	"{ ( gfp_t)4, \"T\" }) : \"R\", REC->where, "
	"__print_symbolic((int)(REC->vec), { 0, \"HI\" }, { ~0, \"NONE\" }), ((unsigned)(REC->vec)), REC->saddr");

/* Returns the field with the name, which must exist. */
static const struct ptl_field *field_of(const struct perf_trace_format *format, const char *name)
{
	for (size_t i = 0; i < format->field_count; i++)
		if (!strcmp(format->described[i].name, name))
			return &format->described[i];
	fail_msg("no field %s", name);
	return NULL;
}

static void fields_have_their_types(void **state)
{
	struct perf_trace_format format;

	(void)state;
	assert_int_equal(perf_trace_format_parse(whole, strlen(whole), &format), 0);
	assert_string_equal(format.name, "sample");
	assert_int_equal(format.id, 77);
	assert_int_equal(format.field_count, 11);
	assert_int_equal(field_of(&format, "comm")->type, PTL_TYPE_UTF8);
	assert_int_equal(field_of(&format, "state")->type, PTL_TYPE_I64);
	assert_int_equal(field_of(&format, "where")->type, PTL_TYPE_POINTER);
	assert_int_equal(field_of(&format, "vec")->type, PTL_TYPE_U32);
	assert_int_equal(field_of(&format, "vec")->format, PTL_FORMAT_HEX);
	assert_int_equal(field_of(&format, "file")->type, PTL_TYPE_UTF8);
	assert_int_equal(field_of(&format, "pair")->type, PTL_TYPE_U16);
	assert_int_equal(field_of(&format, "pair")->array, PTL_ARRAY_FIXED);
	assert_int_equal(field_of(&format, "pair")->array_length, 2);
	assert_int_equal(field_of(&format, "list")->array, PTL_ARRAY_COUNTED);
	assert_int_equal(field_of(&format, "list")->type, PTL_TYPE_U32);
	assert_int_equal(field_of(&format, "saddr")->type, PTL_TYPE_BYTES);
	assert_int_equal(field_of(&format, "saddr")->format, PTL_FORMAT_IP);
	assert_int_equal(field_of(&format, "good")->type, PTL_TYPE_BOOL8);
	/* Common fields are last; fields that are in the sample's header are left out. */
	assert_string_equal(format.described[9].name, "common_flags");
	assert_string_equal(format.described[10].name, "common_preempt_count");
	perf_trace_format_free(&format);
}

static void numbers_have_names(void **state)
{
	struct perf_trace_format format;

	(void)state;
	assert_int_equal(perf_trace_format_parse(whole, strlen(whole), &format), 0);
	assert_int_equal(format.map_count, 2);
	assert_string_equal(field_of(&format, "state")->map, "sample.state");
	assert_int_equal(format.maps[0].map.kind, PTL_MAP_FLAGS);
	assert_int_equal(format.maps[0].map.count, 3);
	assert_int_equal(format.maps[0].map.entries[1].value, 2);
	assert_string_equal(format.maps[0].map.entries[1].name, "D, x");
	assert_int_equal(format.maps[0].map.entries[2].value, 4);
	assert_string_equal(format.maps[0].map.entries[2].name, "T");
	assert_string_equal(field_of(&format, "vec")->map, "sample.vec");
	assert_int_equal(format.maps[1].map.kind, PTL_MAP_VALUES);
	assert_int_equal(format.maps[1].map.entries[1].value, UINT32_MAX);
	assert_string_equal(format.maps[1].map.entries[1].name, "NONE");
	perf_trace_format_free(&format);
}

/* Makes a record of 56 bytes, and the data it refers to. */
static size_t make_record(uint8_t raw[96])
{
	memset(raw, 0, 96);
	memcpy(raw + 8, "longname", 8);
	common_store64(raw + 16, (uint64_t)-2);
	common_store64(raw + 24, 0x1234);
	common_store32(raw + 32, 9);
	common_store32(raw + 36, 6u << 16 | 56);
	memcpy(raw + 56, "/file", 6);
	common_store16(raw + 40, 1);
	common_store16(raw + 42, 2);
	common_store32(raw + 44, 8u << 16 | (64 - 48)); /* relative to the end of the word */
	common_store32(raw + 64, 70);
	common_store32(raw + 68, 71);
	memcpy(raw + 48, "\x7f\0\0\1", 4);
	raw[52] = 1;
	return 72;
}

static void records_become_payloads(void **state)
{
	static const uint8_t expected[] = "longname\0"
					  "\xfe\xff\xff\xff\xff\xff\xff\xff"
					  "\x34\x12\0\0\0\0\0\0"
					  "\x09\0\0\0"
					  "/file\0"
					  "\1\0\2\0"
					  "\2\0\x46\0\0\0\x47\0\0\0"
					  "\x7f\0\0\1"
					  "\1"
					  "\0\0";
	struct perf_trace_format format;
	struct ptl_bytes payload = {0};
	uint8_t raw[96];
	const size_t size = make_record(raw);

	(void)state;
	assert_int_equal(perf_trace_format_parse(whole, strlen(whole), &format), 0);
	assert_true(perf_trace_format_payload(&format, raw, size, &payload));
	assert_int_equal(payload.size, sizeof(expected) - 1);
	assert_memory_equal(payload.data, expected, payload.size);
	for (size_t cut = 0; cut < size; cut++) {
		payload.size = 0;
		assert_false(perf_trace_format_payload(&format, raw, cut, &payload));
	}
	common_store32(raw + 36, 0xffffffff);
	payload.size = 0;
	assert_false(perf_trace_format_payload(&format, raw, size, &payload));
	common_bytes_free(&payload);
	perf_trace_format_free(&format);
}

static void nonsense_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"name: sample\n",
		"ID: 4\n",
		"name: sample\nID: 70000\n",
		FORMAT("\tfield:int x;\toffset:8;\tsize:99999;\tsigned:0;\n", "\"\""),
		FORMAT("\tfield:int x;\toffset:-8;\tsize:4;\tsigned:0;\n", "\"\""),
		FORMAT("\tfield:int x;\tsize:4;\tsigned:0;\n", "\"\""),
		FORMAT("\tfield:int;\toffset:8;\tsize:4;\tsigned:0;\n", "\"\""),
		FORMAT("\tfield:int x;\toffset:8;\tsize:0;\tsigned:0;\n", "\"\""),
		FORMAT("\tfield:__data_loc char[] x;\toffset:8;\tsize:8;\tsigned:0;\n", "\"\""),
		FORMAT("\tfield:char x[];\toffset:8;\tsize:0;\n\tfield:char y[];\toffset:8;\tsize:0;\n", "\"\""),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct perf_trace_format format;

		assert_int_equal(perf_trace_format_parse(texts[i], strlen(texts[i]), &format), PTL_CORRUPT);
		perf_trace_format_free(&format);
	}
}

/* Any truncation is refused or has fields; reads beyond the end show under sanitizers. */
static void every_beginning_is_safe(void **state)
{
	(void)state;
	for (size_t size = 0; size < strlen(whole); size++) {
		char *text = malloc(size + 1);
		struct perf_trace_format format;

		memcpy(text, whole, size);
		perf_trace_format_parse(text, size, &format);
		perf_trace_format_free(&format);
		free(text);
	}
}

static void expressions_have_values(void **state)
{
	static const struct {
		const char *text;
		bool good;
		uint64_t value;
	} cases[] = {
		{"0x10", true, 16},
		{"1UL << 4 | 2", true, 18},
		{"(((( gfp_t)(((1UL))) << (10)))|1)", true, 1025},
		{"-1", true, UINT64_MAX},
		{"~0 & 0xff", true, 255},
		{"2+3*4", true, 14},
		{"1 << 70", true, 0},
		{"10 - 2 - 3", true, 5},
		{"NAME", false, 0},
		{"(1", false, 0},
		{"", false, 0},
		{"3x", false, 0},
	};
	char deep[1000];
	const char *at = deep;
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].text;

		assert_int_equal(perf_trace_number(&text, &value), cases[i].good);
		if (cases[i].good)
			assert_int_equal(value, cases[i].value);
	}
	memset(deep, '(', sizeof(deep));
	deep[sizeof(deep) - 1] = 0;
	assert_false(perf_trace_number(&at, &value));
}

static void put_format(struct ptl_bytes *data, const char *text)
{
	common_write_le(data, strlen(text), 8);
	common_write_bytes(data, text, strlen(text));
}

/* TRACING_DATA with one tracepoint. */
static void make_tracing(struct ptl_bytes *data)
{
	common_write_bytes(data,
			   "\x17\x08\x44tracing"
			   "0.6\0"
			   "\0\x08",
			   16);
	common_write_le(data, 4096, 4);
	common_write_bytes(data, "header_page", 12);
	put_format(data, "x");
	common_write_bytes(data, "header_event", 13);
	put_format(data, "yy");
	common_write_le(data, 0, 4);
	common_write_le(data, 1, 4);
	common_write_bytes(data, "system", 7);
	common_write_le(data, 2, 4);
	put_format(data, "name: broken\nID: 78\n\tfield:int;");
	put_format(data, whole);
}

static void samples_become_events(void **state)
{
	struct perf_tracing tracing = {0};
	struct perf_tracing_described described;
	struct ptl_bytes data = {0}, storage = {0};
	struct ptl_event event;
	uint8_t raw[96];
	const size_t size = make_record(raw);

	(void)state;
	make_tracing(&data);
	assert_int_equal(perf_tracing_add(&tracing, data.data, data.size), 0);
	assert_int_equal(perf_tracing_decode(&tracing, 77, raw, size, &storage, &event, &described), 1);
	assert_true(described.is_new);
	assert_string_equal(described.schema->provider_name, "system");
	assert_string_equal(described.schema->event_name, "sample");
	assert_int_equal(described.schema->id, event.descriptor.id);
	assert_int_equal(described.map_count, 2);
	assert_int_equal(perf_tracing_decode(&tracing, 77, raw, size, &storage, &event, &described), 1);
	assert_false(described.is_new);
	assert_null(perf_tracing_kind(&tracing, 77));
	assert_int_equal(perf_tracing_decode(&tracing, 77, raw, 10, &storage, &event, &described), 0);
	assert_int_equal(perf_tracing_decode(&tracing, 78, raw, size, &storage, &event, &described), 0);
	assert_int_equal(perf_tracing_decode(&tracing, 79, raw, size, &storage, &event, &described), 0);
	perf_tracing_free(&tracing);
	for (size_t cut = 0; cut < data.size; cut++) {
		assert_int_equal(perf_tracing_add(&tracing, data.data, cut), 0);
		perf_tracing_free(&tracing);
	}
	common_bytes_free(&data);
	common_bytes_free(&storage);
}

/* Fields with equal layout in sample and payload are copied as pieces, once the schema was given. */
static void plain_events_are_pieces(void **state)
{
	static const char plain[] = FORMAT("\tfield:u32 a[2];\toffset:8;\tsize:8;\tsigned:0;\n"
					   "\tfield:long b;\toffset:24;\tsize:8;\tsigned:1;\n",
					   "\"%d\", REC->b");
	const uint8_t raw[40] = {77, 0, 5, 6, [8] = 1, [15] = 2, [24] = 3, [31] = 4};
	struct perf_tracing tracing = {0};
	struct perf_tracing_described described;
	const struct format_event_kind *kind;
	struct ptl_bytes storage = {0};
	struct ptl_event event;
	uint8_t payload[40];
	size_t size = 0;

	(void)state;
	assert_int_equal(perf_tracing_add_format(&tracing, "system", (const uint8_t *)plain, strlen(plain)), 0);
	assert_null(perf_tracing_kind(&tracing, 77));
	assert_int_equal(perf_tracing_decode(&tracing, 77, raw, sizeof(raw), &storage, &event, &described), 1);
	kind = perf_tracing_kind(&tracing, 77);
	assert_non_null(kind);
	assert_null(perf_tracing_kind(&tracing, 78));
	assert_int_equal(kind->record_size, 32);
	assert_memory_equal(&kind->descriptor, &event.descriptor, sizeof(event.descriptor));
	for (size_t i = 0; i < kind->piece_count; size += kind->pieces[i++].size)
		memcpy(payload + size, raw + kind->pieces[i].offset, kind->pieces[i].size);
	assert_int_equal(kind->payload_size, size);
	assert_int_equal(event.payload_size, size);
	assert_memory_equal(event.payload, payload, size);
	/* A shorter record is not read beyond its end: the user of the kind checks the size. */
	assert_int_equal(perf_tracing_decode(&tracing, 77, raw, 31, &storage, &event, &described), 0);
	assert_int_equal(perf_tracing_decode(&tracing, 77, raw, 32, &storage, &event, &described), 1);
	perf_tracing_free(&tracing);
	common_bytes_free(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_have_their_types), cmocka_unit_test(numbers_have_names),
		cmocka_unit_test(records_become_payloads), cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(every_beginning_is_safe), cmocka_unit_test(expressions_have_values),
		cmocka_unit_test(samples_become_events),   cmocka_unit_test(plain_events_are_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
