/* SPDX-License-Identifier: BSD-2-Clause */
/* Data of the code cache, shared by the cache's files. */
#ifndef RECORD_SOFTWARE_RUNTIME_CACHE_STATE_H
#define RECORD_SOFTWARE_RUNTIME_CACHE_STATE_H

#include "record/software/runtime/runtime.h"
#include "record/software/runtime/translate.h"

#define PAGE 4096ull
#define CHUNK_SIZE (2u << 20)
#define CHUNKS_MAX 2048u
#define REACH (1900ll << 20)
#define RESERVE_PAGES 64u
#define COLD_SIZE (CHUNK_SIZE / 16 * 7)
/* bytes of a chunk's cold part reserved for jumps between chunks out of direct reach */
#define COLD_RESERVE (64u << 10)
/* alignment of a block's code: one write of 8 bytes replaces the first instruction */
#define BLOCK_ALIGNMENT 8u
/* bytes at the end of a chunk's hot part reserved for entries of existing blocks */
#define ENTRY_RESERVE 4096u

struct cache_block {
	/* runtime_to_indirect reads the first two members. */
	uint64_t key;         /* pc; another value after the block is forgotten */
	const uint8_t *entry; /* code for indirect branches and returns, which leads to `code`; NULL: none yet */
	uint8_t *code;
	uint64_t pc;
	uint8_t *check; /* target of the head's jump after the block is forgotten */
	uint32_t length;
	uint32_t code_size;
	uint64_t stub_pc;     /* linkage stub whose jump ends the block */
	uint32_t stub_length; /* 0: no stub */
	uint16_t step_count;
	bool forgotten;
	struct translate_step *steps;
};

struct cache_chunk {
	uint8_t *base, *at, *end;    /* hot part: start, end of used bytes, end */
	uint8_t *cold, *cold_end;    /* cold part behind the hot part: end of used bytes, end */
	struct cache_block **blocks; /* sorted by address */
	size_t count, capacity;
	bool is_far; /* made where no memory near the code was free */
};

struct cache_page {
	uint64_t address;
	uint32_t faults;
	bool guarded;   /* write-protected by the cache, while the program may write */
	bool unguarded; /* the blocks compare their bytes instead */
	struct cache_block **blocks;
	size_t count, capacity;
};

struct runtime_cache {
	struct cache_chunk chunks[CHUNKS_MAX];
	size_t chunk_count;
	struct cache_block **slots; /* open addressing, by pc */
	size_t slot_count, block_count;
	struct cache_page **pages; /* hash table of pages, by address */
	size_t page_slots, page_count, guarded_count;
	struct translate_exit *exits;
	size_t exit_count, exit_capacity;
	struct translate_return_site *return_sites; /* the first site, from which the offsets of all sites count */
	struct translate_return_site *return_site, *return_sites_end; /* unused sites */
	struct cache_block **table;                                   /* blocks by the hash of their pc */
	uint8_t *reserve;      /* pages for threads that leave the cache without memory for a page */
	uint32_t reserve_used; /* pages */
	bool is_full;          /* a translation failed for lack of memory */
	bool is_unguarded;     /* no page is protected any more: blocks in writable pages compare their bytes */
	struct translate_block work;
};

extern struct runtime_cache runtime_cache;

/* ---- cache_link.c, with runtime.lock held ---- */

#define NO_EXIT UINT64_MAX

/* Returns whether code in the chunk reaches operands of the instruction at pc. */
bool runtime_cache_reaches(const struct cache_chunk *chunk, uint64_t pc);
/* Returns the exit's number. Without memory, the cache is full. */
uint32_t runtime_cache_add_exit(const struct translate_exit *exit);
/* Returns a new return site. Without memory, NULL, and the cache is full. */
struct translate_return_site *runtime_cache_add_return_site(void);
/* Makes an entry for indirect branches. False: the chunk of the block has no room. */
bool runtime_cache_add_entry(struct cache_block *block);
/*
 * Writes code before the head of the block that is about to be translated at the end of the chunk's hot part: the entry for
 * indirect branches if has_entry, or else the way from exit `number`, unless that is NO_EXIT. Returns the place of the head.
 */
uint8_t *runtime_cache_lead(const struct cache_chunk *chunk, bool has_entry, uint64_t number);
/* Lets exit `number` go on in the code before the head of the new block, which has no entry. */
void runtime_cache_join(uint64_t number, const uint8_t *head);

/* ---- cache_index.c, with runtime.lock held ---- */

/* Returns the block at pc, without forgotten blocks; NULL: not translated. */
struct cache_block *runtime_cache_block(uint64_t pc);
/* Adds a block. False: no memory. */
bool runtime_cache_add_block(struct cache_block *block);
/* Returns the cache's data of the page at this address, a multiple of PAGE; NULL: unknown page. */
struct cache_page *runtime_cache_page(uint64_t address);
/* As runtime_cache_page, but adds an unknown page. NULL: no memory. */
struct cache_page *runtime_cache_make_page(uint64_t address);

#endif
