/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures how fast ptl-relog reads .etl files on one core: a file of 1 GB as written by the kernel logger (switches,
 * samples, self-describing events of a provider), and the same with stacks. --size MIB makes smaller files; --json
 * prints JSON lines; --make FILE only writes the first file, or with --stacks the second file.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "common/bytes.h"
#include "common/file.h"
#include "import/etl/file/layout.h"

#define BUFFER 65536u
#define CPUS 4u
#define FREQUENCY 10000000u
#define LOG_HEADER 280u
#define ROUNDS 3
#define FRAMES 12u

static char folder[] = "/tmp/ptl-etl-bench-XXXXXX";
static char in_path[4096], out_path[64];

/* A buffer being filled. */
struct maker {
	int fd;
	uint8_t buffer[BUFFER];
	size_t at;
	uint64_t sequence, ticks, events;
	uint16_t cpu;
	bool stacks;
};

static uint8_t *begin_record(struct maker *maker, size_t size)
{
	uint8_t *event = maker->buffer + maker->at;

	memset(event, 0, size);
	maker->at += (size + 7) & ~(size_t)7;
	maker->events++;
	return event;
}

static void flush_record(struct maker *maker, uint16_t type)
{
	uint8_t *header = maker->buffer;

	memset(header, 0, ETL_BUFFER_HEADER);
	common_store32(header + ETL_BUFFER_SIZE_AT, BUFFER);
	common_store64(header + ETL_BUFFER_SEQUENCE_AT, maker->sequence++);
	common_store16(header + ETL_BUFFER_CPU_AT, maker->cpu);
	common_store32(header + ETL_BUFFER_STATE_AT, 3);
	common_store32(header + ETL_BUFFER_OFFSET_AT, (uint32_t)maker->at);
	common_store16(header + ETL_BUFFER_FLAGS_AT, ETL_BUFFER_PROCESSOR_INDEX);
	common_store16(header + ETL_BUFFER_TYPE_AT, type);
	memset(maker->buffer + maker->at, 0xff, BUFFER - maker->at);
	bench_check(common_write_all(maker->fd, maker->buffer, BUFFER), "cannot write");
	maker->at = ETL_BUFFER_HEADER;
	maker->cpu = (uint16_t)((maker->cpu + 1) % CPUS);
}

static void put_log_header(struct maker *maker)
{
	uint8_t *event = begin_record(maker, ETL_SYSTEM_SIZE + LOG_HEADER + 4), *header = event + ETL_SYSTEM_SIZE;

	event[2] = ETL_SYSTEM64;
	event[3] = ETL_MARK_HEADER | ETL_MARK_EVENT;
	common_store16(event + 4, ETL_SYSTEM_SIZE + LOG_HEADER + 4);
	common_store64(event + 16, maker->ticks);
	common_store32(header, BUFFER);
	common_store32(header + 12, CPUS);
	common_store32(header + 24, 156250);
	common_store32(header + 44, 8);
	common_store64(header + 256, FREQUENCY);
	common_store64(header + 264, 132000000000000000ull);
	common_store32(header + 272, ETL_CLOCK_QPC);
	flush_record(maker, 4);
}

static void put_perfinfo(struct maker *maker, uint16_t hook, const void *payload, size_t size)
{
	uint8_t *event = begin_record(maker, ETL_PERFINFO_SIZE + size);

	common_store16(event, 2);
	event[2] = ETL_PERFINFO64;
	event[3] = ETL_MARK_HEADER | ETL_MARK_EVENT;
	common_store16(event + 4, (uint16_t)(ETL_PERFINFO_SIZE + size));
	common_store16(event + 6, hook);
	common_store64(event + 8, maker->ticks);
	memcpy(event + ETL_PERFINFO_SIZE, payload, size);
}

static void put_stack(struct maker *maker, uint32_t tid)
{
	uint8_t payload[16 + 8 * FRAMES];

	common_store64(payload, maker->ticks);
	common_store32(payload + 8, 400);
	common_store32(payload + 12, tid);
	for (unsigned i = 0; i < FRAMES; i++)
		common_store64(payload + 16 + 8 * i, 0xfffff80000001000ull + (bench_random() & 0xff00));
	put_perfinfo(maker, 0x1820, payload, sizeof(payload));
}

static void put_switch(struct maker *maker, uint64_t random)
{
	uint8_t payload[24] = {0};

	common_store32(payload, 400 + 4 * (random >> 20 & 127));
	common_store32(payload + 4, 400 + 4 * (random >> 30 & 127));
	payload[8] = (uint8_t)(8 + (random >> 40 & 7));
	common_store32(payload + 16, random >> 44 & 15);
	put_perfinfo(maker, 0x0524, payload, sizeof(payload));
	if (maker->stacks)
		put_stack(maker, 400 + 4 * (random >> 20 & 127));
}

static void put_sample(struct maker *maker, uint64_t random)
{
	uint8_t payload[16] = {0};

	common_store64(payload, 0xfffff80000000000ull + (random & 0xffffff));
	common_store32(payload + 8, 400 + 4 * (random >> 30 & 127));
	payload[12] = 1;
	put_perfinfo(maker, 0x0f2e, payload, sizeof(payload));
}

/* Writes a self-describing event with a number, a text and a 64-bit number. */
static void put_described(struct maker *maker, uint64_t random)
{
	static const char description[] = "\x1f\0\0Request\0Id\0\x08Name\0\x01Time\0\x0a";
	static const char payload[] = "\1\0\0\0i\0n\0d\0e\0x\0.\0h\0t\0m\0l\0\0\0\0\0\0\0\0\0\0";
	const size_t items = 8 + 32;
	uint8_t *event = begin_record(maker, ETL_EVENT_SIZE + items + sizeof(payload) - 1);

	common_store16(event, (uint16_t)(ETL_EVENT_SIZE + items + sizeof(payload) - 1));
	event[2] = ETL_EVENT64;
	event[3] = ETL_MARK_HEADER | ETL_MARK_EVENT;
	common_store16(event + 4, ETL_EVENT_EXTENDED);
	common_store32(event + 8, 400 + 4 * (random >> 20 & 127));
	common_store32(event + 12, 400);
	common_store64(event + 16, maker->ticks);
	memset(event + 24, 0x11, 16);
	event[44] = 4;
	common_store16(event + 80, 40);
	common_store16(event + 82, ETL_EXTENDED_SCHEMA);
	common_store16(event + 86, sizeof(description) - 1);
	memcpy(event + 88, description, sizeof(description) - 1);
	memcpy(event + ETL_EVENT_SIZE + items, payload, sizeof(payload) - 1);
	common_store32(event + ETL_EVENT_SIZE + items, (uint32_t)random);
}

static uint64_t make_etl(size_t mebibytes, bool stacks)
{
	static struct maker maker;

	maker = (struct maker){.at = ETL_BUFFER_HEADER, .ticks = 1000000, .stacks = stacks};
	maker.fd = open(in_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (maker.fd < 0)
		bench_fail(in_path);
	put_log_header(&maker);
	while (maker.sequence < mebibytes * ((1u << 20) / BUFFER)) {
		const uint64_t random = bench_random();

		maker.ticks += random % 40;
		if (random >> 60 < 8)
			put_switch(&maker, random);
		else if (random >> 60 < 12)
			put_sample(&maker, random);
		else
			put_described(&maker, random);
		if (maker.at > BUFFER - 512)
			flush_record(&maker, 0);
	}
	close(maker.fd);
	return maker.events;
}

/* Returns the CPU time of ptl-relog on one core. */
static double run_relog(long *kibibytes)
{
	const char *bin = getenv("PTL_BIN");
	char relog[4096], quiet[] = "-q", force[] = "-f", hash[] = "--no-hash", to[] = "-o";
	char *const command[] = {relog, quiet, force, hash, in_path, to, out_path, NULL};
	struct rusage usage;
	cpu_set_t one;
	pid_t child;
	int status;

	snprintf(relog, sizeof(relog), "%s/ptl-relog", bin ? bin : "build/bin");
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	child = fork();
	if (child == 0) {
		sched_setaffinity(0, sizeof(one), &one);
		execv(relog, command);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		bench_fail(relog);
	*kibibytes = usage.ru_maxrss;
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void bench_reading(const char *name, size_t mebibytes, bool stacks)
{
	const uint64_t events = make_etl(mebibytes, stacks);
	double best = 1e9;
	long memory = 0;
	char title[64];

	for (unsigned i = 0; i < ROUNDS; i++) {
		const double seconds = run_relog(&memory);

		if (seconds < best)
			best = seconds;
	}
	bench_report(name, (double)events / best / 1e6, "Mevents/s", "aim: at least 1.5");
	snprintf(title, sizeof(title), "%s, memory", name);
	bench_report(title, (double)memory / 1024, "MiB", "aim: below 256");
	unlink(in_path);
	unlink(out_path);
}

int main(int argc, char **argv)
{
	size_t mebibytes = 1024;
	const char *only = NULL;
	bool as_json = false, stacks = false;

	for (int i = 1; i < argc; i++) {
		as_json |= strcmp(argv[i], "--json") == 0;
		stacks |= strcmp(argv[i], "--stacks") == 0;
		if (strcmp(argv[i], "--size") == 0 && i + 1 < argc)
			mebibytes = strtoul(argv[i + 1], NULL, 0);
		if (strcmp(argv[i], "--make") == 0 && i + 1 < argc)
			only = argv[i + 1];
	}
	bench_start("etl", as_json);
	if (only) {
		snprintf(in_path, sizeof(in_path), "%s", only);
		make_etl(mebibytes, stacks);
		return 0;
	}
	if (!mkdtemp(folder))
		bench_fail(folder);
	snprintf(in_path, sizeof(in_path), "%s/in.etl", folder);
	snprintf(out_path, sizeof(out_path), "%s/out.ptl", folder);
	bench_reading("an .etl file, on one core", mebibytes, false);
	bench_reading("the same with stacks", mebibytes, true);
	rmdir(folder);
	return 0;
}
