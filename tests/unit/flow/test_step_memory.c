/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests of steps that are remembered: what they add, and what becomes of them where a table is full or a place is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "flow/native/cache.h"
#include "flow/native/code.h"

#define PLACES 8
#define DEPTH 63          /* calls of a context */
#define STATES (1u << 18) /* with number 0 */
#define MANY 65535        /* sums of an effect */

static struct native_code code;
static struct native_step_memory *const memory = &code.steps;
static struct flow_step_place places[PLACES];
static uint32_t order[PLACES];
static struct flow_step_sums sums;
static uint32_t generation;
static const struct flow_step_states consumer = {.sums = &sums, .generation = &generation};
static struct flow_step_sum many[MANY];

static int setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PLACES; i++)
		places[i] = (struct flow_step_place){0};
	sums = (struct flow_step_sums){.places = places, .order = order, .turn = 1};
	assert_true(native_step_memory_begin(memory, &consumer));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	native_cache_steps.close(&code);
	*memory = (struct native_step_memory){0};
	return 0;
}

static const struct native_step_entry *find(uint64_t key)
{
	const struct native_step_entry *entry = native_step_place(memory, key);

	return entry->key == key ? entry : NULL;
}

static void learn(uint64_t key, uint32_t to, uint32_t count)
{
	const struct flow_step_effect effect = {.list = many, .count = count, .transfers = 2, .known = true};

	native_step_learn(memory, key, to, &effect);
}

static void adds_what_it_has(void **state)
{
	(void)state;
	for (uint32_t count = 0; count < PLACES - 1; count++) {
		const uint64_t key = native_step_key(3, count + 1);

		for (uint32_t i = 0; i < count; i++)
			many[i] = (struct flow_step_sum){.instructions = 10 * (i + 1), .place = i + 1, .calls = -1};
		learn(key, 9, count);
		assert_non_null(find(key));
		assert_int_equal(find(key)->to, 9);
		sums.turn++;
		sums.count = 0;
		sums.transfers = 0;
		native_step_add(memory, find(key), &sums);
		assert_int_equal(sums.transfers, 2);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(places[i + 1].turn, sums.turn);
			assert_int_equal(places[i + 1].instructions, 10 * (i + 1));
			assert_int_equal(places[i + 1].calls, -1);
		}
	}
}

static void what_is_not_known_is_not_remembered(void **state)
{
	struct flow_step_effect effect = {.known = false};

	(void)state;
	native_step_learn(memory, 77, 1, &effect);
	assert_null(find(77));
	effect = (struct flow_step_effect){.known = true, .transfers = UINT16_MAX + 1};
	native_step_learn(memory, 77, 1, &effect);
	assert_null(find(77));
	learn(77, 0, 0);
	assert_null(find(77));
	learn(77, 1, 0);
	assert_non_null(find(77));
}

static void the_last_at_a_place_stays(void **state)
{
	uint64_t other = 78;

	(void)state;
	while (native_step_place(memory, other) != native_step_place(memory, 77))
		other++;
	learn(77, 1, 0);
	learn(other, 2, 0);
	assert_null(find(77));
	assert_int_equal(find(other)->to, 2);
}

static void contexts_are_not_too_deep(void **state)
{
	uint32_t under = 0;

	(void)state;
	for (unsigned depth = 0; depth <= DEPTH; depth++) {
		under = native_step_context(memory, 5, under);
		assert_int_equal(under, depth + 1);
		assert_int_equal(memory->contexts[under].depth, depth);
	}
	assert_int_equal(native_step_context(memory, 5, under), 0);
	/* That is no reason to forget the others. */
	assert_false(memory->full);
	assert_int_equal(native_step_context(memory, 5, 0), 1);
}

static void too_many_states_are_forgotten(void **state)
{
	const uint32_t context = native_step_context(memory, 5, 0);

	(void)state;
	for (uint32_t i = 1; i < STATES; i++)
		assert_int_equal(native_step_state(memory, context, i), i);
	learn(77, 1, 0);
	assert_int_equal(native_step_state(memory, context, 1), 0);
	assert_true(memory->full);
	assert_int_equal(native_step_context(memory, 6, 0), 0);
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_null(find(77));
	assert_int_equal(native_step_context(memory, 6, 0), 1);
	assert_int_equal(native_step_state(memory, 1, 8), 1);
}

static void too_many_sums_are_forgotten(void **state)
{
	uint64_t key = 1;

	(void)state;
	native_step_context(memory, 5, 0);
	for (; !memory->full; key++) {
		assert_true(key < 100);
		learn(key, 1, MANY);
		assert_true(memory->more_count <= 1u << 19);
	}
	assert_null(find(key - 1));
	assert_int_equal(find(1)->more, MANY);
	/* Nothing else is put there, but what needs no room is. */
	learn(key, 1, 3);
	assert_null(find(key));
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_int_equal(memory->more_count, 0);
	assert_null(find(1));
}

static void others_are_forgotten(void **state)
{
	const struct flow_step_states another = {.sums = &sums, .generation = &generation};

	(void)state;
	native_step_context(memory, 5, 0);
	learn(77, 1, 0);
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_non_null(find(77));
	generation++;
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_null(find(77));
	native_step_context(memory, 5, 0);
	learn(77, 1, 0);
	assert_true(native_step_memory_begin(memory, &another));
	assert_null(find(77));
	assert_false(native_step_memory_begin(memory, NULL));
}

static void steps_that_do_not_pay_are_paused(void **state)
{
	uint64_t passed = 0;

	(void)state;
	for (uint64_t key = 1; memory->credit >= 0; key++)
		learn(key, 1, 0);
	native_step_memory_end(memory, 1);
	for (; !native_step_memory_begin(memory, &consumer); passed += 4096)
		native_step_memory_end(memory, 4096);
	assert_true(passed > 0);
	assert_true(memory->credit > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(adds_what_it_has, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_not_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_at_a_place_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(contexts_are_not_too_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_states_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_sums_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(others_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(steps_that_do_not_pay_are_paused, setup, teardown),
	};

	return cmocka_run_group_tests_name("step_memory", tests, NULL, NULL);
}
