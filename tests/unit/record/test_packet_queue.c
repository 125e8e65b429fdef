/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests queues of packets in memory that share a pool, against a model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/intel_pt/queue.h"
#include "tests/unit/pt_random.h"

#define QUEUES 3
#define PIECES 20

/* Byte n of a queue's stream. */
static uint8_t byte_at(unsigned queue, uint64_t n)
{
	return (uint8_t)(n * 31 + (n >> 8) * 7 + queue);
}

static size_t add(struct intel_pt_queue *queue, struct intel_pt_pool *pool, unsigned number, uint64_t from, size_t size)
{
	uint8_t *bytes = malloc(size + 1);
	size_t added;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(number, from + i);
	added = intel_pt_queue_add(queue, pool, bytes, size);
	free(bytes);
	return added;
}

/* Takes some of the first bytes. */
static size_t take(struct intel_pt_queue *queue, unsigned number, uint64_t from, size_t size)
{
	const uint8_t *bytes = NULL;
	const size_t found = intel_pt_queue_bytes(queue, size, &bytes);

	assert_true(found <= size && found <= queue->size);
	for (size_t i = 0; i < found; i++)
		assert_int_equal(bytes[i], byte_at(number, from + i));
	intel_pt_queue_drop(queue, found);
	return found;
}

static void test_what_is_added_is_taken_in_order(void **state)
{
	struct intel_pt_queue queues[QUEUES] = {{0}};
	uint64_t added[QUEUES] = {0}, taken[QUEUES] = {0};
	struct intel_pt_pool *pool;
	struct pt_random random = pt_random(1);
	unsigned full = 0;

	(void)state;
	assert_int_equal(intel_pt_pool_new(PIECES * INTEL_PT_PIECE, &pool), 0);
	for (unsigned i = 0; i < 2000; i++) {
		const unsigned n = (unsigned)pt_random_below(&random, QUEUES);
		const size_t size = (size_t)pt_random_below(&random, 3 * INTEL_PT_PIECE);

		/* For a while more bytes are added than taken, then fewer. */
		if (pt_random_below(&random, 4) > (i / 500) % 2 + 1) {
			const size_t done = add(&queues[n], pool, n, added[n], size);

			full += done < size;
			added[n] += done;
		} else {
			taken[n] += take(&queues[n], n, taken[n], size);
		}
		assert_int_equal(queues[n].size, added[n] - taken[n]);
	}
	assert_true(full > 0);
	for (unsigned n = 0; n < QUEUES; n++)
		while (queues[n].size)
			taken[n] += take(&queues[n], n, taken[n], SIZE_MAX);
	for (unsigned n = 0; n < QUEUES; n++)
		assert_int_equal(taken[n], added[n]);
	intel_pt_pool_free(pool);
}

static void test_a_full_pool_takes_nothing_and_has_all_again_when_it_is_empty(void **state)
{
	struct intel_pt_queue one = {0}, other = {0};
	struct intel_pt_pool *pool;
	uint64_t at = 0;

	(void)state;
	assert_int_equal(intel_pt_pool_new(PIECES * INTEL_PT_PIECE + 1, &pool), 0);
	for (int round = 0; round < 3; round++) {
		assert_int_equal(add(&one, pool, 0, at, (PIECES + 1) * INTEL_PT_PIECE), PIECES * INTEL_PT_PIECE);
		assert_int_equal(add(&other, pool, 1, 0, 10), 0);
		assert_int_equal(take(&other, 1, 0, 10), 0);
		while (one.size)
			at += take(&one, 0, at, SIZE_MAX);
	}
	intel_pt_pool_free(pool);
}

static void test_a_pool_of_nothing(void **state)
{
	struct intel_pt_queue queue = {0};
	struct intel_pt_pool *pool;

	(void)state;
	assert_int_equal(intel_pt_pool_new(INTEL_PT_PIECE - 1, &pool), 0);
	assert_int_equal(add(&queue, pool, 0, 0, 10), 0);
	intel_pt_queue_drop(&queue, 0);
	intel_pt_pool_free(pool);
	intel_pt_pool_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_added_is_taken_in_order),
		cmocka_unit_test(test_a_full_pool_takes_nothing_and_has_all_again_when_it_is_empty),
		cmocka_unit_test(test_a_pool_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
