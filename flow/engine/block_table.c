/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash table of blocks. A block is valid in every version of the code with equal bytes. */
#include "flow/engine/block_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash.h"
#include "common/vector.h"
#include "flow/code/instruction.h"

#define CHUNK_SIZE ((size_t)256 << 10)
/*
 * Bound of the table's memory. A program has a few hundred thousand distinct blocks, but a program that writes code
 * without end has no bound.
 */
#define MEMORY_LIMIT ((size_t)256 << 20)
#define FIRST_CAPACITY 4096
/* number of blocks with equal addresses but different bytes or images that the table keeps */
#define STALE_LIMIT 4

struct flow_entry {
	struct flow_block block;
	uint64_t generation; /* generation in which the bytes were last compared */
};

/* The hash is compared first, so most other blocks need no comparison. */
struct flow_slot {
	uint64_t hash;
	struct flow_entry *entry; /* NULL: the slot is free */
};

void flow_table_start(struct flow_table *table, const struct flow_code *code)
{
	*table = (struct flow_table){.code = code, .generation = 1, .arena = {.block_size = CHUNK_SIZE}};
}

static void forget_blocks(struct flow_table *table)
{
	common_arena_free(&table->arena);
	free(table->slots);
	table->slots = NULL;
	table->capacity = table->used = 0;
}

void flow_table_free(struct flow_table *table)
{
	forget_blocks(table);
	free(table->scratch);
	*table = (struct flow_table){0};
}

void flow_table_trim(struct flow_table *table)
{
	if (table->arena.total + table->capacity * sizeof(*table->slots) > MEMORY_LIMIT)
		forget_blocks(table);
}

void flow_table_version(struct flow_table *table, flow_root root)
{
	if (table->root == root)
		return;
	table->root = root;
	table->generation++;
}

/* ---- memory ------------------------------------------------------------------------------------- */

static bool need_scratch(struct flow_table *table, size_t size)
{
	return COMMON_VECTOR_GROW(table->scratch, table->scratch_size, size);
}

static int grow_block_table(struct flow_table *table)
{
	size_t capacity = table->capacity ? table->capacity * 2 : FIRST_CAPACITY;
	struct flow_slot *slots = calloc(capacity, sizeof(*slots));

	if (!slots)
		return common_fail_memory("table of blocks", capacity * sizeof(*slots));
	for (size_t i = 0; i < table->capacity; i++) {
		size_t at = table->slots[i].hash & (capacity - 1);

		if (!table->slots[i].entry)
			continue;
		while (slots[at].entry)
			at = (at + 1) & (capacity - 1);
		slots[at] = table->slots[i];
	}
	free(table->slots);
	table->slots = slots;
	table->capacity = capacity;
	return 0;
}

/* ---- blocks ------------------------------------------------------------------------------ */

/* Checks whether a block from an older version of the code is valid in this version, byte for byte. */
static bool still_good(struct flow_table *table, struct flow_entry *entry)
{
	const struct flow_timeline *timeline = flow_code_timeline(table->code);
	const struct flow_block *block = &entry->block;
	struct format_piece piece;
	uint8_t bytes[256];

	if (!flow_version_find(timeline, table->root, block->ip, &piece) || piece.image != block->image ||
	    piece.code_event != block->code_event)
		return false;
	for (uint32_t done = 0; done < block->size;) {
		size_t part = block->size - done;

		if (part > sizeof(bytes))
			part = sizeof(bytes);
		if (flow_code_read(table->code, table->root, block->ip + done, bytes, part) != part ||
		    memcmp(bytes, block->code + done, part) != 0)
			return false;
		done += (uint32_t)part;
	}
	entry->generation = table->generation;
	return true;
}

/*
 * Decodes the run of instructions into scratch: first the lengths, then (from offset `count`) the bytes. Returns false
 * if the code does not hold `count` instructions whose last one is at last_ip.
 */
static bool decode_block(struct flow_table *table, struct flow_block *block)
{
	size_t room = (size_t)(block->last_ip - block->ip) + FLOW_INSTRUCTION_MAX, have, at = 0;
	uint8_t *lengths = table->scratch, *bytes = table->scratch + block->instructions;
	struct flow_instruction instruction = {0};

	have = flow_code_read(table->code, table->root, block->ip, bytes, room);
	for (uint32_t i = 0; i < block->instructions; i++) {
		/* Only the last instruction may be a branch. */
		if (instruction.branch != FLOW_BRANCH_NONE || at > block->last_ip - block->ip ||
		    flow_instruction_decode(bytes + at, have - at, block->mode, block->ip + at, &instruction) < 0)
			return false;
		lengths[i] = instruction.length;
		at += instruction.length;
	}
	block->size = (uint32_t)at;
	block->branch = instruction.branch;
	block->target = instruction.target;
	return at - instruction.length == block->last_ip - block->ip;
}

static int make_block(struct flow_table *table, struct flow_block block, uint64_t hash, size_t slot,
		      const struct flow_block **made)
{
	struct flow_entry *entry;
	struct format_piece piece;
	uint8_t *copy;

	/* An instruction takes 1 to 15 bytes. An impossible run must not allocate much memory. */
	if (!block.instructions || block.last_ip < block.ip ||
	    block.last_ip - block.ip > (uint64_t)(block.instructions - 1) * FLOW_INSTRUCTION_MAX ||
	    block.last_ip - block.ip < block.instructions - 1)
		return PTL_CORRUPT;
	if (!need_scratch(table, (size_t)block.instructions * (FLOW_INSTRUCTION_MAX + 1)))
		return common_fail_memory("block", (size_t)block.instructions * (FLOW_INSTRUCTION_MAX + 1));
	if (!flow_version_find(flow_code_timeline(table->code), table->root, block.ip, &piece) ||
	    !decode_block(table, &block))
		return PTL_CORRUPT;
	entry = common_arena_take(&table->arena, sizeof(*entry) + block.size + block.instructions);
	if (!entry)
		return common_fail_memory("block", sizeof(*entry) + block.size + block.instructions);
	copy = (uint8_t *)(entry + 1);
	memcpy(copy, table->scratch, (size_t)block.instructions + block.size);
	block.lengths = copy;
	block.code = copy + block.instructions;
	block.image = piece.image;
	block.code_event = piece.code_event;
	*entry = (struct flow_entry){block, table->generation};
	table->used += !table->slots[slot].entry;
	table->slots[slot] = (struct flow_slot){hash, entry};
	*made = &entry->block;
	return 0;
}

static bool is_block(const struct flow_block *block, const struct flow_block *wanted)
{
	return block->ip == wanted->ip && block->last_ip == wanted->last_ip &&
	       block->instructions == wanted->instructions && block->mode == wanted->mode;
}

int flow_table_get(struct flow_table *table, uint64_t ip, uint64_t last_ip, uint32_t count, uint8_t mode,
		   const struct flow_block **block)
{
	const struct flow_block wanted = {.ip = ip, .last_ip = last_ip, .instructions = count, .mode = mode};
	uint64_t hash = common_hash_mix(ip ^ (last_ip << 20 | last_ip >> 44));
	unsigned stale = 0;
	size_t at;

	hash ^= hash >> 32;
	if (table->used * 2 >= table->capacity) {
		int status = grow_block_table(table);

		if (status < 0)
			return status;
	}
	for (at = hash & (table->capacity - 1); table->slots[at].entry; at = (at + 1) & (table->capacity - 1)) {
		struct flow_entry *entry = table->slots[at].entry;

		if (table->slots[at].hash != hash || !is_block(&entry->block, &wanted))
			continue;
		if (entry->generation == table->generation || still_good(table, entry)) {
			*block = &entry->block;
			return 0;
		}
		/* Code that is written again and again: the oldest block is replaced. Its memory is kept for now. */
		if (++stale == STALE_LIMIT)
			break;
	}
	return make_block(table, wanted, hash, at, block);
}
