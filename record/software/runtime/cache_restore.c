/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps an address in the cache back to the program's instruction and registers. */
#include "record/software/runtime/cache_state.h"

/* Caller holds runtime.lock, as another thread may be adding blocks. */
static const struct cache_block *find_block(uint64_t code)
{
	for (size_t i = 0; i < runtime_cache.chunk_count; i++) {
		const struct cache_chunk *chunk = &runtime_cache.chunks[i];
		size_t low = 0, high = chunk->count;

		if (code < (uint64_t)chunk->base || code >= (uint64_t)chunk->end)
			continue;
		while (low < high) {
			const size_t middle = (low + high) / 2;

			if ((uint64_t)chunk->blocks[middle]->code <= code)
				low = middle + 1;
			else
				high = middle;
		}
		if (low && code < (uint64_t)chunk->blocks[low - 1]->code + chunk->blocks[low - 1]->code_size)
			return chunk->blocks[low - 1];
	}
	return NULL;
}

/* Returns the block of an address in the cache, or NULL. Using the block needs no lock: blocks are never freed. */
static const struct cache_block *block_at(uint64_t code)
{
	const struct cache_block *block;

	runtime_lock(&runtime.lock);
	block = find_block(code);
	runtime_unlock(&runtime.lock);
	return block;
}

bool runtime_cache_is_code(uint64_t code)
{
	const size_t count = __atomic_load_n(&runtime_cache.chunk_count, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < count; i++)
		if (code >= (uint64_t)runtime_cache.chunks[i].base && code < (uint64_t)runtime_cache.chunks[i].cold_end)
			return true;
	return false;
}

bool runtime_cache_restore(struct runtime_thread *thread, uint64_t code, uint64_t regs[16], uint64_t *pc,
			   uint64_t *next)
{
	const struct cache_block *block = block_at(code);
	const struct translate_step *step = NULL;
	uint32_t offset, index;

	if (!block)
		return false;
	offset = (uint32_t)(code - (uint64_t)block->code);
	for (index = 0; index < block->step_count && block->steps[index].code <= offset; index++)
		step = &block->steps[index];
	if (!step)
		return false;
	*pc = (block->stub_length && index == block->step_count ? block->stub_pc : block->pc) + step->offset_low +
	      ((uint64_t)step->offset_high << 8);
	*next = *pc + step->length;
	if (step->scratch != 0xff && offset >= step->spilled && offset < step->back) {
		if (step->word & 2) {
			regs[step->scratch] = thread->scratch[0];
			regs[step->word >> 2] = thread->scratch[1];
		} else {
			regs[step->scratch] = thread->scratch[step->word];
		}
	}
	thread->tnt <<= step->bits;
	if (runtime.config.clock == PTL_CLOCK_VIRTUAL)
		thread->slot->instructions += index - 1;
	return true;
}

/* A fault in the byte check at a block's head: the bytes of the program became unreadable. */
bool runtime_cache_restore_check(struct runtime_thread *thread, uint64_t code, uint64_t regs[16], uint64_t *flags,
				 uint64_t *pc)
{
	const struct cache_block *block = block_at(code);
	uint64_t saved;

	if (!block || !block->step_count || code - (uint64_t)block->code >= block->steps[0].code)
		return false;
	*pc = block->pc;
	saved = regs[RAX];
	/* lahf; seto al */
	*flags = (*flags & ~0x8d5ull) | (saved >> 8 & 0xd5) | (saved & 1) << 11;
	regs[RAX] = thread->scratch[0];
	regs[RCX] = thread->scratch[1];
	regs[RDX] = thread->scratch[2];
	return true;
}

bool runtime_cache_is_same_page(uint64_t code, uint64_t address)
{
	const struct cache_block *block = block_at(code);

	return block &&
	       ((block->pc / PAGE <= address / PAGE && (block->pc + block->length - 1) / PAGE >= address / PAGE) ||
		(block->stub_length && block->stub_pc / PAGE == address / PAGE));
}
