/* SPDX-License-Identifier: BSD-2-Clause */
/* The code cache's data, which its files share. */
#ifndef RECORD_SOFTWARE_RUNTIME_CACHE_STATE_H
#define RECORD_SOFTWARE_RUNTIME_CACHE_STATE_H

#include "record/software/runtime/runtime.h"
#include "record/software/runtime/translate.h"

#define PAGE 4096ull
#define CHUNK_SIZE (2u << 20)
#define CHUNKS_MAX 2048u
#define REACH (1900ll << 20)
#define RESERVE_PAGES 64u
#define COLD_SIZE (CHUNK_SIZE / 8 * 3)
/* Of a chunk's cold part, left for jumps between chunks that do not reach each other. */
#define COLD_RESERVE (64u << 10)
/* A block's header: what an indirect branch compares its target with. */
#define HEADER 16u

struct cache_block {
	uint64_t pc;
	uint8_t *code;
	uint8_t *check; /* where its head leads when the block is forgotten */
	uint32_t length;
	uint32_t code_size;
	uint16_t step_count;
	bool forgotten;
	struct translate_step *steps;
};

struct cache_chunk {
	uint8_t *base, *at, *end;    /* of code that runs, */
	uint8_t *cold, *cold_end;    /* and of what runs seldom, behind it */
	struct cache_block **blocks; /* by address */
	size_t count, capacity;
	bool is_far; /* made where no memory near the code was free */
};

struct cache_page {
	uint64_t address;
	uint32_t faults;
	bool guarded;   /* write-protected by the cache, while the program may write */
	bool unguarded; /* its blocks compare their bytes */
	struct cache_block **blocks;
	size_t count, capacity;
};

struct cache_exit {
	uint64_t pc;
	uint8_t *site;
};

struct runtime_cache {
	struct cache_chunk chunks[CHUNKS_MAX];
	size_t chunk_count;
	struct cache_block **slots; /* open addressing, by pc */
	size_t slot_count, block_count;
	struct cache_page **pages; /* the same, by address */
	size_t page_slots, page_count, guarded_count;
	struct cache_exit *exits;
	size_t exit_count, exit_capacity;
	const void **table;
	uint8_t *reserve;      /* pages for threads that leave the cache when there is no memory any more */
	uint32_t reserve_used; /* pages */
	bool is_full;          /* a translation failed for lack of memory */
	struct translate_block work;
};

extern struct runtime_cache runtime_cache;

/* ---- cache_index.c, with runtime.lock held ---- */

/* The block at pc that is not forgotten; NULL if there is none. */
struct cache_block *runtime_cache_block(uint64_t pc);
/* False without memory. */
bool runtime_cache_add_block(struct cache_block *block);
/* What is known of the page at this address, a multiple of PAGE; NULL if nothing is. */
struct cache_page *runtime_cache_page(uint64_t address);
/* The same, made if there is none; NULL without memory. */
struct cache_page *runtime_cache_make_page(uint64_t address);

#endif
