/* SPDX-License-Identifier: BSD-2-Clause */
/* Code as the native engine walks it: blocks, regions of blocks up to the next packet, memoised runs. */
#ifndef FLOW_NATIVE_REGION_H
#define FLOW_NATIVE_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash_map.h"
#include "flow/engine/flow.h"
#include "flow/code/range.h"
#include "flow/native/arena.h"
#include "flow/native/invalidation.h"

struct native_source {
	/* The range that holds ip, or the hole around it. */
	void (*find)(void *context, uint64_t ip, struct flow_code_range *range);
	void *context;
};

/* What the engine has to be told at a region's end. */
enum native_decision {
	NATIVE_CONDITIONAL, /* a TNT bit */
	NATIVE_INDIRECT,    /* a TIP: indirect jump or call */
	NATIVE_RETURN,      /* a TNT bit with return compression, else a TIP */
	NATIVE_FAR,         /* a TIP, or a TIP.PGD where it leads out of what is traced */
	NATIVE_CONTINUE,    /* nothing: the region or its last block is long, or it is a stub */
	NATIVE_NO_CODE,     /* the bytes at stop_ip are not in the trace */
	NATIVE_BAD_CODE,    /* the bytes at stop_ip are no instruction */
};

struct native_region;

/* A return address that a near call pushes, with the region there once it is known. */
struct native_return_site {
	uint64_t ip;
	struct native_region *region;
};

/*
 * A run as it is given out, and what it does to the return stack: takes `pops` addresses off, then pushes those of its near
 * calls, oldest first. The return stack is made of the runs that were given out, when a return asks for it.
 */
struct native_run {
	struct flow_block_run run;
	struct native_return_site *const *pushes;
	uint32_t push_count;
	uint16_t pops;
	bool returns; /* it ends with a near return, whose address is still to be taken off */
};

/*
 * All code from an address to the first place where a packet decides what comes next: direct jumps and
 * calls are followed. Nodes never change, but for their links. One takes two cache lines; packets with an address need
 * only the first.
 */
struct native_region {
	struct native_run run;
	uint64_t out_ip;     /* the last TIP.PGD here led to this address, */
	uint64_t out_resume; /* from which flow comes back here if nothing was missed: see native_resume_ip */
	uint8_t decision;    /* enum native_decision */
	uint8_t mode;
	bool out_known;  /* and so left the region at its end */
	uint8_t notable; /* of all blocks: see block.h */
	bool stub;       /* forgotten: has no blocks, leads to itself, and is made again when that is followed */

	struct native_return_site here; /* its address, also as one to return to */
	struct native_region *next[2];  /* of CONDITIONAL: not taken, taken; of CONTINUE: [0]; NULL: not made yet */
	struct native_region *chain;    /* in the table */
	uint64_t stop_ip;
	uint64_t pages;     /* of tracked code that it is made of: see native_page_bit */
	uint32_t forgotten; /* how often it was */
};

#define NATIVE_LINE 64 /* bytes of a cache line */

_Static_assert(sizeof(struct native_region) == 2 * NATIVE_LINE && offsetof(struct native_region, here) == NATIVE_LINE,
	       "two cache lines");

/* The longest chain of blocks in one region, so that endless loops of direct jumps end. */
#define NATIVE_REGION_BLOCKS 64
/* A region ends behind the block that reaches so many. */
#define NATIVE_REGION_INSTRUCTIONS (1u << 20)
/* The most that a run adds up to: a region's last block may be as long as the others together, and more. */
#define NATIVE_RUN_INSTRUCTIONS (1u << 22)

/*
 * What (region, up to 7 TNT bits) leads to; the table is direct-mapped. Only conditional branches, and
 * returns whose call is on the way, are in a way. Half a cache line: addresses of user space have 47 bits,
 * so that a pointer has room for more.
 */
struct native_tnt_entry {
	uint64_t
		from; /* as `to`, of the region; with the place in the table that gives the bits too. + 1 where not all bits
			  are consumed */
	uint64_t to;           /* the region, and where its own entries are << 48: see native_tnt_cache_base */
	uint64_t run;          /* the run, and the bits consumed << 56: fewer than asked for where the way meets another
			  decision */
	uint32_t instructions; /* copied from the way: */
	uint16_t blocks;
	uint16_t branches;
};

#define NATIVE_POINTER_MASK 0xffffffffffffull

static inline struct native_region *native_to_region(uint64_t to)
{
	return (struct native_region *)(uintptr_t)(to & NATIVE_POINTER_MASK);
}

static inline const struct native_run *native_tnt_entry_run(const struct native_tnt_entry *entry)
{
	return (const struct native_run *)(uintptr_t)(entry->run & NATIVE_POINTER_MASK);
}

static inline unsigned native_tnt_entry_used(const struct native_tnt_entry *entry)
{
	return (unsigned)(entry->run >> 56);
}

#define NATIVE_TNT_CACHE_SHIFT 14 /* log2 of the table's entries */
#define NATIVE_TNT_BITS 7
/* Where an indirect branch leads: direct-mapped, by address. */
#define NATIVE_TARGET_SHIFT 12

struct native_target {
	uint64_t tag; /* see native_target_tag */
	uint64_t to;  /* as in native_tnt_entry */
};

/* The address with the mode: no address of 64-bit mode is one of another mode, and 0 is none. */
static inline uint64_t native_target_tag(uint64_t ip, unsigned mode)
{
	return mode == 64 ? ip ^ 1ull << 56 : (ip & 0xffffffff) | (uint64_t)mode << 57;
}

/* Where flow is, and where each of its calls returns to: a region, and the context after the newest return. */
struct native_context {
	struct native_region *region;
	uint32_t under; /* id of a context; 0: no call is known */
	uint32_t depth; /* calls */
};

/* What a window, up to 16 bits, does in a context. */
struct native_tnt16_entry {
	uint32_t tag;  /* the context, and how far the entry is from its own place; 0: empty */
	uint32_t to;   /* context */
	uint64_t sums; /* of blocks, 24 bits, and of instructions above them */
};

/* For views that only count, where the same windows come again and again in few contexts: see entry.h. */
struct native_tnt16 {
	struct native_tnt16_entry *table; /* NATIVE_TNT16_ENTRIES; NULL: not needed yet */
	struct native_context *contexts;  /* by number; there is none with the number 0 */
	struct common_hash_map by_region; /* ids of contexts by region and context under it */
	uint32_t context_count;
	uint32_t context_capacity;
	uint32_t users;  /* that entry */
	uint64_t pages;  /* of tracked code that tnt16 were made of */
	uint32_t turn;   /* who is thrown out next */
	uint32_t pause;  /* beginnings until tnt16 are tried again */
	uint32_t pauses; /* one after the other */
	int64_t credit;  /* packets by which finding tnt16 is ahead of walking */
	bool full;       /* no more contexts */
};

/*
 * All that native_fast_path changes, between two words of packets: eight bytes at a multiple of eight in the stream, as CPUs
 * align packets.
 */
struct native_packet_word_state {
	uint64_t to;          /* the region: see native_to; 0: packets are disabled */
	uint64_t last_ip;     /* without its lower 16 bits, which no packet keeps */
	uint64_t disabled_ip; /* while packets are disabled; else 0, as it means nothing */
	uint64_t carry;       /* the bytes before the word that begin a packet, and how many << 56 */
	uint32_t mode;
	uint32_t chain; /* number of the next state of its slot; 0: none */
};

/* An event of a word: packets start or stop. */
struct native_packet_word_event {
	uint64_t to;
	uint8_t kind; /* enum flow_kind; 0: none */
	uint8_t flags;
	uint16_t before; /* blocks of the word */
	int32_t offset;  /* of the packet, from the word's start */
};

#define NATIVE_PACKET_WORD_EVENTS 2

struct native_packet_word_events {
	struct native_packet_word_event events[NATIVE_PACKET_WORD_EVENTS];
};

/* So many words can be added up as one number. */
#define NATIVE_PACKET_WORD_STEPS 255
#define NATIVE_PACKET_WORD_BLOCKS (UINT16_MAX / NATIVE_PACKET_WORD_STEPS)
#define NATIVE_PACKET_WORD_INSTRUCTIONS (UINT32_MAX / NATIVE_PACKET_WORD_STEPS)

/* What a word of packets does in a state: half a cache line. */
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
	uint16_t *seen;                           /* traces of words that were met once */
	uint16_t *slots;                          /* number of a state, by what it is */
	struct native_packet_word_state *states;  /* by number - 1 */
	uint32_t word_count;
	uint32_t event_count;
	uint32_t state_count;
	struct native_arena arena; /* runs */
	int64_t rest;              /* bytes of packets that are to be taken without words */
	int32_t credit;            /* what words have saved, in words; below 0 they do not pay */
};

/* All code of one address space in one version. */
struct native_code {
	struct native_source source;
	struct flow_code_range range;        /* the last one found */
	struct native_arena arena;           /* blocks, regions, runs, return_sites: all go at once */
	struct native_region **regions;      /* table by address */
	struct native_region *spare_regions; /* memory of the arena for the next ones */
	size_t spare_region_count;
	size_t region_count;
	size_t region_slots;
	struct native_block **blocks;
	size_t block_count;
	size_t block_slots;
	struct native_tnt_entry *tnt_cache;
	struct native_target *targets;
	void *tables;                 /* native_pages: entry, targets, and at first regions and blocks */
	struct native_arena tnt_runs; /* of the entry: they go at once too, and may go alone */
	struct native_invalidation invalidation;
	struct native_tnt16 tnt16;
	struct native_packet_words packet_words;
	struct native_arena retired; /* forgotten, but given out in the segment at hand */
	uint8_t *lengths;            /* scratch: the block being made */
	size_t length_capacity;
};

/* Where an address is in a table of blocks or regions; slots is a power of two. */
static inline size_t native_slot(uint64_t ip, size_t slots)
{
	return (size_t)(ip * 0x9e3779b97f4a7c15ull >> 20) & (slots - 1);
}

/* Frees a table of regions or blocks that has grown. */
void native_table_free(const struct native_code *code, void *table);

/* PTL_NO_MEMORY. */
int native_code_open(struct native_code *code, struct native_source source);
void native_code_close(struct native_code *code);
/*
 * Forgets all blocks and regions: the code may have changed. They are found no more, but pointers to them stay
 * good until native_code_drop.
 */
void native_code_forget(struct native_code *code);
/* Frees what was forgotten. */
void native_code_drop(struct native_code *code);
/* Bytes that blocks, regions and runs take. */
size_t native_code_size(const struct native_code *code);

/* The region at ip; NULL without memory. It may be empty, with the decision NO_CODE. */
struct native_region *native_region_get(struct native_code *code, uint64_t ip, unsigned mode);

/* Finds what native_region_follow gives, and remembers it unless the region is a stub. */
struct native_region *native_region_link(struct native_code *code, struct native_region *region, unsigned taken);

/* The region behind a CONDITIONAL or CONTINUE (taken: 0); NULL without memory. That behind a stub is the stub, made anew. */
static inline struct native_region *native_region_follow(struct native_code *code, struct native_region *region,
							 unsigned taken)
{
	if (__builtin_expect(!region->next[taken], 0))
		return native_region_link(code, region, taken);
	return region->next[taken];
}

/* The region at a return_site; NULL without memory. */
static inline struct native_region *native_return_site_follow(struct native_code *code,
							      struct native_return_site *return_site, unsigned mode)
{
	if (__builtin_expect(!return_site->region || return_site->region->mode != mode, 0))
		return_site->region = native_region_get(code, return_site->ip, mode);
	return return_site->region;
}

/*
 * The part of block from `first` to before the instruction at `end` (end may be the block's own end). NULL without
 * memory, or where no instructions of the block start at these addresses.
 */
const struct flow_block *native_block_part(struct native_code *code, const struct flow_block *block, uint64_t first,
					   uint64_t end);

/* The index in the table that, with a key, gives the region's entry for it. */
static inline uint32_t native_tnt_cache_base(const struct native_region *region)
{
	return (uint32_t)((((uint64_t)(uintptr_t)region >> 4) * 0x9e3779b97f4a7c15ull) >>
			  (64 - NATIVE_TNT_CACHE_SHIFT));
}

/* The region with its index: so that the index need not be worked out when it is wanted. */
static inline uint64_t native_to(const struct native_region *region)
{
	return (uint64_t)(uintptr_t)region | (uint64_t)native_tnt_cache_base(region) << 48;
}

/* The entry of the table for the region and key, whatever it holds now. */
static inline struct native_tnt_entry *native_tnt_cache_slot(const struct native_code *code,
							     const struct native_region *region, uint32_t key)
{
	/* The ways of one region lie near each other: fewer cache lines for the few that are used. */
	return &code->tnt_cache[native_tnt_cache_base(region) ^ key];
}

/*
 * Walks the key (1 to 7 bits below a stop bit) from region and remembers the way. NULL without memory. All ways may be
 * forgotten: those in the batch must be given out before, so native_tnt_cache_full is asked first.
 */
const struct native_tnt_entry *native_tnt_cache_add(struct native_code *code, struct native_region *region,
						    uint32_t key);

/* Whether ways take so much memory that they should be forgotten. */
bool native_tnt_cache_full(const struct native_code *code);
void native_tnt_cache_forget(struct native_code *code);

static inline bool native_tnt_entry_is(const struct native_tnt_entry *entry, const struct native_region *region)
{
	return (entry->from & ~1ull) == native_to(region);
}

/* Whether it is the entry for all of the bits. */
static inline bool native_tnt_entry_is_whole(const struct native_tnt_entry *entry, uint64_t to)
{
	return entry->from == to;
}

static inline size_t native_target_place(uint64_t ip)
{
	return ip * 0x9e3779b97f4a7c15ull >> (64 - NATIVE_TARGET_SHIFT);
}

/* The entry for ip of the memory of where indirect branches lead, whatever it holds now. */
static inline struct native_target *native_target_slot(const struct native_code *code, uint64_t ip)
{
	return &code->targets[native_target_place(ip)];
}

static inline bool native_target_is(const struct native_target *target, uint64_t ip, unsigned mode)
{
	return target->tag == native_target_tag(ip, mode);
}

/* native_region_get through that memory. */
static inline struct native_region *native_target_get(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_target *target = native_target_slot(code, ip);
	struct native_region *region;

	if (__builtin_expect(native_target_is(target, ip, mode), 1))
		return native_to_region(target->to);
	region = native_region_get(code, ip, mode);
	if (region)
		*target = (struct native_target){.tag = native_target_tag(ip, mode), .to = native_to(region)};
	return region;
}

#endif
