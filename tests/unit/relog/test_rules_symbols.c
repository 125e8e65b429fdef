/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests symbol files of rules: accepted lines, errors, and the symbols of an image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "relog/rules/symbols.h"

static int nm(const char *text, struct elf_symbol_list *list)
{
	const struct elf_symbol_source source = {.fd = -1, .data = (const uint8_t *)text, .size = strlen(text)};

	return elf_symbols_nm("s", &source, list);
}

static int perf_map(const char *text, struct elf_symbol_list *list)
{
	const struct elf_symbol_source source = {.fd = -1, .data = (const uint8_t *)text, .size = strlen(text)};

	return elf_symbols_perf_map("s", &source, list);
}

static void reads_nm(void **state)
{
	struct elf_symbol_list list = {0};

	(void)state;
	assert_int_equal(nm("# comment\n"
			    "0000000000001000 T main\n"
			    "0000000000001040 0000000000000020 t helper(int, char) \r\n"
			    "                 U printf\n"
			    "                 w __gmon_start__\n"
			    "0000000000004000 B data\n"
			    "0000000000004008 b more\n"
			    "\n"
			    "2000 w weak\n"
			    "0x2010 i ifunc",
			    &list),
			 0);
	assert_int_equal(list.count, 4);
	assert_true(list.list[0].address == 0x1000 && list.list[0].size == 0 && list.list[0].type == 'T');
	assert_string_equal(list.list[0].name, "main");
	assert_true(list.list[1].size == 0x20 && list.list[1].type == 't');
	assert_string_equal(list.list[1].name, "helper(int, char)");
	assert_int_equal(list.list[2].type, 'W');
	assert_int_equal(list.list[3].type, 'i');
	assert_string_equal(list.list[3].name, "ifunc");
	elf_symbol_list_free(&list);
	assert_int_equal(nm("", &list), 0);
	assert_int_equal(list.count, 0);
	elf_symbol_list_free(&list);
}

static void reads_perf_maps(void **state)
{
	struct elf_symbol_list list = {0};

	(void)state;
	assert_int_equal(perf_map("7f0000001000 20 LazyCompile:~f /a b.js:1\n0x7f0000001020 0x8 g\n", &list), 0);
	assert_int_equal(list.count, 2);
	assert_true(list.list[0].address == 0x7f0000001000 && list.list[0].size == 0x20);
	assert_string_equal(list.list[0].name, "LazyCompile:~f /a b.js:1");
	assert_string_equal(list.list[1].name, "g");
	elf_symbol_list_free(&list);
}

static void refuses_with_exact_words(void **state)
{
	static const struct {
		int (*read)(const char *text, struct elf_symbol_list *list);
		const char *text;
		const char *message;
	} cases[] = {
		{nm, "main", "s:1:1: expected a hexadecimal address, found 'main'"},
		{nm, "\n10000000000000000 T a", "s:2:1: expected a hexadecimal address, found '10000000000000000'"},
		{nm, "10 main", "s:1:4: expected a size or the letter of a type, such as T, found 'main'"},
		{nm, "10 20", "s:1:4: expected a size or the letter of a type, such as T, found '20'"},
		{nm, "10 20 \n",
		 "s:1:7: expected a size or the letter of a type, such as T, found the end of the line"},
		{nm, "10 T", "s:1:5: expected a name, found the end of the line"},
		{nm, "10 T \n", "s:1:6: expected a name, found the end of the line"},
		{perf_map, "x 10 f", "s:1:1: expected a hexadecimal address, found 'x'"},
		{perf_map, "10 f", "s:1:4: expected a hexadecimal size, found 'f'"},
		{perf_map, "10 20 ", "s:1:7: expected a name, found the end of the line"},
	};
	struct elf_symbol_list list = {0};

	const struct elf_symbol_source zero = {.fd = -1, .data = (const uint8_t *)"1 T a\0b", .size = 7};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cases[i].read(cases[i].text, &list), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), cases[i].message);
		assert_null(list.list);
		elf_symbol_list_free(&list);
	}
	assert_int_equal(elf_symbols_nm("s", &zero, &list), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(), "s:1:6: expected a name without a zero byte, found '?b'");
}

/* Encodes the symbols from `base` on. Returns their number. */
static size_t encode(const char *text, uint64_t base, uint64_t new_base, struct ptl_bytes *out)
{
	struct elf_symbol_list list = {.base = base, .size = 0x1000};
	size_t count;

	assert_int_equal(nm(text, &list), 0);
	assert_int_equal(rules_symbols_encode(&list, new_base, out), 0);
	count = list.count;
	elf_symbol_list_free(&list);
	return count;
}

static void takes_what_lies_in_the_image(void **state)
{
	static const char text[] = "fff T before\n1000 T first\n1ffe T last\n2000 T behind\n";
	struct ptl_symbol_table *table;
	struct ptl_bytes out = {0};

	(void)state;
	assert_int_equal(encode(text, 0x1000, 0x50, &out), 2);
	assert_int_equal(ptl_symbols_decode(out.data, out.size, &table), 0);
	assert_int_equal(ptl_symbols_count(table), 2);
	assert_true(ptl_symbols_get(table, 0).address == 0x50);
	assert_string_equal(ptl_symbols_get(table, 1).name, "last");
	assert_true(ptl_symbols_get(table, 1).address == 0x104e);
	ptl_symbols_free(table);
	common_bytes_free(&out);
	assert_int_equal(encode(text, 0x8000, 0, &out), 0);
	assert_int_equal(out.size, 0);
	/* a new base at which addresses would wrap */
	assert_int_equal(encode(text, 0x1000, UINT64_MAX - 0x10, &out), 1);
	common_bytes_free(&out);
}

/* more lines than fit in memory at once, in pieces that end anywhere; and an overlong line */
static void reads_long_files(void **state)
{
	struct elf_symbol_list list = {.base = 0x100, .size = 0x10000, .limit = RULES_SYMBOLS_MAX};
	struct elf_symbol_list small = {.limit = 65536};
	struct ptl_bytes text = {0};
	char line[64];
	int size;

	(void)state;
	for (unsigned i = 0; i < 40000; i++) {
		size = snprintf(line, sizeof(line), "%x T %*sfunction_%u%c", i, (int)(i % 7), "", i,
				i < 39999 ? '\n' : 0);
		common_write_bytes(&text, line, (size_t)size);
	}
	common_write_bytes(&text, "", 1);
	assert_true(text.size > 400000);
	assert_int_equal(nm((const char *)text.data, &list), 0);
	assert_int_equal(list.count, 40000 - 0x100);
	for (unsigned i = 0; i < list.count; i++) {
		snprintf(line, sizeof(line), "function_%u", i + 0x100);
		assert_true(list.list[i].address == i + 0x100);
		assert_string_equal(list.list[i].name, line);
	}
	elf_symbol_list_free(&list);
	assert_int_equal(nm((const char *)text.data, &small), PTL_NO_MEMORY);
	elf_symbol_list_free(&small);
	memset(text.data, '#', 200000);
	assert_int_equal(nm((const char *)text.data, &list), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(), "s:1: expected a line of at most 131071 bytes, found a longer one");
	elf_symbol_list_free(&list);
	common_bytes_free(&text);
}

static void refuses_what_is_no_elf_file(void **state)
{
	const struct elf_symbol_source source = {.fd = -1, .data = (const uint8_t *)"0000 T main\n", .size = 12};
	struct elf_symbol_list list = {0};

	(void)state;
	assert_int_equal(rules_symbols_elf("s", &source, true, &list), PTL_NOT_OURS);
	assert_string_equal(ptl_error_text(), "s: not an ELF file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_nm),
		cmocka_unit_test(reads_perf_maps),
		cmocka_unit_test(refuses_with_exact_words),
		cmocka_unit_test(takes_what_lies_in_the_image),
		cmocka_unit_test(reads_long_files),
		cmocka_unit_test(refuses_what_is_no_elf_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
