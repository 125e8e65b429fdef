/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests starts and layers of a compiler's functions over earlier functions, with times and without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/vector.h"
#include "flow/symbol/made_order.h"

#define UNKNOWN FLOW_MADE_UNKNOWN

static struct elf_jit_names names;
static struct flow_made_order order;

static void add(const char *name, uint64_t address, uint64_t size, uint64_t time)
{
	const struct ptl_symbol symbol = {.name = name, .address = address, .size = size, .type = 'T'};

	if (!names.file_count) {
		assert_true(COMMON_VECTOR_GROW(names.files, names.file_capacity, 1));
		names.files[names.file_count++] = (struct elf_jit_file){.first = 0};
	}
	assert_int_equal(elf_made_list_add(&names.made, &symbol, time), 0);
	names.made.places[names.made.symbols.count - 1].after = time == UNKNOWN ? 0 : time;
}

static void settle(void)
{
	struct flow_made_history history = {0};

	assert_int_equal(flow_made_order_begin(&order, &names, names.made.places, &history), 0);
	assert_int_equal(flow_made_order_settle(&order, NULL), 0);
	flow_made_history_free(&history);
}

static void assert_function(size_t i, uint64_t start, uint32_t layer)
{
	assert_true(order.list[i].is_visible);
	assert_int_equal(order.list[i].start, start);
	assert_int_equal(order.list[i].layer, layer);
}

static int clear(void **state)
{
	(void)state;
	flow_made_order_free(&order);
	elf_made_list_free(&names.made);
	free(names.files);
	names = (struct elf_jit_names){0};
	return 0;
}

static void times_tell_functions_apart(void **state)
{
	(void)state;
	add("first", 0x1000, 0x100, 10);
	add("second", 0x1000, 0x80, 20);
	add("beside", 0x2000, 0x80, 25);
	add("third", 0x1040, 0x100, 30);
	settle();
	assert_function(0, 0, 0);
	assert_function(1, 20, 1);
	assert_function(2, 0, 0);
	assert_function(3, 30, 2);
	assert_int_equal(order.replaced, 0);
}

static void without_a_sign_the_last_one_counts(void **state)
{
	(void)state;
	add("first", 0x1000, 0x100, UNKNOWN);
	add("second", 0x1010, 0x10, UNKNOWN);
	add("third", 0x1018, 0x10, UNKNOWN);
	add("beside", 0x2000, 0x10, UNKNOWN);
	settle();
	assert_false(order.list[0].is_visible);
	assert_false(order.list[1].is_visible);
	assert_function(2, 0, 0);
	assert_function(3, 0, 0);
	assert_int_equal(order.replaced, 2);
}

static void an_unknown_time_is_after_one_that_is_known(void **state)
{
	(void)state;
	add("first", 0x1000, 0x100, 10);
	add("second", 0x1000, 0x100, UNKNOWN);
	settle();
	assert_function(0, 0, 0);
	assert_function(1, 11, 1);
}

static void two_files_that_have_the_same(void **state)
{
	(void)state;
	add("first", 0x1000, 0x100, UNKNOWN);
	add("second", 0x1000, 0x100, UNKNOWN);
	add("first", 0x1000, 0x100, UNKNOWN);
	assert_true(COMMON_VECTOR_GROW(names.files, names.file_capacity, 2));
	names.files[names.file_count++] = (struct elf_jit_file){.first = names.made.symbols.count, .jitdump = true};
	add("first", 0x1000, 0x100, 10);
	add("second", 0x1000, 0x100, 20);
	add("first", 0x1000, 0x100, 30);
	add("more", 0x3000, 0x100, 40);
	settle();
	assert_int_equal(order.count, 4);
	assert_function(0, 0, 0);
	assert_function(1, 20, 1);
	assert_function(2, 30, 2);
	assert_function(3, 0, 0);
}

static void the_end_of_the_addresses(void **state)
{
	(void)state;
	add("first", UINT64_MAX - 0xf, 0x10, 10);
	add("second", UINT64_MAX - 0xf, UINT64_MAX, 20);
	add("third", UINT64_MAX, 0, 30);
	settle();
	assert_int_equal(order.list[1].last, UINT64_MAX);
	assert_function(1, 20, 1);
	assert_function(2, 30, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(times_tell_functions_apart, clear),
		cmocka_unit_test_teardown(without_a_sign_the_last_one_counts, clear),
		cmocka_unit_test_teardown(an_unknown_time_is_after_one_that_is_known, clear),
		cmocka_unit_test_teardown(two_files_that_have_the_same, clear),
		cmocka_unit_test_teardown(the_end_of_the_addresses, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
