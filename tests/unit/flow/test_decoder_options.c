/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of decoders: ranges, CR3, limits, resets, results of batch, and misuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <ptl/decoder.h>

#include "tests/unit/decoder_digest.h"
#include "tests/unit/random_flow.h"

#define PROGRAMS 40
#define STEPS 8000
#define ALL_OUTPUTS (PTL_DECODER_EDGES | PTL_DECODER_FUNCTIONS | PTL_DECODER_HASH | PTL_DECODER_SPACES)

static struct random_flow *program;
static struct ptl_flow_memory memory;
static uint8_t bitmap[DIGEST_BITMAP];
static struct digest seen;

static int setup(void **state)
{
	(void)state;
	program = calloc(1, sizeof(*program));
	return program ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	free(program);
	return 0;
}

static void make(uint64_t seed, unsigned features)
{
	random_flow_make_with(program, seed, STEPS, 1, features);
	memory = (struct ptl_flow_memory){program->base, program->code, program->code_size, "program"};
}

static struct ptl_decoder_options options_with_all(void)
{
	return (struct ptl_decoder_options){
		.size = sizeof(struct ptl_decoder_options),
		.memory = &memory,
		.memory_count = 1,
		.outputs = ALL_OUTPUTS,
		.bitmap = bitmap,
		.bitmap_size = sizeof(bitmap),
		.batch = digest_batch,
		.batch_context = &seen,
	};
}

/* Runs the program often enough that all comes from the engine's memory, and checks each time. */
static void check_rounds(const struct ptl_decoder_options *options, const struct digest *wanted)
{
	struct ptl_decoder_sums sums;
	struct ptl_decoder *decoder;

	assert_int_equal(ptl_decoder_new(options, &decoder), 0);
	for (unsigned round = 0; round < 4; round++) {
		memset(bitmap, 0, sizeof(bitmap));
		seen = (struct digest){.first = wanted->first, .last = wanted->last, .cr3 = wanted->cr3};
		assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &sums), 0);
		digest_check(&seen, decoder, &sums, bitmap);
	}
	ptl_decoder_free(decoder);
}

static struct random_seeds ranged, selected;

static void blocks_of_ranges(void **state)
{
	(void)state;
	ranged = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&ranged)) {
		struct ptl_decoder_options options = options_with_all();
		struct ptl_decoder_range ranges[2];
		struct digest wanted = {0};

		make(ranged.seed, FLOW_ALL & ~FLOW_32);
		wanted.first = program->base + program->code_size / 3;
		wanted.last = program->base + program->code_size * 2 / 3;
		/* Two ranges that are the wanted range. */
		ranges[0] = (struct ptl_decoder_range){wanted.first + 100, wanted.last};
		ranges[1] = (struct ptl_decoder_range){wanted.first, wanted.first + 99};
		options.ranges = ranges;
		options.range_count = 2;
		check_rounds(&options, &wanted);
		assert_true(seen.instructions > 0 && seen.instructions < program->truth_count);
	}
}

static uint64_t first_cr3;

static int find_cr3(void *context, struct ptl_flow_batch *batch)
{
	const struct ptl_flow_item *item;

	(void)context;
	while ((item = ptl_flow_batch_next(batch)) != NULL)
		if (item->event && item->event->kind == PTL_FLOW_PAGING && !first_cr3)
			first_cr3 = item->event->value & ~(uint64_t)0x1f;
	return 0;
}

/* The spaces have all instructions. */
static void check_spaces(const struct ptl_decoder *decoder, const struct ptl_decoder_sums *sums)
{
	size_t count;
	const struct ptl_decoder_space *spaces = ptl_decoder_spaces(decoder, &count);
	uint64_t instructions = 0, blocks = 0, branches = 0;

	assert_true(count > 0);
	for (size_t i = 0; i < count; i++) {
		instructions += spaces[i].instructions;
		blocks += spaces[i].blocks;
		branches += spaces[i].branches;
		for (size_t k = 0; k < i; k++)
			assert_true(spaces[k].cr3 != spaces[i].cr3);
	}
	assert_int_equal(instructions, sums->instructions);
	assert_int_equal(blocks, sums->blocks);
	assert_int_equal(branches, sums->branches);
}

static uint64_t instructions_of(const struct ptl_decoder *decoder, uint64_t cr3)
{
	size_t count;
	const struct ptl_decoder_space *spaces = ptl_decoder_spaces(decoder, &count);

	for (size_t i = 0; i < count; i++)
		if (spaces[i].cr3 == cr3)
			return spaces[i].instructions;
	return 0;
}

static void flow_of_a_cr3(void **state)
{
	size_t tried = 0;

	(void)state;
	selected = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&selected)) {
		struct ptl_decoder_options options = options_with_all();
		struct ptl_decoder_sums sums;
		struct ptl_decoder *decoder;
		struct digest wanted = {0};
		uint64_t instructions;

		make(selected.seed, FLOW_EVENTS | FLOW_DEFERRED);
		first_cr3 = 0;
		options.batch = find_cr3;
		assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
		assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &sums), 0);
		check_spaces(decoder, &sums);
		instructions = instructions_of(decoder, first_cr3);
		ptl_decoder_free(decoder);
		if (!first_cr3)
			continue;
		tried++;
		options.batch = digest_batch;
		wanted.cr3 = options.cr3 = first_cr3;
		check_rounds(&options, &wanted);
		assert_int_equal(seen.instructions, instructions);
	}
	assert_true(tried > 0);
}

/* A segment above the limit is a gap; nothing is lost without a count. */
static void segments_above_the_limit(void **state)
{
	struct ptl_decoder_options options;
	struct ptl_decoder_sums sums, pieces;
	struct ptl_decoder *decoder;

	(void)state;
	make(1, 0);
	options = options_with_all();
	options.segment_limit = 200;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &sums), 0);
	assert_true(sums.gaps > 0 && sums.instructions < program->truth_count && sums.instructions > 0);
	for (size_t at = 0; at < program->pt_size; at++)
		assert_int_equal(ptl_decoder_feed(decoder, program->pt + at, 1), 0);
	assert_int_equal(ptl_decoder_end(decoder, &pieces), 0);
	assert_memory_equal(&sums, &pieces, offsetof(struct ptl_decoder_sums, first_edge));
	assert_true(ptl_decoder_memory(decoder) < (size_t)64 << 20);
	ptl_decoder_free(decoder);
}

/* A dropped execution leaves nothing: no counts, no edges, no state. */
static void resets(void **state)
{
	struct ptl_decoder_options options;
	struct ptl_decoder_sums first, again;
	struct ptl_decoder *decoder;
	size_t count, edges;

	(void)state;
	make(3, FLOW_ALL & ~FLOW_32);
	options = options_with_all();
	options.bitmap = NULL;
	options.bitmap_size = 0;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_feed(decoder, program->pt, program->pt_size / 2), 0);
	ptl_decoder_reset(decoder);
	ptl_decoder_edges(decoder, &count);
	assert_int_equal(count, 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &first), 0);
	assert_int_equal(first.first_edge, 0);
	ptl_decoder_edges(decoder, &edges);
	assert_true(edges > 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &again), 0);
	assert_int_equal(again.first_edge, edges);
	assert_memory_equal(&first, &again, offsetof(struct ptl_decoder_sums, first_edge));
	for (size_t i = 0; i < edges; i++)
		assert_int_equal(ptl_decoder_edges(decoder, &count)[i].total,
				 2 * ptl_decoder_edges(decoder, &count)[i].count);
	ptl_decoder_reset(decoder);
	assert_int_equal(ptl_decoder_end(decoder, &again), 0);
	assert_int_equal(again.blocks, 0);
	ptl_decoder_free(decoder);
}

/* Lost packets end the flow, and are a gap. */
static void lost_packets(void **state)
{
	struct ptl_decoder_options options;
	struct ptl_decoder_sums sums;
	struct ptl_decoder *decoder;
	const size_t half = 500;

	(void)state;
	make(5, 0);
	options = options_with_all();
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_true(program->pt_size > 2 * half);
	assert_int_equal(ptl_decoder_feed(decoder, program->pt, half), 0);
	assert_int_equal(ptl_decoder_lost(decoder, 100), 0);
	assert_int_equal(ptl_decoder_feed(decoder, program->pt + half + 100, program->pt_size - half - 100), 0);
	assert_int_equal(ptl_decoder_end(decoder, &sums), 0);
	assert_true(sums.gaps >= 2 && sums.gap_bytes >= 100);
	assert_true(sums.instructions > 0 && sums.instructions < program->truth_count);
	ptl_decoder_free(decoder);
}

static int stop_with(void *context, struct ptl_flow_batch *batch)
{
	(void)batch;
	return *(int *)context;
}

static void results_of_batch(void **state)
{
	struct ptl_decoder_options options;
	struct ptl_decoder *decoder;
	int result = PTL_CANCELLED;
	struct ptl_decoder_sums sums;

	(void)state;
	make(7, 0);
	options = options_with_all();
	options.batch = stop_with;
	options.batch_context = &result;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, NULL), PTL_CANCELLED);
	result = 1;
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, NULL), PTL_MISUSE);
	result = 0;
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &sums), 0);
	assert_int_equal(sums.instructions, program->truth_count);
	ptl_decoder_free(decoder);
}

/* Blocks as arrays equal blocks one by one. */
static int compare_arrays(void *context, struct ptl_flow_batch *batch)
{
	static uint64_t ip[64], last_ip[64], target[64], time[64];
	static uint32_t instructions[64], bytes[64], image[64];
	static uint8_t branch[64], mode[64];
	const struct ptl_flow_arrays arrays = {.size = sizeof(arrays),
					       .ip = ip,
					       .last_ip = last_ip,
					       .target = target,
					       .time = time,
					       .instructions = instructions,
					       .bytes = bytes,
					       .image = image,
					       .branch = branch,
					       .mode = mode};
	const struct ptl_flow_item *item;
	struct ptl_flow_block block = {0};
	size_t count;

	do {
		while ((count = ptl_flow_batch_arrays(batch, &arrays, 64)) != 0) {
			for (size_t i = 0; i < count; i++) {
				block = (struct ptl_flow_block){.ip = ip[i],
								.last_ip = last_ip[i],
								.target = target[i],
								.instructions = instructions[i],
								.size = bytes[i],
								.image = image[i],
								.branch = branch[i],
								.mode = mode[i]};
				digest_item(context, &(struct ptl_flow_item){.block = &block, .time = time[i]});
			}
		}
		item = ptl_flow_batch_next(batch);
		if (item)
			digest_item(context, item);
	} while (item);
	return 0;
}

static void blocks_as_arrays(void **state)
{
	struct ptl_decoder_options options;
	struct ptl_decoder *decoder;
	struct digest one = {0}, other = {0};

	(void)state;
	make(9, FLOW_CLOCK | FLOW_TIMING);
	options = options_with_all();
	options.batch_context = &one;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, NULL), 0);
	ptl_decoder_free(decoder);
	options.batch = compare_arrays;
	options.batch_context = &other;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, NULL), 0);
	ptl_decoder_free(decoder);
	assert_true(one.blocks > 0);
	assert_int_equal(one.items, other.items);
}

static void misuse(const struct ptl_decoder_options *options, int status)
{
	struct ptl_decoder *decoder = (struct ptl_decoder *)options;

	assert_int_equal(ptl_decoder_new(options, &decoder), status);
	assert_null(decoder);
}

static bool read_nothing(void *context, uint64_t address, void *bytes, size_t size)
{
	(void)context;
	(void)address;
	(void)bytes;
	(void)size;
	return false;
}

static bool read_no_space(void *context, uint64_t space, uint64_t address, void *bytes, size_t size)
{
	(void)space;
	return read_nothing(context, address, bytes, size);
}

static void wrong_options(void **state)
{
	const struct ptl_decoder_range backwards = {5, 4};
	struct ptl_flow_memory wraps = {UINT64_MAX, "ab", 2, NULL};
	struct ptl_decoder_options options;
	struct ptl_decoder *decoder, *fork;

	(void)state;
	make(1, 0);
	misuse(NULL, PTL_MISUSE);
	options = options_with_all();
	options.size = 0;
	misuse(&options, PTL_MISUSE);
	options = options_with_all();
	options.bitmap_size = 100;
	misuse(&options, PTL_MISUSE);
	options.bitmap_size = 32;
	misuse(&options, PTL_MISUSE);
	options = options_with_all();
	options.outputs = 0x100;
	misuse(&options, PTL_UNSUPPORTED);
	options = options_with_all();
	options.ranges = &backwards;
	options.range_count = 1;
	misuse(&options, PTL_MISUSE);
	options.range_count = 65;
	misuse(&options, PTL_MISUSE);
	options = options_with_all();
	options.memory = &wraps;
	misuse(&options, PTL_MISUSE);
	options = options_with_all();
	options.read = read_nothing;
	options.read_space = read_no_space;
	misuse(&options, PTL_MISUSE);
	options = options_with_all();
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_switch(decoder, 1), PTL_MISUSE);
	assert_int_equal(ptl_decoder_fork(decoder, &options, &fork), PTL_MISUSE);
	assert_null(fork);
	assert_int_equal(ptl_decoder_feed(decoder, NULL, 1), PTL_MISUSE);
	assert_int_equal(ptl_decoder_feed(decoder, NULL, 0), 0);
	assert_int_equal(ptl_decoder_change(decoder, UINT64_MAX, 2), PTL_MISUSE);
	assert_int_equal(ptl_decoder_code(decoder, &wraps), PTL_MISUSE);
	ptl_decoder_free(decoder);
	ptl_decoder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_ranges),
		cmocka_unit_test(flow_of_a_cr3),
		cmocka_unit_test(segments_above_the_limit),
		cmocka_unit_test(resets),
		cmocka_unit_test(lost_packets),
		cmocka_unit_test(results_of_batch),
		cmocka_unit_test(blocks_as_arrays),
		cmocka_unit_test(wrong_options),
	};
	int failed = cmocka_run_group_tests(tests, setup, teardown);

	random_flow_report(&ranged);
	random_flow_report(&selected);
	return failed;
}
