/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests symbol tables: order, names with common beginnings, search, and invalid bytes. */
#include <ptl/symbols.h>

#include "tests/unit/format_sample.h"

static struct ptl_symbol_table *round_trip(const struct ptl_symbol *symbols, size_t count)
{
	struct ptl_bytes bytes = {0};
	struct ptl_symbol_table *table = NULL;

	assert_done(ptl_symbols_encode(symbols, count, &bytes));
	assert_done(ptl_symbols_decode(bytes.data, bytes.size, &table));
	common_bytes_free(&bytes);
	assert_int_equal(ptl_symbols_count(table), count);
	return table;
}

static void symbols_come_back_in_order(void **state)
{
	static char longest[70000];
	const struct ptl_symbol symbols[] = {
		{UINT64_MAX, 1, "last", 'T'},
		{0x1000, 16, "_ZN9namespace5classC1Ev", 'T'},
		{0x1010, 0, "_ZN9namespace5classC2Ev", 't'},
		{0, 0, "", 'W'},
		{0x2000, 4, longest, 'i'},
	};
	struct ptl_symbol_table *table;

	(void)state;
	memset(longest, 'n', sizeof(longest) - 1);
	table = round_trip(symbols, 5);
	assert_string_equal(ptl_symbols_get(table, 0).name, "");
	assert_string_equal(ptl_symbols_get(table, 1).name, symbols[1].name);
	assert_string_equal(ptl_symbols_get(table, 2).name, symbols[2].name);
	assert_int_equal(ptl_symbols_get(table, 2).type, 't');
	/* Names are cut at the format's limit. */
	assert_int_equal(strlen(ptl_symbols_get(table, 3).name), 65535);
	assert_true(ptl_symbols_get(table, 4).address == UINT64_MAX);
	ptl_symbols_free(table);
}

static void search_finds_what_covers(void **state)
{
	const struct ptl_symbol symbols[] = {
		{0x100, 0x100, "outer", 'T'}, {0x140, 0x10, "inner", 't'}, {0x300, 0, "open", 't'},
		{0x310, 0, "open_too", 'T'},  {0x400, 8, "local", 't'},    {0x400, 8, "global", 'T'},
		{0x400, 8, "weak", 'W'},      {0x500, 8, "end", 'T'},      {0x600, 8, "__GI_", 't'},
		{0x600, 8, "_known", 't'},    {0x700, 8, "__brk", 'T'},    {0x700, 8, "brk", 'W'},
	};
	struct ptl_symbol_table *table = round_trip(symbols, 12);
	static const struct {
		uint64_t address;
		const char *name;
	} expected[] = {
		{0, NULL},           {0xff, NULL},        {0x100, "outer"},  {0x13f, "outer"},  {0x140, "inner"},
		{0x14f, "inner"},    {0x150, "outer"},    {0x1ff, "outer"},  {0x200, NULL},     {0x30f, "open"},
		{0x310, "open_too"}, {0x3ff, "open_too"}, {0x400, "global"}, {0x407, "global"}, {0x408, NULL},
		{0x507, "end"},      {0x508, NULL},       {0x600, "_known"}, {0x700, "__brk"},  {UINT64_MAX, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct ptl_symbol found = ptl_symbols_find(table, expected[i].address);

		if (!expected[i].name)
			assert_null(found.name);
		else
			assert_string_equal(found.name, expected[i].name);
	}
	ptl_symbols_free(table);
	table = round_trip(NULL, 0);
	assert_null(ptl_symbols_find(table, 5).name);
	ptl_symbols_free(table);
}

static void damage_is_refused(void **state)
{
	const struct ptl_symbol symbols[] = {{1, 2, "first", 'T'}, {300, 4, "first_too", 't'}};
	struct ptl_bytes bytes = {0};
	struct ptl_symbol_table *table;

	(void)state;
	assert_done(ptl_symbols_encode(symbols, 2, &bytes));
	for (size_t size = 0; size < bytes.size; size++)
		assert_true(ptl_symbols_decode(bytes.data, size, &table) < 0);
	common_write_le(&bytes, 0, 1);
	assert_int_equal(ptl_symbols_decode(bytes.data, bytes.size, &table), PTL_CORRUPT);
	bytes.size--;
	bytes.data[12] = 9; /* prefix length of the first symbol, which has no predecessor's name */
	assert_int_equal(ptl_symbols_decode(bytes.data, bytes.size, &table), PTL_CORRUPT);
	common_bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_come_back_in_order),
		cmocka_unit_test(search_finds_what_covers),
		cmocka_unit_test(damage_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
