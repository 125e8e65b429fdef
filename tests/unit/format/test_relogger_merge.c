/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the relogger with several inputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "tests/unit/relogger_sample.h"

static struct ptl_trace *merge(const struct ptl_machine *a, const struct ptl_machine *b, bool with_callback)
{
	struct relogger_run run = relogger_start(NULL, relogger_sample(a, NULL));

	assert_int_equal(
		ptl_relogger_add_fd(run.relogger, relogger_sample(b, relogger_own_code), "second", false, NULL, NULL),
		0);
	if (with_callback)
		relogger_add_stage(&run,
				   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
								   .event = relogger_keep},
				   NULL);
	return relogger_finish(&run);
}

static void one_machine_shares_its_numbers(void **state)
{
	const struct ptl_machine a = relogger_machine("boot");
	struct ptl_machine b = relogger_machine("boot");

	(void)state;
	b.start_time = 2000;
	b.end_time = 20000;
	b.wall_start += 5 * INT64_C(1000000000); /* the clock was set meanwhile */
	for (unsigned i = 0; i < 2; i++) {
		struct ptl_trace *trace = merge(&a, &b, i);
		const struct relogger_seen seen = relogger_events(trace);

		assert_int_equal(seen.count, 202);
		assert_int_equal(seen.backwards, 0);
		for (size_t j = 0; j < 202; j++)
			assert_int_equal(seen.pids[j], 7);
		assert_int_equal(ptl_machine_count(trace), 1);
		assert_int_equal(ptl_trace_machine(trace)->start_time, 1000);
		assert_int_equal(ptl_trace_machine(trace)->end_time, 20000);
		assert_int_equal(ptl_blob_count(trace), 2);
		assert_int_equal(ptl_loss_count(trace), 2);
		assert_int_not_equal(ptl_loss_at(trace, 0)->stream, ptl_loss_at(trace, 1)->stream);
		assert_int_equal(ptl_provenance_at(trace, 0)->inputs, 2);
		ptl_close(trace);
	}
}

static int see_keys(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	uint64_t *keys = context;
	struct ptl_bytes storage = {0};
	struct ptl_process_event data;

	(void)trace;
	if (ptl_process_decode(event, &storage, &data) == 0) {
		const unsigned machine = data.process_id / PTL_MACHINE_IDS;

		assert_int_equal(data.process_id % PTL_MACHINE_IDS, 7);
		assert_int_equal(data.parent_id, 0);
		assert_int_equal(event->pid, data.process_id);
		assert_true(machine < 2);
		keys[machine] = data.unique_key;
	}
	common_bytes_free(&storage);
	return 0;
}

static void other_machines_are_kept_apart(void **state)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = see_keys};
	const struct ptl_machine a = relogger_machine("boot a");
	struct ptl_machine b = relogger_machine("boot b");

	(void)state;
	b.wall_start += 3000;
	b.tsc_multiplier = 1;
	b.tsc_zero = 50;
	for (unsigned i = 0; i < 2; i++) {
		struct ptl_trace *trace = merge(&a, &b, i);
		const struct relogger_seen seen = relogger_events(trace);
		uint64_t keys[2] = {0};
		size_t others = 0;

		assert_int_equal(seen.count, 202);
		assert_int_equal(seen.backwards, 0);
		for (size_t j = 0; j < 202; j++) {
			others += seen.pids[j] == PTL_MACHINE_IDS + 7;
			assert_true(seen.pids[j] != PTL_MACHINE_IDS + 7 || seen.times[j] >= 4000);
		}
		assert_int_equal(others, 101);
		assert_int_equal(ptl_process(trace, NULL, &callbacks, keys), 0);
		assert_true(keys[0] && keys[1] && keys[0] != keys[1]);
		assert_int_equal(ptl_machine_count(trace), 2);
		assert_string_equal(ptl_trace_machine(trace)->boot_id, "boot a");
		assert_string_equal(ptl_machine_of(trace, PTL_MACHINE_IDS + 1)->boot_id, "boot b");
		assert_int_equal(ptl_machine_at(trace, 1)->time_shift, 3000);
		assert_int_equal(ptl_machine_at(trace, 1)->shift_uncertainty, 80);
		assert_int_equal(ptl_machine_at(trace, 1)->start_time, 4000);
		assert_int_equal(ptl_machine_at(trace, 1)->tsc_zero, 3050);
		assert_int_equal(ptl_loss_at(trace, 1)->pid, PTL_MACHINE_IDS + 7);
		assert_int_equal(ptl_blob_count(trace), 2);
		ptl_close(trace);
	}
}

static void times_never_fall_below_zero(void **state)
{
	const struct ptl_machine a = relogger_machine("boot a");
	struct ptl_machine b = relogger_machine("boot b");
	struct ptl_trace *trace;
	struct relogger_seen seen;

	(void)state;
	b.wall_start -= 5000;
	trace = merge(&a, &b, false);
	seen = relogger_events(trace);
	assert_int_equal(seen.times[0], 1);
	assert_int_equal(ptl_machine_at(trace, 0)->start_time - ptl_machine_at(trace, 1)->start_time, 5000);
	ptl_close(trace);
}

/* Inputs in another order, or merged in two steps, give the same events. */
static void merging_has_laws(void **state)
{
	const struct ptl_machine a = relogger_machine("a"), b = relogger_machine("b"), c = relogger_machine("c");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&a, NULL));
	struct ptl_trace *at_once, *in_steps;
	struct relogger_seen x, y;
	int both;

	(void)state;
	assert_int_equal(ptl_relogger_add_fd(run.relogger, relogger_sample(&b, NULL), "b", false, NULL, NULL), 0);
	assert_int_equal(
		ptl_relogger_add_fd(run.relogger, relogger_sample(&c, relogger_own_code), "c", false, NULL, NULL), 0);
	at_once = relogger_finish(&run);
	run = relogger_start(NULL, relogger_sample(&a, NULL));
	assert_int_equal(ptl_relogger_add_fd(run.relogger, relogger_sample(&b, NULL), "b", false, NULL, NULL), 0);
	both = dup(run.output);
	ptl_close(relogger_finish(&run));
	run = relogger_start(NULL, both);
	assert_int_equal(
		ptl_relogger_add_fd(run.relogger, relogger_sample(&c, relogger_own_code), "c", false, NULL, NULL), 0);
	in_steps = relogger_finish(&run);
	x = relogger_events(at_once);
	y = relogger_events(in_steps);
	assert_int_equal(x.count, 303);
	assert_int_equal(y.count, 303);
	assert_memory_equal(x.times, y.times, sizeof(x.times));
	assert_memory_equal(x.pids, y.pids, sizeof(x.pids));
	assert_int_equal(ptl_machine_count(in_steps), 3);
	assert_string_equal(ptl_machine_at(in_steps, 2)->boot_id, "c");
	ptl_close(at_once);
	ptl_close(in_steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_machine_shares_its_numbers),
		cmocka_unit_test(other_machines_are_kept_apart),
		cmocka_unit_test(times_never_fall_below_zero),
		cmocka_unit_test(merging_has_laws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
