/* SPDX-License-Identifier: BSD-2-Clause */
/* Code of decoders: read by a function, changed, shared by forks in threads, and within a limit of memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include <ptl/decoder.h>
#include <ptl/pt.h>

#include "tests/unit/decoder_digest.h"
#include "tests/unit/random_changes.h"

#define PROGRAMS 40
#define STEPS 6000
#define THREADS 4
#define ALL_OUTPUTS (PTL_DECODER_EDGES | PTL_DECODER_FUNCTIONS | PTL_DECODER_HASH)

/* ---- a program, its code as a function reads it, and what one decoder sees -------------------------------- */

struct seen {
	uint8_t bitmap[DIGEST_BITMAP];
	struct digest digest;
};

static bool read_code(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct random_flow *program = context;
	uint8_t *to = bytes;

	assert_true(size && size <= 4096 && address >> 12 == (address + size - 1) >> 12);
	/* A page without any code is missing. Bytes beside the code are no instructions. */
	if (address + size <= program->base || address >= program->base + program->code_size)
		return false;
	for (size_t i = 0; i < size; i++)
		to[i] = address + i - program->base < program->code_size ? program->code[address + i - program->base]
									 : 0x06;
	return true;
}

static struct ptl_decoder_options options_of(struct seen *seen)
{
	return (struct ptl_decoder_options){
		.size = sizeof(struct ptl_decoder_options),
		.outputs = ALL_OUTPUTS,
		.bitmap = seen->bitmap,
		.bitmap_size = sizeof(seen->bitmap),
		.batch = digest_batch,
		.batch_context = &seen->digest,
	};
}

static struct ptl_decoder *open_reader(struct random_flow *program, struct seen *seen)
{
	struct ptl_decoder_options options = options_of(seen);
	struct ptl_decoder *decoder;

	options.read = read_code;
	options.read_context = program;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	return decoder;
}

/* Runs the program's packets, and checks all results against the truth and against the digest. */
static void run_program(struct ptl_decoder *decoder, const struct random_flow *program, struct seen *seen)
{
	struct ptl_decoder_sums sums;

	*seen = (struct seen){0};
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &sums), 0);
	assert_int_equal(sums.instructions, program->truth_count);
	digest_check(&seen->digest, decoder, &sums, seen->bitmap);
}

static struct random_flow *make_programs(size_t count)
{
	struct random_flow *programs = calloc(count, sizeof(*programs));

	assert_non_null(programs);
	return programs;
}

static struct random_seeds reads, changes, forks;

/* Code read by a function, with a limit of memory that is reached all the time. */
static void code_by_function(void **state)
{
	struct random_flow *program = make_programs(1);
	struct seen seen;

	(void)state;
	reads = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&reads)) {
		struct ptl_decoder_options options = options_of(&seen);
		struct ptl_decoder *decoder, *small;

		random_flow_make_with(program, reads.seed, STEPS, 1, FLOW_ALL & ~FLOW_32);
		decoder = open_reader(program, &seen);
		options.read = read_code;
		options.read_context = program;
		options.memory_limit = (size_t)8 << 20;
		assert_int_equal(ptl_decoder_new(&options, &small), 0);
		for (unsigned round = 0; round < 3; round++) {
			run_program(decoder, program, &seen);
			run_program(small, program, &seen);
		}
		assert_true(ptl_decoder_memory(small) < (size_t)64 << 20);
		ptl_decoder_free(decoder);
		ptl_decoder_free(small);
	}
	free(program);
}

/* ---- changes ----------------------------------------------------------------------------------------------- */

/* The code of a program that changes, as the decoder knows it. */
struct changing {
	struct random_flow *program;
	struct random_changes *changes;
	uint8_t code[RANDOM_FLOW_CODE];
	struct ptl_decoder *decoder;
	bool by_function;
};

static bool read_changing(void *context, uint64_t address, void *bytes, size_t size)
{
	const struct changing *changing = context;
	const struct random_flow *program = changing->program;
	uint8_t *to = bytes;

	if (address + size <= program->base || address >= program->base + program->code_size)
		return false;
	for (size_t i = 0; i < size; i++)
		to[i] = address + i - program->base < program->code_size ? changing->code[address + i - program->base]
									 : 0x06;
	return true;
}

static void apply_change(struct changing *changing, const struct random_change *change)
{
	const uint64_t address = changing->program->base + change->first;
	const uint8_t *bytes = changing->changes->bytes + change->bytes;
	const struct ptl_flow_memory memory = {address, bytes, change->size, "changed"};

	if (changing->by_function)
		assert_int_equal(ptl_decoder_change(changing->decoder, address, change->size), 0);
	else
		assert_int_equal(ptl_decoder_code(changing->decoder, &memory), 0);
	memcpy(changing->code + change->first, bytes, change->size);
}

/* Feeds the packets up to each change, and tells the decoder of the change. */
static void run_changing(struct changing *changing, struct ptl_decoder_sums *sums)
{
	const struct random_flow *program = changing->program;
	size_t at = 0;

	for (size_t i = 0; i < changing->changes->count; i++) {
		const struct random_change *change = &changing->changes->list[i];

		assert_int_equal(ptl_decoder_feed(changing->decoder, program->pt + at, change->at - at), 0);
		at = change->at;
		apply_change(changing, change);
	}
	assert_int_equal(ptl_decoder_feed(changing->decoder, program->pt + at, program->pt_size - at), 0);
	assert_int_equal(ptl_decoder_end(changing->decoder, sums), 0);
}

/* Gives the decoder the code from before all changes. */
static void restore_code(struct changing *changing)
{
	const struct random_flow *program = changing->program;
	const struct ptl_flow_memory memory = {program->base, program->first_code, program->code_size, "first"};

	if (changing->by_function)
		assert_int_equal(ptl_decoder_change(changing->decoder, memory.address, memory.size), 0);
	else
		assert_int_equal(ptl_decoder_code(changing->decoder, &memory), 0);
	memcpy(changing->code, program->first_code, program->code_size);
}

static void changed_code(void **state)
{
	struct random_flow *program = make_programs(1);
	struct random_changes *list = malloc(sizeof(*list));
	struct changing *changing = calloc(1, sizeof(*changing));
	size_t seen_changes = 0;
	struct seen seen;

	(void)state;
	assert_true(list && changing);
	changes = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&changes)) {
		struct ptl_decoder_options options = options_of(&seen);
		struct ptl_decoder_sums sums;

		random_flow_make_changing(program, changes.seed, STEPS, 1, FLOW_ALL & ~FLOW_32, list, false);
		seen_changes += list->count;
		*changing = (struct changing){.program = program, .changes = list, .by_function = changes.seed % 2};
		options.read = changing->by_function ? read_changing : NULL;
		options.read_context = changing;
		assert_int_equal(ptl_decoder_new(&options, &changing->decoder), 0);
		for (unsigned round = 0; round < 3; round++) {
			seen = (struct seen){0};
			restore_code(changing);
			run_changing(changing, &sums);
			assert_int_equal(sums.instructions, program->truth_count);
			digest_check(&seen.digest, changing->decoder, &sums, seen.bitmap);
		}
		ptl_decoder_free(changing->decoder);
	}
	assert_true(seen_changes > 0);
	free(program);
	free(list);
	free(changing);
}

/* ---- address spaces ---------------------------------------------------------------------------------------- */

/* Space n has the code after n changes, in the order of `changing`. */
static bool read_version(void *context, uint64_t space, uint64_t address, void *bytes, size_t size)
{
	const struct changing *changing = context;
	static struct changing version;

	version = *changing;
	memcpy(version.code, version.program->first_code, version.program->code_size);
	assert_true(space <= version.changes->count);
	for (size_t i = 0; i < space; i++) {
		const struct random_change *change = &version.changes->list[i];

		memcpy(version.code + change->first, version.changes->bytes + change->bytes, change->size);
	}
	return read_changing(&version, address, bytes, size);
}

/* Feeds the packets up to each change, and switches to the space with the changed code. */
static void run_switching(struct changing *changing, struct ptl_decoder_sums *sums)
{
	const struct random_flow *program = changing->program;
	size_t at = 0;

	for (size_t i = 0; i < changing->changes->count; i++) {
		const struct random_change *change = &changing->changes->list[i];

		assert_int_equal(ptl_decoder_feed(changing->decoder, program->pt + at, change->at - at), 0);
		at = change->at;
		assert_int_equal(ptl_decoder_switch(changing->decoder, i + 1), 0);
	}
	assert_int_equal(ptl_decoder_feed(changing->decoder, program->pt + at, program->pt_size - at), 0);
	assert_int_equal(ptl_decoder_end(changing->decoder, sums), 0);
}

/* The spaces together have all instructions, and each space has its own code: a single code gives other flow. */
static void check_spaces(const struct changing *changing, uint64_t instructions)
{
	size_t count;
	const struct ptl_decoder_space *spaces = ptl_decoder_spaces(changing->decoder, &count);

	assert_true(count <= changing->changes->count + 1);
	for (size_t i = 0; i < count; i++)
		instructions -= spaces[i].instructions;
	assert_int_equal(instructions, 0);
}

/* A decoder with the code of space 0 alone. */
static bool fails_without_switches(const struct changing *changing)
{
	const struct random_flow *program = changing->program;
	const struct ptl_flow_memory memory = {program->base, program->first_code, program->code_size, "first"};
	const struct ptl_decoder_options options = {.size = sizeof(options), .memory = &memory, .memory_count = 1};
	struct ptl_decoder_sums sums;
	struct ptl_decoder *decoder;

	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	assert_int_equal(ptl_decoder_run(decoder, program->pt, program->pt_size, &sums), 0);
	ptl_decoder_free(decoder);
	return sums.gaps || sums.instructions != program->truth_count;
}

static struct random_seeds switches;

/* Several spaces with other code at the same addresses, switched within segments, and again in each round. */
static void address_spaces(void **state)
{
	struct random_flow *program = make_programs(1);
	struct random_changes *list = malloc(sizeof(*list));
	struct changing *changing = calloc(1, sizeof(*changing));
	size_t failing = 0;
	struct seen seen;

	(void)state;
	assert_true(list && changing);
	switches = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&switches)) {
		struct ptl_decoder_options options = options_of(&seen);
		struct ptl_decoder_sums sums;

		random_flow_make_changing(program, switches.seed, STEPS, 1, FLOW_ALL & ~FLOW_32, list, false);
		*changing = (struct changing){.program = program, .changes = list};
		/* Half of the decoders forget spaces all the time. */
		options.memory_limit = switches.seed % 2 ? 1 << 20 : 0;
		options.outputs |= PTL_DECODER_SPACES;
		options.read_space = read_version;
		options.read_context = changing;
		assert_int_equal(ptl_decoder_new(&options, &changing->decoder), 0);
		for (unsigned round = 0; round < 5; round++) {
			seen = (struct seen){0};
			run_switching(changing, &sums);
			assert_int_equal(sums.instructions, program->truth_count);
			digest_check(&seen.digest, changing->decoder, &sums, seen.bitmap);
			check_spaces(changing, sums.instructions);
			/* Changes that change nothing reach all spaces. */
			if (round == 2)
				assert_int_equal(ptl_decoder_change(changing->decoder, program->base, 64), 0);
		}
		failing += fails_without_switches(changing);
		ptl_decoder_free(changing->decoder);
	}
	assert_true(failing > 0);
	free(program);
	free(list);
	free(changing);
}

static bool read_same(void *context, uint64_t space, uint64_t address, void *bytes, size_t size)
{
	(void)space;
	return read_code(context, address, bytes, size);
}

/* Feeds the packets, and switches before each PIP. Returns the number of switches. */
static size_t run_with_pips(struct ptl_decoder *decoder, const struct random_flow *program,
			    struct ptl_decoder_sums *sums)
{
	struct ptl_pt_context context = {0};
	size_t at = 0, fed = 0, count = 0;

	while (at < program->pt_size) {
		struct ptl_pt_packet packet;

		assert_true(ptl_pt_decode(program->pt + at, program->pt_size - at, &context, &packet) > 0);
		if (packet.kind == PTL_PT_PIP) {
			assert_int_equal(ptl_decoder_feed(decoder, program->pt + fed, at - fed), 0);
			assert_int_equal(ptl_decoder_switch(decoder, packet.pip.cr3), 0);
			fed = at;
			count++;
		}
		at += packet.size;
	}
	assert_int_equal(ptl_decoder_feed(decoder, program->pt + fed, program->pt_size - fed), 0);
	assert_int_equal(ptl_decoder_end(decoder, sums), 0);
	return count;
}

static struct random_seeds pips;

static void spaces_by_pip(void **state)
{
	struct random_flow *program = make_programs(1);
	size_t count = 0;
	struct seen seen;

	(void)state;
	pips = random_flow_seeds(PROGRAMS / 2);
	while (random_flow_next(&pips)) {
		struct ptl_decoder_options options = options_of(&seen);
		struct ptl_decoder_sums sums;
		struct ptl_decoder *decoder;

		random_flow_make_with(program, pips.seed, STEPS, 1, FLOW_ALL & ~FLOW_32);
		options.read_space = read_same;
		options.read_context = program;
		assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
		for (unsigned round = 0; round < 3; round++) {
			seen = (struct seen){0};
			count += run_with_pips(decoder, program, &sums);
			assert_int_equal(sums.instructions, program->truth_count);
			digest_check(&seen.digest, decoder, &sums, seen.bitmap);
		}
		ptl_decoder_free(decoder);
	}
	assert_true(count > 0);
	free(program);
}

/* CALL 0x1100 at 0x1000; SYSCALL, RET at 0x1100; behind the call NOPs, a number for each space, and JMP *RAX. */
static bool read_call(void *context, uint64_t space, uint64_t address, void *bytes, size_t size)
{
	uint8_t *page = bytes;
	const size_t nops = space ? 1 : 3;

	(void)context;
	if (address != 0x1000 || size != 4096)
		return false;
	memset(page, 0x06, size);
	memcpy(page, "\xe8\xfb\x00\x00\x00", 5);
	memcpy(page + 0x100, "\x0f\x05\xc3", 3);
	memset(page + 5, 0x90, nops);
	memcpy(page + 5 + nops, "\xff\xe0", 2);
	return true;
}

/* A compressed return to a call from before a switch leads to the code of the new space, and changes no other space. */
static void returns_over_switches(void **state)
{
	static const uint8_t before[] = "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82" /* PSB */
					"\x99\x01\x02\x23"                      /* MODE, PSBEND */
					"\x71\x00\x10\x00\x00\x00\x00\x01";     /* TIP.PGE, PGD */
	static const uint8_t behind[] = "\x71\x02\x11\x00\x00\x00\x00\x06\x01"; /* TIP.PGE, TNT, TIP.PGD */
	const struct ptl_decoder_options options = {.size = sizeof(options), .read_space = read_call};
	struct ptl_decoder_sums sums;
	struct ptl_decoder *decoder;

	(void)state;
	assert_int_equal(ptl_decoder_new(&options, &decoder), 0);
	for (unsigned round = 0; round < 12; round++) {
		const uint64_t space = round / 2 % 3;

		assert_int_equal(ptl_decoder_feed(decoder, before, sizeof(before) - 1), 0);
		assert_int_equal(ptl_decoder_switch(decoder, space), 0);
		assert_int_equal(ptl_decoder_feed(decoder, behind, sizeof(behind) - 1), 0);
		assert_int_equal(ptl_decoder_end(decoder, &sums), 0);
		assert_int_equal(sums.gaps, 0);
		assert_int_equal(sums.instructions, space ? 5 : 7);
	}
	ptl_decoder_free(decoder);
}

/* ---- forks ------------------------------------------------------------------------------------------------- */

struct worker {
	pthread_t thread;
	struct ptl_decoder *decoder;
	const struct random_flow *program;
	struct seen seen;
	bool changes; /* tells of a change after each round */
};

static void *run_worker(void *context)
{
	struct worker *worker = context;

	for (unsigned round = 0; round < 6; round++) {
		run_program(worker->decoder, worker->program, &worker->seen);
		if (worker->changes && round == 3)
			assert_int_equal(ptl_decoder_change(worker->decoder, worker->program->base, 4096), 0);
	}
	return NULL;
}

/* Forks a decoder for each thread. The first decoder runs, too, and is freed before the forks. */
static void run_forks(struct ptl_decoder *first, const struct random_flow *program, struct seen *seen)
{
	static struct worker workers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		struct ptl_decoder_options options = options_of(&workers[i].seen);

		workers[i].program = program;
		workers[i].changes = i == 1;
		assert_int_equal(ptl_decoder_fork(i == 3 ? workers[0].decoder : first, &options, &workers[i].decoder),
				 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
	run_program(first, program, seen);
	ptl_decoder_free(first);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		ptl_decoder_free(workers[i].decoder);
	}
}

static void forks_in_threads(void **state)
{
	struct random_flow *program = make_programs(1);
	struct seen seen;

	(void)state;
	forks = random_flow_seeds(PROGRAMS / 2);
	while (random_flow_next(&forks)) {
		struct ptl_decoder *decoder;

		random_flow_make_with(program, forks.seed, STEPS, 1, FLOW_ALL & ~FLOW_32);
		decoder = open_reader(program, &seen);
		/* Cold, half warm with packet words, and with several levels of shared memory. */
		for (unsigned round = 0; round < forks.seed % 40; round++) {
			struct ptl_decoder_options options = options_of(&seen);
			struct ptl_decoder *fork;

			run_program(decoder, program, &seen);
			if (round % 8 || round < 8)
				continue;
			assert_int_equal(ptl_decoder_fork(decoder, &options, &fork), 0);
			ptl_decoder_free(decoder);
			decoder = fork;
		}
		run_forks(decoder, program, &seen);
	}
	free(program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_by_function),      cmocka_unit_test(changed_code),
		cmocka_unit_test(address_spaces),        cmocka_unit_test(spaces_by_pip),
		cmocka_unit_test(returns_over_switches), cmocka_unit_test(forks_in_threads),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	random_flow_report(&reads);
	random_flow_report(&changes);
	random_flow_report(&switches);
	random_flow_report(&pips);
	random_flow_report(&forks);
	return failed;
}
