/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the relogger: unchanged events, changes, drops and additions by callbacks, and stages. */
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

#include "tests/unit/relogger_sample.h"

/* --- tests: one input --------------------------------------------------------------------------------- */

static void a_copy_has_it_all(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, relogger_own_code));
	struct ptl_relogger_counts counts;
	struct ptl_trace *trace;
	struct relogger_seen seen;
	uint8_t numbers[16];
	uint64_t positions[16];
	bool found = false;

	(void)state;
	assert_int_equal(ptl_relogger_process(run.relogger), 0);
	ptl_relogger_counts(run.relogger, &counts);
	assert_int_equal(counts.events_read, 0);
	assert_int_equal(counts.buffers_decoded, 0);
	assert_true(counts.buffers_copied >= 8);
	ptl_relogger_free(run.relogger);
	assert_int_equal(ptl_open_fd(run.output, "output", NULL, &trace), 0);
	seen = relogger_events(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(seen.id_sum, 99 * 50);
	assert_int_equal(relogger_pieces(trace, numbers, positions), 9);
	assert_int_equal(positions[8], 8 * RELOGGER_PIECE);
	assert_int_equal(ptl_blob_count(trace), 2);
	assert_int_equal(relogger_stream(trace, RELOGGER_UNKNOWN_KIND)->bytes, 7);
	assert_int_equal(ptl_loss_count(trace), 1);
	assert_int_equal(ptl_loss_at(trace, 0)->stream, relogger_stream(trace, PTL_KIND_PT)->id);
	assert_int_equal(ptl_provenance_count(trace), 1);
	assert_string_equal(ptl_provenance_at(trace, 0)->tool, "libptl");
	assert_int_equal(ptl_provenance_at(trace, 0)->inputs, 1);
	for (size_t i = 0; i < ptl_record_count(trace); i++)
		found |= ptl_record_at(trace, i)->type == 77 && memcmp(ptl_record_at(trace, i)->data, "future", 6) == 0;
	assert_true(found);
	assert_string_equal(ptl_trace_machine(trace)->boot_id, "a");
	ptl_close(trace);
}

static int drop(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	(void)context;
	(void)relogger;
	(void)event;
	return 0;
}

static void what_is_injected_is_kept(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
	struct ptl_trace *trace;
	struct relogger_seen seen;

	(void)state;
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = relogger_keep},
		NULL);
	trace = relogger_finish(&run);
	seen = relogger_events(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(seen.injected, 0);
	ptl_close(trace);
}

static void what_is_not_injected_is_gone(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
	struct ptl_trace *trace;

	(void)state;
	relogger_add_stage(
		&run, (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = drop},
		NULL);
	trace = relogger_finish(&run);
	assert_int_equal(relogger_events(trace).count, 0);
	assert_non_null(relogger_stream(trace, PTL_KIND_PT));
	ptl_close(trace);
}

/* Uses every setter, a payload inside the old payload, and extended items. */
static int change(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	const struct ptl_event *record = ptl_event_record(event);
	const struct ptl_extended item = {.type = 5, .size = 3, .data = (const uint8_t *)"ext"};
	struct ptl_descriptor descriptor = record->descriptor;

	assert_ptr_equal(ptl_event_context(event), context);
	descriptor.level = 4;
	descriptor.id += 1000;
	ptl_event_set_descriptor(event, &descriptor);
	ptl_event_set_provider(event, &PTL_PROVIDER_CODE);
	ptl_event_set_pid(event, 70);
	ptl_event_set_tid(event, 80);
	ptl_event_set_cpu(event, 9);
	ptl_event_set_time(event, record->time + 500);
	ptl_event_set_activity(event, &relogger_provider);
	ptl_event_set_related(event, NULL);
	assert_int_equal(ptl_event_set_payload(event, record->payload + 1, record->payload_size - 1), 0);
	assert_int_equal(ptl_event_set_payload(event, record->payload + 1, record->payload_size - 1), 0);
	assert_int_equal(ptl_event_set_extended(event, &item, 1), 0);
	assert_int_equal(ptl_event_set_thread_times(event, 7, 9), 0);
	assert_int_equal(ptl_event_set_thread_times(event, 0, 0), 0);
	assert_int_equal(record->extended_count, 1);
	assert_int_equal(ptl_event_set_thread_times(event, 1, 2), 0);
	assert_int_equal(ptl_event_set_thread_times(event, 300, 400), 0);
	assert_int_equal(ptl_event_set_payload(event, "", PTL_PAYLOAD_MAX + 1), PTL_MISUSE);
	return ptl_relogger_inject(relogger, event);
}

static int expect_changed(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	uint64_t kernel, user;

	(void)context;
	(void)trace;
	assert_true(ptl_event_thread_times(event, &kernel, &user));
	assert_int_equal(kernel, 300);
	assert_int_equal(user, 400);
	assert_int_equal(event->descriptor.level, 4);
	assert_true(event->descriptor.id >= 1000);
	assert_memory_equal(&event->descriptor.provider, &PTL_PROVIDER_CODE, 16);
	assert_int_equal(event->pid, 70);
	assert_int_equal(event->tid, 80);
	assert_int_equal(event->cpu, 9);
	assert_true(event->time >= 1500);
	assert_true(event->flags == PTL_EVENT_HAS_ACTIVITY);
	assert_memory_equal(&event->activity, &relogger_provider, 16);
	assert_int_equal(event->extended_count, 2);
	assert_memory_equal(event->extended[0].data, "ext", 3);
	if (event->descriptor.id > 1000)
		assert_memory_equal(event->payload, "yload", 5);
	return 0;
}

static void everything_can_be_changed(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run;
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = expect_changed};
	struct ptl_trace *trace;
	struct relogger_seen seen;

	(void)state;
	/* An input keeps the context given when it was added. */
	run.output = relogger_new_file();
	assert_int_equal(ptl_relogger_new(NULL, &run.relogger), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, relogger_sample(&machine, NULL), "input", false, &run, NULL),
			 0);
	assert_int_equal(ptl_relogger_output_fd(run.relogger, dup(run.output)), 0);
	relogger_add_stage(
		&run, (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = change},
		&run);
	trace = relogger_finish(&run);
	assert_int_equal(ptl_process(trace, NULL, &callbacks, NULL), 0);
	seen = relogger_events(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	ptl_close(trace);
}

/* --- tests: stages ------------------------------------------------------------------------------------ */

static int drop_odd(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	(void)context;
	return ptl_event_record(event)->descriptor.id % 2 ? 0 : ptl_relogger_inject(relogger, event);
}

static int count_events(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	++*(size_t *)context;
	ptl_event_set_pid(event, 1234);
	return ptl_relogger_inject(relogger, event);
}

static int inject_one(void *context, struct ptl_relogger *relogger)
{
	struct ptl_trace_event *event;
	int status;

	(void)context;
	status = ptl_event_new(relogger, NULL, &event);
	assert_int_equal(status, 0);
	ptl_event_set_time(event, 5);
	status = ptl_relogger_inject(relogger, event);
	ptl_event_free(event);
	return status;
}

static void a_stage_sees_what_the_one_before_let_through(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
	size_t first = 0, second = 0;
	struct ptl_trace *trace;
	struct relogger_seen seen;

	(void)state;
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = count_events},
		&first);
	relogger_add_stage(&run,
			   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
							   .event = drop_odd,
							   .begin = inject_one,
							   .end = inject_one},
			   NULL);
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = count_events},
		&second);
	trace = relogger_finish(&run);
	seen = relogger_events(trace);
	assert_int_equal(first, 101);
	assert_int_equal(second, 51 + 2);
	assert_int_equal(seen.count, 53);
	assert_int_equal(seen.times[0], 5);
	for (size_t i = 0; i < 53; i++)
		assert_int_equal(seen.pids[i], 1234);
	ptl_close(trace);
}

static int cancel_later(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	(void)context;
	(void)event;
	ptl_relogger_cancel(relogger);
	return 0;
}

static int stop_with_7(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	(void)context;
	(void)relogger;
	(void)event;
	return 7;
}

static void a_callback_can_stop_it(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));

	(void)state;
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = cancel_later},
		NULL);
	relogger_fails(&run, PTL_CANCELLED, "cancelled");
	run = relogger_start(NULL, relogger_sample(&machine, NULL));
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = stop_with_7},
		NULL);
	relogger_fails(&run, 7, NULL);
}

static void rules_are_checked(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, -1);
	struct ptl_trace_event *event;

	(void)state;
	assert_int_equal(ptl_event_new(run.relogger, NULL, &event), 0);
	assert_int_equal(ptl_relogger_inject(run.relogger, event), PTL_MISUSE);
	ptl_event_free(event);
	assert_int_equal(ptl_relogger_output_fd(run.relogger, 0), PTL_MISUSE);
	assert_int_equal(ptl_relogger_recompress(run.relogger, 20), PTL_MISUSE);
	assert_int_equal(ptl_relogger_schema(run.relogger, NULL), PTL_MISUSE);
	relogger_fails(&run, PTL_MISUSE, "needs an input and an output");
	run = relogger_start(NULL, relogger_sample(&machine, NULL));
	assert_int_equal(ptl_relogger_process(run.relogger), 0);
	assert_int_equal(ptl_relogger_process(run.relogger), PTL_MISUSE);
	ptl_relogger_free(run.relogger);
	close(run.output);
	ptl_relogger_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_has_it_all),
		cmocka_unit_test(what_is_injected_is_kept),
		cmocka_unit_test(what_is_not_injected_is_gone),
		cmocka_unit_test(everything_can_be_changed),
		cmocka_unit_test(a_stage_sees_what_the_one_before_let_through),
		cmocka_unit_test(a_callback_can_stop_it),
		cmocka_unit_test(rules_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
