/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that written events are read back in order of time, through files and pipes. */
#include <pthread.h>

#include "tests/unit/format_sample.h"

#define MANY 60000

/* Makes event i of a long, mixed sequence. Its data is in storage until the next call. */
static struct ptl_event make_event(uint32_t i, uint8_t storage[64])
{
	static const uint8_t item[] = {1, 2, 3};
	static struct ptl_extended extended[2];
	struct ptl_event event = {
		.descriptor = {.provider = {{(uint8_t)(i % 3)}},
			       .id = (uint16_t)(i % 5),
			       .opcode = (uint8_t)(i % 2),
			       .keyword = i % 7 ? 0 : UINT64_MAX},
		.time = 1000 + (uint64_t)i * 13 - (i % 11 ? 0 : 500),
		.cpu = i % 4,
		.pid = i % 300,
		.tid = i % 17 ? i % 900 : PTL_NO_ID,
		.payload = storage,
		.payload_size = i % 5 == 4 ? i % 60 : 8 + i % 5,
	};

	for (unsigned k = 0; k < 64; k++)
		storage[k] = (uint8_t)(i >> 8 * (k % 4) ^ k);
	if (i % 10 == 3) {
		event.flags = PTL_EVENT_HAS_ACTIVITY | (i % 20 == 3 ? PTL_EVENT_HAS_RELATED : 0);
		event.activity.bytes[0] = (uint8_t)i;
		event.related.bytes[15] = (uint8_t)i;
	}
	if (i % 100 == 50) {
		extended[0] = (struct ptl_extended){.type = (uint16_t)i, .size = sizeof(item), .data = item};
		extended[1] = (struct ptl_extended){.type = 9, .size = 0, .data = item};
		event.extended = extended;
		event.extended_count = 2;
		event.flags |= PTL_EVENT_INJECTED;
	}
	return event;
}

struct checker {
	uint32_t next[2]; /* next number of each stream */
	uint64_t last_time;
	uint64_t seen;
};

/* Streams have even and odd numbers; cpu tells the stream. */
static int check_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct checker *checker = context;
	const unsigned stream = event->cpu % 2;
	uint8_t storage[64];
	const struct ptl_event expected = make_event(checker->next[stream], storage);

	(void)trace;
	checker->next[stream] += 2;
	checker->seen++;
	assert_memory_equal(&event->descriptor.provider, &expected.descriptor.provider, 16);
	assert_int_equal(event->descriptor.id, expected.descriptor.id);
	assert_int_equal(event->descriptor.opcode, expected.descriptor.opcode);
	assert_int_equal(event->descriptor.keyword, expected.descriptor.keyword);
	assert_int_equal(event->time, expected.time);
	assert_int_equal(event->pid, expected.pid);
	assert_int_equal(event->tid, expected.tid);
	assert_int_equal(event->flags, expected.flags);
	assert_int_equal(event->payload_size, expected.payload_size);
	assert_memory_equal(event->payload, expected.payload, expected.payload_size);
	if (expected.flags & PTL_EVENT_HAS_ACTIVITY)
		assert_memory_equal(&event->activity, &expected.activity, 16);
	if (expected.flags & PTL_EVENT_HAS_RELATED)
		assert_memory_equal(&event->related, &expected.related, 16);
	assert_int_equal(event->extended_count, expected.extended_count);
	for (size_t i = 0; i < expected.extended_count; i++) {
		assert_int_equal(event->extended[i].type, expected.extended[i].type);
		assert_int_equal(event->extended[i].size, expected.extended[i].size);
		assert_memory_equal(event->extended[i].data, expected.extended[i].data, expected.extended[i].size);
	}
	return 0;
}

static void write_many(int fd, const struct ptl_writer_options *options)
{
	struct ptl_writer *writer = sample_writer(fd, options);
	struct ptl_writer_counts counts;
	uint32_t streams[2];
	uint8_t storage[64];

	for (unsigned i = 0; i < 2; i++)
		streams[i] = sample_stream(writer, PTL_KIND_EVENTS, i);
	for (uint32_t i = 0; i < MANY; i++) {
		const struct ptl_event event = make_event(i, storage);

		assert_done(ptl_writer_event(writer, streams[i % 2], &event));
	}
	ptl_writer_counts(writer, &counts);
	assert_int_equal(counts.events, MANY);
	assert_int_equal(counts.lost_buffers, 0);
	assert_done(ptl_writer_close(writer));
}

static void check_many(int fd, bool ignore_index)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = check_event};
	struct checker checker = {.next = {0, 1}};
	struct ptl_trace *trace = sample_open(fd, ignore_index);

	assert_int_equal(ptl_damage_count(trace), 0);
	assert_true(ptl_trace_complete(trace));
	assert_done(ptl_process(trace, NULL, &callbacks, &checker));
	assert_int_equal(checker.seen, MANY);
	ptl_close(trace);
}

static void events_come_back(void **state)
{
	static const struct ptl_writer_options variants[] = {
		{.size = sizeof(variants[0]), .buffer_size = 4096},
		{.size = sizeof(variants[0]), .threads = 3, .buffer_size = 8192, .memory_limit = 65536},
		{.size = sizeof(variants[0]), .threads = 1, .level = 19},
		{.size = sizeof(variants[0]), .buffer_size = SIZE_MAX, .level = -5},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		const int fd = sample_fd();

		write_many(fd, &variants[i]);
		check_many(fd, false);
		check_many(fd, true);
		close(fd);
	}
}

static int check_order(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct checker *checker = context;

	(void)trace;
	assert_true(event->time >= checker->last_time);
	/* For equal times, the stream with the lower id, whose thread id is also lower, comes first. */
	assert_true(event->time > checker->last_time || event->pid >= checker->seen % 1000);
	checker->last_time = event->time;
	checker->seen = event->pid;
	return 0;
}

static void streams_are_merged_by_time(void **state)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = check_order};
	const struct ptl_event_filter filter = {.size = sizeof(filter), .first_time = 50, .last_time = 59};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = 4096});
	uint32_t streams[7];
	struct checker checker = {0};
	struct ptl_trace *trace;

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		streams[i] = sample_stream(writer, PTL_KIND_EVENTS, i);
	for (uint32_t i = 0; i < 7; i++)
		for (uint64_t k = 0; k < 3000; k++) {
			const struct ptl_event event = {.time = k * (i + 1) / 3, .pid = i};

			assert_done(ptl_writer_event(writer, streams[i], &event));
		}
	assert_done(ptl_writer_close(writer));
	trace = sample_open(fd, false);
	assert_done(ptl_process(trace, NULL, &callbacks, &checker));
	checker = (struct checker){0};
	assert_done(ptl_process(trace, &filter, &callbacks, &checker));
	assert_int_equal(checker.last_time, 59);
	ptl_close(trace);
	close(fd);
}

/* Merges streams with events in separate seconds or in one common second. */
static int merge_with(bool apart, size_t memory_limit)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = check_order};
	const struct ptl_open_options options = {.size = sizeof(options), .memory_limit = memory_limit};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	struct checker checker = {0};
	struct ptl_trace *trace;
	int status;

	for (uint32_t i = 0; i < 50; i++) {
		const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, i);

		for (uint64_t k = 0; k < 100; k++) {
			const struct ptl_event event = {.time = k * 7 + (apart ? i * 1000 : 0), .pid = i};

			assert_done(ptl_writer_event(writer, stream, &event));
		}
	}
	assert_done(ptl_writer_close(writer));
	assert_done(ptl_open_fd(dup(fd), "sample", &options, &trace));
	status = ptl_process(trace, NULL, &callbacks, &checker);
	ptl_close(trace);
	close(fd);
	return status;
}

/* Only the current buffers take memory; data beyond the limit waits in a file. */
static void merging_keeps_its_bound(void **state)
{
	(void)state;
	assert_done(merge_with(false, 0));
	assert_done(merge_with(true, 4000));
	assert_done(merge_with(false, 4000));
}

static int add_everything(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct sample_content *content = context;

	sample_add_event(context, trace, event);
	common_sha256_add(content->hash, &event->descriptor.id, sizeof(event->descriptor.id));
	if (event->flags & PTL_EVENT_HAS_ACTIVITY)
		common_sha256_add(content->hash, event->activity.bytes, 16);
	for (size_t i = 0; i < event->extended_count; i++) {
		common_sha256_add(content->hash, &event->extended[i].type, sizeof(event->extended[i].type));
		common_sha256_add(content->hash, event->extended[i].data, event->extended[i].size);
	}
	return 0;
}

static void write_varied(struct ptl_writer *writer)
{
	static uint8_t payload[100000];

	for (uint32_t i = 0; i < 8; i++) {
		const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, i);

		for (uint32_t k = 0; k < 3000; k++) {
			const struct ptl_extended items[] = {{.type = 3, .size = (uint16_t)(k % 41), .data = payload},
							     {.type = 4, .size = 0}};
			const struct ptl_event event = {
				.descriptor.id = (uint16_t)(k % 5),
				.time = 1000 + k * (i % 3 + 1),
				.pid = i,
				.tid = k % 7,
				.flags = k % 11 ? 0 : PTL_EVENT_HAS_ACTIVITY,
				.activity = {{(uint8_t)k}},
				.payload = payload,
				/* one payload is larger than a read */
				.payload_size = k == 1500 ? sizeof(payload)
						: k % 5   ? k % 300
							  : 24,
				.extended = items,
				.extended_count = k % 13 ? 0 : 1 + k % 2,
			};

			memset(payload, (int)(k + i), 300);
			assert_done(ptl_writer_event(writer, stream, &event));
		}
	}
}

/* Events that wait in a file are read back unchanged: all events, or those of some buffers only. */
static void spilled_events_come_back(void **state)
{
	static const size_t limits[] = {0, 1, 600000};
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = add_everything};
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(
		fd, &(struct ptl_writer_options){.size = sizeof(struct ptl_writer_options), .buffer_size = 65536});
	uint8_t digest[3][COMMON_SHA256_SIZE];

	(void)state;
	write_varied(writer);
	assert_done(ptl_writer_close(writer));
	for (size_t i = 0; i < 3; i++) {
		const struct ptl_open_options options = {.size = sizeof(options), .memory_limit = limits[i]};
		struct sample_content content = {.hash = common_sha256_new()};
		struct ptl_trace *trace;

		assert_done(ptl_open_fd(dup(fd), "sample", &options, &trace));
		assert_done(ptl_process(trace, NULL, &callbacks, &content));
		assert_int_equal(content.events, 8 * 3000);
		common_sha256_finish(content.hash, digest[i]);
		common_sha256_free(content.hash);
		ptl_close(trace);
	}
	assert_memory_equal(digest[0], digest[1], COMMON_SHA256_SIZE);
	assert_memory_equal(digest[0], digest[2], COMMON_SHA256_SIZE);
	close(fd);
}

static int stop_at_third(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	(void)trace;
	(void)event;
	return ++*(int *)context == 3 ? PTL_CANCELLED : 0;
}

static void a_callback_can_stop(void **state)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = stop_at_third};
	const int fd = sample_fd();
	struct ptl_trace *trace;
	int calls = 0;

	(void)state;
	sample_write(fd, true);
	trace = sample_open(fd, false);
	assert_int_equal(ptl_process(trace, NULL, &callbacks, &calls), PTL_CANCELLED);
	assert_int_equal(calls, 3);
	ptl_close(trace);
	close(fd);
}

static void events_out_of_bounds_are_misuse(void **state)
{
	static uint8_t payload[PTL_PAYLOAD_MAX + 1];
	const int fd = sample_fd();
	struct ptl_writer *writer = sample_writer(fd, NULL);
	const uint32_t stream = sample_stream(writer, PTL_KIND_EVENTS, 0), pt = sample_stream(writer, PTL_KIND_PT, 1);
	struct ptl_event event = {.payload = payload, .payload_size = sizeof(payload)};

	(void)state;
	assert_int_equal(ptl_writer_event(writer, stream, &event), PTL_MISUSE);
	event.payload_size--;
	assert_done(ptl_writer_event(writer, stream, &event));
	event.flags = 8;
	assert_int_equal(ptl_writer_event(writer, stream, &event), PTL_MISUSE);
	event.flags = 0;
	assert_int_equal(ptl_writer_event(writer, pt, &event), PTL_MISUSE);
	assert_int_equal(ptl_writer_event(writer, 0, &event), PTL_MISUSE);
	assert_int_equal(ptl_writer_event(writer, 99, &event), PTL_MISUSE);
	assert_int_equal(ptl_writer_bytes(writer, stream, "a", 1, 0), PTL_MISUSE);
	assert_int_equal(ptl_writer_psb(writer, stream, 0, 0), PTL_MISUSE);
	assert_done(ptl_writer_close(writer));
	close(fd);
}

struct pipe_copy {
	int from, to;
};

static void *copy_pipe(void *context)
{
	const struct pipe_copy *copy = context;
	uint8_t data[1000];
	ssize_t n;

	while ((n = read(copy->from, data, sizeof(data))) > 0)
		if (write(copy->to, data, (size_t)n) != n)
			break;
	close(copy->from);
	close(copy->to);
	return NULL;
}

static void a_pipe_carries_a_trace(void **state)
{
	int ends[2], back[2];
	struct pipe_copy copy;
	pthread_t thread;
	struct ptl_trace *trace;
	const int fd = sample_fd();
	struct ptl_bytes file;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	copy = (struct pipe_copy){ends[0], dup(fd)};
	assert_int_equal(pthread_create(&thread, NULL, copy_pipe, &copy), 0);
	write_many(ends[1], &(struct ptl_writer_options){
				    .size = sizeof(struct ptl_writer_options), .threads = 1, .buffer_size = 30000});
	close(ends[1]);
	pthread_join(thread, NULL);
	check_many(fd, false);
	/* and back: the reader spools an unseekable input */
	assert_int_equal(pipe(back), 0);
	copy = (struct pipe_copy){dup(fd), back[1]};
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(pthread_create(&thread, NULL, copy_pipe, &copy), 0);
	assert_done(ptl_open_fd(back[0], "pipe", NULL, &trace));
	pthread_join(thread, NULL);
	assert_true(ptl_trace_complete(trace));
	file = sample_bytes(fd);
	assert_int_equal(ptl_trace_size(trace), file.size);
	common_bytes_free(&file);
	ptl_close(trace);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_back),        cmocka_unit_test(streams_are_merged_by_time),
		cmocka_unit_test(merging_keeps_its_bound), cmocka_unit_test(spilled_events_come_back),
		cmocka_unit_test(a_callback_can_stop),     cmocka_unit_test(events_out_of_bounds_are_misuse),
		cmocka_unit_test(a_pipe_carries_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
