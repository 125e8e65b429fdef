/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the relogger: what passes, what callbacks change, drop and add, the reorder window, ranges, merging. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "common/bytes.h"
#include "format/container/layout.h"

#define UNKNOWN_KIND 99
#define PIECE 4096
#define SECOND 1000000000ull

static const struct ptl_guid mine = {{1, 2, 3}};
static const uint8_t psb[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
static const char shared_code[] = "code that both machines ran", own_code[] = "code of one of them";

/* --- inputs ------------------------------------------------------------------------------------------- */

static int new_file(void)
{
	const int fd = memfd_create("trace", 0);

	assert_true(fd >= 0);
	return fd;
}

static uint32_t declare(struct ptl_writer *writer, uint32_t kind, uint32_t tid)
{
	struct ptl_stream stream = {.kind = kind, .cpu = PTL_NO_CPU, .pid = tid == PTL_NO_ID ? tid : 7, .tid = tid};

	assert_int_equal(ptl_writer_stream(writer, &stream), 0);
	return stream.id;
}

static void add_event(struct ptl_writer *writer, uint32_t stream, uint64_t time, uint16_t id)
{
	const struct ptl_event event = {.descriptor = {.provider = mine, .id = id},
					.time = time,
					.cpu = 1,
					.pid = 7,
					.tid = 8,
					.payload = (const uint8_t *)"payload",
					.payload_size = 7};

	assert_int_equal(ptl_writer_event(writer, stream, &event), 0);
}

static void add_process(struct ptl_writer *writer, uint32_t stream, uint64_t time)
{
	const struct ptl_process_event process = {.unique_key = 1,
						  .process_id = 7,
						  .parent_id = 0,
						  .image_file_name = "/bin/seven",
						  .command_line = "seven"};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	assert_int_equal(ptl_process_encode(&process, PTL_OPCODE_START, &storage, &event), 0);
	event.time = time;
	event.cpu = PTL_NO_CPU;
	event.pid = event.tid = 7;
	assert_int_equal(ptl_writer_event(writer, stream, &event), 0);
	common_bytes_free(&storage);
}

/* Each piece of PT starts with a PSB and is distinguished from the others by its bytes. */
static void add_pt(struct ptl_writer *writer, uint32_t stream, unsigned pieces)
{
	uint8_t data[PIECE];
	uint32_t seed = 1;

	for (unsigned i = 0; i < pieces; i++) {
		for (size_t j = 0; j < PIECE; j++) {
			seed = seed * 1664525 + 1013904223;
			data[j] = (uint8_t)(seed >> 24);
		}
		memcpy(data, psb, sizeof(psb));
		data[16] = (uint8_t)i;
		assert_int_equal(ptl_writer_psb(writer, stream, (uint64_t)i * PIECE, i ? 1000 + i : 0), 0);
		assert_int_equal(ptl_writer_bytes(writer, stream, data, PIECE, 1000 + i), 0);
	}
}

static struct ptl_machine machine_of(const char *boot)
{
	struct ptl_machine machine = {.source = "qemu",
				      .clock = PTL_CLOCK_MONOTONIC,
				      .start_time = 1000,
				      .end_time = 9000,
				      .wall_start = (int64_t)(1700000000 * SECOND),
				      .wall_uncertainty = 40};

	snprintf(machine.boot_id, sizeof(machine.boot_id), "%s", boot);
	return machine;
}

/* Two event streams that take turns, PT with 9 PSBs, a stream of unknown kind, blobs, an unknown record, a loss. */
static int make_trace(const struct ptl_machine *machine, const char *extra_code)
{
	const struct ptl_writer_options options = {.buffer_size = 2 * PIECE};
	const int fd = new_file();
	struct ptl_writer *writer;
	uint8_t hash[PTL_HASH_SIZE];
	uint32_t pt, first, second, unknown;
	struct ptl_loss loss = {.kind = PTL_LOSS_BYTES, .pid = 7, .tid = 8, .count = 1, .cause = "a test"};

	assert_int_equal(ptl_writer_open(dup(fd), &options, &writer), 0);
	assert_int_equal(ptl_writer_machine(writer, machine), 0);
	pt = declare(writer, PTL_KIND_PT, 8);
	unknown = declare(writer, UNKNOWN_KIND, 8);
	first = declare(writer, PTL_KIND_EVENTS, PTL_NO_ID);
	second = declare(writer, PTL_KIND_EVENTS, PTL_NO_ID);
	loss.stream = pt;
	assert_int_equal(ptl_writer_loss(writer, &loss), 0);
	assert_int_equal(ptl_writer_record(writer, 77, "future", 6), 0);
	add_process(writer, first, 1000);
	for (unsigned i = 0; i < 100; i++)
		add_event(writer, i % 2 ? second : first, 1000 + 10 * i, (uint16_t)i);
	add_pt(writer, pt, 9);
	assert_int_equal(ptl_writer_bytes(writer, unknown, "unknown", 7, 1500), 0);
	assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, shared_code, sizeof(shared_code), hash), 0);
	if (extra_code)
		assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, extra_code, strlen(extra_code), hash), 0);
	assert_int_equal(ptl_writer_close(writer), 0);
	return fd;
}

/* --- running ------------------------------------------------------------------------------------------ */

struct run {
	struct ptl_relogger *relogger;
	int output;
};

static struct run start(const struct ptl_relogger_options *options, int input)
{
	struct run run = {.output = new_file()};

	assert_int_equal(ptl_relogger_new(options, &run.relogger), 0);
	if (input >= 0)
		assert_int_equal(ptl_relogger_add_fd(run.relogger, input, "input", false, NULL, NULL), 0);
	assert_int_equal(ptl_relogger_output_fd(run.relogger, dup(run.output)), 0);
	return run;
}

static void add_stage(struct run *run, struct ptl_relogger_callbacks callbacks, void *context)
{
	assert_int_equal(ptl_relogger_callbacks(run->relogger, &callbacks, context), 0);
}

static struct ptl_trace *finish(struct run *run)
{
	struct ptl_trace *trace;

	if (ptl_relogger_process(run->relogger))
		fail_msg("%s", ptl_error_text());
	ptl_relogger_free(run->relogger);
	assert_int_equal(ptl_open_fd(run->output, "output", NULL, &trace), 0);
	assert_true(ptl_trace_complete(trace));
	return trace;
}

static void expect_failure(struct run *run, int status, const char *text)
{
	assert_int_equal(ptl_relogger_process(run->relogger), status);
	if (text && !strstr(ptl_error_text(), text))
		fail_msg("%s", ptl_error_text());
	ptl_relogger_free(run->relogger);
	close(run->output);
}

/* --- what an output holds ----------------------------------------------------------------------------- */

struct seen {
	size_t count;
	uint64_t last_time;
	size_t backwards, injected;
	uint64_t id_sum;
	uint64_t times[512];
	uint16_t ids[512];
	uint32_t pids[512];
};

static int see(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct seen *seen = context;

	(void)trace;
	if (seen->count < 512) {
		seen->times[seen->count] = event->time;
		seen->ids[seen->count] = event->descriptor.id;
		seen->pids[seen->count] = event->pid;
	}
	seen->count++;
	seen->backwards += event->time < seen->last_time;
	seen->last_time = event->time;
	seen->injected += (event->flags & PTL_EVENT_INJECTED) != 0;
	seen->id_sum += event->descriptor.id;
	return 0;
}

static struct seen events_of(struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.event = see};
	struct seen seen = {0};

	assert_int_equal(ptl_process(trace, NULL, &callbacks, &seen), 0);
	return seen;
}

static const struct ptl_stream *stream_of(const struct ptl_trace *trace, uint32_t kind)
{
	for (size_t i = 0; i < ptl_stream_count(trace); i++)
		if (ptl_stream_at(trace, i)->kind == kind)
			return ptl_stream_at(trace, i);
	return NULL;
}

/* Which pieces of PT are there, by position of the output. */
static size_t pieces_of(struct ptl_trace *trace, uint8_t *numbers, uint64_t *positions)
{
	const uint32_t id = stream_of(trace, PTL_KIND_PT)->id;
	const struct ptl_psb *psbs;
	size_t count;

	assert_int_equal(ptl_psb_index(trace, id, &psbs, &count), 0);
	for (size_t i = 0; i < count; i++) {
		uint8_t data[17];
		uint64_t hole;
		size_t got;

		assert_int_equal(ptl_stream_read(trace, id, psbs[i].offset, data, 17, &got, &hole), 0);
		assert_int_equal(got, 17);
		assert_memory_equal(data, psb, 16);
		numbers[i] = data[16];
		positions[i] = psbs[i].offset;
		assert_int_equal(psbs[i].time, data[16] ? 1000 + data[16] : 0);
	}
	return count;
}

/* --- tests: one input --------------------------------------------------------------------------------- */

static void a_copy_has_it_all(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, own_code));
	struct ptl_relogger_counts counts;
	struct ptl_trace *trace;
	struct seen seen;
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
	seen = events_of(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(seen.id_sum, 99 * 50);
	assert_int_equal(pieces_of(trace, numbers, positions), 9);
	assert_int_equal(positions[8], 8 * PIECE);
	assert_int_equal(ptl_blob_count(trace), 2);
	assert_int_equal(stream_of(trace, UNKNOWN_KIND)->bytes, 7);
	assert_int_equal(ptl_loss_count(trace), 1);
	assert_int_equal(ptl_loss_at(trace, 0)->stream, stream_of(trace, PTL_KIND_PT)->id);
	assert_int_equal(ptl_provenance_count(trace), 1);
	assert_string_equal(ptl_provenance_at(trace, 0)->tool, "libptl");
	assert_int_equal(ptl_provenance_at(trace, 0)->inputs, 1);
	for (size_t i = 0; i < ptl_record_count(trace); i++)
		found |= ptl_record_at(trace, i)->type == 77 && memcmp(ptl_record_at(trace, i)->data, "future", 6) == 0;
	assert_true(found);
	assert_string_equal(ptl_trace_machine(trace)->boot_id, "a");
	ptl_close(trace);
}

static int keep(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	(void)context;
	return ptl_relogger_inject(relogger, event);
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
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, NULL));
	struct ptl_trace *trace;
	struct seen seen;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.event = keep}, NULL);
	trace = finish(&run);
	seen = events_of(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(seen.injected, 0);
	ptl_close(trace);
}

static void what_is_not_injected_is_gone(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, NULL));
	struct ptl_trace *trace;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.event = drop}, NULL);
	trace = finish(&run);
	assert_int_equal(events_of(trace).count, 0);
	assert_non_null(stream_of(trace, PTL_KIND_PT));
	ptl_close(trace);
}

/* Every setter, a payload that lies in the old one, and extended items. */
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
	ptl_event_set_activity(event, &mine);
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
	assert_memory_equal(&event->activity, &mine, 16);
	assert_int_equal(event->extended_count, 2);
	assert_memory_equal(event->extended[0].data, "ext", 3);
	if (event->descriptor.id > 1000)
		assert_memory_equal(event->payload, "yload", 5);
	return 0;
}

static void everything_can_be_changed(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	struct run run;
	const struct ptl_callbacks callbacks = {.event = expect_changed};
	struct ptl_trace *trace;
	struct seen seen;

	(void)state;
	/* The context of an input is what it was added with. */
	run.output = new_file();
	assert_int_equal(ptl_relogger_new(NULL, &run.relogger), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, make_trace(&machine, NULL), "input", false, &run, NULL), 0);
	assert_int_equal(ptl_relogger_output_fd(run.relogger, dup(run.output)), 0);
	add_stage(&run, (struct ptl_relogger_callbacks){.event = change}, &run);
	trace = finish(&run);
	assert_int_equal(ptl_process(trace, NULL, &callbacks, NULL), 0);
	seen = events_of(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	ptl_close(trace);
}

/* --- tests: order ------------------------------------------------------------------------------------- */

struct plan {
	struct ptl_trace_event *kept;
	size_t calls;
	uint64_t distance; /* how far from the current event the injected one is */
	bool after;
	size_t each; /* one in so many events */
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
	const struct ptl_machine machine = machine_of("a");
	static const uint64_t distances[] = {0, 1, 5, 11, 300, 900};

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		struct run run = start(NULL, make_trace(&machine, NULL));
		struct plan plan = {.distance = distances[i / 2], .after = i % 2, .each = 3};
		struct ptl_trace *trace;
		struct seen seen;

		add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_beside}, &plan);
		trace = finish(&run);
		seen = events_of(trace);
		assert_int_equal(seen.count, 101 + 34);
		assert_int_equal(seen.injected, 34);
		assert_int_equal(seen.backwards, 0);
		ptl_close(trace);
	}
}

/* Ascending times need no large window, however far they are from the current event. */
static void the_window_is_bounded(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	const struct ptl_relogger_options few = {.window_events = 8}, near = {.window_time = 100};
	struct plan plan = {.distance = 900, .each = 1};
	struct run run;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		run = start(&few, make_trace(&machine, NULL));
		plan = (struct plan){.distance = 900, .each = 1, .after = i};
		add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_beside}, &plan);
		ptl_close(finish(&run));
	}
	run = start(&near, make_trace(&machine, NULL));
	plan = (struct plan){.distance = 100, .each = 1};
	add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_beside}, &plan);
	ptl_close(finish(&run));
	run = start(&near, make_trace(&machine, NULL));
	plan = (struct plan){.distance = 101, .each = 1};
	add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_beside}, &plan);
	expect_failure(&run, PTL_MISUSE, "more than the window of 100 ns before");
}

/* The later an event of the trace is, the earlier is what is injected with it. */
static int inject_mirrored(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct ptl_event record = *ptl_event_record(event);

	(void)context;
	record.time = 900 - (record.time - 1000) / 10;
	return ptl_relogger_inject_record(relogger, &record);
}

static void what_comes_too_late_is_an_error(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	struct ptl_relogger_options few = {.window_events = 50}, small = {.window_bytes = 5000};
	struct run run = start(NULL, make_trace(&machine, NULL));
	struct ptl_trace *trace;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_mirrored}, NULL);
	trace = finish(&run);
	assert_int_equal(events_of(trace).backwards, 0);
	assert_int_equal(events_of(trace).count, 101);
	ptl_close(trace);
	run = start(&few, make_trace(&machine, NULL));
	add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_mirrored}, NULL);
	expect_failure(&run, PTL_MISUSE, "comes too late");
	run = start(&small, make_trace(&machine, NULL));
	add_stage(&run, (struct ptl_relogger_callbacks){.event = inject_mirrored}, NULL);
	expect_failure(&run, PTL_MISUSE, "comes too late");
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
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, NULL));
	struct plan plan = {0};
	struct ptl_trace *trace;
	struct seen seen;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.event = clone_first, .end = inject_clone}, &plan);
	trace = finish(&run);
	seen = events_of(trace);
	assert_int_equal(seen.count, 101);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(seen.injected, 1);
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
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, NULL));
	size_t first = 0, second = 0;
	struct ptl_trace *trace;
	struct seen seen;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.event = count_events}, &first);
	add_stage(&run, (struct ptl_relogger_callbacks){.event = drop_odd, .begin = inject_one, .end = inject_one},
		  NULL);
	add_stage(&run, (struct ptl_relogger_callbacks){.event = count_events}, &second);
	trace = finish(&run);
	seen = events_of(trace);
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
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, NULL));

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.event = cancel_later}, NULL);
	expect_failure(&run, PTL_CANCELLED, "cancelled");
	run = start(NULL, make_trace(&machine, NULL));
	add_stage(&run, (struct ptl_relogger_callbacks){.event = stop_with_7}, NULL);
	expect_failure(&run, 7, NULL);
}

static void rules_are_checked(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, -1);
	struct ptl_trace_event *event;

	(void)state;
	assert_int_equal(ptl_event_new(run.relogger, NULL, &event), 0);
	assert_int_equal(ptl_relogger_inject(run.relogger, event), PTL_MISUSE);
	ptl_event_free(event);
	assert_int_equal(ptl_relogger_output_fd(run.relogger, 0), PTL_MISUSE);
	assert_int_equal(ptl_relogger_recompress(run.relogger, 20), PTL_MISUSE);
	assert_int_equal(ptl_relogger_schema(run.relogger, NULL), PTL_MISUSE);
	expect_failure(&run, PTL_MISUSE, "needs an input and an output");
	run = start(NULL, make_trace(&machine, NULL));
	assert_int_equal(ptl_relogger_process(run.relogger), 0);
	assert_int_equal(ptl_relogger_process(run.relogger), PTL_MISUSE);
	ptl_relogger_free(run.relogger);
	close(run.output);
	ptl_relogger_free(NULL);
}

/* --- tests: streams and blobs ------------------------------------------------------------------------- */

static int keep_ranges(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		       const struct ptl_stream *stream, struct ptl_stream_plan *plan)
{
	(void)relogger;
	(void)input;
	if (stream->kind == PTL_KIND_PT)
		*plan = *(const struct ptl_stream_plan *)context;
	return 0;
}

static void ranges_of_a_stream_are_kept(void **state)
{
	static const struct ptl_stream_range ranges[] = {
		{1 * PIECE, 2 * PIECE}, {3 * PIECE, 6 * PIECE}, {8 * PIECE, UINT64_MAX}};
	const struct ptl_machine machine = machine_of("a");
	struct ptl_stream_plan plan = {.ranges = ranges, .range_count = 3};
	struct run run = start(NULL, make_trace(&machine, NULL));
	uint8_t numbers[16];
	uint64_t positions[16];
	struct ptl_trace *trace;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.stream = keep_ranges}, &plan);
	trace = finish(&run);
	assert_int_equal(pieces_of(trace, numbers, positions), 5);
	for (size_t i = 0; i < 5; i++) {
		static const uint8_t want[] = {1, 3, 4, 5, 8};

		assert_int_equal(numbers[i], want[i]);
		assert_int_equal(positions[i], (want[i] - 1u) * PIECE);
	}
	assert_int_equal(stream_of(trace, PTL_KIND_PT)->bytes, 8 * PIECE);
	for (size_t i = 0; i < ptl_damage_count(trace); i++) /* the unknown kind and record */
		assert_int_equal(ptl_damage_at(trace, i)->status, PTL_UNSUPPORTED);
	ptl_close(trace);
	plan = (struct ptl_stream_plan){.drop = true};
	run = start(NULL, make_trace(&machine, NULL));
	add_stage(&run, (struct ptl_relogger_callbacks){.stream = keep_ranges}, &plan);
	trace = finish(&run);
	assert_true(!stream_of(trace, PTL_KIND_PT) || stream_of(trace, PTL_KIND_PT)->bytes == 0);
	assert_non_null(stream_of(trace, UNKNOWN_KIND));
	ptl_close(trace);
	plan = (struct ptl_stream_plan){.ranges = (struct ptl_stream_range[]){{5, 6}, {5, 9}}, .range_count = 2};
	run = start(NULL, make_trace(&machine, NULL));
	add_stage(&run, (struct ptl_relogger_callbacks){.stream = keep_ranges}, &plan);
	expect_failure(&run, PTL_MISUSE, "out of order");
}

static int drop_shared(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
		       const struct ptl_blob_info *blob, bool *keep_it)
{
	(void)context;
	(void)relogger;
	(void)input;
	*keep_it = blob->size != sizeof(shared_code);
	return 0;
}

/* Makes buffers of unknown kind such of kind 0, which no writer makes. What follows them, the index too, is cut off. */
static void make_kind_0(int fd)
{
	uint8_t header[FORMAT_BUFFER_HEADER_SIZE];
	uint64_t at = FORMAT_FILE_HEADER_SIZE;

	for (;;) {
		assert_int_equal(pread(fd, header, sizeof(header), (off_t)at), sizeof(header));
		if (common_load32(header + 8) == UNKNOWN_KIND)
			break;
		at += sizeof(header) + common_load32(header + 32) + common_load32(header + 40);
	}
	common_store32(header + 8, 0);
	common_store64(header + 96, format_checksum(header, 96));
	assert_int_equal(pwrite(fd, header, sizeof(header), (off_t)at), sizeof(header));
	at += sizeof(header) + common_load32(header + 32) + common_load32(header + 40);
	assert_int_equal(ftruncate(fd, (off_t)at), 0);
}

static void a_stream_of_kind_0_is_kept(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	const int fd = make_trace(&machine, NULL);
	struct run run;
	struct ptl_trace *trace;
	char bytes[16];
	uint64_t hole;
	size_t got;

	(void)state;
	make_kind_0(fd);
	run = start(NULL, fd);
	trace = finish(&run);
	assert_non_null(stream_of(trace, 0));
	assert_int_equal(ptl_stream_read(trace, stream_of(trace, 0)->id, 0, bytes, sizeof(bytes), &got, &hole), 0);
	assert_int_equal(got, 7);
	assert_memory_equal(bytes, "unknown", 7);
	ptl_close(trace);
}

static void a_blob_is_left_out(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	struct run run = start(NULL, make_trace(&machine, own_code));
	struct ptl_trace *trace;
	uint8_t *data;
	size_t size;

	(void)state;
	add_stage(&run, (struct ptl_relogger_callbacks){.blob = drop_shared}, NULL);
	trace = finish(&run);
	assert_int_equal(ptl_blob_count(trace), 1);
	assert_int_equal(ptl_blob_read(trace, ptl_blob_at(trace, 0)->hash, 1000, &data, &size), 0);
	assert_int_equal(size, strlen(own_code));
	assert_memory_equal(data, own_code, size);
	free(data);
	ptl_close(trace);
}

static void everything_is_compressed_anew(void **state)
{
	static const int levels[] = {0, 1, 19};
	const struct ptl_machine machine = machine_of("a");
	uint64_t sizes[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct run run = start(NULL, make_trace(&machine, own_code));
		struct ptl_trace *trace;
		uint8_t numbers[16];
		uint64_t positions[16];

		assert_int_equal(ptl_relogger_recompress(run.relogger, levels[i]), 0);
		trace = finish(&run);
		assert_int_equal(events_of(trace).count, 101);
		assert_int_equal(events_of(trace).id_sum, 99 * 50);
		assert_int_equal(pieces_of(trace, numbers, positions), 9);
		assert_int_equal(ptl_blob_count(trace), 2);
		assert_int_equal(stream_of(trace, UNKNOWN_KIND)->bytes, 7);
		for (size_t j = 0; !i && j < ptl_buffer_count(trace); j++)
			assert_int_equal(ptl_buffer_at(trace, j)->codec, 0);
		sizes[i] = ptl_trace_size(trace);
		ptl_close(trace);
	}
	assert_true(sizes[0] > sizes[1]);
	assert_true(sizes[1] >= sizes[2]);
}

/* Writes a trace bit by bit into a file that the relogger waits for. */
static void *write_slowly(void *context)
{
	const int *files = context;
	uint8_t data[1000];
	ssize_t size;

	for (off_t at = 0; (size = pread(files[0], data, sizeof(data), at)) > 0; at += size) {
		if (pwrite(files[1], data, (size_t)size, at) != size)
			break;
		usleep(1000);
	}
	return NULL;
}

static void *cancel_soon(void *context)
{
	usleep(30000);
	ptl_relogger_cancel(context);
	return NULL;
}

static void a_live_file_is_followed(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	int files[2] = {make_trace(&machine, own_code), new_file()};
	struct run run = start(NULL, -1);
	struct ptl_trace *trace;
	pthread_t thread;
	const int empty = new_file();

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_slowly, files), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, files[1], "live", true, NULL, NULL), 0);
	pthread_join(thread, NULL);
	add_stage(&run, (struct ptl_relogger_callbacks){.event = keep}, NULL);
	trace = finish(&run);
	assert_int_equal(events_of(trace).count, 101);
	assert_int_equal(ptl_loss_count(trace), 1);
	ptl_close(trace);
	close(files[0]);
	/* Nobody writes: only cancelling ends the wait. */
	run = start(NULL, -1);
	assert_int_equal(pthread_create(&thread, NULL, cancel_soon, run.relogger), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, empty, "empty", true, NULL, NULL), PTL_CANCELLED);
	pthread_join(thread, NULL);
	ptl_relogger_free(run.relogger);
	close(run.output);
	close(empty);
}

/* A pipe is read to its end. */
static void a_pipe_is_spooled(void **state)
{
	const struct ptl_machine machine = machine_of("a");
	int files[1] = {make_trace(&machine, own_code)}, ends[2];
	struct run run = start(NULL, -1);
	struct ptl_trace *trace;
	uint8_t data[60000];
	const ssize_t size = pread(files[0], data, sizeof(data), 0);

	(void)state;
	assert_true(size > 0 && (size_t)size < sizeof(data));
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], data, (size_t)size), size);
	close(ends[1]);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, ends[0], "pipe", true, NULL, NULL), 0);
	trace = finish(&run);
	assert_int_equal(events_of(trace).count, 101);
	ptl_close(trace);
	close(files[0]);
}

/* --- tests: several inputs ---------------------------------------------------------------------------- */

static struct ptl_trace *merge(const struct ptl_machine *a, const struct ptl_machine *b, bool with_callback)
{
	struct run run = start(NULL, make_trace(a, NULL));

	assert_int_equal(ptl_relogger_add_fd(run.relogger, make_trace(b, own_code), "second", false, NULL, NULL), 0);
	if (with_callback)
		add_stage(&run, (struct ptl_relogger_callbacks){.event = keep}, NULL);
	return finish(&run);
}

static void one_machine_shares_its_numbers(void **state)
{
	const struct ptl_machine a = machine_of("boot");
	struct ptl_machine b = machine_of("boot");

	(void)state;
	b.start_time = 2000;
	b.end_time = 20000;
	b.wall_start += 5 * (int64_t)SECOND; /* it was set meanwhile */
	for (unsigned i = 0; i < 2; i++) {
		struct ptl_trace *trace = merge(&a, &b, i);
		const struct seen seen = events_of(trace);

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
	const struct ptl_callbacks callbacks = {.event = see_keys};
	const struct ptl_machine a = machine_of("boot a");
	struct ptl_machine b = machine_of("boot b");

	(void)state;
	b.wall_start += 3000;
	b.tsc_multiplier = 1;
	b.tsc_zero = 50;
	for (unsigned i = 0; i < 2; i++) {
		struct ptl_trace *trace = merge(&a, &b, i);
		const struct seen seen = events_of(trace);
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
	const struct ptl_machine a = machine_of("boot a");
	struct ptl_machine b = machine_of("boot b");
	struct ptl_trace *trace;
	struct seen seen;

	(void)state;
	b.wall_start -= 5000;
	trace = merge(&a, &b, false);
	seen = events_of(trace);
	assert_int_equal(seen.times[0], 1);
	assert_int_equal(ptl_machine_at(trace, 0)->start_time - ptl_machine_at(trace, 1)->start_time, 5000);
	ptl_close(trace);
}

/* The same inputs in another order, or merged in two steps, give the same events. */
static void merging_has_laws(void **state)
{
	const struct ptl_machine a = machine_of("a"), b = machine_of("b"), c = machine_of("c");
	struct run run = start(NULL, make_trace(&a, NULL));
	struct ptl_trace *at_once, *in_steps;
	struct seen x, y;
	int both;

	(void)state;
	assert_int_equal(ptl_relogger_add_fd(run.relogger, make_trace(&b, NULL), "b", false, NULL, NULL), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, make_trace(&c, own_code), "c", false, NULL, NULL), 0);
	at_once = finish(&run);
	run = start(NULL, make_trace(&a, NULL));
	assert_int_equal(ptl_relogger_add_fd(run.relogger, make_trace(&b, NULL), "b", false, NULL, NULL), 0);
	both = dup(run.output);
	ptl_close(finish(&run));
	run = start(NULL, both);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, make_trace(&c, own_code), "c", false, NULL, NULL), 0);
	in_steps = finish(&run);
	x = events_of(at_once);
	y = events_of(in_steps);
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
		cmocka_unit_test(a_copy_has_it_all),
		cmocka_unit_test(what_is_injected_is_kept),
		cmocka_unit_test(what_is_not_injected_is_gone),
		cmocka_unit_test(everything_can_be_changed),
		cmocka_unit_test(injected_events_need_no_order),
		cmocka_unit_test(the_window_is_bounded),
		cmocka_unit_test(what_comes_too_late_is_an_error),
		cmocka_unit_test(a_clone_outlives_its_callback),
		cmocka_unit_test(a_stage_sees_what_the_one_before_let_through),
		cmocka_unit_test(a_callback_can_stop_it),
		cmocka_unit_test(rules_are_checked),
		cmocka_unit_test(ranges_of_a_stream_are_kept),
		cmocka_unit_test(a_stream_of_kind_0_is_kept),
		cmocka_unit_test(a_blob_is_left_out),
		cmocka_unit_test(everything_is_compressed_anew),
		cmocka_unit_test(a_live_file_is_followed),
		cmocka_unit_test(a_pipe_is_spooled),
		cmocka_unit_test(one_machine_shares_its_numbers),
		cmocka_unit_test(other_machines_are_kept_apart),
		cmocka_unit_test(times_never_fall_below_zero),
		cmocka_unit_test(merging_has_laws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
