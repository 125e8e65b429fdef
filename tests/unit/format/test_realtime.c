/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests reading a trace during writing, by file and by pipe: nothing is missing, nothing comes twice. */
#include <fcntl.h>
#include <time.h>

#include "common/file.h"
#include "format/container/layout.h"
#include "tests/unit/format_sample.h"

/* The writer: writes a piece of the file each time the reader waits. */
struct growing {
	struct ptl_bytes file;
	size_t written, piece;
	int fd;    /* output descriptor */
	bool ends; /* ends by closing the file; else the reader is asked to stop */
};

static int add_piece(void *context, struct ptl_trace *trace)
{
	struct growing *growing = context;
	const size_t left = growing->file.size - growing->written;
	const size_t size = left < growing->piece ? left : growing->piece;

	/* While the file grows, its end is no damage. */
	if (!ptl_realtime_over(trace))
		assert_int_equal(ptl_damage_count(trace), 0);
	if (size)
		assert_done(common_write_all(growing->fd, growing->file.data + growing->written, size));
	growing->written += size;
	if (size || growing->fd < 0)
		return 0;
	if (growing->ends) {
		close(growing->fd);
		growing->fd = -1;
		return 0;
	}
	return PTL_CANCELLED;
}

static struct growing growing_sample(size_t pieces, bool closed)
{
	const int fd = sample_fd();
	struct growing growing = {.ends = true, .fd = -1};

	sample_write(fd, closed);
	growing.file = sample_bytes(fd);
	growing.piece = growing.file.size / pieces + 1;
	close(fd);
	return growing;
}

/* Opens a file by name, so that the reader notices the end of writing. */
static struct ptl_trace *open_file(struct growing *growing, uint64_t delay)
{
	char path[] = "/tmp/ptl-realtime-XXXXXX";
	const struct ptl_realtime_options options = {
		.size = sizeof(options), .delay = delay, .idle = add_piece, .context = growing};
	struct ptl_trace *trace = NULL;

	growing->fd = mkostemp(path, O_CLOEXEC);
	assert_true(growing->fd >= 0);
	assert_done(ptl_open_realtime(path, &options, &trace));
	unlink(path);
	return trace;
}

static struct ptl_trace *open_pipe(struct growing *growing)
{
	const struct ptl_realtime_options options = {
		.size = sizeof(options), .delay = 1, .idle = add_piece, .context = growing};
	struct ptl_trace *trace = NULL;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	growing->fd = ends[1];
	assert_done(ptl_open_realtime_fd(ends[0], "a pipe", &options, &trace));
	return trace;
}

static uint64_t whole(bool closed, uint8_t digest[COMMON_SHA256_SIZE])
{
	const int fd = sample_fd();
	struct ptl_trace *trace;
	uint64_t events;

	sample_write(fd, closed);
	trace = sample_open(fd, true);
	events = sample_content(trace, digest);
	ptl_close(trace);
	close(fd);
	return events;
}

static void a_growing_file_gives_all_that_the_finished_one_has(void **state)
{
	uint8_t expected[COMMON_SHA256_SIZE], got[COMMON_SHA256_SIZE];
	const uint64_t events = whole(true, expected);

	(void)state;
	for (int by_pipe = 0; by_pipe < 2; by_pipe++) {
		for (size_t pieces = 1; pieces < 12; pieces += 5) {
			struct growing growing = growing_sample(pieces, true);
			struct ptl_trace *trace = by_pipe ? open_pipe(&growing) : open_file(&growing, 1);

			assert_int_equal(sample_content(trace, got), events);
			assert_memory_equal(got, expected, sizeof(expected));
			assert_true(ptl_realtime_over(trace));
			assert_true(ptl_trace_complete(trace));
			assert_int_equal(ptl_damage_count(trace), 0);
			ptl_close(trace);
			if (growing.fd >= 0)
				close(growing.fd);
			common_bytes_free(&growing.file);
		}
	}
}

static void what_a_dead_writer_left_is_given_and_the_rest_is_damage(void **state)
{
	uint8_t expected[COMMON_SHA256_SIZE], got[COMMON_SHA256_SIZE];
	const uint64_t events = whole(false, expected);

	(void)state;
	for (int by_pipe = 0; by_pipe < 2; by_pipe++) {
		struct growing growing = growing_sample(3, false);
		struct ptl_trace *trace = by_pipe ? open_pipe(&growing) : open_file(&growing, 1);

		assert_int_equal(sample_content(trace, got), events);
		assert_memory_equal(got, expected, sizeof(expected));
		assert_true(ptl_realtime_over(trace));
		assert_false(ptl_trace_complete(trace));
		assert_int_equal(ptl_damage_count(trace), 1);
		assert_int_equal(ptl_damage_at(trace, 0)->status, PTL_TRUNCATED);
		ptl_close(trace);
		common_bytes_free(&growing.file);
	}
}

/* Two bytes of a buffer's payload, and everything of another's header. */
static void damage_costs_the_buffers_that_it_hits(void **state)
{
	struct growing growing = growing_sample(1, true);
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = NULL};
	struct format_buffer_header header;
	struct ptl_trace *trace;
	int ends[2];

	(void)state;
	assert_true(format_buffer_header_decode(growing.file.data + FORMAT_FILE_HEADER_SIZE, &header));
	memset(growing.file.data + FORMAT_FILE_HEADER_SIZE + format_buffer_header_extent(&header), 0x50, 30);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_done(common_write_all(ends[1], growing.file.data, growing.file.size));
	close(ends[1]);
	assert_done(ptl_open_realtime_fd(ends[0], "a pipe", NULL, &trace));
	assert_done(ptl_process(trace, NULL, &callbacks, NULL));
	assert_true(ptl_damage_count(trace) > 0);
	assert_int_equal(ptl_damage_at(trace, 0)->status, PTL_CORRUPT);
	assert_true(ptl_trace_complete(trace));
	ptl_close(trace);
	common_bytes_free(&growing.file);
}

static void who_waits_can_be_stopped(void **state)
{
	struct growing growing = growing_sample(4, false);
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = NULL};
	struct ptl_trace *trace;

	(void)state;
	growing.ends = false;
	trace = open_file(&growing, 0);
	assert_int_equal(ptl_process(trace, NULL, &callbacks, NULL), PTL_CANCELLED);
	assert_false(ptl_realtime_over(trace));
	assert_int_equal(ptl_damage_count(trace), 0);
	ptl_close(trace);
	close(growing.fd);
	common_bytes_free(&growing.file);
}

/* ---- order ----------------------------------------------------------------------------------------------------------- */

struct order {
	struct ptl_writer *writer;
	uint32_t streams[2];
	unsigned step;
	uint64_t last;
	size_t given, back;
};

/* The second stream's event has an earlier time and is written after the first stream's event. */
static int write_steps(void *context, struct ptl_trace *trace)
{
	struct order *order = context;

	(void)trace;
	if (order->step == 0 || order->step == 3) {
		sample_event(order->writer, order->streams[order->step > 0], order->step ? 1000 : 2000, "a thread");
		assert_done(ptl_writer_flush(order->writer));
	} else if (order->step == 4) {
		assert_done(ptl_writer_close(order->writer));
	}
	order->step++;
	return 0;
}

static int take_in_order(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct order *order = context;

	(void)trace;
	order->back += event->time < order->last;
	order->last = event->time;
	order->given++;
	return 0;
}

static size_t events_that_go_back(uint64_t delay)
{
	static const struct ptl_machine machine = {.clock = PTL_CLOCK_MONOTONIC};
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = take_in_order};
	char path[] = "/tmp/ptl-realtime-XXXXXX";
	struct order order = {0};
	const struct ptl_realtime_options options = {
		.size = sizeof(options), .delay = delay, .idle = write_steps, .context = &order};
	struct ptl_trace *trace;

	order.writer = sample_writer(mkostemp(path, O_CLOEXEC), NULL);
	assert_done(ptl_writer_machine(order.writer, &machine));
	for (size_t i = 0; i < 2; i++)
		order.streams[i] = sample_stream(order.writer, PTL_KIND_EVENTS, PTL_NO_ID);
	assert_done(ptl_writer_flush(order.writer));
	assert_done(ptl_open_realtime(path, &options, &trace));
	unlink(path);
	assert_done(ptl_process(trace, NULL, &callbacks, &order));
	assert_int_equal(order.given, 2);
	ptl_close(trace);
	return order.back;
}

static void events_wait_for_earlier_ones_of_other_streams(void **state)
{
	(void)state;
	assert_int_equal(events_that_go_back(UINT64_C(60000000000)), 0);
	/* Without a delay the first event is delivered before the second exists; the second still comes. */
	assert_int_equal(events_that_go_back(1), 1);
}

static void flushes_need_a_session(void **state)
{
	(void)state;
	assert_int_equal(ptl_session_flush("nobody-has-this-session"), PTL_NOT_FOUND);
	assert_int_equal(ptl_session_flush("no/name"), PTL_MISUSE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_growing_file_gives_all_that_the_finished_one_has),
		cmocka_unit_test(what_a_dead_writer_left_is_given_and_the_rest_is_damage),
		cmocka_unit_test(damage_costs_the_buffers_that_it_hits),
		cmocka_unit_test(who_waits_can_be_stopped),
		cmocka_unit_test(events_wait_for_earlier_ones_of_other_streams),
		cmocka_unit_test(flushes_need_a_session),
	};

	return cmocka_run_group_tests_name("realtime", tests, NULL, NULL);
}
