/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Folds stacks of any kind and order. Folds of any parts merge into the fold of the whole, node by node. The report
 * counts for each function the samples that contain the function, as counted in the stacks.
 * Input: samples of u8 thread and number of functions, u8 period, and u8 per function.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "analysis/call/call_report.h"
#include "analysis/sample/sample_fold.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_LIMIT 2048
#define FUNCTIONS 8
#define THREADS 4

static void need(bool holds)
{
	if (!holds)
		abort();
}

struct world {
	struct ptl_trace *trace;
	struct analysis_calls calls;
	uint32_t numbers[FUNCTIONS];
};

static void open_world(struct world *world)
{
	const struct ptl_machine machine = {
		.source = "fuzz", .mode = 64, .clock = PTL_CLOCK_MONOTONIC, .tsc_multiplier = 1};
	const int fd = memfd_create("trace", MFD_CLOEXEC);
	struct analysis_calls *calls = &world->calls;
	struct ptl_writer *writer;

	need(ptl_writer_open(dup(fd), NULL, &writer) == 0 && ptl_writer_machine(writer, &machine) == 0 &&
	     ptl_writer_close(writer) == 0 && ptl_open_fd(fd, "fuzz", NULL, &world->trace) == 0 &&
	     flow_timeline_build(world->trace, &calls->timeline) == 0 &&
	     flow_symbols_open(world->trace, calls->timeline, true, &calls->symbols) == 0 &&
	     analysis_functions_open(calls->timeline, calls->symbols, &calls->functions) == 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		need(analysis_functions_nameless(calls->functions, FLOW_NONE, FLOW_NONE, 0x1000u * (i + 1),
						 &world->numbers[i]) == 0);
}

static void close_world(struct world *world)
{
	analysis_functions_close(world->calls.functions);
	flow_symbols_close(world->calls.symbols);
	flow_timeline_free(world->calls.timeline);
	ptl_close(world->trace);
}

/* Returns the next sample, with `count` functions; NULL after the last sample. */
static const uint8_t *next_sample(const uint8_t *data, const uint8_t *end, size_t *count)
{
	if (end - data < 3)
		return NULL;
	*count = data[0] / THREADS;
	if (*count > (size_t)(end - data - 2))
		*count = (size_t)(end - data - 2);
	*count += !*count;
	return data;
}

/* Adds the samples of [data, end). Returns their number. */
static size_t add_samples(const struct world *world, struct analysis_sample_fold *fold, const uint8_t *data,
			  const uint8_t *end)
{
	uint32_t functions[UINT8_MAX], number;
	size_t samples = 0, count;

	for (; (data = next_sample(data, end, &count)); data += 2 + count, samples++) {
		const struct analysis_sample_thread thread = {
			.process = FLOW_NONE, .pid = 7, .tid = data[0] % THREADS, .cpu = PTL_NO_CPU};

		for (size_t i = 0; i < count; i++)
			functions[i] = world->numbers[data[2 + i] % FUNCTIONS];
		need(analysis_sample_thread(fold, &thread, &number) == 0 &&
		     analysis_sample_add(fold, number, functions, count, data[1]) == 0);
	}
	return samples;
}

static void need_same(const struct analysis_sample_fold *a, const struct analysis_sample_fold *b)
{
	need(a->count == b->count && a->thread_count == b->thread_count && a->cut == b->cut);
	need(!a->count || !memcmp(a->nodes, b->nodes, a->count * sizeof(*a->nodes)));
	need(!a->count || !memcmp(a->threads, b->threads, a->thread_count * sizeof(*a->threads)));
}

/* Folds three parts, each of whole samples, and merges the folds. */
static void add_parts(const struct world *world, const uint8_t *data, const uint8_t *end,
		      const struct analysis_sample_fold *whole)
{
	struct analysis_sample_fold sum = {0};
	const uint8_t *from = data;
	size_t count, samples = 0;

	while (next_sample(data, end, &count)) {
		data += 2 + count;
		if (++samples % 3 && next_sample(data, end, &count))
			continue;
		struct analysis_sample_fold part = {0};

		add_samples(world, &part, from, data);
		need(analysis_sample_merge(&sum, &part) == 0);
		analysis_sample_fold_free(&part);
		from = data;
	}
	need_same(&sum, whole);
	analysis_sample_fold_free(&sum);
}

/* Counts a function's samples in the stacks. */
static void count_function(const struct world *world, uint32_t function, const uint8_t *data, const uint8_t *end,
			   struct analysis_report_row *row)
{
	size_t count;

	for (; (data = next_sample(data, end, &count)); data += 2 + count) {
		bool inside = false;

		for (size_t i = 0; i < count; i++)
			inside |= world->numbers[data[2 + i] % FUNCTIONS] == function;
		row->total_instructions += inside;
		row->total_time += inside ? data[1] : 0;
		if (world->numbers[data[2] % FUNCTIONS] == function) {
			row->self_instructions++;
			row->self_time += data[1];
		}
	}
}

static void check_report(struct world *world, struct analysis_sample_fold *fold, const uint8_t *data,
			 const uint8_t *end, size_t samples)
{
	struct analysis_report report = {.by = ANALYSIS_REPORT_FUNCTION, .calls = &world->calls};
	struct analysis_call_observer observer = analysis_report_observer;

	observer.context = &report;
	need(analysis_sample_fold_show(fold, world->calls.timeline, true, &observer) == 0);
	need(report.sum.self_instructions == samples);
	for (size_t i = 0; i < report.count; i++) {
		const struct analysis_report_row *row = &report.rows[i];
		struct analysis_report_row expected = {0};

		count_function(world, row->function, data, end, &expected);
		need(row->total_instructions == expected.total_instructions &&
		     row->self_instructions == expected.self_instructions && row->total_time == expected.total_time &&
		     row->self_time == expected.self_time);
	}
	analysis_report_free(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct analysis_sample_fold whole = {0};
	struct world world = {0};
	size_t samples;

	if (!size || size > SIZE_LIMIT)
		return 0;
	open_world(&world);
	samples = add_samples(&world, &whole, data, data + size);
	add_parts(&world, data, data + size, &whole);
	check_report(&world, &whole, data, data + size, samples);
	analysis_sample_fold_free(&whole);
	close_world(&world);
	return 0;
}
