/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests remembered steps: counting, full tables, and occupied places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

#define EFFECTS 8
#define DEPTH 63          /* calls per context */
#define STATES (1u << 18) /* states, including number 0 */

static struct native_code code;
static struct native_step_memory *const memory = &code.steps;
static uint32_t counts[EFFECTS], order[EFFECTS + 1];
static struct flow_step_effects effects;
static uint32_t generation;
static const struct flow_step_states consumer = {.effects = &effects, .generation = &generation};

static int setup(void **state)
{
	(void)state;
	memset(counts, 0, sizeof(counts));
	effects = (struct flow_step_effects){.counts = counts, .order = order};
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

static void effects_are_counted_in_order(void **state)
{
	static const uint32_t done[] = {3, 1, 3, 7, 1, 3}, first[] = {3, 1, 7};

	(void)state;
	for (size_t i = 0; i < sizeof(done) / sizeof(*done); i++)
		assert_true(flow_step_count(&effects, done[i]));
	assert_int_equal(effects.count, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(order[i], first[i] | FLOW_STEP_EFFECT);
	assert_int_equal(counts[1], 2);
	assert_int_equal(counts[3], 3);
	assert_int_equal(counts[7], 1);
	for (uint32_t i = 0; i < EFFECTS; i++)
		assert_true(flow_step_count(&effects, i));
	assert_int_equal(effects.count, EFFECTS);
	counts[2] = UINT32_MAX;
	assert_false(flow_step_count(&effects, 2));
	assert_int_equal(effects.count, EFFECTS);
}

static void what_is_not_known_is_not_remembered(void **state)
{
	(void)state;
	native_step_learn(memory, 77, 1, 0);
	assert_null(find(77));
	native_step_learn(memory, 77, 0, 1);
	assert_null(find(77));
	native_step_learn(memory, 77, 1, 2);
	assert_non_null(find(77));
	assert_int_equal(find(77)->to, 1);
	assert_int_equal(find(77)->effect, 2);
}

static void the_last_at_a_place_stays(void **state)
{
	uint64_t other = 78;

	(void)state;
	while (native_step_place(memory, other) != native_step_place(memory, 77))
		other++;
	native_step_learn(memory, 77, 1, 1);
	native_step_learn(memory, other, 2, 1);
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
	/* Other contexts stay. */
	assert_false(memory->full);
	assert_int_equal(native_step_context(memory, 5, 0), 1);
}

static void too_many_states_are_forgotten(void **state)
{
	const uint32_t context = native_step_context(memory, 5, 0);

	(void)state;
	for (uint32_t i = 1; i < STATES; i++)
		assert_int_equal(native_step_state(memory, context, i), i);
	native_step_learn(memory, 77, 1, 1);
	assert_int_equal(native_step_state(memory, context, 1), 0);
	assert_true(memory->full);
	assert_int_equal(native_step_context(memory, 6, 0), 0);
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_null(find(77));
	assert_int_equal(native_step_context(memory, 6, 0), 1);
	assert_int_equal(native_step_state(memory, 1, 8), 1);
}

static void others_are_forgotten(void **state)
{
	const struct flow_step_states another = {.effects = &effects, .generation = &generation};

	(void)state;
	native_step_context(memory, 5, 0);
	native_step_learn(memory, 77, 1, 1);
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_non_null(find(77));
	generation++;
	assert_true(native_step_memory_begin(memory, &consumer));
	assert_null(find(77));
	native_step_context(memory, 5, 0);
	native_step_learn(memory, 77, 1, 1);
	assert_true(native_step_memory_begin(memory, &another));
	assert_null(find(77));
	assert_false(native_step_memory_begin(memory, NULL));
}

static void steps_that_do_not_pay_are_paused(void **state)
{
	uint64_t passed = 0;

	(void)state;
	for (uint64_t key = 1; memory->credit >= 0; key++)
		native_step_learn(memory, key, 1, 1);
	native_step_memory_end(memory, 1);
	for (; !native_step_memory_begin(memory, &consumer); passed += 4096)
		native_step_memory_end(memory, 4096);
	assert_true(passed > 0);
	assert_true(memory->credit > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(effects_are_counted_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_known_is_not_remembered, setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_at_a_place_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(contexts_are_not_too_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_states_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(others_are_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(steps_that_do_not_pay_are_paused, setup, teardown),
	};

	return cmocka_run_group_tests_name("step_memory", tests, NULL, NULL);
}
