/* SPDX-License-Identifier: BSD-2-Clause */
/* Translated blocks: what the encoder has to know of each, made once at translation. */

#include "record/qemu/plugin/block.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/hash.h"
#include "common/vector.h"

#define FIRST_CHAIN_COUNT 4096u
#define PAGE_SIZE 4096u

static uint32_t hash_address(uint64_t address)
{
	return (uint32_t)common_hash_high(address, 32);
}

static void grow_chains(struct plugin_block_table *table)
{
	size_t count = table->chain_count ? table->chain_count * 4 : FIRST_CHAIN_COUNT;
	struct plugin_block **chains = calloc(count, sizeof(struct plugin_block *));

	if (!chains)
		return; /* longer chains will do, once there are any */
	for (size_t i = 0; i < table->chain_count; i++) {
		struct plugin_block *block = table->chains[i];

		while (block) {
			struct plugin_block *next = block->next;

			block->next = chains[block->hash & (count - 1)];
			chains[block->hash & (count - 1)] = block;
			block = next;
		}
	}
	free(table->chains);
	table->chains = chains;
	table->chain_count = count;
}

static bool is_same(const struct plugin_block *block, const struct plugin_block_source *source)
{
	return block->start == source->start && block->count == source->count && block->kind == source->kind &&
	       block->target == source->target && !memcmp(block->lengths, source->lengths, source->count);
}

/* The addresses at which the fast path may go on, by the kind of the last instruction. */
static void set_successors(struct plugin_block *block, const struct plugin_block_source *source)
{
	block->not_taken = PLUGIN_NOWHERE;
	block->taken = PLUGIN_NOWHERE;
	switch (source->kind) {
	case QEMU_BLOCK_LINEAR:
		block->not_taken = block->end;
		break;
	case QEMU_BLOCK_COND:
		block->not_taken = block->end;
		block->taken = source->target;
		block->shift = 1;
		break;
	case QEMU_BLOCK_CALL:
		/* A call of the next instruction only reads the instruction pointer: it is never
		 * returned from. */
		block->pushes = source->compress_returns && source->target != block->end;
		block->not_taken = source->target;
		break;
	case QEMU_BLOCK_CALL_INDIRECT:
		block->pushes = source->compress_returns;
		break;
	case QEMU_BLOCK_JUMP:
		block->not_taken = source->target;
		break;
	default:
		break;
	}
}

static struct plugin_block *make_block(struct plugin_block_table *table, const struct plugin_block_source *source)
{
	size_t size = sizeof(struct plugin_block) + source->count;
	struct plugin_block *block = aligned_alloc(64, (size + 63) & ~(size_t)63);
	uint64_t at = source->start;

	if (!block)
		return NULL;
	memset(block, 0, sizeof(*block));
	memcpy(block->lengths, source->lengths, source->count);
	block->start = source->start;
	for (size_t i = 0; i < source->count; i++) {
		block->last = at;
		at += source->lengths[i];
	}
	block->end = at;
	block->count = (uint16_t)source->count;
	block->kind = (uint8_t)source->kind;
	block->target = source->target;
	block->hash = hash_address(source->start);
	set_successors(block, source);
	if (source->is_vsyscall)
		block->flags |= PLUGIN_BLOCK_VSYSCALL;
	if (plugin_block_is_handler(table, source->start))
		block->flags |= PLUGIN_BLOCK_HANDLER;
	/* At the end of a page, a block may well be that short. */
	if (source->count == 1 && source->kind == QEMU_BLOCK_LINEAR && block->end % PAGE_SIZE < PAGE_SIZE - 15)
		block->flags |= PLUGIN_BLOCK_SINGLE;
	block->key = block->flags ? PLUGIN_NO_KEY : block->start;
	return block;
}

struct plugin_block *plugin_block_get(struct plugin_block_table *table, const struct plugin_block_source *source,
				      bool *is_new)
{
	uint32_t hash = hash_address(source->start);

	*is_new = false;
	if (table->block_count >= table->chain_count)
		grow_chains(table);
	if (!table->chains)
		return NULL;

	struct plugin_block **chain = &table->chains[hash & (table->chain_count - 1)];

	for (struct plugin_block *block = *chain; block; block = block->next)
		if (block->hash == hash && is_same(block, source))
			return block;

	struct plugin_block *block = make_block(table, source);

	if (!block)
		return NULL;
	block->number = (uint32_t)++table->block_count;
	block->next = *chain;
	*chain = block;
	*is_new = true;
	return block;
}

void plugin_block_set_flag(struct plugin_block *block, enum plugin_block_flag flag)
{
	__atomic_store_n(&block->flags, (uint8_t)(block->flags | flag), __ATOMIC_RELEASE);
	__atomic_store_n(&block->key, PLUGIN_NO_KEY, __ATOMIC_RELEASE);
}

void plugin_block_clear_flag(struct plugin_block *block, enum plugin_block_flag flag)
{
	__atomic_store_n(&block->flags, (uint8_t)(block->flags & ~flag), __ATOMIC_RELEASE);
	if (!block->flags)
		__atomic_store_n(&block->key, block->start, __ATOMIC_RELEASE);
}

void plugin_block_clear(struct plugin_block_table *table)
{
	for (size_t i = 0; i < table->chain_count; i++) {
		while (table->chains[i]) {
			struct plugin_block *next = table->chains[i]->next;

			free(table->chains[i]);
			table->chains[i] = next;
		}
	}
	free(table->chains);
	free(table->handlers);
	*table = (struct plugin_block_table){0};
}

int plugin_block_add_handler(struct plugin_block_table *table, uint64_t address)
{
	if (plugin_block_is_handler(table, address))
		return 0;
	if (!common_vector_room(&table->handlers, table->handler_count, sizeof(*table->handlers)))
		return -ENOMEM;
	table->handlers[table->handler_count++] = address;
	if (!table->chains)
		return 0;

	struct plugin_block *block = table->chains[hash_address(address) & (table->chain_count - 1)];

	for (; block; block = block->next)
		if (block->start == address)
			plugin_block_set_flag(block, PLUGIN_BLOCK_HANDLER);
	return 0;
}

bool plugin_block_is_handler(const struct plugin_block_table *table, uint64_t address)
{
	for (size_t i = 0; i < table->handler_count; i++)
		if (table->handlers[i] == address)
			return true;
	return false;
}

int plugin_block_index(const struct plugin_block *block, uint64_t address)
{
	uint64_t at = block->start;

	for (int i = 0; i < block->count; i++) {
		if (at == address)
			return i;
		at += block->lengths[i];
	}
	return at == address ? block->count : -1;
}

uint64_t plugin_block_address(const struct plugin_block *block, size_t index)
{
	uint64_t at = block->start;

	for (size_t i = 0; i < index; i++)
		at += block->lengths[i];
	return at;
}

bool plugin_block_leads_to(const struct plugin_block *block, uint64_t address)
{
	switch ((enum qemu_block_kind)block->kind) {
	case QEMU_BLOCK_LINEAR:
	case QEMU_BLOCK_TRAP:
		return address == block->end;
	case QEMU_BLOCK_REPEAT:
		return address == block->end || address == block->last;
	case QEMU_BLOCK_COND:
		return address == block->end || address == block->target;
	case QEMU_BLOCK_JUMP:
	case QEMU_BLOCK_CALL:
		return address == block->target;
	case QEMU_BLOCK_JUMP_INDIRECT:
	case QEMU_BLOCK_CALL_INDIRECT:
	case QEMU_BLOCK_RETURN:
	case QEMU_BLOCK_FAR:
		return true;
	case QEMU_BLOCK_SYSCALL:
	case QEMU_BLOCK_UNDEFINED:
		break;
	}
	return false;
}

bool plugin_block_may_repeat_last(const struct plugin_block *block)
{
	switch ((enum qemu_block_kind)block->kind) {
	case QEMU_BLOCK_LINEAR:
	case QEMU_BLOCK_REPEAT:
	case QEMU_BLOCK_UNDEFINED:
	case QEMU_BLOCK_CALL_INDIRECT:
		return false;
	case QEMU_BLOCK_CALL:
		return block->target == block->last;
	default:
		return true;
	}
}

bool plugin_block_is_restart(const struct plugin_block *from, const struct plugin_block *block)
{
	if (from->kind == QEMU_BLOCK_CALL_INDIRECT && block->start == from->last)
		return true;
	if (!(block->flags & PLUGIN_BLOCK_SINGLE) || block->start >= from->last)
		return false;
	return plugin_block_index(from, block->start) >= 0;
}
