/* SPDX-License-Identifier: BSD-2-Clause */
/* Decoders of ptl/decoder.h against ptl_flow_open_raw, with random programs, in pieces of all sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <ptl/decoder.h>

#include "tests/unit/decoder_digest.h"
#include "tests/unit/random_flow.h"

#define PROGRAMS 60
#define STEPS 8000
#define ALL_OUTPUTS (PTL_DECODER_EDGES | PTL_DECODER_FUNCTIONS | PTL_DECODER_HASH)

static uint8_t bitmap[DIGEST_BITMAP];

static const struct ptl_machine timed = {
	.source = "test", .clock = PTL_CLOCK_PERF, .mode = 64, .tsc_multiplier = 1, .return_compression = true};

/* A program, and all that its decoder needs. */
struct subject {
	struct random_flow *program;
	struct ptl_machine machine;
	struct ptl_flow_memory memory;
	struct digest expected;
	struct digest seen;
};

static struct ptl_decoder_options options_of(struct subject *subject)
{
	return (struct ptl_decoder_options){
		.size = sizeof(struct ptl_decoder_options),
		.machine = &subject->machine,
		.memory = &subject->memory,
		.memory_count = 1,
		.outputs = ALL_OUTPUTS,
		.bitmap = bitmap,
		.bitmap_size = sizeof(bitmap),
		.batch = digest_batch,
		.batch_context = &subject->seen,
	};
}

static void expect(struct subject *subject, const uint8_t *pt, size_t size)
{
	const struct ptl_flow_raw raw = {
		.size = sizeof(raw),
		.pt = pt,
		.pt_size = size,
		.memory = &subject->memory,
		.memory_count = 1,
		.machine = &subject->machine,
	};

	subject->expected = (struct digest){
		.first = subject->expected.first, .last = subject->expected.last, .cr3 = subject->expected.cr3};
	digest_flow(&subject->expected, &raw);
}

static void make_subject(struct subject *subject, uint64_t seed)
{
	struct random_flow *program = subject->program;

	random_flow_make_with(program, seed, STEPS, 1, seed % 2 ? FLOW_ALL | FLOW_MODERN | FLOW_POPS : FLOW_CLOCK);
	subject->machine = timed;
	subject->machine.mode = (uint8_t)program->mode;
	subject->memory = (struct ptl_flow_memory){program->base, program->code, program->code_size, "program"};
	subject->expected = (struct digest){0};
}

static void open_subject(struct subject *subject)
{
	*subject = (struct subject){.program = malloc(sizeof(*subject->program))};
	assert_non_null(subject->program);
}

/* Clears what an execution adds to. */
static void clear_seen(struct subject *subject)
{
	subject->seen = (struct digest){0};
	memset(bitmap, 0, sizeof(bitmap));
}

static void check_seen(const struct subject *subject, const struct ptl_decoder *decoder,
		       const struct ptl_decoder_sums *sums)
{
	assert_int_equal(subject->seen.items, subject->expected.items);
	digest_check(&subject->expected, decoder, sums, bitmap);
}

/* Feeds packets in pieces of `piece` bytes; 0: of random sizes. flush: decodes each piece at once. */
static void feed_pieces(struct ptl_decoder *decoder, const uint8_t *pt, size_t size, size_t piece,
			struct pt_random *random, bool flush)
{
	while (size) {
		size_t part = piece ? piece : pt_random_below(random, 700);

		part = part < size ? part : size;
		assert_int_equal(ptl_decoder_feed(decoder, pt, part), 0);
		if (flush)
			assert_int_equal(ptl_decoder_flush(decoder), 0);
		pt += part;
		size -= part;
	}
}

static void run_pieces(struct subject *subject, struct ptl_decoder *decoder, const uint8_t *pt, size_t size,
		       size_t piece, struct pt_random *random)
{
	struct ptl_decoder_sums sums;

	clear_seen(subject);
	feed_pieces(decoder, pt, size, piece, random, false);
	assert_int_equal(ptl_decoder_end(decoder, &sums), 0);
	assert_int_equal(sums.bytes, size);
	check_seen(subject, decoder, &sums);
}

static struct random_seeds pieces, damages, flushes;

/* Equal to ptl_flow in one piece, in pieces of each size, cold and warm. */
static void pieces_of_every_size(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 511, 512, 513, 4096, 0, 0};
	struct subject subject;

	(void)state;
	open_subject(&subject);
	pieces = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&pieces)) {
		struct pt_random random = pt_random(pieces.seed);
		struct ptl_decoder_options options;
		struct ptl_decoder_sums sums;
		struct ptl_decoder *decoder;

		make_subject(&subject, pieces.seed);
		options = options_of(&subject);
		expect(&subject, subject.program->pt, subject.program->pt_size);
		assert_int_equal(subject.expected.instructions, subject.program->truth_count);
		assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
		for (unsigned round = 0; round < 3; round++) {
			clear_seen(&subject);
			assert_int_equal(ptl_decoder_run(decoder, subject.program->pt, subject.program->pt_size, &sums),
					 0);
			check_seen(&subject, decoder, &sums);
		}
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			run_pieces(&subject, decoder, subject.program->pt, subject.program->pt_size, sizes[i], &random);
		ptl_decoder_free(decoder);
	}
	free(subject.program);
}

/* Damaged packets between good ones: equal to ptl_flow, and the next execution is not affected. */
static void damaged_packets(void **state)
{
	struct subject subject;
	uint8_t *pt = malloc(RANDOM_FLOW_PT);

	(void)state;
	assert_non_null(pt);
	open_subject(&subject);
	damages = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&damages)) {
		struct pt_random random = pt_random(damages.seed);
		struct ptl_decoder_options options;
		struct ptl_decoder *decoder;

		make_subject(&subject, damages.seed);
		options = options_of(&subject);
		assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
		for (unsigned round = 0; round < 8; round++) {
			const size_t size = subject.program->pt_size - pt_random_below(&random, 600);
			const size_t skip = pt_random_below(&random, 300);

			memcpy(pt, subject.program->pt, size);
			for (unsigned i = 0; round % 2 && i < 20; i++)
				pt[pt_random_below(&random, size)] ^= 1u << pt_random_below(&random, 8);
			if (round == 2)
				memset(pt, 0, 100);
			expect(&subject, pt + skip, size - skip);
			run_pieces(&subject, decoder, pt + skip, size - skip, round % 3 ? 0 : SIZE_MAX, &random);
		}
		ptl_decoder_free(decoder);
	}
	free(subject.program);
	free(pt);
}

/* Flow is handed over by each flush, and nothing is lost or moved. */
static void flushed_pieces(void **state)
{
	static const size_t sizes[] = {1, 7, 16, 64, 500, 0, 0, 0};
	struct subject subject;

	(void)state;
	open_subject(&subject);
	flushes = random_flow_seeds(PROGRAMS / 2);
	while (random_flow_next(&flushes)) {
		struct pt_random random = pt_random(flushes.seed);
		struct ptl_decoder_options options;
		struct ptl_decoder_sums sums;
		struct ptl_decoder *decoder;

		make_subject(&subject, flushes.seed);
		options = options_of(&subject);
		expect(&subject, subject.program->pt, subject.program->pt_size);
		assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			clear_seen(&subject);
			feed_pieces(decoder, subject.program->pt, subject.program->pt_size, sizes[i], &random, true);
			/* All but the last PSB+ is decoded. */
			assert_true(subject.seen.instructions + 4096 > subject.expected.instructions);
			assert_int_equal(ptl_decoder_end(decoder, &sums), 0);
			check_seen(&subject, decoder, &sums);
		}
		ptl_decoder_free(decoder);
	}
	free(subject.program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_of_every_size),
		cmocka_unit_test(damaged_packets),
		cmocka_unit_test(flushed_pieces),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	random_flow_report(&pieces);
	random_flow_report(&damages);
	random_flow_report(&flushes);
	return failed;
}
