/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbol files of rules: what is read of them, what is refused and how, and what of it belongs to an image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "relog/rules/symbols.h"

static int nm(const char *text, struct rules_symbol_list *list)
{
	return rules_symbols_nm("s", (const uint8_t *)text, strlen(text), list);
}

static int perf_map(const char *text, struct rules_symbol_list *list)
{
	return rules_symbols_perf_map("s", (const uint8_t *)text, strlen(text), list);
}

static void reads_nm(void **state)
{
	struct rules_symbol_list list;

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
	rules_symbols_free(&list);
	assert_int_equal(nm("", &list), 0);
	assert_int_equal(list.count, 0);
	rules_symbols_free(&list);
}

static void reads_perf_maps(void **state)
{
	struct rules_symbol_list list;

	(void)state;
	assert_int_equal(perf_map("7f0000001000 20 LazyCompile:~f /a b.js:1\n0x7f0000001020 0x8 g\n", &list), 0);
	assert_int_equal(list.count, 2);
	assert_true(list.list[0].address == 0x7f0000001000 && list.list[0].size == 0x20);
	assert_string_equal(list.list[0].name, "LazyCompile:~f /a b.js:1");
	assert_string_equal(list.list[1].name, "g");
	rules_symbols_free(&list);
}

static void refuses_with_exact_words(void **state)
{
	static const struct {
		int (*read)(const char *text, struct rules_symbol_list *list);
		const char *text;
		const char *message;
	} cases[] = {
		{nm, "main", "s:1:1: expected a hexadecimal address, found 'main'"},
		{nm, "\n10000000000000000 T a", "s:2:1: expected a hexadecimal address, found '10000000000000000'"},
		{nm, "10 main", "s:1:4: expected a size or the letter of a type, such as T, found 'main'"},
		{nm, "10 20", "s:1:4: expected a size or the letter of a type, such as T, found '20'"},
		{nm, "10 20 \n", "s:1:7: expected a size or the letter of a type, such as T, found the end of the line"},
		{nm, "10 T", "s:1:5: expected a name, found the end of the line"},
		{nm, "10 T \n", "s:1:6: expected a name, found the end of the line"},
		{perf_map, "x 10 f", "s:1:1: expected a hexadecimal address, found 'x'"},
		{perf_map, "10 f", "s:1:4: expected a hexadecimal size, found 'f'"},
		{perf_map, "10 20 ", "s:1:7: expected a name, found the end of the line"},
	};
	struct rules_symbol_list list;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(cases[i].read(cases[i].text, &list), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), cases[i].message);
		assert_null(list.list);
	}
	assert_int_equal(rules_symbols_nm("s", (const uint8_t *)"1 T a\0b", 7, &list), PTL_CORRUPT);
	assert_string_equal(ptl_error_text(), "s:1:6: expected a name without a zero byte, found '?b'");
}

static void takes_what_lies_in_the_image(void **state)
{
	struct rules_symbol_list list;
	struct ptl_symbol_table *table;
	struct ptl_bytes out = {0};
	size_t count;

	(void)state;
	assert_int_equal(nm("fff T before\n1000 T first\n1ffe T last\n2000 T behind\n", &list), 0);
	assert_int_equal(rules_symbols_encode(&list, 0x1000, 0x1000, 0x50, &out, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(ptl_symbols_decode(out.data, out.size, &table), 0);
	assert_int_equal(ptl_symbols_count(table), 2);
	assert_true(ptl_symbols_get(table, 0).address == 0x50);
	assert_string_equal(ptl_symbols_get(table, 1).name, "last");
	assert_true(ptl_symbols_get(table, 1).address == 0x104e);
	ptl_symbols_free(table);
	ptl_bytes_free(&out);
	assert_int_equal(rules_symbols_encode(&list, 0x8000, 0x1000, 0, &out, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(out.size, 0);
	/* A new base so high that addresses would wrap. */
	assert_int_equal(rules_symbols_encode(&list, 0x1000, 0x1000, UINT64_MAX - 0x10, &out, &count), 0);
	assert_int_equal(count, 1);
	ptl_bytes_free(&out);
	rules_symbols_free(&list);
}

static void refuses_what_is_no_elf_file(void **state)
{
	struct rules_symbol_list list;
	uint64_t first;

	(void)state;
	assert_int_equal(rules_symbols_elf("s", (const uint8_t *)"0000 T main\n", 12, &list, &first), PTL_NOT_OURS);
	assert_string_equal(ptl_error_text(), "s: not an ELF file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_nm),
		cmocka_unit_test(reads_perf_maps),
		cmocka_unit_test(refuses_with_exact_words),
		cmocka_unit_test(takes_what_lies_in_the_image),
		cmocka_unit_test(refuses_what_is_no_elf_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
