/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measures decoders of ptl/decoder.h in a fuzzer's pattern: the same packets again and again, one thread, beside libipt's
 * block decoder (with its image section cache) that counts edges in a bitmap. The traces are those of engine_bench.c.
 *
 *     decoder_bench [--json]                    the hardware traces in $PTL_SHARED_TRACES
 *     decoder_bench [--json] NAME DIRECTORY     trace.pt, memory.raw, memory.map
 *
 * libxdc, a decoder for fuzzers, is not in Debian. docs/figures.md has libxdc's figures of another run.
 */
#include <ptl/decoder.h>

#include <unistd.h>

#include "bench/bench.h"
#include "bench/engine_libipt.h"

#define ROUNDS 15 /* odd, so that the median is a measured value */
#define LEAST_SECONDS 0.02
#define BITMAP_SIZE (1u << 16)
#define ARRAY_ROOM (1u << 14)

static uint8_t bitmap[BITMAP_SIZE];
static uint64_t mixed; /* keeps the compiler from leaving blocks out */

/* ---- consumers of flow in order --------------------------------------------------------------------------- */

static int take_runs(void *context, struct ptl_flow_batch *batch)
{
	uint64_t generation, mix = mixed;
	size_t count;
	const struct ptl_flow_run *const *runs = ptl_flow_batch_runs(batch, &count, &generation);

	(void)context;
	for (size_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < runs[i]->count; k++) {
			const struct ptl_flow_block *block = runs[i]->blocks[k];

			mix = (mix << 5 | mix >> 59) + block->ip + block->instructions + block->branch;
		}
	}
	mixed = mix;
	return 0;
}

static int take_arrays(void *context, struct ptl_flow_batch *batch)
{
	static uint64_t ip[ARRAY_ROOM];
	static uint32_t instructions[ARRAY_ROOM];
	static uint8_t branch[ARRAY_ROOM];
	const struct ptl_flow_arrays arrays = {
		.size = sizeof(arrays), .ip = ip, .instructions = instructions, .branch = branch, .over_events = true};
	size_t count;

	(void)context;
	while ((count = ptl_flow_batch_arrays(batch, &arrays, ARRAY_ROOM)) != 0)
		mixed += ip[count - 1] + instructions[0] + branch[count / 2];
	return 0;
}

/* ---- what is measured ------------------------------------------------------------------------------------- */

struct measured {
	const char *name;
	unsigned outputs;
	bool bitmap;
	int (*batch)(void *context, struct ptl_flow_batch *batch);
	struct ptl_decoder *decoder;
	double seconds[ROUNDS];
};

static struct measured outputs[] = {
	{.name = "sums"},
	{.name = "edges in a bitmap", .bitmap = true},
	{.name = "exact edges", .outputs = PTL_DECODER_EDGES},
	{.name = "functions", .outputs = PTL_DECODER_FUNCTIONS},
	{.name = "hash", .outputs = PTL_DECODER_HASH},
	{.name = "ordered runs, every block read", .batch = take_runs},
	{.name = "ordered arrays", .batch = take_arrays},
};

#define OUTPUTS (sizeof(outputs) / sizeof(outputs[0]))

static struct ptl_decoder *open_decoder(const struct subject *subject, const struct measured *output)
{
	struct ptl_flow_memory memory[RANGES_MAX];
	struct ptl_decoder_options options = {
		.size = sizeof(options),
		.memory = memory,
		.memory_count = subject->range_count,
		.outputs = output->outputs,
		.bitmap = output->bitmap ? bitmap : NULL,
		.bitmap_size = output->bitmap ? BITMAP_SIZE : 0,
		.batch = output->batch,
	};
	struct ptl_decoder *decoder;

	for (size_t i = 0; i < subject->range_count; i++)
		memory[i] = (struct ptl_flow_memory){subject->ranges[i].base, subject->code + subject->ranges[i].offset,
						     subject->ranges[i].size, NULL};
	if (ptl_decoder_new(&options, &decoder) < 0)
		die("decoder");
	return decoder;
}

static void run_decoder(struct ptl_decoder *decoder, const struct subject *subject)
{
	struct ptl_decoder_sums sums;

	if (ptl_decoder_run(decoder, subject->pt, subject->pt_size, &sums) < 0)
		die("decoder");
	mixed += sums.instructions;
}

/* Counts the edges of libipt's blocks. */
static void run_libipt(struct libipt *libipt)
{
	int status = pt_blk_sync_set(libipt->decoder, 0);
	uint64_t last = 0;

	while (status >= 0) {
		struct pt_block block;

		while (status >= 0 && (status & pts_event_pending)) {
			struct pt_event event;

			status = pt_blk_event(libipt->decoder, &event, sizeof(event));
		}
		if (status < 0)
			break;
		status = pt_blk_next(libipt->decoder, &block, sizeof(block));
		bitmap[ptl_decoder_bitmap_index(last, block.ip, BITMAP_SIZE)]++;
		last = block.ip;
		if (status < 0 && status != -pte_eos)
			status = pt_blk_sync_forward(libipt->decoder);
	}
}

/* Returns the seconds of one execution, averaged over at least LEAST_SECONDS. decoder NULL: libipt. */
static double seconds_of(struct ptl_decoder *decoder, struct libipt *libipt, const struct subject *subject)
{
	double start = bench_now(CLOCK_THREAD_CPUTIME_ID), seconds;
	unsigned count = 0;

	do {
		if (decoder)
			run_decoder(decoder, subject);
		else
			run_libipt(libipt);
		count++;
		seconds = bench_now(CLOCK_THREAD_CPUTIME_ID) - start;
	} while (seconds < LEAST_SECONDS);
	return seconds / count;
}

static void report(bool json, const struct subject *subject, const char *what, double seconds, double libipt)
{
	const double speed = (double)subject->pt_size / seconds / 1e6;

	if (json)
		printf("{\"bench\":\"decoder\",\"what\":\"%s\",\"trace\":\"%s\",\"mb_s\":%.1f,\"executions_s\":%.0f,"
		       "\"ratio_libipt\":%.2f}\n",
		       what, subject->name, speed, 1 / seconds, libipt / seconds);
	else
		printf("%-34s %-8s %8.1f MB/s %9.0f executions/s %7.1f x\n", what, subject->name, speed, 1 / seconds,
		       libipt / seconds);
}

/* The first execution of a new decoder, as a fuzzer's start has it. */
static double first_execution(const struct subject *subject)
{
	const double start = bench_now(CLOCK_THREAD_CPUTIME_ID);
	struct ptl_decoder *decoder = open_decoder(subject, &outputs[1]);
	double seconds;

	run_decoder(decoder, subject);
	seconds = bench_now(CLOCK_THREAD_CPUTIME_ID) - start;
	ptl_decoder_free(decoder);
	return seconds;
}

/* Measures all outputs and libipt alternately, so that changes of the machine's speed affect all of them. */
static void measure(struct subject *subject, bool json)
{
	double libipt_seconds[ROUNDS], first[ROUNDS], libipt;
	struct libipt block_decoder;

	load_subject(subject);
	open_libipt(&block_decoder, subject, true);
	for (size_t k = 0; k < OUTPUTS; k++)
		outputs[k].decoder = open_decoder(subject, &outputs[k]);
	for (size_t i = 0; i < ROUNDS; i++) {
		libipt_seconds[i] = seconds_of(NULL, &block_decoder, subject);
		first[i] = first_execution(subject);
		for (size_t k = 0; k < OUTPUTS; k++)
			outputs[k].seconds[i] = seconds_of(outputs[k].decoder, NULL, subject);
	}
	libipt = bench_median(libipt_seconds, ROUNDS);
	report(json, subject, "libipt, edges in a bitmap", libipt, libipt);
	report(json, subject, "first execution, edges in a bitmap", bench_median(first, ROUNDS), libipt);
	for (size_t k = 0; k < OUTPUTS; k++) {
		report(json, subject, outputs[k].name, bench_median(outputs[k].seconds, ROUNDS), libipt);
		ptl_decoder_free(outputs[k].decoder);
	}
	close_libipt(&block_decoder);
}

int main(int argc, char **argv)
{
	const bool json = argc > 1 && !strcmp(argv[1], "--json");
	const char *traces = getenv("PTL_SHARED_TRACES");
	static const char *const names[] = {"mruby", "foo"};
	char path[4096];

	argc -= json;
	argv += json;
	if (argc == 3) {
		measure(&(struct subject){.name = argv[1], .directory = argv[2]}, json);
		return 0;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s/trace.pt", traces ? traces : "", names[i]);
		if (access(path, R_OK)) {
			fprintf(stderr, "decoder_bench: there is no %s (TRACES=FOLDER)\n", path);
			continue;
		}
		path[strlen(path) - strlen("/trace.pt")] = 0;
		measure(&(struct subject){.name = names[i], .directory = path}, json);
	}
	return 0;
}
