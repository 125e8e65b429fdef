/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures the container: size of context-switch events, and speed of writing and reading events and PT bytes, compared
 * with plain zstd at the same level on the same bytes.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "bench/bench.h"
#include "common/bytes.h"
#include "common/file.h"

#define LEVEL 3
#define PLAIN_PART (512u << 10) /* plain zstd compresses parts of the size of the writer's buffers */
#define CPUS 4
#define THREADS 200
#define PAYLOAD 24
#define FLAT 40 /* size of ETW's record of a context switch: 16 bytes of header, 24 of payload */

/* ---- the load ------------------------------------------------------------------------------------- */

static double random_unit(void)
{
	return ((double)(bench_random() >> 11) + 1) / 9007199254740993.0;
}

struct cswitch {
	uint64_t time;
	uint32_t cpu;
	uint8_t payload[PAYLOAD];
};

/* A thread has constant habits: frequency and length of runs, priority, wait reason. */
struct thread {
	uint32_t tid;
	uint8_t priority;
	uint8_t wait_reason;
	double mean_run; /* ns */
	double share;    /* cumulative share of all switches */
};

static void make_threads(struct thread threads[THREADS])
{
	double sum = 0;

	for (unsigned i = 0; i < THREADS; i++) {
		threads[i].tid = 400 + 4 * (uint32_t)(bench_random() % 8000);
		threads[i].priority = (uint8_t)(8 + bench_random() % 8);
		threads[i].wait_reason = (uint8_t)(bench_random() % 4 ? 6 : bench_random() % 37);
		threads[i].mean_run = 5000 * pow(60, random_unit());
		sum += 1.0 / (i + 1);
		threads[i].share = sum;
	}
	for (unsigned i = 0; i < THREADS; i++)
		threads[i].share /= sum;
}

static const struct thread *pick(const struct thread threads[THREADS])
{
	const double at = random_unit();
	unsigned i = 0;

	while (i + 1 < THREADS && threads[i].share < at)
		i++;
	return &threads[i];
}

/*
 * Fills the fields of ETW's Thread_V2 CSwitch event. Half of the switches go to the idle thread, as on a machine that
 * is not saturated. Run times are exponential, in whole nanoseconds. One switch in ten is a preemption.
 */
static void fill_switch(struct cswitch *event, const struct thread *old, const struct thread *new)
{
	const bool idle_old = old->tid == 0, preempted = !idle_old && bench_random() % 10 == 0;
	uint8_t *p = event->payload;
	const double wait = new->tid ? -log(random_unit()) * 15 : 0;

	common_store32(p, new->tid);
	common_store32(p + 4, old->tid);
	p[8] = (uint8_t)(new->priority + (new->tid &&bench_random() % 16 == 0 ? 2 : 0));
	p[9] = old->priority;
	p[10] = idle_old ? (uint8_t)(bench_random() % 3) : 0; /* PreviousCState */
	p[11] = 0;
	p[12] = idle_old ? 0 : preempted ? 30 : old->wait_reason;
	p[13] = idle_old || preempted ? 0 : 1;
	p[14] = idle_old ? 2 : preempted ? 1 : 5; /* OldThreadState: running, ready, waiting */
	p[15] = (uint8_t)(event->cpu);
	common_store32(p + 16, (uint32_t)wait);
	common_store32(p + 20, 0);
}

static struct cswitch *make_switches(size_t count)
{
	static const struct thread idle = {.tid = 0, .mean_run = 150000};
	struct thread threads[THREADS];
	const struct thread *running[CPUS];
	uint64_t time[CPUS];
	struct cswitch *events = calloc(count, sizeof(*events));

	if (!events)
		bench_fail("no memory");
	make_threads(threads);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		running[cpu] = &idle;
		time[cpu] = 1000000000;
	}
	for (size_t i = 0; i < count; i++) {
		unsigned cpu = 0;
		const struct thread *next;

		for (unsigned k = 1; k < CPUS; k++)
			if (time[k] < time[cpu])
				cpu = k;
		next = running[cpu]->tid && bench_random() % 2 ? &idle : pick(threads);
		events[i].time = time[cpu];
		events[i].cpu = cpu;
		fill_switch(&events[i], running[cpu], next);
		running[cpu] = next;
		time[cpu] += 500 + (uint64_t)(-log(random_unit()) * next->mean_run);
	}
	return events;
}

/* Makes PT of a program with 500 functions. Each function has its own sequence of TNT and TIP packets; calls repeat. */
static uint8_t *make_pt(size_t size)
{
	enum { FUNCTIONS = 500, MOST = 48 };
	static uint8_t body[FUNCTIONS][MOST];
	unsigned length[FUNCTIONS], at = 0;
	uint8_t *data = malloc(size + 64);
	size_t used = 0, since = 0;

	if (!data)
		bench_fail("no memory");
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		length[f] = 8 + (unsigned)(bench_random() % (MOST - 8));
		for (unsigned i = 0; i < length[f]; i++)
			body[f][i] = (uint8_t)(bench_random() & 0xfe) | 4; /* short TNT */
		body[f][length[f] - 3] = 0x2d;                             /* TIP with two address bytes */
	}
	while (used < size) {
		if (!used || since >= 4096) {
			for (unsigned i = 0; i < 16; i++)
				data[used++] = i % 2 ? 0x82 : 0x02;
			since = 0;
		}
		for (unsigned i = 0; i < length[at] && used < size; i++, since++)
			data[used++] = (uint8_t)(bench_random() % 12 ? body[at][i] : bench_random() | 4);
		at = bench_random() % 3 ? (at * 7 + 1) % FUNCTIONS : (unsigned)(bench_random() % FUNCTIONS);
	}
	return data;
}

/* ---- plain zstd ----------------------------------------------------------------------------------- */

struct plain {
	size_t compressed;
	double write_seconds, read_seconds;
};

static struct plain measure_plain(const uint8_t *data, size_t size, unsigned rounds)
{
	ZSTD_CCtx *compressor = ZSTD_createCCtx();
	ZSTD_DCtx *decompressor = ZSTD_createDCtx();
	const size_t parts = (size + PLAIN_PART - 1) / PLAIN_PART, room = ZSTD_compressBound(PLAIN_PART);
	uint8_t *packed = malloc(parts * room), *back = malloc(PLAIN_PART);
	size_t *sizes = calloc(parts, sizeof(*sizes));
	struct plain result = {.read_seconds = 1e9};
	double start = bench_now(CLOCK_PROCESS_CPUTIME_ID);

	if (!compressor || !decompressor || !packed || !back || !sizes)
		bench_fail("no memory");
	for (size_t i = 0; i < parts; i++) {
		const size_t left = size - i * PLAIN_PART;

		sizes[i] = ZSTD_compressCCtx(compressor, packed + i * room, room, data + i * PLAIN_PART,
					     left < PLAIN_PART ? left : PLAIN_PART, LEVEL);
		if (ZSTD_isError(sizes[i]))
			bench_fail("zstd");
		result.compressed += sizes[i];
	}
	result.write_seconds = bench_now(CLOCK_PROCESS_CPUTIME_ID) - start;
	for (unsigned round = 0; round < rounds; round++) {
		start = bench_now(CLOCK_PROCESS_CPUTIME_ID);
		for (size_t i = 0; i < parts; i++)
			if (ZSTD_isError(
				    ZSTD_decompressDCtx(decompressor, back, PLAIN_PART, packed + i * room, sizes[i])))
				bench_fail("zstd");
		if (bench_now(CLOCK_PROCESS_CPUTIME_ID) - start < result.read_seconds)
			result.read_seconds = bench_now(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	ZSTD_freeCCtx(compressor);
	ZSTD_freeDCtx(decompressor);
	free(packed);
	free(back);
	free(sizes);
	return result;
}

/* ---- libptl --------------------------------------------------------------------------------------- */

static char path[] = "/tmp/ptl-format-bench-XXXXXX";

static struct ptl_writer *open_writer(unsigned threads)
{
	const struct ptl_writer_options options = {.size = sizeof(options), .level = LEVEL, .threads = threads};
	struct ptl_writer *writer;
	const int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	bench_check(ptl_writer_open(fd, &options, &writer), "cannot write");
	return writer;
}

static double write_events(const struct cswitch *events, size_t count, unsigned threads)
{
	static const struct ptl_guid thread_class = PTL_GUID(0x3d6fa8d1, 0xfe05, 0x11d0, 0x9dda, 0x00c04fd7ba7c);
	struct ptl_writer *writer = open_writer(threads);
	struct ptl_stream streams[CPUS];
	struct ptl_event event = {
		.descriptor = {.provider = thread_class, .version = 2, .opcode = 36},
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.payload_size = PAYLOAD,
	};
	const clockid_t clock = threads ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
	const double start = bench_now(clock);

	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		streams[cpu] = (struct ptl_stream){
			.kind = PTL_KIND_EVENTS, .cpu = cpu, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
		bench_check(ptl_writer_stream(writer, &streams[cpu]), "cannot write");
	}
	for (size_t i = 0; i < count; i++) {
		event.time = events[i].time;
		event.cpu = events[i].cpu;
		event.payload = events[i].payload;
		bench_check(ptl_writer_event(writer, streams[event.cpu].id, &event), "cannot write");
	}
	bench_check(ptl_writer_close(writer), "cannot write");
	return bench_now(clock) - start;
}

struct sums {
	uint64_t events, time, bytes;
};

static int add_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct sums *sums = context;

	(void)trace;
	sums->events++;
	sums->time += event->time;
	sums->bytes += common_load32(event->payload) + event->payload[PAYLOAD - 1];
	return 0;
}

static double read_events(size_t count, unsigned rounds)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = add_event};
	double best = 1e9;

	for (unsigned round = 0; round < rounds; round++) {
		struct ptl_trace *trace;
		struct sums sums = {0};
		const double start = bench_now(CLOCK_PROCESS_CPUTIME_ID);

		bench_check(ptl_open(path, NULL, &trace), "cannot read");
		bench_check(ptl_process(trace, NULL, &callbacks, &sums), "cannot read");
		ptl_close(trace);
		if (bench_now(CLOCK_PROCESS_CPUTIME_ID) - start < best)
			best = bench_now(CLOCK_PROCESS_CPUTIME_ID) - start;
		if (sums.events != count)
			bench_fail("events are missing");
	}
	return best;
}

static uint64_t file_size(void)
{
	struct ptl_trace *trace;
	uint64_t size;

	bench_check(ptl_open(path, NULL, &trace), "cannot read");
	size = ptl_trace_size(trace);
	ptl_close(trace);
	return size;
}

static void bench_events(size_t count, unsigned rounds)
{
	struct cswitch *events = make_switches(count);
	uint8_t *flat = malloc(count * FLAT);
	const double megabytes = (double)count * FLAT / 1e6;
	double write_one, write_two, read;
	struct plain plain;

	if (!flat)
		bench_fail("no memory");
	for (size_t i = 0; i < count; i++) {
		uint8_t *p = flat + i * FLAT;

		common_store32(p, 0xc0110002);
		common_store16(p + 4, FLAT);
		common_store16(p + 6, 0x524);
		common_store64(p + 8, events[i].time);
		memcpy(p + 16, events[i].payload, PAYLOAD);
	}
	plain = measure_plain(flat, count * FLAT, rounds);
	write_two = write_events(events, count, 1);
	write_one = write_events(events, count, 0);
	read = read_events(count, rounds);
	bench_report("context switch, .ptl file", (double)file_size() / (double)count, "B/event", "aim: at most 6");
	bench_report("context switch, 40 B records, plain zstd", (double)plain.compressed / (double)count, "B/event",
		     "");
	bench_report("events, writing", (double)count / write_one / 1e6, "Mevent/s", "all in one thread");
	bench_report("events, writing, one worker, wall", (double)count / write_two / 1e6, "Mevent/s", "");
	bench_report("events, plain zstd compression", (double)count / plain.write_seconds / 1e6, "Mevent/s",
		     "of the records, in memory");
	bench_report("events, reading", (double)count / read / 1e6, "Mevent/s", "open, decode, merge, callback, close");
	bench_report("events, plain zstd decompression", (double)count / plain.read_seconds / 1e6, "Mevent/s",
		     "of the records, in memory");
	bench_report("events, reading", megabytes / read, "MB/s", "of 40 B records");
	bench_report("events, reading against plain zstd", 100 * plain.read_seconds / read, "%", "aim: at least 80");
	free(events);
	free(flat);
}

static double write_pt(const uint8_t *data, size_t size, unsigned threads)
{
	struct ptl_stream stream = {.kind = PTL_KIND_PT, .cpu = 0, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct ptl_writer *writer = open_writer(threads);
	const clockid_t clock = threads ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
	const double start = bench_now(clock);

	bench_check(ptl_writer_stream(writer, &stream), "cannot write");
	for (size_t at = 0; at < size; at += 4096) {
		const size_t part = size - at < 4096 ? size - at : 4096;

		bench_check(ptl_writer_bytes(writer, stream.id, data + at, part, at), "cannot write");
	}
	bench_check(ptl_writer_close(writer), "cannot write");
	return bench_now(clock) - start;
}

/* Reads in pieces through the cache, as a decoder reads from PSB to PSB. */
static double read_pt(const uint8_t *data, size_t size, size_t piece, unsigned rounds)
{
	uint8_t *back = malloc(piece);
	double best = 1e9;

	if (!back)
		bench_fail("no memory");
	for (unsigned round = 0; round < rounds; round++) {
		struct ptl_trace *trace;
		size_t at = 0, got;
		uint64_t hole;
		double start = bench_now(CLOCK_PROCESS_CPUTIME_ID);

		bench_check(ptl_open(path, NULL, &trace), "cannot read");
		do {
			bench_check(ptl_stream_read(trace, ptl_buffer_at(trace, 1)->stream.id, at, back, piece, &got,
						    &hole),
				    "cannot read");
			/* Compare in the first round only: comparing takes time. */
			if (!round && memcmp(back, data + at, got) != 0)
				bench_fail("PT bytes differ");
			at += got;
		} while (got);
		ptl_close(trace);
		if (at != size)
			bench_fail("PT bytes are missing");
		if (bench_now(CLOCK_PROCESS_CPUTIME_ID) - start < best)
			best = bench_now(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	free(back);
	return best;
}

static void bench_pt(const uint8_t *data, size_t size, unsigned rounds)
{
	const struct plain plain = measure_plain(data, size, rounds);
	const double one = (write_pt(data, size, 1), write_pt(data, size, 0));
	const double two = write_pt(data, size, 1);
	const double whole = read_pt(data, size, 1 << 20, rounds);
	const double pieces = read_pt(data, size, 4096, rounds);
	const double megabytes = (double)size / 1e6;

	bench_report("PT, .ptl file", 100 * (double)file_size() / (double)size, "%", "of the PT bytes");
	bench_report("PT, plain zstd", 100 * (double)plain.compressed / (double)size, "%", "");
	bench_report("PT, writing", megabytes / one, "MB/s", "all in one thread");
	bench_report("PT, writing, one worker, wall", megabytes / two, "MB/s", "");
	bench_report("PT, plain zstd compression", megabytes / plain.write_seconds, "MB/s", "in memory");
	bench_report("PT, reading 1 MiB at a time", megabytes / whole, "MB/s", "");
	bench_report("PT, reading 4 KiB at a time", megabytes / pieces, "MB/s", "");
	bench_report("PT, plain zstd decompression", megabytes / plain.read_seconds, "MB/s", "in memory");
	bench_report("PT, reading 1 MiB against plain zstd", 100 * plain.read_seconds / whole, "%", "aim: at least 80");
	bench_report("PT, reading 4 KiB against plain zstd", 100 * plain.read_seconds / pieces, "%",
		     "aim: at least 80");
}

int main(int argc, char **argv)
{
	const char *pt_path = NULL;
	bool as_json = false;
	size_t scale = 1, size = 128 << 20;
	uint8_t *pt;
	int fd;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			as_json = true;
		} else if (strcmp(argv[i], "--quick") == 0) {
			scale = 10;
		} else if (strcmp(argv[i], "--pt") == 0 && i + 1 < argc) {
			pt_path = argv[++i];
		} else {
			fprintf(stderr, "usage: format_bench [--json] [--quick] [--pt FILE]\n");
			return 2;
		}
	}
	bench_start("format", as_json);
	fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	close(fd);
	bench_events(2000000 / scale, 5);
	size /= scale;
	if (pt_path)
		bench_check(common_read_file(pt_path, SIZE_MAX / 2, &pt, &size), "cannot read");
	else
		pt = make_pt(size);
	bench_pt(pt, size, 5);
	free(pt);
	unlink(path);
	return 0;
}
