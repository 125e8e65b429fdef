/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that each file of a series has the data its packets need, also of processes that begin after the next file
 * exists; and that a slow file does not delay the recording. A file that accepts no data is a FIFO without reader, or a
 * FIFO that is not open.
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <ptl/kernel.h>
#include <ptl/reader.h>

#include "analysis/profile/stats.h"
#include "common/sha256.h"
#include "record/capture/capture.h"
#include "record/capture/machine.h"

static char *command_line[] = {(char[]){"test"}, NULL};
static const struct record_settings settings = {.command_line = command_line,
						.source = "test",
						.output = "named",
						.quiet = true,
						.mode = RECORD_MODE_NEWFILE,
						.part_time = 1,
						.compressors = 1,
						.embed = ELF_EMBED_CODE,
						.clock = PTL_CLOCK_MONOTONIC};

struct fixture {
	char folder[64], path[128];
	struct record_capture capture;
	uint32_t packets, switches;
	uint64_t base; /* time origin of the trace */
	uint8_t pt[1024];
	size_t pt_size;
};

static const struct ptl_machine machine = {
	.source = "test", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};

static void make_folder(struct fixture *fixture)
{
	strcpy(fixture->folder, "/tmp/ptl-test-rotation-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	snprintf(fixture->path, sizeof(fixture->path), "%s/a.ptl", fixture->folder);
}

static int set_up(void **state)
{
	const struct ptl_stream of_cpu = {.kind = PTL_KIND_PT, .cpu = 0, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	*state = fixture;
	make_folder(fixture);
	fixture->base = record_now();
	assert_int_equal(record_capture_open(&fixture->capture, &settings, fixture->path, &machine), 0);
	assert_int_equal(record_capture_stream(&fixture->capture, &of_cpu, &fixture->packets), 0);
	assert_int_equal(record_capture_event_stream(&fixture->capture, &fixture->switches), 0);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", fixture->folder);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

/* ---- packets --------------------------------------------------------------------------------- */

static void put(struct fixture *fixture, const void *bytes, size_t size)
{
	assert_true(fixture->pt_size + size <= sizeof(fixture->pt));
	memcpy(fixture->pt + fixture->pt_size, bytes, size);
	fixture->pt_size += size;
}

static void put_number(struct fixture *fixture, uint8_t header, uint64_t value, size_t size)
{
	put(fixture, &header, 1);
	put(fixture, &value, size);
}

static void put_time(struct fixture *fixture, uint64_t after)
{
	put_number(fixture, 0x19, fixture->base + after, 7);
}

static void put_psb_start(struct fixture *fixture, uint64_t after)
{
	for (unsigned i = 0; i < 8; i++)
		put(fixture, "\x02\x82", 2);
	put_time(fixture, after);
	put(fixture, "\x99\x01", 2);
}

static void put_psb(struct fixture *fixture, uint64_t after)
{
	put_psb_start(fixture, after);
	put(fixture, "\x02\x23", 2);
}

/* jz, not taken, and a system call. Packets are enabled at the address, and disabled by the call. */
static const uint8_t code[] = {0x74, 0, 0x0f, 0x05};

static void put_run(struct fixture *fixture, uint64_t address)
{
	put_number(fixture, 0xd1, address, 8);
	put(fixture, "\x04\x01", 2);
}

static void take_packets(struct fixture *fixture, uint64_t after)
{
	assert_int_equal(record_capture_pt(&fixture->capture, fixture->packets, fixture->pt, fixture->pt_size,
					   fixture->base + after),
			 0);
	fixture->pt_size = 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void fact(struct fixture *fixture, const struct record_fact *fact)
{
	assert_int_equal(record_model_fact(fixture->capture.model, fact, record_now()), 0);
}

/* Begins a process with code. */
static void begin_with(struct fixture *fixture, uint32_t number, uint64_t address, uint64_t after, const void *data,
		       size_t size)
{
	const uint32_t pid = 10 * number;
	struct record_fact next = {.kind = RECORD_FACT_PROCESS_START,
				   .process = number,
				   .pid = pid,
				   .tid = pid,
				   .time = fixture->base + after};
	struct ptl_image_event image = {
		.base = address, .size = 4096, .process_id = pid, .file_name = "/bin/p", .protection = 5};

	fact(fixture, &next);
	next.kind = RECORD_FACT_EXEC;
	next.epoch = 1;
	next.exec.program = (struct record_program){"/bin/p\0\0/\0p", 11};
	fact(fixture, &next);
	assert_int_equal(record_capture_blob(&fixture->capture, PTL_BLOB_CODE, data, size, image.code), 0);
	image.has_code = true;
	next.kind = RECORD_FACT_IMAGE_MAP;
	next.epoch = 2;
	next.image = &image;
	fact(fixture, &next);
}

static void take_cpu(struct fixture *fixture, uint32_t pid, uint64_t after)
{
	const struct ptl_switch_event data = {.new_thread = pid};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};

	assert_int_equal(ptl_switch_encode(&data, &storage, &event), 0);
	event.time = fixture->base + after;
	event.cpu = 0;
	event.pid = event.tid = pid;
	assert_int_equal(record_capture_switch(&fixture->capture, fixture->switches, fixture->packets, &event), 0);
	common_bytes_free(&storage);
}

/* Begins a process, and gives it the CPU. */
static void begin(struct fixture *fixture, uint32_t number, uint64_t address, uint64_t after)
{
	begin_with(fixture, number, address, after, code, sizeof(code));
	take_cpu(fixture, 10 * number, after + 1);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Counts the instructions of a thread in a file with `gaps` gaps. */
static uint64_t instructions_with(const struct fixture *fixture, const char *file, uint32_t tid, uint64_t gaps)
{
	const struct flow_view_options options = {.selection = {.tids = &tid, .tid_count = 1}, .threads = 1};
	struct flow_timeline *timeline;
	struct analysis_stats stats;
	struct ptl_trace *trace;
	uint64_t count;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", fixture->folder, file);
	assert_int_equal(ptl_open(path, NULL, &trace), 0);
	assert_int_equal(flow_timeline_build(trace, &timeline), 0);
	assert_int_equal(analysis_stats_run(trace, timeline, &options,
					    &(struct analysis_stats_wanted){.hash = false, .gap_limit = 10}, &stats),
			 0);
	assert_int_equal(stats.total.gaps, gaps);
	count = stats.total.instructions;
	analysis_stats_free(&stats);
	flow_timeline_free(timeline);
	ptl_close(trace);
	return count;
}

static uint64_t instructions_of(const struct fixture *fixture, const char *file, uint32_t tid)
{
	return instructions_with(fixture, file, tid, 0);
}

/* Rotates the capture; another thread prepares the next file. */
static void rotate(struct record_capture *capture)
{
	const uint32_t rotations = capture->rotation.count;
	const struct timespec pause = {.tv_nsec = 100000};

	while (capture->rotation.count == rotations) {
		assert_int_equal(record_capture_advance(capture, record_now() + 1), 0);
		nanosleep(&pause, NULL);
	}
}

/* Packets of a process go to the previous file, although the process began after that file was current. */
static void begun_after_the_next_file(void **state)
{
	struct fixture *fixture = *state;
	struct record_capture *capture = &fixture->capture;

	begin(fixture, 1, 0x400000, 10);
	put_psb(fixture, 20);
	put_run(fixture, 0x400000);
	put_time(fixture, 30);
	take_packets(fixture, 30);
	rotate(capture);
	assert_non_null(capture->rotation.before.writer);
	fixture->base = record_now() + 1;
	begin(fixture, 2, 0x500000, 40);
	put_time(fixture, 50);
	put_run(fixture, 0x500000);
	put_run(fixture, 0x500000);
	put_psb(fixture, 60);
	put_run(fixture, 0x500000);
	take_packets(fixture, 60);
	assert_int_equal(record_capture_close(capture, fixture->base + 70), 0);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 10), 2);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 20), 4);
	assert_int_equal(instructions_of(fixture, "a.000002.ptl", 20), 2);
}

/* The PSB between two files lies in a guest whose TSC has an offset: the switches before the PSB go to the previous file. */
static void divided_in_a_guest(void **state)
{
	struct fixture *fixture = *state;
	struct record_capture *capture = &fixture->capture;

	capture->machine.start_time = fixture->base;
	begin(fixture, 1, 0x400000, 10);
	put_psb(fixture, 20);
	put_run(fixture, 0x400000);
	put_time(fixture, 30);
	take_packets(fixture, 30);
	rotate(capture);
	fixture->base = record_now() + 1;
	begin(fixture, 2, 0x500000, 40);
	put_time(fixture, 50);
	put_run(fixture, 0x500000);
	put_psb_start(fixture, -10000000000);
	put(fixture, "\x02\x43\x01\0\0\0\0\0", 8);
	put(fixture, "\x02\x23", 2);
	take_packets(fixture, 60);
	assert_int_equal(record_capture_close(capture, fixture->base + 70), 0);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 10), 2);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 20), 2);
}

/* ---- the PSB between two files ----------------------------------------------------------------- */

/* jz, not taken; then no packet up to the system call */
static const uint8_t straight[] = {0x74, 0, 0x90, 0x90, 0x90, 0x90, 0x0f, 0x05};
#define MIDDLE 0x400004u /* address in the middle of `straight` */

/* Runs the code to its middle, where the next file begins. Returns the position of the PSB there. */
static uint64_t run_to_middle(struct fixture *fixture)
{
	struct record_capture *capture = &fixture->capture;

	begin_with(fixture, 1, 0x400000, 10, straight, sizeof(straight));
	take_cpu(fixture, 10, 11);
	put_psb(fixture, 20);
	put_number(fixture, 0xd1, 0x400000, 8);
	take_packets(fixture, 20);
	assert_int_equal(record_capture_psb(capture, fixture->packets, 0, fixture->base + 20), 0);
	rotate(capture);
	assert_int_equal(capture->streams.waiting, 1);
	put(fixture, "\x04", 1);
	return capture->streams.list[fixture->packets].taken + 1;
}

/* Writes a PSB there, and the rest of the run. */
static void put_rest(struct fixture *fixture)
{
	put_psb_start(fixture, 30);
	put_number(fixture, 0xdd, MIDDLE, 8);
	put(fixture, "\x02\x23\x01", 3);
}

static void state_psb(struct fixture *fixture, uint64_t position)
{
	assert_int_equal(record_capture_psb(&fixture->capture, fixture->packets, position, fixture->base + 30), 0);
}

static void advance(struct record_capture *capture)
{
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_capture_advance(capture, record_now() + 1), 0);
}

/* Closes the capture, and checks that each instruction is in exactly one file. */
static void close_divided(struct fixture *fixture)
{
	assert_int_equal(record_capture_close(&fixture->capture, fixture->base + 70), 0);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 10), 3);
	assert_int_equal(instructions_of(fixture, "a.000002.ptl", 10), 3);
}

/*
 * The previous file is complete only once a source has reported the position of the PSB, which may come after the PSB's
 * bytes.
 */
static void a_psb_that_is_stated_late(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t position = run_to_middle(fixture);

	put_rest(fixture);
	take_packets(fixture, 30);
	advance(&fixture->capture);
	assert_non_null(fixture->capture.rotation.before.writer);
	state_psb(fixture, position);
	advance(&fixture->capture);
	assert_null(fixture->capture.rotation.before.writer);
	close_divided(fixture);
}

static void a_psb_that_is_stated_early(void **state)
{
	struct fixture *fixture = *state;

	state_psb(fixture, run_to_middle(fixture));
	put_rest(fixture);
	take_packets(fixture, 30);
	advance(&fixture->capture);
	assert_null(fixture->capture.rotation.before.writer);
	close_divided(fixture);
}

/* The position is never reported, as the thread was killed. */
static void a_psb_that_is_not_stated(void **state)
{
	struct fixture *fixture = *state;

	run_to_middle(fixture);
	put_rest(fixture);
	take_packets(fixture, 30);
	assert_int_equal(record_capture_end_stream(&fixture->capture, fixture->packets), 0);
	advance(&fixture->capture);
	assert_null(fixture->capture.rotation.before.writer);
	close_divided(fixture);
}

/* The PSB+ comes byte by byte. */
static void a_psb_in_pieces(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t position = run_to_middle(fixture);

	put_rest(fixture);
	for (size_t i = 0, size = fixture->pt_size; i < size; i++)
		assert_int_equal(
			record_capture_pt(&fixture->capture, fixture->packets, fixture->pt + i, 1, fixture->base + 30),
			0);
	state_psb(fixture, position);
	close_divided(fixture);
}

/* An overflow ends the PSB+: later packets are in one file only, and the first file ends with proven instructions. */
static void a_psb_with_an_overflow(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t position = run_to_middle(fixture);

	put_psb_start(fixture, 30);
	put(fixture, "\x02\xf3", 2);
	put_number(fixture, 0xdd, MIDDLE, 8);
	put(fixture, "\x01", 1);
	for (unsigned i = 0; i < 600; i++)
		put(fixture, "", 1);
	take_packets(fixture, 30);
	state_psb(fixture, position);
	assert_int_equal(record_capture_close(&fixture->capture, fixture->base + 70), 0);
	assert_int_equal(instructions_of(fixture, "a.000001.ptl", 10), 1);
	assert_int_equal(instructions_with(fixture, "a.000002.ptl", 10, 1), 3);
}

/* ---- files that take nothing ----------------------------------------------------------------- */

#define EVENTS 400
#define PAYLOAD 1024
#define MILLISECOND 1000000u

/* A thread that copies a FIFO to a file. */
struct reader {
	pthread_t thread;
	int fd; /* -1: opened by the thread */
	char fifo[160], path[160];
};

static void name_file(const struct fixture *fixture, const char *file, char path[160])
{
	snprintf(path, 160, "%s/%s", fixture->folder, file);
}

static void *copy(void *context)
{
	const struct reader *reader = context;
	/* Both sides wait here for each other. */
	const int in = reader->fd < 0 ? open(reader->fifo, O_RDONLY | O_CLOEXEC) : reader->fd;
	const int out = open(reader->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char data[4096];
	ssize_t size;

	while ((size = read(in, data, sizeof(data))) > 0)
		if (write(out, data, (size_t)size) != size)
			break;
	close(out);
	close(in);
	return NULL;
}

static void read_fifo(struct reader *reader)
{
	if (reader->fd >= 0)
		assert_int_equal(fcntl(reader->fd, F_SETFL, 0), 0);
	assert_int_equal(pthread_create(&reader->thread, NULL, copy, reader), 0);
}

/* opened: the FIFO is open for its writer, but not read. */
static void make_reader(const struct fixture *fixture, const char *file, bool opened, struct reader *reader)
{
	name_file(fixture, file, reader->fifo);
	name_file(fixture, "read.ptl", reader->path);
	assert_int_equal(mkfifo(reader->fifo, 0600), 0);
	reader->fd = opened ? open(reader->fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	assert_true(!opened || reader->fd >= 0);
}

static struct fixture *open_slow(const struct record_settings *wanted, const char *fifo, bool opened,
				 struct reader *reader)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	make_folder(fixture);
	make_reader(fixture, fifo, opened, reader);
	fixture->base = record_now();
	assert_int_equal(record_capture_open(&fixture->capture, wanted, fixture->path, &machine), 0);
	assert_int_equal(record_capture_event_stream(&fixture->capture, &fixture->switches), 0);
	return fixture;
}

/* Writes incompressible events with numbers from `first` on. */
static void put_events(struct fixture *fixture, uint16_t first)
{
	static uint32_t noise = 1;
	uint8_t payload[PAYLOAD];

	for (uint16_t id = first; id < first + EVENTS; id++) {
		const struct ptl_event event = {.time = fixture->base + id,
						.descriptor.id = id,
						.pid = 1,
						.tid = 1,
						.payload = payload,
						.payload_size = sizeof(payload)};

		for (size_t i = 0; i < sizeof(payload); i++)
			payload[i] = (uint8_t)((noise = noise * 1664525 + 1013904223) >> 24);
		assert_int_equal(record_capture_event(&fixture->capture, fixture->switches, &event), 0);
	}
}

static int count(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	unsigned *times = context;

	(void)trace;
	if (event->payload_size == PAYLOAD && event->descriptor.id < 2 * EVENTS)
		times[event->descriptor.id]++;
	return 0;
}

static struct ptl_trace *open_file(const struct fixture *fixture, const char *file)
{
	struct ptl_trace *trace;
	char path[160];

	name_file(fixture, file, path);
	assert_int_equal(ptl_open(path, NULL, &trace), 0);
	assert_true(ptl_trace_complete(trace));
	return trace;
}

static void count_events(const struct fixture *fixture, const char *file, unsigned times[2 * EVENTS])
{
	struct ptl_trace *trace = open_file(fixture, file);

	assert_int_equal(ptl_process(trace, NULL,
				     &(struct ptl_callbacks){.size = sizeof(struct ptl_callbacks), .event = count},
				     times),
			 0);
	ptl_close(trace);
}

/*
 * The disk accepts no data of a completed file. New data goes to the next file, and every event is in exactly one file.
 */
static void a_file_that_cannot_be_completed(void **state)
{
	unsigned times[2 * EVENTS] = {0};
	struct ptl_writer_counts counts;
	struct reader reader;
	struct fixture *const fixture = open_slow(&settings, "a.000001.ptl", true, &reader);
	struct record_capture *capture = &fixture->capture;

	*state = fixture;
	put_events(fixture, 0);
	rotate(capture);
	put_events(fixture, EVENTS);
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_capture_advance(capture, record_now() + 1), 0);
	assert_true(capture->rotation.closing.work.works);
	record_capture_counts(capture, &counts);
	assert_int_equal(counts.events, 2 * EVENTS);
	read_fifo(&reader);
	assert_int_equal(record_capture_close(capture, record_now()), 0);
	pthread_join(reader.thread, NULL);
	count_events(fixture, "read.ptl", times);
	for (size_t i = 0; i < EVENTS; i++)
		assert_int_equal(times[i] + 2 * times[EVENTS + i], 1);
	count_events(fixture, "a.000002.ptl", times);
	for (size_t i = 0; i < EVENTS; i++)
		assert_int_equal(times[i] + 2 * times[EVENTS + i], 3);
}

static void assert_has(const struct fixture *fixture, const char *file, const void *data, size_t size)
{
	struct ptl_trace *trace = open_file(fixture, file);
	uint8_t hash[COMMON_SHA256_SIZE];

	common_sha256_of(data, size, hash);
	assert_non_null(ptl_blob_find(trace, hash));
	ptl_close(trace);
}

/*
 * The next file cannot be opened for a while. Recording continues in the current file, and code of that time is in both
 * files.
 */
static void with_code(void **state, size_t large)
{
	uint8_t *const big = calloc(1, large);
	struct reader reader;
	struct fixture *const fixture = open_slow(&settings, "a.000002.ptl", false, &reader);
	struct record_capture *capture = &fixture->capture;

	*state = fixture;
	assert_non_null(big);
	begin_with(fixture, 1, 0x400000, 10, code, sizeof(code));
	assert_int_equal(record_capture_advance(capture, record_now() + 1), 0);
	assert_non_null(capture->rotation.next);
	begin_with(fixture, 2, 0x500000, 20, "later", 5);
	for (uint8_t i = 1; i <= 2; i++) {
		big[0] = i;
		begin_with(fixture, 2u + i, 0x500000, 20, big, large);
	}
	put_events(fixture, 0);
	assert_int_equal(record_capture_advance(capture, record_now() + 1), 0);
	assert_int_equal(capture->rotation.count, 0);
	read_fifo(&reader);
	rotate(capture);
	assert_int_equal(record_capture_close(capture, record_now()), 0);
	pthread_join(reader.thread, NULL);
	assert_has(fixture, "read.ptl", code, sizeof(code));
	assert_has(fixture, "read.ptl", "later", 5);
	for (uint8_t i = 1; i <= 2; i++) {
		big[0] = i;
		assert_has(fixture, "read.ptl", big, large);
	}
	free(big);
}

static void a_file_that_cannot_be_opened(void **state)
{
	with_code(state, 100);
}

/* more code than is kept in memory */
static void a_file_that_cannot_be_opened_and_much_code(void **state)
{
	with_code(state, (size_t)33 << 20);
}

/*
 * With a bound on all files, the recorder waits for the next file before the current file gets too large; but only
 * while incoming data can wait.
 */
static void a_file_that_would_pass_the_bound(void **state)
{
	struct record_settings bounded = settings;
	struct record_capture *capture;
	struct fixture *fixture;
	struct reader reader;
	uint64_t before;

	bounded.mode = RECORD_MODE_CIRCULAR;
	bounded.part_time = 0;
	bounded.max_size = 8 * 256 * PAYLOAD;
	*state = fixture = open_slow(&bounded, "a.000002.ptl", false, &reader);
	capture = &fixture->capture;
	put_events(fixture, 0);
	assert_int_equal(record_capture_flush(capture), 0);
	assert_int_equal(record_capture_advance(capture, record_now()), 0);
	assert_non_null(capture->rotation.next);
	put_events(fixture, EVENTS);
	assert_int_equal(record_capture_flush(capture), 0);
	before = record_now();
	assert_int_equal(record_capture_advance(capture, before), 0);
	assert_true(record_now() - before >= 10 * MILLISECOND);
	assert_int_equal(capture->rotation.count, 0);
	read_fifo(&reader);
	while (!capture->rotation.count)
		assert_int_equal(record_capture_advance(capture, record_now()), 0);
	assert_int_equal(record_capture_close(capture, record_now()), 0);
	pthread_join(reader.thread, NULL);
}

/* A file in preparation at the end is removed. */
static void a_file_that_was_not_needed(void **state)
{
	struct fixture *fixture = *state;
	char path[160];

	assert_int_equal(record_capture_advance(&fixture->capture, record_now() + 1), 0);
	assert_non_null(fixture->capture.rotation.next);
	assert_int_equal(record_capture_close(&fixture->capture, record_now()), 0);
	ptl_close(open_file(fixture, "a.000001.ptl"));
	name_file(fixture, "a.000002.ptl", path);
	assert_int_not_equal(access(path, F_OK), 0);
}

/* The current file accepts no data, and the oldest file was removed to make room: the next file is kept. */
static void a_file_that_is_all_that_is_left(void **state)
{
	struct record_settings kept = settings;
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	unsigned times[2 * EVENTS] = {0};
	struct record_capture *capture;
	char path[160];

	assert_non_null(fixture);
	*state = fixture;
	make_folder(fixture);
	kept.keep = 2;
	capture = &fixture->capture;
	fixture->base = record_now();
	assert_int_equal(record_capture_open(capture, &kept, fixture->path, &machine), 0);
	assert_int_equal(record_capture_event_stream(capture, &fixture->switches), 0);
	rotate(capture);
	capture->output.failed = true;
	record_rotation_await(capture);
	while (!capture->rotation.next) {
		assert_int_equal(record_capture_advance(capture, record_now() + 2000000000), 0);
		record_rotation_await(capture);
	}
	name_file(fixture, "a.000001.ptl", path);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(record_capture_close(capture, record_now()), 0);
	count_events(fixture, "a.000003.ptl", times);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(begun_after_the_next_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(divided_in_a_guest, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_psb_that_is_stated_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_psb_that_is_stated_early, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_psb_that_is_not_stated, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_psb_in_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_psb_with_an_overflow, set_up, tear_down),
		cmocka_unit_test_teardown(a_file_that_cannot_be_completed, tear_down),
		cmocka_unit_test_teardown(a_file_that_cannot_be_opened, tear_down),
		cmocka_unit_test_teardown(a_file_that_cannot_be_opened_and_much_code, tear_down),
		cmocka_unit_test_teardown(a_file_that_would_pass_the_bound, tear_down),
		cmocka_unit_test_teardown(a_file_that_is_all_that_is_left, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_was_not_needed, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
