/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests ptl-dump's output of numbers, times, sizes, words and instructions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "common/text/text.h"
#include "dump/print/status.h"
#include "flow/code/disassembly.h"

/* Compares the text, and empties it. */
static void expect(struct ptl_bytes *text, const char *expected)
{
	assert_string_equal(common_text_string(text), expected);
	text->size = 0;
}

static void numbers(void **state)
{
	struct ptl_bytes text = {0};

	(void)state;
	common_text_hex(&text, 0);
	expect(&text, "0");
	common_text_hex(&text, UINT64_MAX);
	expect(&text, "ffffffffffffffff");
	common_text_hex_right(&text, 0xabc, 6);
	expect(&text, "   abc");
	common_text_hex_right(&text, 0xabcdef, 3);
	expect(&text, "abcdef");
	common_text_decimal(&text, UINT64_MAX);
	expect(&text, "18446744073709551615");
	common_text_decimal_right(&text, 42, 5);
	expect(&text, "   42");
	common_text_count(&text, 0);
	common_text_add(&text, " ");
	common_text_count(&text, 999);
	common_text_add(&text, " ");
	common_text_count(&text, 1000);
	common_text_add(&text, " ");
	common_text_count(&text, UINT64_MAX);
	expect(&text, "0 999 1,000 18,446,744,073,709,551,615");
	common_text_hex_bytes(&text, (const uint8_t *)"\x00\xff\x1a", 3);
	expect(&text, "00ff1a");
	common_bytes_free(&text);
}

static void quantities(void **state)
{
	static const struct {
		void (*add)(struct ptl_bytes *text, uint64_t value);
		uint64_t value;
		const char *expected;
	} cases[] = {
		{common_text_size, 0, "0 B"},
		{common_text_size, 1023, "1023 B"},
		{common_text_size, 1024, "1.0 KiB"},
		{common_text_size, 1048575, "1.0 MiB"},
		{common_text_size, UINT64_MAX, "16.0 EiB"},
		{common_text_duration, 0, "0 ns"},
		{common_text_duration, 999, "999 ns"},
		{common_text_duration, 1500, "1.500 us"},
		{common_text_duration, 12345678, "12.35 ms"},
		{common_text_duration, 123456789012, "123.5 s"},
	};
	struct ptl_bytes text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cases[i].add(&text, cases[i].value);
		expect(&text, cases[i].expected);
	}
	common_text_share(&text, 0, 0);
	expect(&text, "-");
	common_text_share(&text, 5, 5);
	expect(&text, "100 %");
	common_text_share(&text, 999999999, 1000000000);
	expect(&text, "99.99 %");
	common_text_share(&text, 1, 1000000000);
	expect(&text, "0.01 %");
	common_text_share(&text, 0, 7);
	expect(&text, "0.00 %");
	common_bytes_free(&text);
}

static void times(void **state)
{
	struct ptl_bytes text = {0};

	(void)state;
	common_text_time(&text, 0, 100);
	expect(&text, "             -");
	common_text_time(&text, 100, 100);
	expect(&text, "      0.000000");
	common_text_time(&text, 12345678 + 100, 100);
	expect(&text, "     12.345678");
	common_text_time(&text, 99, 100);
	expect(&text, "     -0.000001");
	common_text_time(&text, UINT64_MAX, 0);
	expect(&text, "18446744073709.551615");
	common_text_wall_time(&text, 1700000000123456789);
	expect(&text, "2023-11-14 22:13:20.123456789 UTC");
	common_text_wall_time(&text, -1);
	expect(&text, "1969-12-31 23:59:59.999999999 UTC");
	common_bytes_free(&text);
}

static void quoted(void **state)
{
	static const struct {
		const char *words, *shown;
	} cases[] = {
		{"plain", "plain"},
		{"/a/b-c:d|e", "/a/b-c:d|e"},
		{"Zo\xc3\xab", "Zo\xc3\xab"},
		{"", "\"\""},
		{"two words", "\"two words\""},
		{"a=b", "\"a=b\""},
		{"{x}", "\"{x}\""},
		{"q\"\\", "\"q\\\"\\\\\""},
		{"\n\t\r\x01", "\"\\n\\t\\r\\x01\""},
		{"\xe2\x80\xae|\xed\xa0\x80", "\"\\xe2\\x80\\xae|\\xed\\xa0\\x80\""},
	};
	struct ptl_bytes text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		common_text_quoted(&text, cases[i].words, strlen(cases[i].words));
		expect(&text, cases[i].shown);
	}
	common_text_quoted(&text, "a\0b", 3);
	expect(&text, "\"a\\x00b\"");
	/* Columns count characters, not bytes. */
	common_text_add(&text, "Zo\xc3\xab");
	common_text_pad(&text, 0, 5);
	common_text_add(&text, "|");
	expect(&text, "Zo\xc3\xab  |");
	common_bytes_free(&text);
}

static void words(void **state)
{
	struct ptl_bytes text = {0};
	size_t start;

	(void)state;
	common_text_safe(&text, "plain \xc3\xa4 \x1b[2J\n\x7f \xc2\x9b \xff");
	expect(&text, "plain \xc3\xa4 \\x1b[2J\\x0a\\x7f \\xc2\\x9b \\xff");
	common_text_add(&text, "ab");
	start = text.size;
	common_text_add(&text, "cd");
	common_text_pad(&text, start, 4);
	common_text_add(&text, "|");
	common_text_pad(&text, start, 1);
	expect(&text, "abcd  |");
	assert_string_equal(common_base_name("/usr/lib/libc.so"), "libc.so");
	assert_string_equal(common_base_name("memfd:x"), "memfd:x");
	assert_string_equal(common_base_name("//anon"), "anon");
	assert_string_equal(common_base_name("/usr/"), "/usr/");
	assert_string_equal(common_base_name("[kworker/0:1]"), "[kworker/0:1]");
	common_bytes_free(&text);
}

static void endings(void **state)
{
	static const struct {
		int32_t status;
		const char *expected;
	} cases[] = {
		{0, "exit 0"},     {42 << 8, "exit 42"},      {11, "SIGSEGV"}, {6 | 128, "SIGABRT, core dumped"},
		{40, "signal 40"}, {0x137f, "status 0x137f"},
	};
	struct ptl_bytes text = {0};
	char room[4];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		dump_text_exit_status(&text, cases[i].status);
		expect(&text, cases[i].expected);
	}
	assert_string_equal(dump_protection(5, room), "r-x");
	assert_string_equal(dump_protection(2, room), "-w-");
	common_bytes_free(&text);
}

static void instructions(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		unsigned mode;
		const char *expected;
	} cases[] = {
		{"\xe8\x07\x00\x00\x00", 5, 64, "call 0x40100c"},
		{"\x48\x8b\x44\x24\x08", 5, 64, "mov rax, [rsp+0x8]"},
		{"\x48\x8d\x05\x10\x00\x00\x00", 7, 64, "lea rax, [0x401017]"},
		{"\x66\x0f\x1f\x44\x00\x00", 6, 64, "nop [rax+rax*1], ax"},
		{"\x40", 1, 32, "inc eax"},
		{"\xc4", 1, 64, "(bad)"},
		{"\x06", 1, 64, "(bad)"},
	};
	struct ptl_bytes text = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		flow_disassemble((const uint8_t *)cases[i].bytes, cases[i].size, cases[i].mode, 0x401000, &text);
		expect(&text, cases[i].expected);
	}
	common_bytes_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),      cmocka_unit_test(quantities), cmocka_unit_test(times),
		cmocka_unit_test(words),        cmocka_unit_test(quoted),     cmocka_unit_test(endings),
		cmocka_unit_test(instructions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
