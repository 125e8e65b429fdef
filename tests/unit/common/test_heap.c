/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests heaps: items leave in order after any insertions and changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/hash.h"
#include "common/heap.h"

#define COUNT 1000

struct item {
	uint64_t key;
	size_t number;
};

static int before(const struct item *a, const struct item *b)
{
	return a->key < b->key;
}

COMMON_HEAP(item, struct item, before)

static uint64_t key_of(size_t i)
{
	return common_hash_high(i + 1, 9); /* some times are equal */
}

static void empty(struct item *heap, size_t count)
{
	uint8_t seen[COUNT] = {0};
	uint64_t last = 0;

	while (count) {
		assert_true(heap[0].key >= last);
		assert_int_equal(seen[heap[0].number]++, 0);
		last = heap[0].key;
		heap[0] = heap[--count];
		item_sink(heap, count, 0);
	}
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(seen[i], 1);
}

static void one_by_one(void **state)
{
	struct item heap[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		heap[i] = (struct item){key_of(i), i};
		item_rise(heap, i);
	}
	empty(heap, COUNT);
}

static void all_at_once(void **state)
{
	struct item heap[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		heap[i] = (struct item){key_of(i), i};
	item_order(heap, COUNT);
	empty(heap, COUNT);
}

/* The first item gets later times repeatedly, as in a merge. */
static void changed(void **state)
{
	struct item heap[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		heap[i] = (struct item){i, i};
	item_order(heap, COUNT);
	for (size_t i = 0; i < 5 * COUNT; i++) {
		heap[0].key += key_of(i);
		item_sink(heap, COUNT, 0);
	}
	empty(heap, COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
