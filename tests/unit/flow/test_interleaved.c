/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compares sums, block counts and taken branches of interleaved segments with segments decoded one by one. Random
 * programs run whole and damaged, with the TNT16 cache active and suspended repeatedly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "flow/native/cache/tnt16.h"
#include "flow/native/interleaved.h"
#include "flow/segment/packets.h"
#include "tests/unit/random_flow.h"

#define PROGRAMS 40
#define STEPS 30000
#define SEGMENTS 4096

/* Counts by code offset: of a block, and of the instruction at its end. */
struct tally {
	uint64_t ran[RANDOM_FLOW_CODE], taken[RANDOM_FLOW_CODE], not_taken[RANDOM_FLOW_CODE];
};

/* The sums of a segment. */
struct sums {
	struct tally *tally; /* NULL: sums without counts */
	uint64_t base;
	const struct flow_block *last; /* previous block, whose branch leads to the next block */
	uint64_t instructions, blocks, branches;
	size_t event_count;
	size_t room;
	struct flow_event *events;
};

struct totals {
	struct flow_engine_input inputs[SEGMENTS];
	struct flow_segment segments[SEGMENTS];
	size_t count;
	struct sums one_by_one[SEGMENTS];
	struct sums interleaved[SEGMENTS];
	struct tally tallies[2];
};

/* Flow goes on at ip. */
static void settle(struct sums *sums, uint64_t ip)
{
	const struct flow_block *last = sums->last;

	sums->last = NULL;
	if (!last || last->branch != FLOW_BRANCH_CONDITIONAL)
		return;
	if (ip == last->ip + last->size)
		sums->tally->not_taken[last->last_ip - sums->base]++;
	else
		sums->tally->taken[last->last_ip - sums->base]++;
}

static void walk(struct sums *sums, const struct flow_batch *batch)
{
	struct flow_batch_cursor cursor = flow_batch_walk(batch);

	while (flow_batch_next(&cursor)) {
		const struct flow_block *block = cursor.block;

		if (block) {
			settle(sums, block->ip);
			sums->tally->ran[block->ip - sums->base]++;
			sums->last = block;
		} else if (cursor.event->kind == FLOW_COUNTED) {
			settle(sums, cursor.event->from);
		} else if (flow_event_splits(cursor.event->kind)) {
			sums->last = NULL;
		}
	}
}

/* Adds a count; *context: sums of a segment. */
static int take_count(void *context, const struct flow_block_run *run, uint64_t count, uint64_t taken)
{
	const struct sums *sums = context;
	const struct flow_block *last = run->blocks[run->count - 1];

	for (uint32_t i = 0; i < run->count; i++)
		sums->tally->ran[run->blocks[i]->ip - sums->base] += count;
	if (last->branch != FLOW_BRANCH_CONDITIONAL)
		return 0;
	if (last->target == last->ip + last->size)
		taken = 0;
	sums->tally->taken[last->last_ip - sums->base] += taken;
	sums->tally->not_taken[last->last_ip - sums->base] += count - taken;
	return 0;
}

static int take_edge(void *context, const struct flow_block *from, const struct flow_block *to, uint64_t count)
{
	(void)context;
	assert_int_not_equal(from->branch, FLOW_BRANCH_CONDITIONAL);
	assert_true(to->instructions && count);
	return 0;
}

static int take(void *context, const struct flow_batch *batch)
{
	struct sums *sums = context;

	if (sums->tally)
		walk(sums, batch);
	for (size_t i = 0; i < batch->event_count; i++) {
		if (batch->events[i].kind == FLOW_COUNTED)
			continue;
		if (sums->event_count == sums->room) {
			sums->room = sums->room ? sums->room * 2 : 16;
			sums->events = realloc(sums->events, sums->room * sizeof(*sums->events));
			assert_non_null(sums->events);
		}
		sums->events[sums->event_count] = batch->events[i];
		/* `before` counts blocks in runs, and the number of runs differs. */
		sums->events[sums->event_count++].before = 0;
	}
	sums->instructions += batch->instructions;
	sums->blocks += batch->block_count + batch->counted_blocks;
	sums->branches += batch->branches;
	return 0;
}

static void find_code(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct random_flow *flow = context;
	uint64_t first = flow->base, end = flow->base + flow->code_size;

	if (ip >= first && ip < end)
		*range = (struct flow_code_range){first, end - 1, flow->code, 0, false};
	else if (ip < first)
		*range = (struct flow_code_range){0, first - 1, NULL, FLOW_NONE, false};
	else
		*range = (struct flow_code_range){end, UINT64_MAX, NULL, FLOW_NONE, false};
}

static void cut(struct random_flow *flow, struct totals *totals)
{
	size_t at = ptl_pt_find_psb(flow->pt, flow->pt_size, 0);

	totals->count = 0;
	while (at < flow->pt_size && totals->count < SEGMENTS) {
		size_t next = ptl_pt_find_psb(flow->pt, flow->pt_size, at + PTL_PT_PSB_SIZE), i = totals->count++;
		struct flow_psb_plus psb_plus;

		flow_psb_plus_read(flow->pt + next, flow->pt_size - next, &(struct flow_errata){0}, &psb_plus);
		totals->segments[i] = (struct flow_segment){.offset = at};
		totals->inputs[i] = (struct flow_engine_input){
			.segment = &totals->segments[i],
			.bytes = flow->pt + at,
			.size = next - at,
			.has_next = psb_plus.complete,
			.next_ip_known = psb_plus.has_ip,
			.next_ip = psb_plus.ip,
		};
		at = next;
	}
}

static void forget(struct sums *sums, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(sums[i].events);
		sums[i] = (struct sums){0};
	}
}

static void decode_one_by_one(struct native_decoder *decoder, struct totals *totals)
{
	for (size_t i = 0; i < totals->count; i++) {
		const struct flow_sink sink = {.take = take, .context = &totals->one_by_one[i]};

		assert_int_equal(native_decoder_run(decoder, &totals->inputs[i], &sink), 0);
	}
}

/* Decodes segments interleaved; the order of ends differs from the order of starts. */
static void decode_interleaved(struct native_interleaved *slots, struct totals *totals)
{
	size_t next = 0, busy;

	do {
		busy = 0;
		for (size_t i = 0; i < NATIVE_INTERLEAVED; i++) {
			int status = 0;

			native_interleaved_done(&slots[i], &status);
			assert_int_equal(status, 0);
			if (!slots[i].busy && next < totals->count) {
				slots[i].input = totals->inputs[next];
				slots[i].sink = (struct flow_sink){.take = take,
								   .context = &totals->interleaved[next++]};
				native_interleaved_start(&slots[i]);
			}
			busy += slots[i].busy;
		}
		native_interleaved_count(slots);
	} while (busy);
}

/* Credits of the TNT16 cache; the second is soon used up. */
static const int64_t credits[] = {1 << 20, 100};

static void assert_equal(struct totals *totals)
{
	for (size_t i = 0; i < totals->count; i++) {
		const struct sums *one = &totals->one_by_one[i], *other = &totals->interleaved[i];

		assert_int_equal(one->instructions, other->instructions);
		assert_int_equal(one->blocks, other->blocks);
		assert_int_equal(one->branches, other->branches);
		assert_int_equal(one->event_count, other->event_count);
		assert_memory_equal(one->events, other->events, one->event_count * sizeof(*one->events));
	}
}

/* Segments of both kinds count their blocks, too. */
static void start_tallies(struct totals *totals, uint64_t base)
{
	memset(totals->tallies, 0, sizeof(totals->tallies));
	for (size_t i = 0; i < totals->count; i++) {
		totals->one_by_one[i].tally = &totals->tallies[0];
		totals->interleaved[i].tally = &totals->tallies[1];
		totals->one_by_one[i].base = totals->interleaved[i].base = base;
	}
}

/* Decodes the same segments with counts: nothing is missing or counted twice. */
static void counts_equal(struct native_decoder *decoder, struct native_interleaved *slots, struct totals *totals,
			 uint64_t base)
{
	const struct flow_count_sink sink = {take_count, take_edge, &totals->interleaved[0]};

	start_tallies(totals, base);
	decode_one_by_one(decoder, totals);
	/* The entries have sums without counts so far. */
	native_code_clear(decoder->code);
	decoder->code->counters.sink = &sink;
	for (unsigned i = 0; i < sizeof(credits) / sizeof(credits[0]); i++) {
		decoder->code->tnt16.pause = 0;
		decoder->code->tnt16.credit = credits[i];
		decode_interleaved(slots, totals);
		native_tnt16_drain(decoder->code);
		assert_int_equal(native_counters_flush(&decoder->code->counters), 0);
		assert_memory_equal(&totals->tallies[0], &totals->tallies[1], sizeof(totals->tallies[0]));
		forget(totals->interleaved, totals->count);
		memset(&totals->tallies[1], 0, sizeof(totals->tallies[1]));
		for (size_t k = 0; k < totals->count; k++) {
			totals->interleaved[k].tally = &totals->tallies[1];
			totals->interleaved[k].base = base;
		}
	}
	forget(totals->interleaved, totals->count);
	forget(totals->one_by_one, totals->count);
}

static void interleaved_equal(struct random_flow *flow, struct totals *totals, bool eager)
{
	struct ptl_machine machine = {.mode = 64};
	struct native_decoder decoder;
	struct native_interleaved *slots;

	assert_int_equal(native_decoder_open(&decoder, (struct native_source){find_code, flow}, &machine), 0);
	assert_int_equal(native_interleaved_open(&slots, &decoder), 0);
	for (size_t i = 0; i < NATIVE_INTERLEAVED; i++)
		slots[i].eager = eager;
	cut(flow, totals);
	decode_one_by_one(&decoder, totals);
	for (unsigned i = 0; i < sizeof(credits) / sizeof(credits[0]); i++) {
		decoder.code->tnt16.pause = 0;
		decoder.code->tnt16.credit = credits[i];
		decode_interleaved(slots, totals);
		assert_equal(totals);
		assert_int_equal(decoder.code->tnt16.users, 0);
		forget(totals->interleaved, totals->count);
	}
	forget(totals->one_by_one, totals->count);
	counts_equal(&decoder, slots, totals, flow->base);
	native_interleaved_close(slots);
	native_decoder_close(&decoder);
}

/* Damages `count` bytes. */
static void damage(struct random_flow *flow, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		flow->pt[pt_random_below(&flow->random, (uint32_t)flow->pt_size)] ^=
			(uint8_t)(1u << pt_random_below(&flow->random, 8));
}

static struct random_seeds seeds;

static void random_programs(void **state)
{
	struct random_flow *flow = malloc(sizeof(*flow));
	struct totals *totals = calloc(1, sizeof(*totals));

	(void)state;
	assert_non_null(flow);
	assert_non_null(totals);
	seeds = random_flow_seeds(PROGRAMS);
	while (random_flow_next(&seeds)) {
		random_flow_make_with(flow, seeds.seed, STEPS, 1, FLOW_ALL | FLOW_POPS);
		interleaved_equal(flow, totals, true);
		interleaved_equal(flow, totals, false);
		for (unsigned round = 0; round < 3; round++) {
			damage(flow, 20);
			interleaved_equal(flow, totals, true);
			interleaved_equal(flow, totals, false);
		}
	}
	free(totals);
	free(flow);
}

/* A TNT packet without bits is invalid: bits read before the error must not count. */
static void packets_that_are_none(void **state)
{
	static const uint8_t none[8] = {0x02, 0xa3, 0x01};
	struct random_flow *flow = malloc(sizeof(*flow));
	struct totals *totals = calloc(1, sizeof(*totals));
	size_t found = 0;

	(void)state;
	assert_non_null(flow);
	assert_non_null(totals);
	for (uint64_t seed = 1; seed <= 8; seed++) {
		random_flow_make_with(flow, seed, STEPS, 1, 0);
		for (size_t at = 0; at + sizeof(none) <= flow->pt_size; at++)
			if (memcmp(flow->pt + at, none, 2) == 0 && pt_random_below(&flow->random, 4) == 0) {
				memcpy(flow->pt + at, none, sizeof(none));
				found++;
			}
		interleaved_equal(flow, totals, true);
		interleaved_equal(flow, totals, false);
	}
	assert_true(found > 8);
	free(totals);
	free(flow);
}

/*
 * A packet left to the decoder must not have begun a block of items. In this program, surplus bits precede a block of
 * items.
 */
static void packets_that_are_left(void **state)
{
	struct random_flow *flow = malloc(sizeof(*flow));
	struct totals *totals = calloc(1, sizeof(*totals));

	(void)state;
	assert_non_null(flow);
	assert_non_null(totals);
	random_flow_make_with(flow, 851378318, STEPS, 1, FLOW_ALL | FLOW_POPS);
	for (unsigned round = 0; round < 3; round++) {
		damage(flow, 20);
		interleaved_equal(flow, totals, true);
	}
	free(totals);
	free(flow);
}

#define CONTEXTS 8
#define WINDOWS 20000

/* Looks up all kinds of windows in so many contexts that entries replace each other. */
static void looks_up(struct native_code *code, const uint32_t *contexts, unsigned count,
		     struct native_tnt16_entry *seen)
{
	static const size_t parts[] = {0, NATIVE_TNT16_FIRST, NATIVE_TNT16_SHORT};
	size_t at = 0;

	for (unsigned i = 0; i < count; i++) {
		for (uint32_t n = 1; n < WINDOWS; n++, at++) {
			const size_t part = parts[n % 3];
			const uint64_t place = native_tnt16_place(contexts[i], n << 4);
			struct native_tnt16_entry *entry = native_tnt16_at(code->tnt16.table + part, place);

			if (entry->tag != contexts[i])
				native_tnt16_find(code, part, contexts[i], place);
			assert_int_equal(entry->tag, contexts[i]);
			if (!seen[at].tag)
				seen[at] = *entry;
			assert_memory_equal(entry, &seen[at], sizeof(*entry));
		}
	}
}

static void tnt16_entries_stay_the_same(void **state)
{
	struct random_flow *flow = malloc(sizeof(*flow));
	struct native_tnt16_entry *seen = calloc((size_t)CONTEXTS * WINDOWS, sizeof(*seen));
	struct ptl_machine machine = {.mode = 64};
	struct native_decoder decoder;
	uint32_t contexts[CONTEXTS];
	unsigned count = 0;

	(void)state;
	assert_non_null(flow);
	assert_non_null(seen);
	random_flow_make(flow, 1, STEPS);
	assert_int_equal(native_decoder_open(&decoder, (struct native_source){find_code, flow}, &machine), 0);
	assert_true(native_tnt16_begin(decoder.code, 0));
	for (uint64_t ip = flow->base; count < CONTEXTS - 1 && ip < flow->base + flow->code_size; ip++) {
		struct native_region *region = native_region_get(decoder.code, ip, 64);

		assert_non_null(region);
		if (region->decision == NATIVE_CONDITIONAL)
			contexts[count++] = native_context_get(&decoder.code->tnt16, region, 0);
	}
	assert_int_equal(count, CONTEXTS - 1);
	contexts[count++] = NATIVE_CONTEXT_LOST;
	for (unsigned round = 0; round < 3; round++)
		looks_up(decoder.code, contexts, count, seen);
	native_tnt16_end(&decoder.code->tnt16, 0);
	native_decoder_close(&decoder);
	free(seen);
	free(flow);
}

/* Each number has a unique id. */
static void contexts_are_numbered(void **state)
{
	static struct native_context contexts[NATIVE_CONTEXT_LIMIT];
	const struct native_tnt16 tnt16 = {.contexts = contexts};

	(void)state;
	for (uint32_t number = 0; number < NATIVE_CONTEXT_LIMIT; number++)
		assert_ptr_equal(native_context_of(&tnt16, native_context_id(number)), &contexts[number]);
}

/* With more contexts than room, no context is added until all are cleared. */
static void contexts_end(void **state)
{
	struct native_code *code = calloc(1, sizeof(*code));
	struct native_tnt16 *tnt16 = &code->tnt16;
	struct native_region *regions = calloc(NATIVE_CONTEXT_LIMIT, sizeof(*regions));
	uint32_t made = 0;

	(void)state;
	assert_non_null(code);
	assert_non_null(regions);
	assert_true(native_tnt16_begin(code, 0));
	while (made < NATIVE_CONTEXT_LIMIT) {
		uint32_t id = native_context_get(tnt16, &regions[made], 0);

		if (!id)
			break;
		assert_int_not_equal(id, NATIVE_CONTEXT_LOST);
		assert_ptr_equal(native_context_of(tnt16, id)->region, &regions[made]);
		assert_int_equal(native_context_get(tnt16, &regions[made], 0), id);
		made++;
	}
	assert_int_equal(made, NATIVE_CONTEXT_LIMIT - 2);
	assert_false(native_tnt16_begin(code, 0));
	native_tnt16_end(tnt16, 0);
	assert_true(native_tnt16_begin(code, 0));
	assert_int_not_equal(native_context_get(tnt16, &regions[made], 0), 0);
	native_tnt16_close(tnt16);
	free(regions);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_programs),       cmocka_unit_test(packets_that_are_none),
		cmocka_unit_test(packets_that_are_left), cmocka_unit_test(tnt16_entries_stay_the_same),
		cmocka_unit_test(contexts_are_numbered), cmocka_unit_test(contexts_end),
	};

	int failures = cmocka_run_group_tests(tests, NULL, NULL);

	random_flow_report(&seeds);
	return failures;
}
