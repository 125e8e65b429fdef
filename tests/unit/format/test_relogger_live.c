/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the relogger with a trace during writing. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/writer.h>

#include "tests/unit/relogger_sample.h"

#define PAUSE_US 700000 /* microseconds, longer than the delay of events */

/* Writes events at time 10000, 20000 and so on, with pauses. */
struct writer {
	int fd;
	size_t events;
};

static void *write_events(void *context)
{
	const struct writer *plan = context;
	const struct ptl_machine machine = relogger_machine("a");
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_writer *writer;

	if (ptl_writer_open(plan->fd, NULL, &writer) || ptl_writer_machine(writer, &machine) ||
	    ptl_writer_stream(writer, &stream))
		return context;
	for (size_t i = 0; i < plan->events; i++) {
		const struct ptl_event event = {
			.descriptor.provider = relogger_provider, .time = 10000 * (i + 1), .cpu = 0};

		if (i)
			usleep(PAUSE_US);
		if (ptl_writer_event(writer, stream.id, &event) || ptl_writer_flush(writer))
			return context;
	}
	return ptl_writer_close(writer) ? context : NULL;
}

/* Keeps all events, and adds an event with the next of these times to each event. */
struct adder {
	const uint64_t *times;
	size_t count;
};

static int add_events(void *context, struct ptl_relogger *relogger, struct ptl_trace_event *event)
{
	struct adder *adder = context;
	int status = 0;

	if (adder->count) {
		const struct ptl_event added = {
			.descriptor.provider = relogger_provider, .time = *adder->times++, .cpu = PTL_NO_CPU};

		adder->count--;
		status = ptl_relogger_inject_record(relogger, &added);
	}
	return status ? status : ptl_relogger_inject(relogger, event);
}

/* Injected events leave the window long before the trace is over; an earlier time is no error. */
static void late_events_find_a_stream(void **state)
{
	static const uint64_t times[] = {1, 9000, 5000, 7000};
	struct adder adder = {times, 4};
	struct relogger_run run = relogger_start(NULL, -1);
	struct relogger_seen seen;
	struct ptl_trace *trace;
	struct writer writer = {.events = 4};
	pthread_t thread;
	void *failed;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	writer.fd = ends[1];
	assert_int_equal(pthread_create(&thread, NULL, write_events, &writer), 0);
	assert_int_equal(ptl_relogger_add_realtime(run.relogger, ends[0], "pipe", NULL, NULL), 0);
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = add_events},
		&adder);
	trace = relogger_finish(&run);
	pthread_join(thread, &failed);
	assert_null(failed);
	seen = relogger_events(trace);
	assert_int_equal(seen.count, 8);
	assert_int_equal(seen.injected, 4);
	assert_int_equal(seen.backwards, 0);
	assert_int_equal(ptl_damage_count(trace), 0);
	ptl_close(trace);
}

struct stopping {
	struct ptl_relogger *relogger;
	atomic_bool stopped;
};

static void *stop_soon(void *context)
{
	struct stopping *stopping = context;

	usleep(PAUSE_US);
	atomic_store(&stopping->stopped, true);
	ptl_relogger_stop(stopping->relogger);
	return NULL;
}

/* The file is open for writing but gets no more data. For a memfd, the kernel does not know possible writers. */
static void what_has_come_can_be_all(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	FILE *const written = tmpfile();
	const int whole = relogger_sample(&machine, NULL), file = written ? fileno(written) : -1;
	struct relogger_run run = relogger_start(NULL, -1);
	uint8_t data[60000];
	const ssize_t size = pread(whole, data, sizeof(data), 0);
	struct ptl_trace *trace;
	struct stopping stopping;
	pthread_t thread;

	(void)state;
	assert_true(file >= 0);
	assert_true(size > 0 && (size_t)size < sizeof(data));
	/* Without its end the trace is not closed. */
	assert_int_equal(write(file, data, (size_t)size - 8), size - 8);
	assert_int_equal(ptl_relogger_add_realtime(run.relogger, dup(file), "live", NULL, NULL), 0);
	assert_int_equal(ptl_relogger_add_fd(run.relogger, dup(whole), "whole", false, NULL, NULL), 0);
	relogger_fails(&run, PTL_MISUSE, "a trace that is being written is the only input");
	run = relogger_start(NULL, -1);
	assert_int_equal(ptl_relogger_add_realtime(run.relogger, dup(file), "live", NULL, NULL), 0);
	stopping = (struct stopping){.relogger = run.relogger};
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .event = relogger_keep},
		NULL);
	assert_int_equal(pthread_create(&thread, NULL, stop_soon, &stopping), 0);
	assert_int_equal(ptl_relogger_process(run.relogger), 0);
	assert_true(atomic_load(&stopping.stopped));
	pthread_join(thread, NULL);
	ptl_relogger_free(run.relogger);
	assert_int_equal(ptl_open_fd(run.output, "output", NULL, &trace), 0);
	assert_true(ptl_trace_complete(trace));
	assert_int_equal(relogger_events(trace).count, 101);
	assert_true(ptl_loss_count(trace) > 0);
	ptl_close(trace);
	fclose(written);
	close(whole);
}

static int choose_range(void *context, struct ptl_relogger *relogger, struct ptl_relogger_input *input,
			const struct ptl_stream *stream, struct ptl_stream_plan *plan)
{
	static const struct ptl_stream_range range = {0, 16};

	(void)context;
	(void)relogger;
	(void)input;
	(void)stream;
	plan->ranges = &range;
	plan->range_count = 1;
	return 0;
}

static void parts_of_streams_cannot_be_chosen(void **state)
{
	const struct ptl_machine machine = relogger_machine("a");
	struct relogger_run run = relogger_start(NULL, -1);

	(void)state;
	assert_int_equal(ptl_relogger_add_realtime(run.relogger, relogger_sample(&machine, NULL), "live", NULL, NULL),
			 0);
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .stream = choose_range},
		NULL);
	relogger_fails(&run, PTL_UNSUPPORTED, "live: parts of a stream that is being written cannot be chosen");
}

/* ---- blobs ----------------------------------------------------------------------------------- */

enum { BUFFERS = 4000, CPU_SECONDS = 20 };

static uint32_t name_blob(uint32_t number, bool given)
{
	return number * 2 + given;
}

/* Writes buffers of two blobs each, without an end. */
static int write_blobs(void)
{
	const struct ptl_machine machine = relogger_machine("a");
	const int file = relogger_new_file(), copy = dup(file);
	struct ptl_writer *writer;
	uint8_t hash[PTL_HASH_SIZE];
	struct stat info;

	assert_int_equal(ptl_writer_open(copy, NULL, &writer), 0);
	assert_int_equal(ptl_writer_machine(writer, &machine), 0);
	for (uint32_t i = 0; i < BUFFERS; i++) {
		for (unsigned given = 0; given < 2; given++) {
			const uint32_t data = name_blob(i, given);

			assert_int_equal(ptl_writer_blob(writer, PTL_BLOB_CODE, &data, sizeof(data), hash), 0);
		}
		assert_int_equal(ptl_writer_flush(writer), 0);
	}
	assert_int_equal(ptl_writer_close(writer), 0);
	assert_int_equal(fstat(file, &info), 0);
	assert_int_equal(ftruncate(file, info.st_size - 8), 0);
	return file;
}

static int give_blobs(void *context, struct ptl_relogger *relogger)
{
	int status = 0;

	(void)context;
	for (uint32_t i = 0; !status && i < BUFFERS; i++) {
		const uint32_t data = name_blob(i, true);
		uint8_t hash[PTL_HASH_SIZE];

		status = ptl_relogger_blob(relogger, PTL_BLOB_CODE, &data, sizeof(data), hash);
	}
	return status;
}

/*
 * Blobs given by a callback are in every buffer, next to other blobs: each blob is written once, and no buffer is
 * searched completely.
 */
static void blobs_that_were_given_are_there_once(void **state)
{
	struct relogger_run run = relogger_start(NULL, -1);
	const clock_t start = clock();
	struct ptl_relogger_counts counts;
	struct ptl_trace *trace;

	(void)state;
	assert_int_equal(ptl_relogger_add_realtime(run.relogger, write_blobs(), "live", NULL, NULL), 0);
	relogger_add_stage(
		&run,
		(struct ptl_relogger_callbacks){.size = sizeof(struct ptl_relogger_callbacks), .begin = give_blobs},
		NULL);
	assert_int_equal(ptl_relogger_process(run.relogger), 0);
	ptl_relogger_counts(run.relogger, &counts);
	assert_int_equal(counts.blobs_shared, BUFFERS);
	ptl_relogger_free(run.relogger);
	assert_int_equal(ptl_open_fd(run.output, "output", NULL, &trace), 0);
	assert_int_equal(ptl_blob_count(trace), 2 * BUFFERS);
	for (size_t i = 0; i < ptl_blob_count(trace); i++) {
		const struct ptl_blob_info *blob = ptl_blob_at(trace, i);
		uint8_t *data;
		size_t size;

		assert_int_equal(ptl_blob_read(trace, blob->hash, 100, &data, &size), 0);
		assert_int_equal(size, sizeof(uint32_t));
		free(data);
	}
	ptl_close(trace);
	assert_true(clock() - start < (clock_t)CPU_SECONDS * CLOCKS_PER_SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_events_find_a_stream),
		cmocka_unit_test(what_has_come_can_be_all),
		cmocka_unit_test(parts_of_streams_cannot_be_chosen),
		cmocka_unit_test(blobs_that_were_given_are_there_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
