/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares the decoding speed of the native engine and libipt's block decoder: same bytes, same code, one thread, one
 * run. libipt runs with its image alone, and with its image section cache as in ptxed.
 *
 *     engine_bench [--json]                        the hardware traces in $PTL_SHARED_TRACES; one of these traces also
 *                                                  with its code in 67 ranges and each packet at a multiple of 16
 *                                                  bytes; and a random program with code in 64 separate ranges
 *     engine_bench [--json] NAME DIRECTORY         a trace as raw bytes: trace.pt, memory.raw, memory.map
 *     engine_bench --pad FROM TO                   writes the padded trace into a directory, for other versions of
 *                                                  this benchmark
 *     engine_bench --first ENGINE DIRECTORY        decodes once and prints the milliseconds: for a fresh process
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/engine_libipt.h"
#include "common/error.h"
#include "common/file.h"
#include "flow/native/decoder.h"
#include "flow/segment/packets.h"

#define ROUNDS 15 /* odd, so that the median is a measured value */
#define FIRST_ROUNDS 9
/* minimum seconds per decoder, until the previous decoder's effects on the CPU's caches fade */
#define LEAST_SECONDS 0.02

struct sums {
	uint64_t instructions, branches, blocks;
	uint64_t mixed; /* mix of all block addresses in order, so that the compiler cannot skip blocks */
};

/* ---- the native engine ------------------------------------------------------------------------------------ */

static void find_code(void *context, uint64_t ip, struct flow_code_range *found)
{
	const struct subject *subject = context;
	uint64_t first = 0;

	for (size_t i = 0; i < subject->range_count; i++) {
		const struct range *range = &subject->ranges[i];

		if (ip < range->base) {
			*found = (struct flow_code_range){first, range->base - 1, NULL, FLOW_NONE, false};
			return;
		}
		if (ip - range->base < range->size) {
			*found = (struct flow_code_range){range->base, range->base + range->size - 1,
							  subject->code + range->offset, (uint32_t)i, false};
			return;
		}
		first = range->base + range->size;
	}
	*found = (struct flow_code_range){first, UINT64_MAX, NULL, FLOW_NONE, false};
}

/*
 * Mixes an address. The result depends on all blocks and their order. A multiplication would take longer than decoding.
 */
static inline uint64_t mix_address(uint64_t mixed, uint64_t ip)
{
	return (mixed << 5 | mixed >> 59) + ip;
}

/* Consumes ordered flow: examines each block. */
static int take_flow_batch(void *context, const struct flow_batch *batch)
{
	struct sums *sums = context;
	uint64_t mixed = sums->mixed;

	for (size_t i = 0; i < batch->run_count; i++)
		for (uint32_t k = 0; k < batch->runs[i]->count; k++)
			mixed = mix_address(mixed, batch->runs[i]->blocks[k]->ip);
	sums->mixed = mixed;
	sums->instructions += batch->instructions;
	sums->branches += batch->branches;
	sums->blocks += batch->block_count;
	return 0;
}

/* Consumes ordered flow by runs, as views do that need no single blocks. */
static int take_runs(void *context, const struct flow_batch *batch)
{
	struct sums *sums = context;

	for (size_t i = 0; i < batch->run_count; i++)
		sums->mixed += (uintptr_t)batch->runs[i];
	sums->instructions += batch->instructions;
	sums->branches += batch->branches;
	sums->blocks += batch->block_count;
	return 0;
}

static void decode_native(struct native_decoder *decoder, const struct subject *subject,
			  int (*consumer)(void *, const struct flow_batch *), struct sums *sums)
{
	const struct flow_sink sink = {.take = consumer, .context = sums};
	size_t at = ptl_pt_find_psb(subject->pt, subject->pt_size, 0);

	while (at < subject->pt_size) {
		size_t next = ptl_pt_find_psb(subject->pt, subject->pt_size, at + PTL_PT_PSB_SIZE);
		struct flow_segment segment = {.offset = at};
		struct flow_engine_input input = {
			.segment = &segment,
			.bytes = subject->pt + at,
			.size = next - at,
			.has_next = next < subject->pt_size,
		};
		struct flow_psb_plus psb_plus;

		if (input.has_next) {
			flow_psb_plus_read(subject->pt + next, subject->pt_size - next, &(struct flow_errata){0},
					   &psb_plus);
			input.next_ip_known = psb_plus.has_ip;
			input.next_ip = psb_plus.ip;
		}
		if (native_decoder_run(decoder, &input, &sink) < 0)
			die("native engine");
		at = next;
	}
}

static void open_native(struct native_decoder *decoder, struct subject *subject)
{
	const struct ptl_machine machine = {.mode = 64};

	if (native_decoder_open(decoder, (struct native_source){find_code, subject}, &machine) < 0)
		die("native engine");
}

/* ---- libipt ------------------------------------------------------------------------------------------------- */

static void decode_libipt(struct libipt *libipt, struct sums *sums)
{
	int status = pt_blk_sync_set(libipt->decoder, 0);

	while (status >= 0) {
		struct pt_block block;

		while (status >= 0 && (status & pts_event_pending)) {
			struct pt_event event;

			status = pt_blk_event(libipt->decoder, &event, sizeof(event));
		}
		if (status < 0)
			break;
		status = pt_blk_next(libipt->decoder, &block, sizeof(block));
		sums->instructions += block.ninsn;
		sums->blocks++;
		sums->mixed = mix_address(sums->mixed, block.ip);
		if (status < 0 && status != -pte_eos)
			status = pt_blk_sync_forward(libipt->decoder);
	}
}

/* ---- measuring ---------------------------------------------------------------------------------------------- */

/* Seconds of one decode, by decoder. */
struct times {
	double native, plain, cached;
};

static void report_times(bool json, const char *what, const char *subject, double bytes, const struct times *times)
{
	double ratio = times->plain / times->native, cached_ratio = times->cached / times->native;

	if (json)
		printf("{\"bench\":\"engine\",\"what\":\"%s\",\"trace\":\"%s\",\"native_mb_s\":%.1f,"
		       "\"libipt_mb_s\":%.2f,\"libipt_cached_mb_s\":%.2f,\"ratio\":%.2f,\"ratio_cached\":%.2f}\n",
		       what, subject, bytes / times->native / 1e6, bytes / times->plain / 1e6,
		       bytes / times->cached / 1e6, ratio, cached_ratio);
	else
		printf("%-34s %-8s %8.1f MB/s %8.2f MB/s %6.1f x %8.2f MB/s %6.1f x\n", what, subject,
		       bytes / times->native / 1e6, bytes / times->plain / 1e6, ratio, bytes / times->cached / 1e6,
		       cached_ratio);
}

/* All decoders of a subject. */
struct decoders {
	struct subject *subject;
	struct native_decoder native;
	struct libipt plain, cached;
	struct sums sums;
};

static void run_blocks(struct decoders *decoders)
{
	decode_native(&decoders->native, decoders->subject, take_flow_batch, &decoders->sums);
}

static void run_runs(struct decoders *decoders)
{
	decode_native(&decoders->native, decoders->subject, take_runs, &decoders->sums);
}

static void run_plain(struct decoders *decoders)
{
	decode_libipt(&decoders->plain, &decoders->sums);
}

static void run_cached(struct decoders *decoders)
{
	decode_libipt(&decoders->cached, &decoders->sums);
}

/* Returns the seconds of one decode, averaged over at least LEAST_SECONDS. */
static double seconds_of(void (*decode)(struct decoders *), struct decoders *decoders)
{
	double start = bench_now(CLOCK_THREAD_CPUTIME_ID), seconds;
	unsigned count = 0;

	do {
		decode(decoders);
		count++;
		seconds = bench_now(CLOCK_THREAD_CPUTIME_ID) - start;
	} while (seconds < LEAST_SECONDS);
	return seconds / count;
}

/* Measures native engine and libipt alternately, so that changes of the machine's speed affect both. */
static void measure_steady(struct subject *subject, bool json)
{
	static void (*const decodes[])(struct decoders *) = {run_runs, run_blocks, run_plain, run_cached};
	double seconds[4][ROUNDS];
	struct decoders decoders = {.subject = subject};
	struct times times;

	open_native(&decoders.native, subject);
	open_libipt(&decoders.plain, subject, false);
	open_libipt(&decoders.cached, subject, true);
	for (size_t i = 0; i < ROUNDS; i++)
		for (size_t k = 0; k < 4; k++)
			seconds[k][i] = seconds_of(decodes[k], &decoders);
	times = (struct times){0, bench_median(seconds[2], ROUNDS), bench_median(seconds[3], ROUNDS)};
	times.native = bench_median(seconds[0], ROUNDS);
	report_times(json, "steady, ordered runs", subject->name, (double)subject->pt_size, &times);
	times.native = bench_median(seconds[1], ROUNDS);
	report_times(json, "steady, every block looked at", subject->name, (double)subject->pt_size, &times);
	native_decoder_close(&decoders.native);
	close_libipt(&decoders.plain);
	close_libipt(&decoders.cached);
}

/* Returns the seconds of the first decode in this process. */
static double decode_once(struct subject *subject, const char *engine)
{
	struct native_decoder decoder;
	struct libipt libipt;
	struct sums sums = {0};
	double start = bench_now(CLOCK_THREAD_CPUTIME_ID);

	if (!strcmp(engine, "native")) {
		open_native(&decoder, subject);
		decode_native(&decoder, subject, take_runs, &sums);
	} else {
		open_libipt(&libipt, subject, !strcmp(engine, "cached"));
		decode_libipt(&libipt, &sums);
	}
	return bench_now(CLOCK_THREAD_CPUTIME_ID) - start;
}

static double run_fresh(const char *self, const char *engine, const char *directory)
{
	char command[8192];
	double seconds = 0;
	FILE *output;

	snprintf(command, sizeof(command), "'%s' --first %s '%s'", self, engine, directory);
	output = popen(command, "r");
	if (!output || fscanf(output, "%lf", &seconds) != 1 || pclose(output) != 0)
		die("a fresh process");
	return seconds;
}

static void measure_first(const char *self, const struct subject *subject, bool json)
{
	static const char *const engines[] = {"native", "plain", "cached"};
	double seconds[3][FIRST_ROUNDS];
	struct times times;

	for (size_t i = 0; i < FIRST_ROUNDS; i++)
		for (size_t k = 0; k < 3; k++)
			seconds[k][i] = run_fresh(self, engines[k], subject->directory);
	times = (struct times){bench_median(seconds[0], FIRST_ROUNDS), bench_median(seconds[1], FIRST_ROUNDS),
			       bench_median(seconds[2], FIRST_ROUNDS)};
	report_times(json, "first decode in a fresh process", subject->name, (double)subject->pt_size, &times);
}

static int measure_raw(const char *name, const char *directory, bool json)
{
	struct subject subject = {.name = name, .directory = directory};
	char self[4096];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (size < 0)
		die("/proc/self/exe");
	self[size] = 0;
	load_subject(&subject);
	measure_steady(&subject, json);
	measure_first(self, &subject, json);
	return 0;
}

static void measure_random(bool json)
{
	struct subject subject = {.name = "random"};

	make_subject(&subject);
	measure_steady(&subject, json);
}

static uint64_t count_instructions(struct subject *subject)
{
	struct native_decoder decoder;
	struct sums sums = {0};

	open_native(&decoder, subject);
	decode_native(&decoder, subject, take_runs, &sums);
	native_decoder_close(&decoder);
	return sums.instructions;
}

static void measure_padded(const char *directory, bool json)
{
	struct subject subject = {.name = "padded", .directory = directory};
	uint64_t instructions;

	load_subject(&subject);
	instructions = count_instructions(&subject);
	split_code(&subject);
	pad_packets(&subject);
	if (count_instructions(&subject) != instructions) {
		fprintf(stderr, "engine_bench: padding has changed the flow\n");
		exit(1);
	}
	measure_steady(&subject, json);
}

/* Measures the traces of real hardware, if available. */
static void measure_hardware(bool json)
{
	static const char *const names[] = {"mruby", "foo"};
	const char *folder = getenv("PTL_SHARED_TRACES");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder ? folder : "../shared/traces", names[i]);
		if (access(path, R_OK) == 0) {
			measure_raw(names[i], path, json);
			if (i == 0)
				measure_padded(path, json);
		} else {
			fprintf(stderr, "engine_bench: skipped: no hardware trace in %s\n", path);
		}
	}
}

int main(int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");

	argv += json;
	argc -= json;
	if (argc == 4 && !strcmp(argv[1], "--first")) {
		struct subject subject = {.directory = argv[3]};

		load_subject(&subject);
		printf("%.9f\n", decode_once(&subject, argv[2]));
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "--pad"))
		return write_padded(argv[2], argv[3]);
	if (argc == 3)
		return measure_raw(argv[1], argv[2], json);
	if (argc != 1) {
		fprintf(stderr, "usage: engine_bench [--json] [NAME DIRECTORY]\n"
				"       engine_bench --pad FROM TO\n");
		return 2;
	}
	if (!json)
		printf("%-34s %-8s %13s %22s %22s\n", "one thread, CPU time", "trace", "native", "libipt",
		       "libipt with cache");
	measure_hardware(json);
	measure_random(json);
	return 0;
}
