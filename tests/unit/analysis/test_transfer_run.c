/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the memory of runs of blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analysis/call/transfer_run.h"
#include "common/vector.h"

static struct analysis_transfer_runs runs;

static int setup(void **state)
{
	(void)state;
	analysis_transfer_runs_begin(&runs, 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	analysis_transfer_runs_free(&runs);
	return 0;
}

/* Adds a run with `count` transfers, the first to `to`. NULL: the run is not remembered. */
static const struct analysis_transfer_run *add(uint64_t to, size_t count, bool lands)
{
	const struct analysis_transfer_run run = {.ip = to, .branch = 3};
	uint32_t tag = ANALYSIS_TRANSFER_RUN_MET;

	assert_int_equal(COMMON_VECTOR_RESERVE(runs.draft.list, runs.draft.capacity, count + 1, "calls within the run"),
			 0);
	for (size_t i = 0; i < count; i++)
		runs.draft.list[i] = (struct analysis_transfer){.to = to + i};
	runs.draft.count = count;
	assert_int_equal(analysis_transfer_runs_add(&runs, &run, lands, &tag), 0);
	return analysis_transfer_run_find(&runs, tag);
}

static void runs_have_their_own_transfers(void **state)
{
	const struct analysis_transfer_run *run;

	(void)state;
	assert_int_equal(add(0x100, 2, true)->count, 2);
	run = add(0x200, 3, true);
	assert_int_equal(run->count, 3);
	assert_int_equal(run->branch, 3);
	for (size_t i = 0; i < run->count; i++)
		assert_int_equal(analysis_transfer_run_list(&runs, run)[i].to, 0x200 + i);
}

static void runs_may_land_without_transfers(void **state)
{
	const struct analysis_transfer_run *run = add(0x100, 0, true);

	(void)state;
	assert_int_not_equal(run->list, 0);
	assert_int_equal(run->count, 0);
	run = add(0x100, 0, false);
	assert_int_equal(run->list, 0);
	assert_int_equal(run->count, 0);
}

static void runs_with_too_many_transfers_are_not_remembered(void **state)
{
	const struct analysis_transfer_run *run = add(0x100, ANALYSIS_TRANSFER_RUN_COUNT, true);

	(void)state;
	assert_non_null(run);
	assert_int_equal(run->count, ANALYSIS_TRANSFER_RUN_COUNT);
	assert_null(add(0x200, ANALYSIS_TRANSFER_RUN_COUNT + 1, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(runs_have_their_own_transfers, setup, teardown),
		cmocka_unit_test_setup_teardown(runs_may_land_without_transfers, setup, teardown),
		cmocka_unit_test_setup_teardown(runs_with_too_many_transfers_are_not_remembered, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
