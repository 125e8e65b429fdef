/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet words: eight bytes of packets. The effect of a word in a state is cached as a whole. */
#ifndef FLOW_NATIVE_CACHE_PACKET_WORD_H
#define FLOW_NATIVE_CACHE_PACKET_WORD_H

#include "common/hash.h"
#include "flow/native/cache/arena.h"
#include "flow/native/cache/page_bits.h"
#include "flow/native/cache/region.h"

#define NATIVE_PACKET_WORD_SIZE 8
#define NATIVE_PACKET_WORD_CARRY 7 /* maximum bytes */
#define NATIVE_PACKET_WORDS_SHIFT 14
#define NATIVE_PACKET_WORDS (1u << NATIVE_PACKET_WORDS_SHIFT)
#define NATIVE_GUESS_SHIFT 15 /* log2 of the number of guesses */

/*
 * State between two words: all state that the fast path changes. Words begin at multiples of eight in the stream,
 * because CPUs align packets.
 */
struct native_packet_word_state {
	uint64_t to;          /* region as a number: see native_to; 0: packets are disabled */
	uint64_t last_ip;     /* last IP without the lower 16 bits, which every address replaces */
	uint64_t disabled_ip; /* address at which packets were disabled; 0 while packets are enabled */
	uint64_t carry;       /* bytes before the word that begin a packet of the word, and their number << 56 */
	uint32_t mode;
	uint32_t chain; /* number of the next state in the slot; 0: the last one */
};

/* An event of a word: packets are enabled or disabled. */
struct native_packet_word_event {
	uint64_t to;
	uint8_t kind; /* enum flow_kind; 0: no event */
	uint8_t flags;
	uint16_t before; /* number of the word's blocks before the event */
	int32_t offset;  /* offset of the packet from the word's start */
};

#define NATIVE_PACKET_WORD_EVENTS 2

struct native_packet_word_events {
	struct native_packet_word_event events[NATIVE_PACKET_WORD_EVENTS];
};

/* Maximum number of words whose sums fit into one number. */
#define NATIVE_PACKET_WORD_STEPS 255
#define NATIVE_PACKET_WORD_BLOCKS (UINT16_MAX / NATIVE_PACKET_WORD_STEPS)
#define NATIVE_PACKET_WORD_INSTRUCTIONS (UINT32_MAX / NATIVE_PACKET_WORD_STEPS)

/* The effect of a word in a state, in half a cache line. */
struct native_packet_word {
	uint64_t bytes;
	uint16_t from; /* number of the state before; 0: unused */
	uint16_t to;
	uint16_t events;              /* number in native_packet_words.events; 0: no events */
	const struct native_run *run; /* may have no blocks */
	uint64_t sums;                /* sums of the run: see native_packet_word_blocks */
};

struct native_packet_words {
	struct native_packet_word *table;         /* words by number, from 1 on; NULL: not allocated yet */
	struct native_packet_word_events *events; /* events by number, from 1 on */
	uint16_t *guesses;                        /* guessed number of a word, by the latest bytes only */
	uint16_t *places;                         /* number of a word, by state and bytes: open addressing; 0: free */
	uint16_t *seen;                           /* tags of words that were met once */
	uint16_t *slots;                          /* number of a state, by hash of the state */
	struct native_packet_word_state *states;  /* states by number - 1 */
	uint32_t word_count;
	uint32_t event_count;
	uint32_t state_count;
	struct native_arena arena; /* memory of runs */
	int64_t rest;              /* bytes still to be decoded without words */
	struct native_page_bits made_of;
	int32_t credit; /* saved time, in words; negative: words cost more than they save */
};

/* The blocks and events of a word. */
struct native_packet_word_flow {
	const struct flow_block_run *const *runs;
	const struct flow_event *events;
	size_t run_count;
	size_t event_count;
	size_t before;   /* number of the batch's blocks before the word */
	uint64_t offset; /* stream offset of the word */
};

/* Initialises the cache. At first, words are not used. */
void native_packet_words_start(struct native_packet_words *words);
/* Allocates the tables at first use. Returns false without memory: then words are never used. */
bool native_packet_words_open(struct native_packet_words *words);

/* Copies the words of another cache to an empty cache. The runs are not copied. Returns false without memory. */
bool native_packet_words_copy(struct native_packet_words *words, const struct native_packet_words *from);

/* Returns the state's number; 0: the table of states is full. */
uint32_t native_packet_word_state_get(struct native_packet_words *words, const struct native_packet_word_state *state);

/* Finds the word in a state. Returns NULL if the word is not cached. */
const struct native_packet_word *native_packet_word_find(const struct native_packet_words *words, uint32_t state,
							 uint64_t bytes);

/* Adds a decoded word to the cache, if the word was met before and is not too large. */
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
 * Returns the place of the guess for the word `bytes` after the word `before`. The place does not depend on the state,
 * so the load of a word does not wait for the previous word. Only a wrong guess costs time.
 */
static inline size_t native_packet_word_guess(uint64_t before, uint64_t bytes)
{
	return (bytes ^ (before << 23 | before >> 41)) * COMMON_HASH_FACTOR >> (64 - NATIVE_GUESS_SHIFT);
}

#endif
