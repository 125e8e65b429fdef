/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the order of events added by relogger callbacks, and the limit of delays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "tests/unit/relogger_sample.h"

struct plan {
	struct ptl_trace_event *kept;
	size_t calls;
	uint64_t distance; /* time from the current event to the injected event */
	bool after;
	size_t each; /* every `each`-th event */
};

static int inject_beside(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct plan *plan = context;
	struct ptl_trace_event *added;
	const uint64_t time = ptl_event_record(event)->time;
	int status;

	if (plan->calls++ % plan->each)
		return ptl_relogger_inject(relogger, event);
	assert_int_equal(ptl_event_new(relogger, NULL, &added), 0);
	assert_int_equal(ptl_event_record(added)->time, time);
	ptl_event_set_time(added, plan->after ? time + plan->distance : time - plan->distance);
	status = ptl_relogger_inject(relogger, added);
	ptl_event_free(added);
	return status ? status : ptl_relogger_inject(relogger, event);
}

static void injected_events_need_no_order(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	static const uint64_t distances[] = {0, 1, 5, 11, 300, 900};

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
		struct plan plan = {.distance = distances[i / 2], .after = i % 2, .each = 3};
		struct ptl_trace *trace;
		struct relogger_seen seen;

		relogger_add_stage(&run,
				   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
								   .event = inject_beside},
				   &plan);
		trace = relogger_finish(&run);
		seen = relogger_events(trace);
		assert_int_equal(seen.count, 101 + 34);
		assert_int_equal(seen.injected, 34);
		assert_int_equal(seen.backwards, 0);
		ptl_close(trace);
	}
}

/* Ascending times need no large window, at any distance from the current event. */
static void the_window_is_bounded(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	const struct ptl_relogger_options few = {.size = sizeof(few), .window_events = 8},
					  near = {.size = sizeof(near), .window_time = 100};
	struct plan plan = {.distance = 900, .each = 1};
	struct relogger_run run;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		run = relogger_start(&few, relogger_sample(&machine, NULL));
		plan = (struct plan){.distance = 900, .each = 1, .after = i};
		relogger_add_stage(&run,
				   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
								   .event = inject_beside},
				   &plan);
		ptl_close(relogger_finish(&run));
	}
	run = relogger_start(&near, relogger_sample(&machine, NULL));
	plan = (struct plan){.distance = 100, .each = 1};
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = inject_beside},
		&plan);
	ptl_close(relogger_finish(&run));
	run = relogger_start(&near, relogger_sample(&machine, NULL));
	plan = (struct plan){.distance = 101, .each = 1};
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = inject_beside},
		&plan);
	relogger_fails(&run, PTL_MISUSE, "more than the window of 100 ns before");
}

/* Injects events in reverse order of time. */
static int inject_mirrored(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct ptl_event record = *ptl_event_record(event);

	(void)context;
	record.time = 900 - (record.time - 1000) / 10;
	return ptl_relogger_inject_record(relogger, &record);
}

static void what_comes_too_late_is_an_error(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct ptl_relogger_options few = {.size = sizeof(few), .window_events = 50},
				    small = {.size = sizeof(small), .window_bytes = 5000};
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
	struct ptl_trace *trace;

	(void)state;
	relogger_add_stage(&run,
			   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
							   .event = inject_mirrored},
			   NULL);
	trace = relogger_finish(&run);
	assert_int_equal(relogger_events(trace).backwards, 0);
	assert_int_equal(relogger_events(trace).count, 101);
	ptl_close(trace);
	run = relogger_start(&few, relogger_sample(&machine, NULL));
	relogger_add_stage(&run,
			   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
							   .event = inject_mirrored},
			   NULL);
	relogger_fails(&run, PTL_MISUSE, "comes too late");
	run = relogger_start(&small, relogger_sample(&machine, NULL));
	relogger_add_stage(&run,
			   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
							   .event = inject_mirrored},
			   NULL);
	relogger_fails(&run, PTL_MISUSE, "comes too late");
}

static int clone_first(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct plan *plan = context;

	if (!plan->calls++)
		return ptl_event_clone(event, &plan->kept);
	return ptl_relogger_inject(relogger, event);
}

static int inject_clone(void *context, struct ptl_relogger *relogger)
{
	struct plan *plan = context;
	const int status = ptl_relogger_inject(relogger, plan->kept);

	ptl_event_free(plan->kept);
	return status;
}

static void a_clone_outlives_its_callback(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, relogger_sample(&machine, NULL));
	struct plan plan = {0};
	struct ptl_trace *trace;
	struct relogger_seen seen;

	(void)state;
	relogger_add_stage(&run,
			   (struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks),
							   .event = clone_first,
							   .end = inject_clone},
			   &plan);
	trace = relogger_finish(&run);
	seen = relogger_events(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(seen.injected, 1);
	ptl_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(injected_events_need_no_order),
		cmocka_unit_test(the_window_is_bounded),
		cmocka_unit_test(what_comes_too_late_is_an_error),
		cmocka_unit_test(a_clone_outlives_its_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
