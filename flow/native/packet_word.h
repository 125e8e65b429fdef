/* SPDX-License-Identifier: BSD-2-Clause */
/* Eight bytes of packets at a time: what they do in a state is remembered as a whole. */
#ifndef FLOW_NATIVE_PACKET_WORD_H
#define FLOW_NATIVE_PACKET_WORD_H

#include "flow/native/region.h"

#define NATIVE_PACKET_WORD_SIZE 8
#define NATIVE_PACKET_WORD_CARRY 7 /* bytes at most */
#define NATIVE_PACKET_WORDS_SHIFT 14
#define NATIVE_PACKET_WORDS (1u << NATIVE_PACKET_WORDS_SHIFT)
#define NATIVE_GUESS_SHIFT 15 /* log2 of the guesses */
#define NATIVE_PACKET_WORD_FACTOR 0x9e3779b97f4a7c15ull

/* What was given out for a word. */
struct native_packet_word_flow {
	const struct flow_block_run *const *runs;
	const struct flow_event *events;
	size_t run_count;
	size_t event_count;
	size_t before;   /* blocks in the batch before the word */
	uint64_t offset; /* of the word in the stream */
};

/* Words rest at first. */
void native_packet_words_start(struct native_packet_words *words);
/* Makes the tables where there are none yet. False without memory: words rest for ever. */
bool native_packet_words_open(struct native_packet_words *words);
void native_packet_words_close(struct native_packet_words *words);
/* Forgets all; the runs, which may have been given out, go to `retired`. */
void native_packet_words_forget(struct native_packet_words *words, struct native_arena *retired);
/* Whether there is no room for more. */
bool native_packet_words_full(const struct native_packet_words *words);

/* The state's number; 0 where there are too many. */
uint32_t native_packet_word_state_get(struct native_packet_words *words, const struct native_packet_word_state *state);

/* The word in a state; NULL: it is not known. */
const struct native_packet_word *native_packet_word_find(const struct native_packet_words *words, uint32_t state,
							 uint64_t bytes);

/* A word that is not known was taken: remembers what it did if it was met before, and can be remembered. */
void native_packet_word_met(struct native_code *code, uint32_t from, uint64_t bytes, uint32_t to,
			    const struct native_packet_word_flow *flow);

/* Forgets the word with this number: code that it goes through has changed. */
static inline void native_packet_word_forget(struct native_packet_words *words, size_t number)
{
	words->table[number].from = 0;
}

static inline bool native_packet_word_is(const struct native_packet_word *word, uint32_t state, uint64_t bytes)
{
	return word->bytes == bytes && word->from == state;
}

static inline uint64_t native_packet_word_sums(const struct flow_block_run *run)
{
	return run->instructions | (uint64_t)run->count << 32 | (uint64_t)run->branches << 48;
}

static inline uint16_t native_packet_word_blocks(uint64_t sums)
{
	return (uint16_t)(sums >> 32);
}

/*
 * The place of the guess for the word `bytes` that stands behind the word `before`. It does not depend on the state: so the
 * load of a word need not wait for the word before it, and only a wrong guess costs time.
 */
static inline size_t native_packet_word_guess(uint64_t before, uint64_t bytes)
{
	return (bytes ^ (before << 23 | before >> 41)) * NATIVE_PACKET_WORD_FACTOR >> (64 - NATIVE_GUESS_SHIFT);
}

#endif
