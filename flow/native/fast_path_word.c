/* SPDX-License-Identifier: BSD-2-Clause */
/* A loop over packet words: the effect of each word is looked up by the word's bytes and the state before the word. */
#include "flow/native/fast_path_word.h"

#include <string.h>

#include "flow/native/cache/packet_word.h"

/* maximum number of runs and events of a word that is decoded packet by packet */
#define WORD_ROOM NATIVE_PACKET_WORD_SIZE
/* cost of a word that is not cached, in cached words */
#define MISS_COST 8
#define CREDIT_MAX (1 << 16)
#define CREDIT_AGAIN (1 << 10)
/* bytes decoded without packet words, after packet words cost more than they saved */
#define REST (4 << 20)

/* Loads bytes as in memory, for keys. */
static inline uint64_t load_word(const uint8_t *at)
{
	uint64_t bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return bytes;
}

/* ---- packet by packet ------------------------------------------------------------------------------------- */

/* Fills the caches for native_fast_path_take. Returns false if the packet is not for this loop. */
static bool learn_word(struct native_decoder *decoder, const struct native_fast_path *fast, unsigned first)
{
	struct native_region *region = native_to_region(fast->to);

	if (!(first & 1))
		return first > FORMAT_PT_EXTENDED && region && region->decision == NATIVE_CONDITIONAL &&
		       !native_tnt_cache_full(&decoder->code->tnt_cache) &&
		       native_tnt_cache_add(decoder->code, region, first >> 1);
	if (!FORMAT_PT_IS(first, TIP) && !FORMAT_PT_IS(first, TIP_PGE))
		return false;
	if (FORMAT_PT_IS(first, TIP) ? !region || region->decision >= NATIVE_CONTINUE : region != NULL)
		return false;
	return first >> FORMAT_PT_IP_SHIFT &&
	       native_target_get(decoder->code, native_fast_path_expand(fast, first >> FORMAT_PT_IP_SHIFT),
				 decoder->mode);
}

/* Decodes packets that end at or before `limit`. Returns false at a packet that is not for this loop. */
static bool take_until(struct native_decoder *decoder, struct native_fast_path *fast, const uint8_t *limit)
{
	while (fast->at < limit) {
		const uint64_t word = common_load64(fast->at);
		const ptrdiff_t padding = word ? __builtin_ctzll(word) / 8 : 8;
		unsigned first;

		if (limit - fast->at <= padding) {
			fast->at = limit;
			break;
		}
		fast->at += padding;
		if (padding == 8)
			continue;
		first = *fast->at;
		if ((first & 1 ? 1 + format_pt_ip_size(first >> FORMAT_PT_IP_SHIFT) : 1) > limit - fast->at)
			break;
		if (!native_fast_path_take(decoder, fast, first) &&
		    (!learn_word(decoder, fast, first) || !native_fast_path_take(decoder, fast, first)))
			return false;
	}
	return true;
}

/* ---- states ----------------------------------------------------------------------------------------------- */

/* Returns the number of the state before the word at `start`; 0: the packet before `start` has too many bytes. */
static uint32_t state_at(struct native_decoder *decoder, const struct native_fast_path *fast, const uint8_t *start)
{
	const size_t carry = (size_t)(start - fast->at);
	struct native_packet_word_state state = {
		.to = fast->to,
		.last_ip = fast->last_ip & ~0xffffull,
		.disabled_ip = fast->to ? 0 : fast->disabled_ip,
		.mode = decoder->mode,
	};

	if (carry > NATIVE_PACKET_WORD_CARRY)
		return 0;
	if (carry)
		state.carry = (common_load64(fast->at) & ~(~0ull << 8 * carry)) | (uint64_t)carry << 56;
	return native_packet_word_state_get(&decoder->code->packet_words, &state);
}

static void to_state(const struct native_packet_words *words, struct native_fast_path *fast, uint32_t number,
		     const uint8_t *start)
{
	const struct native_packet_word_state *state = &words->states[number - 1];

	fast->at = start - (state->carry >> 56);
	fast->to = state->to;
	fast->last_ip = state->last_ip;
	fast->disabled_ip = state->disabled_ip;
}

/* ---- words ------------------------------------------------------------------------------------------------ */

/*
 * Decodes the word at start packet by packet, and adds the word to the cache. Returns false at a packet that is not for
 * this loop.
 */
static bool take_new(struct native_decoder *decoder, struct native_fast_path *fast, uint32_t *state,
		     const uint8_t *start)
{
	const uint32_t from = *state;
	struct native_packet_word_flow flow = {
		.runs = fast->runs,
		.events = fast->events,
		.before = fast->blocks,
		.offset = decoder->packets.offset + (uint64_t)(start - decoder->packets.begin),
	};

	if (!take_until(decoder, fast, start + NATIVE_PACKET_WORD_SIZE))
		return false;
	*state = state_at(decoder, fast, start + NATIVE_PACKET_WORD_SIZE);
	flow.run_count = (size_t)(fast->runs - flow.runs);
	flow.event_count = (size_t)(fast->events - flow.events);
	native_packet_word_met(decoder->code, from, load_word(start), *state, &flow);
	return true;
}

/* A decoded word with events. */
struct taken {
	const struct native_packet_word *word;
	const uint8_t *at;
	uint64_t sums; /* sums of the earlier words */
};

static void put_events(const struct native_decoder *decoder, struct native_fast_path *fast, const struct taken *taken,
		       size_t count)
{
	const uint64_t base = decoder->packets.offset - (uint64_t)(uintptr_t)decoder->packets.begin,
		       time = decoder->out.time;
	struct flow_event *events = fast->events;

	for (const struct taken *end = taken + count; taken != end; taken++) {
		const struct native_packet_word_event *event =
			decoder->code->packet_words.events[taken->word->events].events;

		for (unsigned i = 0; i < NATIVE_PACKET_WORD_EVENTS && event->kind; i++, event++)
			*events++ = (struct flow_event){
				.kind = event->kind,
				.flags = event->flags,
				.before = fast->blocks + native_packet_word_blocks(taken->sums) + event->before,
				.time = time,
				.cycles = decoder->out.cycles,
				.offset = base + (uintptr_t)taken->at + (uint64_t)event->offset,
				.to = event->to,
			};
	}
	fast->events = events;
}

/* Corrects a wrong guess. Returns the number of the word; 0: the word is not cached. */
static __attribute__((noinline)) uint16_t guess_again(const struct native_packet_words *words, uint16_t *guess,
						      uint32_t state, uint64_t bytes)
{
	const struct native_packet_word *word = native_packet_word_find(words, state, bytes);

	if (!word)
		return 0;
	return *guess = (uint16_t)(word - words->table);
}

/* Decodes up to `most` cached words from `start` on. Returns the number of decoded words. */
static size_t take_known_words(const struct native_decoder *decoder, struct native_fast_path *fast, uint32_t *number,
			       const uint8_t *const start, size_t most)
{
	const struct native_packet_words *const words = &decoder->code->packet_words;
	const struct native_packet_word *const table = words->table;
	uint16_t *const guesses = words->guesses;
	/* The CPU cannot predict which words have events. So events are added after all words. */
	struct taken with_events[NATIVE_PACKET_WORD_STEPS + 1];
	const struct flow_block_run **const runs = fast->runs;
	uint64_t sums = 0, before = load_word(start - NATIVE_PACKET_WORD_SIZE);
	uint32_t state = *number;
	size_t run_count = 0, event_count = 0, taken;

	for (taken = 0; taken < most; taken++) {
		const uint8_t *const at = start + taken * NATIVE_PACKET_WORD_SIZE;
		const uint64_t bytes = load_word(at);
		uint16_t *guess;
		const struct native_packet_word *word;

		/* Padding changes nothing. Skipping padding keeps the previous word for the guess of the next word. */
		if (__builtin_expect(!bytes, 0) && !words->states[state - 1].carry)
			continue;
		guess = &guesses[native_packet_word_guess(before, bytes)];
		word = &table[*guess];
		before = bytes;
		if (__builtin_expect(!native_packet_word_is(word, state, bytes), 0)) {
			word = &table[guess_again(words, guess, state, bytes)];
			if (!word->from)
				break;
		}
		with_events[event_count] = (struct taken){word, at, sums};
		event_count += word->events != 0;
		/* A run without blocks is overwritten by the next run. */
		runs[run_count] = &word->run->run;
		run_count += native_packet_word_blocks(word->sums) != 0;
		sums += word->sums;
		state = word->to;
	}
	put_events(decoder, fast, with_events, event_count);
	fast->runs += run_count;
	fast->instructions += (uint32_t)sums;
	fast->blocks += native_packet_word_blocks(sums);
	fast->branches += sums >> 48;
	*number = state;
	return taken;
}

static inline size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns the number of words, from `start` on, for which the batch has room if all words are cached. */
static size_t known_most(const struct native_decoder *decoder, const struct native_fast_path *fast,
			 const struct native_fast_path_ends *ends, const uint8_t *start)
{
	size_t room = smaller((size_t)(ends->runs - fast->runs),
			      (size_t)(ends->events - fast->events) / NATIVE_PACKET_WORD_EVENTS);
	size_t left = start < decoder->packets.end ? (size_t)(decoder->packets.end - start) / NATIVE_PACKET_WORD_SIZE
						   : 0;

	return smaller(smaller(room, left), NATIVE_PACKET_WORD_STEPS);
}

/* Checks whether the word at `start` can be decoded packet by packet. */
static bool has_word_room(const struct native_decoder *decoder, const struct native_fast_path *fast,
			  const struct native_fast_path_ends *ends, const uint8_t *start)
{
	return decoder->packets.end - start >= NATIVE_PACKET_WORD_SIZE + PTL_PT_PACKET_MAX &&
	       ends->runs - fast->runs >= WORD_ROOM && ends->events - fast->events >= WORD_ROOM;
}

/* Checks whether packet words still save time; otherwise suspends packet words for a while. */
static bool pays(struct native_packet_words *words, int32_t credit)
{
	words->credit = credit < CREDIT_MAX ? credit : CREDIT_MAX;
	if (credit >= 0)
		return true;
	words->credit = CREDIT_AGAIN;
	words->rest = REST;
	return false;
}

void native_fast_path_words(struct native_decoder *decoder, struct native_fast_path *fast,
			    const struct native_fast_path_ends *ends)
{
	struct native_packet_words *const words = &decoder->code->packet_words;
	const uint64_t offset = decoder->packets.offset + (uint64_t)(fast->at - decoder->packets.begin);
	const uint8_t *start = fast->at + (-offset & (NATIVE_PACKET_WORD_SIZE - 1));
	bool more = has_word_room(decoder, fast, ends, start) && take_until(decoder, fast, start);
	uint32_t state = more ? state_at(decoder, fast, start) : 0;

	while (more) {
		size_t most = known_most(decoder, fast, ends, start);
		size_t known = state ? take_known_words(decoder, fast, &state, start, most) : 0;

		start += known * NATIVE_PACKET_WORD_SIZE;
		if (known)
			to_state(words, fast, state, start);
		words->credit += (int32_t)known;
		if (state && known == most) {
			more = known != 0;
			continue;
		}
		more = pays(words, words->credit - MISS_COST) && has_word_room(decoder, fast, ends, start) &&
		       take_new(decoder, fast, &state, start);
		start += NATIVE_PACKET_WORD_SIZE;
	}
}
