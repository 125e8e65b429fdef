/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds decoding by words against decoding packet by packet while the code changes, at PSBs and between packets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/random_changes.h"
#include "tests/unit/packet_word_flow.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define PROGRAMS 40
#define STEPS 10000
#define ROUNDS 4        /* words are met, remembered, and taken */
#define NEVER INT64_MAX /* words rest so long */

/* Current code; begins with word_changes. */
struct changing {
	struct word_changes changes;
	uint64_t base;
	const uint8_t *first; /* code before any change */
	uint32_t size;
	bool events; /* all code is given by code events: changes are watched from the start */
	const struct random_changes *list;
	size_t next; /* index in `list` */
	struct native_decoder *decoder;
	uint8_t code[RANDOM_FLOW_CODE];
};

static void find_code(void *context, uint64_t ip, struct flow_code_range *range)
{
	const struct changing *changing = context;
	const uint64_t first = changing->base, end = first + changing->size;

	if (ip >= first && ip < end)
		*range = (struct flow_code_range){first, end - 1, changing->code, 0, changing->events};
	else if (ip < first)
		*range = (struct flow_code_range){0, first - 1, NULL, FLOW_NONE, false};
	else
		*range = (struct flow_code_range){end, UINT64_MAX, NULL, FLOW_NONE, false};
}

/* Writes code. Reports the changed bytes as one span. Returns whether bytes changed. */
static bool write_code(struct changing *changing, uint32_t at, const uint8_t *bytes, uint32_t size,
		       struct flow_code_span *span)
{
	const uint64_t base = changing->base;
	uint32_t first = 0, end = size;

	while (first < end && changing->code[at + first] == bytes[first])
		first++;
	while (end > first && changing->code[at + end - 1] == bytes[end - 1])
		end--;
	memcpy(changing->code + at, bytes, size);
	*span = (struct flow_code_span){base + at + first, base + at + end - 1};
	return first < end;
}

/* Wakes forgotten words, which would otherwise rest. */
static void wake_words(struct native_decoder *decoder)
{
	if (decoder->code->packet_words.rest != NEVER)
		decoder->code->packet_words.rest = 0;
}

static const struct random_change *next_change(const struct changing *changing)
{
	return changing->next < changing->list->count ? &changing->list->list[changing->next] : NULL;
}

static bool write_next(struct changing *changing, struct flow_code_span *span)
{
	const struct random_change *change = &changing->list->list[changing->next++];

	return write_code(changing, change->first, changing->list->bytes + change->bytes, change->size, span);
}

/* Restores the original code before a round; a round's first segment is at position 0. */
static void go_back(struct changing *changing, struct native_decoder *decoder, size_t at)
{
	struct flow_code_span span;

	if (at)
		return;
	changing->next = 0;
	if (write_code(changing, 0, changing->first, changing->size, &span))
		native_code_change(decoder->code, &span, 1);
}

static void before_segment(struct word_changes *changes, struct native_decoder *decoder, size_t at)
{
	struct changing *changing = (struct changing *)changes;
	const struct random_change *change;
	struct flow_code_span span;

	go_back(changing, decoder, at);
	while ((change = next_change(changing)) && change->at == at)
		if (write_next(changing, &span))
			native_code_change(decoder->code, &span, 1);
	wake_words(decoder);
}

static uint64_t until(const struct changing *changing)
{
	const struct random_change *change = next_change(changing);

	return change ? change->clock : UINT64_MAX;
}

/* Changes the code like the engine when a packet reports a later time. */
static uint64_t recode(void *context, uint64_t time)
{
	struct changing *changing = context;
	struct flow_code_span span;

	while (until(changing) <= time)
		if (write_next(changing, &span))
			native_decoder_change(changing->decoder, &span, 1);
	wake_words(changing->decoder);
	return until(changing);
}

static void before_segment_by_time(struct word_changes *changes, struct native_decoder *decoder, size_t at)
{
	struct changing *changing = (struct changing *)changes;

	go_back(changing, decoder, at);
	changing->decoder = decoder;
	decoder->recode.select = recode;
	decoder->recode.context = changing;
	decoder->recode.until = until(changing);
	wake_words(decoder);
}

/* by_time: a timing packet reports each change, instead of a PSB. */
static void check_random(bool by_time, void (*before)(struct word_changes *, struct native_decoder *, size_t))
{
	static const unsigned features[] = {0, FLOW_FORMS, FLOW_FORMS | FLOW_32, FLOW_EVENTS, FLOW_DEFERRED};
	struct random_flow *flow = malloc(sizeof(*flow));
	struct random_changes *list = malloc(sizeof(*list));
	struct changing *changing = malloc(sizeof(*changing));
	uint64_t known = 0, changed = 0;
	uint32_t more;

	assert_true(flow && list && changing);
	for (uint64_t seed = 1; seed <= PROGRAMS; seed++) {
		random_flow_make_changing(flow, seed, STEPS, 1, features[seed % COUNT(features)], list, by_time);
		*changing = (struct changing){
			.changes = {before},
			.base = flow->base,
			.first = flow->first_code,
			.size = flow->code_size,
			.events = seed % 2,
			.list = list,
		};
		memcpy(changing->code, flow->first_code, flow->code_size);
		assert_int_equal(ptl_pt_find_psb(flow->pt, flow->pt_size, 0), 0);
		assert_true(word_flows_equal_changing((struct native_source){find_code, changing}, flow->mode, flow->pt,
						      flow->pt_size, ROUNDS, &changing->changes, &more));
		known += more;
		changed += list->count;
	}
	assert_true(changed > PROGRAMS);
	assert_true(known > 20 * PROGRAMS);
	free(flow);
	free(list);
	free(changing);
}

static void changes_at_psbs(void **state)
{
	(void)state;
	check_random(false, before_segment);
}

static void changes_by_time(void **state)
{
	(void)state;
	check_random(true, before_segment_by_time);
}

/* ---- a loop whose packets stay the same ----------------------------------------------------------------- */

#define LOOP 0x400000ull
#define LOOP_SEGMENTS 200
#define LOOP_PACKETS 80 /* TNT packets of six bits each */

/* Eight bytes as one block or two, and JZ back to them. */
static const uint8_t loops[][10] = {
	{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xf6},
	{0x89, 0xd8, 0x89, 0xd8, 0x89, 0xd8, 0x89, 0xd8, 0x74, 0xf6},
	{0xeb, 0x00, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x74, 0xf6},
};

static void before_loop(struct word_changes *changes, struct native_decoder *decoder, size_t at)
{
	struct changing *changing = (struct changing *)changes;
	struct pt_random random = pt_random(1 + at);
	struct flow_code_span span;

	/* Occasionally the code stays the same. */
	if (write_code(changing, 0, loops[pt_random_below(&random, COUNT(loops))], sizeof(loops[0]), &span))
		native_code_change(decoder->code, &span, 1);
	wake_words(decoder);
}

/* The same packet words recur at the same place with different code. */
static void loops_that_change(void **state)
{
	static uint8_t pt[LOOP_SEGMENTS * (LOOP_PACKETS + 64) + FLOW_ENGINE_ROOM];
	static struct changing changing;
	uint64_t last_ip;
	uint32_t known;
	size_t size = 0;

	(void)state;
	for (unsigned i = 0; i < LOOP_SEGMENTS; i++) {
		last_ip = 0;
		size += format_pt_put_psb(pt + size);
		size += format_pt_put_fup(pt + size, &last_ip, LOOP);
		size += format_pt_put_psbend(pt + size);
		for (unsigned k = 0; k < LOOP_PACKETS; k++)
			size += format_pt_put_tnt(pt + size, (1u << 7) - 1);
	}
	for (unsigned events = 0; events < 2; events++) {
		changing = (struct changing){.changes = {before_loop},
					     .base = LOOP,
					     .first = loops[0],
					     .size = sizeof(loops[0]),
					     .events = events};
		memcpy(changing.code, loops[0], sizeof(loops[0]));
		assert_true(word_flows_equal_changing((struct native_source){find_code, &changing}, 64, pt, size,
						      ROUNDS, &changing.changes, &known));
		assert_true(known > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changes_at_psbs),
		cmocka_unit_test(changes_by_time),
		cmocka_unit_test(loops_that_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
