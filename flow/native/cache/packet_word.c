/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of packet words: hash tables of states and words. */
#include "flow/native/cache/packet_word.h"

#include <string.h>

#include "flow/native/cache/cache.h"
#include "flow/native/cache/code.h"

#define RUNS_LIMIT (8u << 20)
#define STATES_SHIFT 14
#define STATES (1u << STATES_SHIFT)
/* places for twice the number of words, to keep searches short */
#define PLACES (2 * NATIVE_PACKET_WORDS)
#define SEEN (2 * NATIVE_PACKET_WORDS)
#define SEEN_FRESH 1u
/* maximum calls of a cached run */
#define RUN_PUSHES 64
/* Bytes decoded before words are cached. Short traces, and traces of changing code, would not regain the cost. */
#define REST_FIRST (1 << 20)
#define CREDIT_FIRST (1 << 16)

struct tables {
	struct native_packet_word words[NATIVE_PACKET_WORDS];
	struct native_packet_word_events events[NATIVE_PACKET_WORDS];
	struct native_packet_word_state states[STATES];
	uint16_t slots[STATES];
	uint16_t places[PLACES];
	uint16_t seen[SEEN];
	uint16_t guesses[1u << NATIVE_GUESS_SHIFT];
};

_Static_assert(sizeof(struct tables) <= NATIVE_HUGE_PAGE, "one page fault");
_Static_assert(sizeof(struct native_packet_word) == 32, "half a cache line");

void native_packet_words_start(struct native_packet_words *words)
{
	*words = (struct native_packet_words){
		.rest = REST_FIRST,
		.credit = CREDIT_FIRST,
		.made_of = {.size = NATIVE_PACKET_WORDS},
	};
}

bool native_packet_words_open(struct native_packet_words *words)
{
	struct tables *tables = words->table ? NULL : native_pages_take(NATIVE_HUGE_PAGE);

	if (!tables) {
		words->rest = words->table ? 0 : INT64_MAX;
		return words->table;
	}
	words->table = tables->words;
	words->events = tables->events;
	words->guesses = tables->guesses;
	words->places = tables->places;
	words->seen = tables->seen;
	words->slots = tables->slots;
	words->states = tables->states;
	return true;
}

bool native_packet_words_copy(struct native_packet_words *words, const struct native_packet_words *from)
{
	if (from->table && !native_packet_words_open(words))
		return false;
	if (from->table)
		memcpy(words->table, from->table, sizeof(struct tables));
	words->word_count = from->word_count;
	words->event_count = from->event_count;
	words->state_count = from->state_count;
	words->rest = from->rest;
	words->credit = from->credit;
	return true;
}

static void close_packet_words(struct native_code *code)
{
	struct native_packet_words *words = &code->packet_words;

	native_arena_free(&words->arena);
	native_page_bits_close(&words->made_of);
	native_pages_free(words->table, NATIVE_HUGE_PAGE);
	*words = (struct native_packet_words){0};
}

static void clear_packet_words(struct native_code *code)
{
	struct native_packet_words *words = &code->packet_words;

	if (!words->state_count)
		return;
	native_arena_move(&words->arena, &code->retired);
	native_page_bits_clear(&words->made_of);
	/* The guesses may stay: without words, all guesses are wrong. */
	memset(words->table, 0, (words->word_count + 1) * sizeof(*words->table));
	memset(words->places, 0, PLACES * sizeof(*words->places));
	memset(words->seen, 0, SEEN * sizeof(*words->seen));
	memset(words->slots, 0, STATES * sizeof(*words->slots));
	words->word_count = words->event_count = words->state_count = 0;
	words->credit = CREDIT_FIRST;
	words->rest = REST_FIRST;
}

static bool has_no_room(const struct native_packet_words *words)
{
	return words->state_count == STATES - 1 || words->word_count == NATIVE_PACKET_WORDS - 1 ||
	       words->arena.total > RUNS_LIMIT;
}

static bool is_full(const struct native_code *code)
{
	return has_no_room(&code->packet_words);
}

static void drop_word(void *words, size_t number)
{
	((struct native_packet_words *)words)->table[number].from = 0;
}

static void invalidate_packet_words(struct native_code *code, uint64_t pages)
{
	native_page_bits_drop(&code->packet_words.made_of, pages, drop_word, &code->packet_words);
}

static size_t size(const struct native_code *code)
{
	return code->packet_words.arena.total;
}

const struct native_cache native_cache_packet_words = {
	.close = close_packet_words,
	.clear = clear_packet_words,
	.invalidate = invalidate_packet_words,
	.size = size,
	.is_full = is_full,
};

static bool is_state(const struct native_packet_word_state *a, const struct native_packet_word_state *b)
{
	return a->to == b->to && a->last_ip == b->last_ip && a->disabled_ip == b->disabled_ip && a->carry == b->carry &&
	       a->mode == b->mode;
}

static uint16_t *state_slot(const struct native_packet_words *words, const struct native_packet_word_state *state)
{
	uint64_t hash = state->to * COMMON_HASH_FACTOR;

	hash = (hash ^ hash >> 29 ^ state->last_ip ^ state->carry) * COMMON_HASH_FACTOR;
	hash = (hash ^ hash >> 31 ^ state->disabled_ip ^ state->mode) * COMMON_HASH_FACTOR;
	return &words->slots[hash >> (64 - STATES_SHIFT)];
}

uint32_t native_packet_word_state_get(struct native_packet_words *words, const struct native_packet_word_state *state)
{
	uint16_t *slot = state_slot(words, state);

	for (uint32_t number = *slot; number; number = words->states[number - 1].chain)
		if (is_state(&words->states[number - 1], state))
			return number;
	if (words->state_count == STATES - 1)
		return 0;
	words->states[words->state_count] = *state;
	words->states[words->state_count++].chain = *slot;
	*slot = (uint16_t)words->state_count;
	return words->state_count;
}

/* Pops addresses: first the run's own, then addresses from before the run. */
static void pop(struct native_run *run, unsigned count)
{
	const unsigned own = count < run->push_count ? count : run->push_count;

	run->push_count -= own;
	run->pops += (uint16_t)(count - own);
}

/* Copies the runs of a word into one run. Returns NULL if the run is too long, or without memory. */
static const struct native_run *keep_word_run(struct native_packet_words *words,
					      const struct native_packet_word_flow *flow)
{
	struct native_run *kept, sums = {.push_count = 0};
	const struct flow_block **blocks;
	struct native_return_site **return_sites;

	for (size_t i = 0; i < flow->run_count; i++) {
		const struct native_run *run = (const struct native_run *)flow->runs[i];

		sums.run.instructions += run->run.instructions;
		sums.run.count += run->run.count;
		sums.run.branches += run->run.branches;
		sums.push_count += run->push_count;
	}
	if (sums.run.count > NATIVE_PACKET_WORD_BLOCKS || sums.run.instructions > NATIVE_PACKET_WORD_INSTRUCTIONS ||
	    sums.push_count > RUN_PUSHES)
		return NULL;
	kept = native_arena_take(&words->arena, sizeof(*kept) + sums.run.count * sizeof(*blocks) +
							sums.push_count * sizeof(*return_sites));
	if (!kept)
		return NULL;
	blocks = (const struct flow_block **)(kept + 1);
	return_sites = (struct native_return_site **)(blocks + sums.run.count);
	*kept = sums;
	kept->run.blocks = blocks;
	kept->pushes = return_sites;
	kept->push_count = 0;
	for (size_t i = 0; i < flow->run_count; i++) {
		const struct native_run *run = (const struct native_run *)flow->runs[i];

		memcpy(blocks, run->run.blocks, run->run.count * sizeof(*blocks));
		blocks += run->run.count;
		/* Only a TIP leaves a return within a word, so the return is complete. */
		pop(kept, run->pops);
		memcpy(return_sites + kept->push_count, run->pushes, run->push_count * sizeof(*return_sites));
		kept->push_count += run->push_count;
		pop(kept, run->returns);
	}
	return kept;
}

static uint32_t place_of(uint32_t state, uint64_t bytes)
{
	return (uint32_t)((bytes * COMMON_HASH_FACTOR ^ state) * COMMON_HASH_FACTOR >>
			  (64 - NATIVE_PACKET_WORDS_SHIFT - 1));
}

const struct native_packet_word *native_packet_word_find(const struct native_packet_words *words, uint32_t state,
							 uint64_t bytes)
{
	for (uint32_t place = place_of(state, bytes); words->places[place]; place = (place + 1) & (PLACES - 1)) {
		const struct native_packet_word *word = &words->table[words->places[place]];

		if (native_packet_word_is(word, state, bytes))
			return word;
	}
	return NULL;
}

static struct native_packet_word *add_word(struct native_packet_words *words, uint32_t state, uint64_t bytes)
{
	uint32_t place = place_of(state, bytes);

	while (words->places[place])
		place = (place + 1) & (PLACES - 1);
	words->places[place] = (uint16_t)++words->word_count;
	return &words->table[words->word_count];
}

static uint16_t add_events(struct native_packet_words *words, const struct native_packet_word_flow *flow)
{
	struct native_packet_word_events *made = &words->events[++words->event_count];

	*made = (struct native_packet_word_events){0};
	for (size_t i = 0; i < flow->event_count; i++)
		made->events[i] = (struct native_packet_word_event){
			.to = flow->events[i].to,
			.kind = flow->events[i].kind,
			.flags = flow->events[i].flags,
			.before = (uint16_t)(flow->events[i].before - flow->before),
			.offset = (int32_t)(flow->events[i].offset - flow->offset),
		};
	return (uint16_t)words->event_count;
}

/*
 * Checks whether the word was met before in this state, according to the tags. A tag is replaced only by the second
 * different word in its slot, so that two alternating words are both found.
 */
static bool met_before(struct native_packet_words *words, uint32_t from, uint64_t bytes)
{
	const uint64_t hash = (bytes ^ from * COMMON_HASH_FACTOR) * COMMON_HASH_FACTOR;
	const uint16_t trace = (uint16_t)(hash >> 16) | SEEN_FRESH;
	uint16_t *seen = &words->seen[hash >> (64 - NATIVE_PACKET_WORDS_SHIFT - 1)];

	if ((*seen | SEEN_FRESH) == trace)
		return true;
	if (*seen & SEEN_FRESH)
		*seen ^= SEEN_FRESH;
	else
		*seen = trace;
	return false;
}

void native_packet_word_met(struct native_code *code, uint32_t from, uint64_t bytes, uint32_t to,
			    const struct native_packet_word_flow *flow)
{
	struct native_packet_words *words = &code->packet_words;
	const struct native_run *run;
	struct native_packet_word *word;

	if (!met_before(words, from, bytes))
		return;
	if (!from || !to || flow->event_count > NATIVE_PACKET_WORD_EVENTS || has_no_room(words))
		return;
	run = keep_word_run(words, flow);
	if (!run)
		return;
	word = add_word(words, from, bytes);
	*word = (struct native_packet_word){
		.bytes = bytes,
		.from = (uint16_t)from,
		.to = (uint16_t)to,
		.events = flow->event_count ? add_events(words, flow) : 0,
		.run = run,
		.sums = native_packet_word_sums(&run->run),
	};
	code->invalidation.incomplete |= !native_page_bits_set(&words->made_of, (size_t)(word - words->table),
							       native_invalidation_run_pages(&run->run));
}
