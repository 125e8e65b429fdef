/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ways from block to block: exits, and the code before a block's head.
 */
#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "record/software/runtime/cache_state.h"
#include "record/software/runtime/emit.h"

/* jmp [rip], followed by an address of 8 bytes */
#define FAR_JUMP_SIZE 14u
#define JUMP_SIZE 5u
/* number of return sites that are allocated at once */
#define RETURN_SITES 1000u

bool runtime_cache_reaches(const struct cache_chunk *chunk, uint64_t pc)
{
	const int64_t low = (int64_t)((uint64_t)chunk->base - pc), high = (int64_t)((uint64_t)chunk->cold_end - pc);

	return low > -REACH && high < REACH;
}

uint32_t runtime_cache_add_exit(const struct translate_exit *exit)
{
	if (!COMMON_VECTOR_GROW(runtime_cache.exits, runtime_cache.exit_capacity, runtime_cache.exit_count + 1)) {
		runtime_cache.is_full = true;
		return 0;
	}
	runtime_cache.exits[runtime_cache.exit_count] = *exit;
	return (uint32_t)runtime_cache.exit_count++;
}

struct translate_return_site *runtime_cache_add_return_site(void)
{
	struct runtime_cache *cache = &runtime_cache;

	if (cache->return_site == cache->return_sites_end) {
		struct translate_return_site *piece = malloc(RETURN_SITES * sizeof(*piece));

		if (piece && !cache->return_sites) {
			/* The first site stands for an empty entry. */
			cache->return_sites = piece;
			*piece = (struct translate_return_site){.inverted = TRANSLATE_RETURN_EMPTY};
		}
		/* Instructions contain the offset as a signed number of 4 bytes. */
		if (!piece || !emit_reaches((const uint8_t *)cache->return_sites, (const uint8_t *)piece) ||
		    !emit_reaches((const uint8_t *)cache->return_sites, (const uint8_t *)(piece + RETURN_SITES))) {
			cache->is_full = true;
			return NULL;
		}
		cache->return_site = piece;
		cache->return_sites_end = piece + RETURN_SITES;
	}
	return cache->return_site++;
}

uint64_t runtime_cache_exit_pc(uint64_t number)
{
	uint64_t pc;

	/* Another thread may be moving the exits to larger memory. */
	runtime_lock(&runtime.lock);
	pc = runtime_cache.exits[number].pc;
	runtime_unlock(&runtime.lock);
	return pc;
}

/* Writes a jump to `code` within reach of `site`. Returns NULL if no chunk in reach has room. */
static const uint8_t *add_far_jump(const uint8_t *site, const void *code)
{
	for (size_t i = runtime_cache.chunk_count; i-- > 0;) {
		struct cache_chunk *chunk = &runtime_cache.chunks[i];
		struct emitter e = {chunk->cold};

		if (!runtime_cache_reaches(chunk, (uint64_t)site) ||
		    (size_t)(chunk->cold_end - chunk->cold) < FAR_JUMP_SIZE)
			continue;
		emit_bytes(&e, (const uint8_t[]){0xff, 0x25, 0, 0, 0, 0}, 6);
		emit_8(&e, (uint64_t)code);
		chunk->cold += FAR_JUMP_SIZE;
		return chunk->cold - FAR_JUMP_SIZE;
	}
	return NULL;
}

/* Returns `size` bytes in the hot part of the chunk that has `code`. NULL: fewer than `reserve` bytes would remain. */
static uint8_t *hot_room(const uint8_t *code, size_t size, size_t reserve)
{
	for (size_t i = 0; i < runtime_cache.chunk_count; i++) {
		struct cache_chunk *chunk = &runtime_cache.chunks[i];
		uint8_t *at = chunk->at;

		if (code < chunk->base || code >= chunk->end || (size_t)(chunk->end - at) < size + reserve)
			continue;
		chunk->at += size;
		return at;
	}
	return NULL;
}

static void emit_jump(uint8_t *at, const uint8_t *to)
{
	*at = 0xe9;
	emit_displacement(at + 1, to);
}

bool runtime_cache_add_entry(struct cache_block *block)
{
	uint8_t *at = block->entry ? NULL : hot_room(block->code, TRANSLATE_ENTRY_SIZE + JUMP_SIZE, 0);

	if (at) {
		runtime_translate_entry(at);
		emit_jump(at + TRANSLATE_ENTRY_SIZE, block->code);
		block->entry = at;
	}
	return block->entry;
}

static void set_displacement(uint8_t *site, const uint8_t *to)
{
	__atomic_store_n((int32_t *)(void *)site, (int32_t)((int64_t)to - (int64_t)(site + 4)), __ATOMIC_RELEASE);
}

/* Moves a taken edge that leads to `to` from the cold part to the hot part. */
static void move_edge(const struct translate_exit *exit, const uint8_t *to)
{
	uint8_t edge[TRANSLATE_EDGE_MAX];
	const unsigned size = runtime_translate_edge(edge, exit->zeros);
	uint8_t *at = emit_reaches(exit->branch + 4, to) ? hot_room(exit->branch, size + JUMP_SIZE, ENTRY_RESERVE)
							 : NULL;

	if (!at)
		return;
	memcpy(at, edge, size);
	emit_jump(at + size, to);
	set_displacement(exit->branch, at);
}

void runtime_cache_link(uint64_t number, const void *code)
{
	struct translate_exit *exit = &runtime_cache.exits[number];
	uint8_t *site = exit->site;
	const uint8_t *to = code;

	if (exit->return_site) {
		struct cache_block *block = runtime_cache_block(exit->pc);

		if (block && block->code == to && runtime_cache_add_entry(block))
			__atomic_store_n(&exit->return_site->code, (uint64_t)block->entry, __ATOMIC_RELEASE);
		return;
	}
	/* The jump is gone: see runtime_cache_join. */
	if (!site)
		return;
	if (!emit_reaches(site + 4, to))
		to = add_far_jump(site + 4, to);
	/* Otherwise the exit enters the runtime each time. */
	if (to)
		set_displacement(site, to);
	if (to && exit->branch)
		move_edge(exit, to);
	exit->branch = NULL;
}

/* ---- code before a block's head ---- */

/* instructions without effect, by their size */
static const uint8_t nops[][BLOCK_ALIGNMENT - 1] = {
	{0},
	{0x90},
	{0x66, 0x90},
	{0x0f, 0x1f, 0x00},
	{0x0f, 0x1f, 0x40, 0x00},
	{0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
	{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
};

static uint8_t *aligned(const uint8_t *at)
{
	return (uint8_t *)(((uintptr_t)at + BLOCK_ALIGNMENT - 1) & ~(uintptr_t)(BLOCK_ALIGNMENT - 1));
}

/* Returns whether the exit is a jump in front of the head, which one write can replace. */
static bool is_jump_to_next(const struct translate_exit *exit, const uint8_t *head)
{
	return exit->site && aligned(exit->site + 4) == head && (uintptr_t)(exit->site - 1) % 64 <= 56;
}

uint8_t *runtime_cache_lead(const struct cache_chunk *chunk, bool has_entry, uint64_t number)
{
	const struct translate_exit *exit = number == NO_EXIT ? NULL : &runtime_cache.exits[number];
	uint8_t lead[TRANSLATE_EDGE_MAX], *head;
	unsigned size = 0;

	if (has_entry) {
		runtime_translate_entry(lead);
		size = TRANSLATE_ENTRY_SIZE;
	} else if (exit && exit->branch) {
		size = runtime_translate_edge(lead, exit->zeros);
	}
	head = aligned(chunk->at + size);
	if (size)
		memcpy(head - size, lead, size);
	else
		memcpy(chunk->at, nops[head - chunk->at], (size_t)(head - chunk->at));
	return head;
}

void runtime_cache_join(uint64_t number, const uint8_t *head)
{
	struct translate_exit *exit = &runtime_cache.exits[number];

	if (exit->branch) {
		uint8_t edge[TRANSLATE_EDGE_MAX];
		const uint8_t *to = head - runtime_translate_edge(edge, exit->zeros);

		if (emit_reaches(exit->branch + 4, to)) {
			set_displacement(exit->branch, to);
			exit->branch = NULL;
		}
	} else if (is_jump_to_next(exit, head)) {
		uint8_t *at = exit->site - 1, nop[8];
		uint64_t word;

		memcpy(nop, at, 8);
		memcpy(nop, nops[JUMP_SIZE], JUMP_SIZE);
		memcpy(&word, nop, 8);
		__atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
		exit->site = NULL;
	}
}
