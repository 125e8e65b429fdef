/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the reader of memory maps: accepted maps, and the exact error messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <ptl/error.h>

#include "import/raw/memory_map.h"

#define MEMORY_SIZE 0x3000

static int parse(const char *text, struct import_memory_map *map)
{
	return import_memory_map_parse("m", text, strlen(text), MEMORY_SIZE, map);
}

static void takes_what_is_right(void **state)
{
	static const char text[] = "# base size offset\n"
				   "\n"
				   "0x7000 0x1000 0x2000\t# comment\r\n"
				   "  4096 8192 0#none\n"
				   "0XFFFFFFFFFFFFF000 0x1000 0x1000";
	struct import_memory_map map;

	(void)state;
	assert_int_equal(parse(text, &map), 0);
	assert_int_equal(map.count, 3);
	assert_int_equal(map.ranges[0].base, 4096);
	assert_int_equal(map.ranges[0].size, 8192);
	assert_int_equal(map.ranges[0].offset, 0);
	assert_int_equal(map.ranges[0].line, 4);
	assert_int_equal(map.ranges[1].base, 0x7000);
	assert_int_equal(map.ranges[1].line, 3);
	assert_true(map.ranges[2].base == 0xfffffffffffff000u);
	import_memory_map_free(&map);
	assert_int_equal(map.count, 0);
}

static void takes_shared_bytes(void **state)
{
	struct import_memory_map map;

	(void)state;
	assert_int_equal(parse("0x1000 0x1000 0\n0x2000 0x1000 0\n", &map), 0);
	assert_int_equal(map.count, 2);
	import_memory_map_free(&map);
}

static void refuses_what_is_wrong(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} cases[] = {
		{"", "m:1:1: expected at least one range, found none"},
		{"# nothing\n", "m:2:1: expected at least one range, found none"},
		{"0x1000", "m:1:7: expected a size in bytes (decimal or 0x...), found the end of the line"},
		{"0x1000 1\n", "m:1:9: expected an offset in the memory file (decimal or 0x...), "
			       "found the end of "
			       "the line"},
		{"\n0x1000 1 # 0\n", "m:2:10: expected an offset in the memory file (decimal or 0x...), found the end "
				     "of the line"},
		{"libc 1 0", "m:1:1: expected a base address (decimal or 0x...), found 'libc'"},
		{"0x 1 0", "m:1:1: expected a base address (decimal or 0x...), found '0x'"},
		{"1f 1 0", "m:1:1: expected a base address (decimal or 0x...), found '1f'"},
		{"-1 1 0", "m:1:1: expected a base address (decimal or 0x...), found '-1'"},
		{"0x10000000000000000 1 0", "m:1:1: expected a number of at most 64 bits, found '0x10000000000000000'"},
		{"18446744073709551616 1 0", "m:1:1: expected a number of at most 64 bits, found "
					     "'18446744073709551616'"},
		{"0x1000\x01 1 0", "m:1:1: expected a base address (decimal or 0x...), found '0x1000?'"},
		{"0x1000 1 0 r-x\n", "m:1:12: expected the end of the line, found 'r-x'"},
		{"0x1000 0 0", "m:1:8: expected a size above 0"},
		{"0xfffffffffffff000 0x1001 0", "m:1:20: expected a size of at most 0x1000, found 0x1001: the range "
						"would pass the end of the address space"},
		{"0x1000 0x1000 0x2001", "m:1:15: expected a range within the memory file of 12288 bytes, found "
					 "offset 0x2001 and size 0x1000"},
		{"0x1000 1 0xffffffffffffffff", "m:1:10: expected a range within the memory file of 12288 bytes, "
						"found offset 0xffffffffffffffff and size 0x1"},
		{"0x1000 0x1001 0\n0x2000 1 0", "m:2:1: expected addresses of their own, found 0x2000, size 0x1, "
						"which overlaps the range of line 1"},
		{"0x2000 1 0\n0x1000 0x1001 0", "m:2:1: expected addresses of their own, found 0x1000, size 0x1001, "
						"which overlaps the range of line 1"},
		{"0x1000 1 0\n0x1000 1 1", "m:2:1: expected addresses of their own, found 0x1000, size 0x1, "
					   "which overlaps the range of line 1"},
	};
	struct import_memory_map map;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text, &map), PTL_CORRUPT);
		assert_string_equal(ptl_error_text(), cases[i].message);
		assert_int_equal(map.count, 0);
	}
}

/* A range of the whole memory file, followed by many ranges: growth and order. */
static void takes_many(void **state)
{
	char text[4096];
	size_t at = 0;
	struct import_memory_map map;

	(void)state;
	for (unsigned i = 100; i-- > 0;) {
		int n = snprintf(text + at, sizeof(text) - at, "%u 16 %u\n", i * 16, i);

		assert_true(n > 0 && (size_t)n < sizeof(text) - at);
		at += (size_t)n;
	}
	assert_int_equal(import_memory_map_parse("m", text, at, MEMORY_SIZE, &map), 0);
	assert_int_equal(map.count, 100);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(map.ranges[i].base, i * 16);
	import_memory_map_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_what_is_right),
		cmocka_unit_test(takes_shared_bytes),
		cmocka_unit_test(refuses_what_is_wrong),
		cmocka_unit_test(takes_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
