/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet words, eight bytes of packets each: their effect in a state is cached as a whole. */
#ifndef FLOW_NATIVE_CACHE_PACKET_WORD_H
#define FLOW_NATIVE_CACHE_PACKET_WORD_H

#include "common/hash.h"
#include "flow/native/cache/arena.h"
#include "flow/native/cache/page_bits.h"
#include "flow/native/cache/region.h"

#define NATIVE_PACKET_WORD_SIZE 8
#define NATIVE_PACKET_WORD_CARRY 7 /* bytes at most */
#define NATIVE_PACKET_WORDS_SHIFT 14
#define NATIVE_PACKET_WORDS (1u << NATIVE_PACKET_WORDS_SHIFT)
#define NATIVE_GUESS_SHIFT 15 /* log2 of the guesses */

/*
 * All state that the fast path changes, between two words: these are at multiples of eight in the stream, as CPUs
 * align packets.
 */
struct native_packet_word_state {
	uint64_t to;          /* the region: see native_to; 0: packets are disabled */
	uint64_t last_ip;     /* without its lower 16 bits, which every address replaces */
	uint64_t disabled_ip; /* while packets are disabled; else 0 */
	uint64_t carry;       /* the bytes before the word that belong to a packet in it, and << 56 how many */
	uint32_t mode;
	uint32_t chain; /* number of the next state in its slot; 0: none */
};

/* An event of a word: packets are enabled or disabled. */
struct native_packet_word_event {
	uint64_t to;
	uint8_t kind; /* enum flow_kind; 0: none */
	uint8_t flags;
	uint16_t before; /* blocks of the word before it */
	int32_t offset;  /* of the packet, from the word's start */
};

#define NATIVE_PACKET_WORD_EVENTS 2

struct native_packet_word_events {
	struct native_packet_word_event events[NATIVE_PACKET_WORD_EVENTS];
};

/* The sums of so many words fit into one number. */
#define NATIVE_PACKET_WORD_STEPS 255
#define NATIVE_PACKET_WORD_BLOCKS (UINT16_MAX / NATIVE_PACKET_WORD_STEPS)
#define NATIVE_PACKET_WORD_INSTRUCTIONS (UINT32_MAX / NATIVE_PACKET_WORD_STEPS)

/* The effect of a word in a state: half a cache line. */
struct native_packet_word {
	uint64_t bytes;
	uint16_t from; /* number of a state; 0: none */
	uint16_t to;
	uint16_t events;              /* number in native_packet_words; 0: none */
	const struct native_run *run; /* may have no blocks */
	uint64_t sums;                /* of the run: see native_packet_word_blocks */
};

struct native_packet_words {
	struct native_packet_word *table;         /* by number, from 1 on; NULL: not made yet */
	struct native_packet_word_events *events; /* by number, from 1 on */
	uint16_t *guesses;                        /* number of a word, by the last bytes alone */
	uint16_t *places;                         /* number of a word, by state and bytes: open addressing; 0: none */
	uint16_t *seen;                           /* tags of words that were met once */
	uint16_t *slots;                          /* number of a state, by what it is */
	struct native_packet_word_state *states;  /* by number - 1 */
	uint32_t word_count;
	uint32_t event_count;
	uint32_t state_count;
	struct native_arena arena; /* runs */
	int64_t rest;              /* bytes that are decoded without words yet */
	struct native_page_bits made_of;
	int32_t credit; /* what words have saved, in words; below 0 they cost more */
};

/* The blocks and events of a word. */
struct native_packet_word_flow {
	const struct flow_block_run *const *runs;
	const struct flow_event *events;
	size_t run_count;
	size_t event_count;
	size_t before;   /* blocks in the batch before the word */
	uint64_t offset; /* of the word in the stream */
};

/* Words are not used at first. */
void native_packet_words_start(struct native_packet_words *words);
/* Allocates the tables if they are not there yet. False without memory: words are never used. */
bool native_packet_words_open(struct native_packet_words *words);

/* The state's number; 0 where there are too many. */
uint32_t native_packet_word_state_get(struct native_packet_words *words, const struct native_packet_word_state *state);

/* The word in a state; NULL: it is not cached. */
const struct native_packet_word *native_packet_word_find(const struct native_packet_words *words, uint32_t state,
							 uint64_t bytes);

/* A word that is not cached was taken: adds it if it was met before and fits. */
void native_packet_word_met(struct native_code *code, uint32_t from, uint64_t bytes, uint32_t to,
			    const struct native_packet_word_flow *flow);

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
 * The place of the guess for the word `bytes` that follows the word `before`. It does not depend on the state: so the
 * load of a word does not wait for the word before it, and only a wrong guess costs time.
 */
static inline size_t native_packet_word_guess(uint64_t before, uint64_t bytes)
{
	return (bytes ^ (before << 23 | before >> 41)) * COMMON_HASH_FACTOR >> (64 - NATIVE_GUESS_SHIFT);
}

#endif
