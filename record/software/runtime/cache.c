/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The code cache: translated blocks by address, unlinked exits, and pages whose code may change.
 * A block is never moved or freed. If the code of a block changes, the head of the block is overwritten by a jump to
 * the runtime. Threads inside the block run on to its end.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/vector.h"
#include "record/software/runtime/cache_state.h"
#include "record/software/runtime/emit.h"

/* Write faults of a page after which the page loses its write protection and its blocks compare their bytes instead. */
#define WRITE_FAULTS_MAX 24u
#define FAR_PATIENCE 4096u

/* address of no code */
#define NO_ADDRESS 0x8000000000000001ull

_Static_assert(offsetof(struct cache_block, key) == 0 && offsetof(struct cache_block, entry) == 8,
	       "runtime_to_indirect reads these members");

struct runtime_cache runtime_cache;

bool runtime_cache_start(void)
{
	/* Writable and executable, like the cache: a policy that forbids such memory shows here. */
	runtime_cache.reserve = runtime_map(RESERVE_PAGES * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0, true);
	runtime_cache.table = runtime_map(RUNTIME_TABLE_SIZE * sizeof(*runtime_cache.table), PROT_READ | PROT_WRITE, 0,
					  true);
	return runtime_cache.reserve && runtime_cache.table && runtime_cache_add_return_site();
}

uint8_t *runtime_cache_departure(void)
{
	uint8_t *page = runtime_map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, 0, true);
	const uint32_t used = page ? 0 : __atomic_fetch_add(&runtime_cache.reserve_used, 1, __ATOMIC_RELAXED);

	return page || used >= RESERVE_PAGES ? page : runtime_cache.reserve + used * PAGE;
}

bool runtime_cache_is_full(void)
{
	return __atomic_load_n(&runtime_cache.is_full, __ATOMIC_RELAXED);
}

struct cache_block **runtime_cache_table(void)
{
	return runtime_cache.table;
}

uint8_t *runtime_cache_return_sites(void)
{
	return (uint8_t *)runtime_cache.return_sites;
}

/* ---- room ---- */

static bool has_room(const struct cache_chunk *chunk)
{
	return (size_t)(chunk->end - chunk->at) > TRANSLATE_CODE_MAX + ENTRY_RESERVE &&
	       (size_t)(chunk->cold_end - chunk->cold) > TRANSLATE_COLD_MAX + COLD_RESERVE;
}

/*
 * Returns a chunk within reach of pc's operands, or maps one. If no memory near pc is free, or no memory at all,
 * returns another chunk with room; NULL if none has room.
 */
static struct cache_chunk *find_chunk(uint64_t pc)
{
	/* number of uses of far memory before the next search near pc */
	static unsigned patience;
	struct cache_chunk *chunk, *far = NULL, *other = NULL;
	uint8_t *base;

	for (size_t i = runtime_cache.chunk_count; i-- > 0;) {
		chunk = &runtime_cache.chunks[i];
		if (!has_room(chunk))
			continue;
		if (runtime_cache_reaches(chunk, pc))
			return chunk;
		other = chunk;
		if (chunk->is_far)
			far = chunk;
	}
	if (far && patience) {
		patience--;
		return far;
	}
	base = runtime_cache.chunk_count < CHUNKS_MAX
		       ? runtime_map(CHUNK_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC, pc, !far)
		       : NULL;
	if (!base) {
		patience = FAR_PATIENCE;
		return far ? far : other;
	}
	chunk = &runtime_cache.chunks[runtime_cache.chunk_count];
	*chunk = (struct cache_chunk){
		.base = base,
		.at = base,
		.end = base + CHUNK_SIZE - COLD_SIZE,
		.cold = base + CHUNK_SIZE - COLD_SIZE,
		.cold_end = base + CHUNK_SIZE,
	};
	chunk->is_far = !runtime_cache_reaches(chunk, pc);
	__atomic_store_n(&runtime_cache.chunk_count, runtime_cache.chunk_count + 1, __ATOMIC_RELEASE);
	return chunk;
}

/* ---- translation ---- */

static bool note_in_page(struct cache_block *block, uint64_t address)
{
	struct cache_page *page = runtime_cache_make_page(address);

	if (!page || !COMMON_VECTOR_GROW(page->blocks, page->capacity, page->count + 1))
		return false;
	page->blocks[page->count++] = block;
	return true;
}

static void set_guarded(struct cache_page *page, bool guarded)
{
	if (page->guarded != guarded)
		__atomic_add_fetch(&runtime_cache.guarded_count, guarded ? 1 : -1, __ATOMIC_SEQ_CST);
	page->guarded = guarded;
}

/* Protects a page that the program may write, until the program writes to the page. */
static void guard(struct cache_page *page, const struct runtime_map *map)
{
	/* A process that runs natively has no handler for the write fault. */
	if (page->guarded || page->unguarded || !map->writable || runtime.native)
		return;
	if (runtime_cache.is_unguarded) {
		page->unguarded = true;
		return;
	}
	if (RUNTIME_CALL(SYS_mprotect, page->address, PAGE, PROT_READ | PROT_EXEC) == 0)
		set_guarded(page, true);
	else
		page->unguarded = true;
}

static struct cache_block *keep_block(struct cache_chunk *chunk, const struct translate_block *work,
				      const uint8_t *entry)
{
	struct cache_block *block = calloc(1, sizeof(*block));

	if (!block)
		return NULL;
	*block = (struct cache_block){
		.key = work->pc,
		.entry = entry,
		.code = work->code,
		.pc = work->pc,
		.check = work->check,
		.length = work->length,
		.code_size = work->code_size,
		.stub_pc = work->stub_pc,
		.stub_length = work->stub_length,
		.step_count = (uint16_t)work->step_count,
		.steps = malloc(work->step_count * sizeof(struct translate_step)),
	};
	if (!block->steps || !COMMON_VECTOR_GROW(chunk->blocks, chunk->capacity, chunk->count + 1))
		return NULL;
	memcpy(block->steps, work->steps, work->step_count * sizeof(struct translate_step));
	chunk->blocks[chunk->count++] = block;
	chunk->at = work->code + work->code_size;
	chunk->cold += work->cold_size;
	return block;
}

/* Copies code from at most two pages; unreadable memory ends the copy. Returns the number of bytes. */
static size_t read_code(uint64_t pc, uint8_t *bytes, size_t size)
{
	const size_t first = (size_t)(PAGE - pc % PAGE);

	if (first >= size)
		return runtime_copy(bytes, (const void *)pc, size) ? size : 0;
	if (!runtime_copy(bytes, (const void *)pc, first))
		return 0;
	return runtime_copy(bytes + first, (const void *)(pc + first), size - first) ? size : first;
}

static bool is_executable(uint64_t pc, struct runtime_map *map)
{
	const struct channel_image *image = channel_space_find(&runtime.space, pc);

	*map = (struct runtime_map){0};
	if (image && image->executable) {
		map->base = image->base;
		map->end = image->end;
		map->writable = image->protection & PROT_WRITE;
		map->shared = (image->flags & CHANNEL_IMAGE_SHARED) &&
			      (image->flags & (CHANNEL_IMAGE_WRITABLE | CHANNEL_IMAGE_DELETED));
		return true;
	}
	return runtime_maps_find(pc, map) && map->executable;
}

/* Returns the number of executable bytes from pc on, at most `most`. pc's mapping ends at `end`. */
static size_t executable_size(uint64_t pc, uint64_t end, size_t most)
{
	static struct runtime_map next;

	while (end - pc < most && is_executable(end, &next) && next.end > end)
		end = next.end;
	return end - pc < most ? (size_t)(end - pc) : most;
}

/* Returns NULL: memory is lacking for the translation. */
static struct cache_block *fill(void)
{
	__atomic_store_n(&runtime_cache.is_full, true, __ATOMIC_RELAXED);
	return NULL;
}

/* Adds the translated block to chunk, index and pages. NULL: memory is lacking. */
static struct cache_block *add_translated(struct runtime_thread *thread, struct cache_chunk *chunk, uint64_t pc,
					  const uint8_t *bytes, const uint8_t *entry)
{
	struct cache_block *block;

	/* Exits of the block got no number. */
	if (runtime_cache.is_full)
		return NULL;
	block = keep_block(chunk, &runtime_cache.work, entry);
	/* If the recorder has other bytes for these addresses, this call forgets all blocks with the old bytes. */
	runtime_mapping_translated(thread, pc, bytes, runtime_cache.work.length);
	if (runtime_cache.work.stub_length)
		runtime_mapping_translated(thread, runtime_cache.work.stub_pc, runtime_cache.work.stub_bytes,
					   runtime_cache.work.stub_length);
	if (!block || !runtime_cache_add_block(block) || !note_in_page(block, pc & ~(PAGE - 1)))
		return fill();
	if (pc / PAGE != (pc + block->length - 1) / PAGE && !note_in_page(block, (pc & ~(PAGE - 1)) + PAGE))
		return fill();
	if (block->stub_length && !note_in_page(block, block->stub_pc & ~(PAGE - 1)))
		return fill();
	return block;
}

/*
 * Protects the page of the stub that the translated block executes. False: the block may not contain the stub, whose bytes
 * may change without notice.
 */
static bool guard_stub(void)
{
	static struct runtime_map map;
	const struct translate_block *work = &runtime_cache.work;
	const uint64_t pc = work->stub_pc;
	struct cache_page *page;
	uint8_t bytes[TRANSLATE_STUB_MAX];

	if (pc / PAGE != (pc + work->stub_length - 1) / PAGE || !is_executable(pc, &map) || map.shared ||
	    pc + work->stub_length > map.end || (runtime.stops_known && runtime_mapping_is_stop(pc)))
		return false;
	page = runtime_cache_make_page(pc & ~(PAGE - 1));
	if (!page || page->unguarded)
		return false;
	guard(page, &map);
	/* Reads the bytes again: the page may have been written before its protection. */
	return !page->unguarded && read_code(pc, bytes, work->stub_length) == work->stub_length &&
	       memcmp(bytes, work->stub_bytes, work->stub_length) == 0;
}

/*
 * has_entry: the block gets an entry for indirect branches. number: of the exit that leads to pc, or
 * NO_EXIT. NULL: memory is lacking, or pc is unreadable.
 */
static struct cache_block *translate(struct runtime_thread *thread, uint64_t pc, bool has_entry, uint64_t number)
{
	static uint8_t bytes[TRANSLATE_INSTRUCTIONS_MAX * 15];
	static struct runtime_map map;
	struct cache_chunk *chunk;
	struct cache_page *page;
	struct cache_block *block;
	size_t size;

	if (!is_executable(pc, &map))
		return NULL;
	size = executable_size(pc, map.end, sizeof(bytes));
	page = runtime_cache_make_page(pc & ~(PAGE - 1));
	chunk = find_chunk(pc);
	if (!page || !chunk)
		return fill();
	if (map.shared)
		page->unguarded = true;
	/* Protection precedes the read, so a write in between is noticed. */
	guard(page, &map);
	size = read_code(pc, bytes, size);
	/* A block in a page with byte checks does not cross the page's end. */
	if (page->unguarded && size > PAGE - pc % PAGE && PAGE - pc % PAGE >= 15)
		size = (size_t)(PAGE - pc % PAGE);
	if (!size)
		return NULL;
	/* A block with byte checks compares the bytes in memory: an int3 of a uprobe has to stay. */
	if (!page->unguarded)
		runtime_uprobe_replace(thread, pc, bytes, size);
	runtime_cache.work.pc = pc;
	runtime_cache.work.bytes = bytes;
	runtime_cache.work.size = size;
	runtime_cache.work.code = runtime_cache_lead(chunk, has_entry, number);
	runtime_cache.work.cold = chunk->cold;
	runtime_cache.work.add_exit = runtime_cache_add_exit;
	runtime_cache.work.add_return_site = runtime_cache_add_return_site;
	runtime_cache.work.return_sites = (const uint8_t *)runtime_cache.return_sites;
	runtime_cache.work.read_code = read_code;
	runtime_cache.work.find_place = runtime_values_known() ? runtime_values_place : NULL;
	runtime_cache.work.find_loop = runtime_values_known() ? runtime_values_loop : NULL;
	runtime_cache.work.options = (struct translate_options){
		.return_compression = runtime.config.return_compression,
		.counted = runtime.config.clock == PTL_CLOCK_VIRTUAL,
		.check_bytes = page->unguarded,
		.single_store = page->unguarded,
		.joins_stubs = !page->unguarded && !runtime_values_known(),
	};
	runtime_translate_block(&runtime_cache.work);
	if (runtime_cache.work.stub_length && !guard_stub()) {
		runtime_cache.work.options.joins_stubs = false;
		runtime_translate_block(&runtime_cache.work);
	}
	if (runtime_cache.work.cut) {
		/* The instruction extends into unreadable memory: executing it faults there. */
		return NULL;
	}
	if (pc / PAGE != (pc + runtime_cache.work.length - 1) / PAGE) {
		struct cache_page *second = runtime_cache_make_page((pc & ~(PAGE - 1)) + PAGE);

		if (!second)
			return fill();
		if (map.shared)
			second->unguarded = true;
		guard(second, &map);
		/*
		 * Reads the bytes again: the second page may have been written before its protection, or, without
		 * protection, at any time.
		 */
		runtime_copy(bytes, (const void *)pc, runtime_cache.work.length);
		if (!page->unguarded && !second->unguarded)
			runtime_uprobe_replace(thread, pc, bytes, runtime_cache.work.length);
		runtime_cache.work.size = runtime_cache.work.length;
		runtime_cache.work.options.check_bytes |= second->unguarded;
		runtime_cache.work.options.single_store |= second->unguarded;
		runtime_cache.work.options.joins_stubs &= !second->unguarded && runtime_cache.work.stub_length;
		runtime_translate_block(&runtime_cache.work);
		if (runtime_cache.work.cut)
			return NULL;
	}
	block = add_translated(thread, chunk, pc, bytes,
			       has_entry ? runtime_cache.work.code - TRANSLATE_ENTRY_SIZE : NULL);
	if (block && !has_entry && number != NO_EXIT)
		runtime_cache_join(number, block->code);
	return block;
}

/* Returns the table entry of pc, by the hash that runtime_to_indirect uses. */
static struct cache_block **table_entry(uint64_t pc)
{
	return &runtime_cache.table[((uint32_t)pc ^ (uint32_t)pc >> RUNTIME_TABLE_SHIFT) & (RUNTIME_TABLE_SIZE - 1)];
}

const void *runtime_cache_find(struct runtime_thread *thread, uint64_t pc, const void **entry)
{
	struct cache_block *block = __atomic_load_n(table_entry(pc), __ATOMIC_ACQUIRE);
	uint64_t number = NO_EXIT;
	bool wants_entry = entry;

	if (block && __atomic_load_n(&block->key, __ATOMIC_RELAXED) == pc) {
		if (entry)
			*entry = block->entry;
		return block->code;
	}
	runtime_lock(&runtime.lock);
	block = runtime_cache_block(pc);
	/* The delivery of a signal may have changed the pc. */
	if (thread->reason == RUNTIME_REASON_LINK && runtime_cache.exits[thread->exit & 0xffffffff].pc == pc)
		number = thread->exit & 0xffffffff;
	wants_entry |= number != NO_EXIT && runtime_cache.exits[number].return_site;
	if (!block)
		block = translate(thread, pc, wants_entry, number);
	if (block && entry) {
		*entry = runtime_cache_add_entry(block) ? block->entry : NULL;
		/* Direct exits are linked: their entries would displace the entries of indirect branches. */
		if (*entry && thread->reason != RUNTIME_REASON_LINK)
			__atomic_store_n(table_entry(pc), block, __ATOMIC_RELEASE);
	}
	runtime_unlock(&runtime.lock);
	return block ? block->code : NULL;
}

/* ---- changes ---- */

static void forget_block(struct cache_block *block)
{
	const int32_t displacement = (int32_t)((int64_t)block->check - (int64_t)(block->code + 5));
	uint64_t word;
	uint8_t jump[8];

	if (block->forgotten)
		return;
	block->forgotten = true;
	if (*table_entry(block->pc) == block)
		*table_entry(block->pc) = NULL;
	__atomic_store_n(&block->key, NO_ADDRESS, __ATOMIC_RELAXED);
	memcpy(jump, block->code, 8);
	jump[0] = 0xe9;
	memcpy(jump + 1, &displacement, 4);
	memcpy(&word, jump, 8);
	__atomic_store_n((uint64_t *)(void *)block->code, word, __ATOMIC_SEQ_CST);
}

static void forget_page(struct cache_page *page, uint64_t base, uint64_t end)
{
	size_t kept = 0;

	for (size_t i = 0; i < page->count; i++) {
		struct cache_block *block = page->blocks[i];

		if (block->forgotten)
			continue;
		if ((block->pc < end && block->pc + block->length > base) ||
		    (block->stub_length && block->stub_pc < end && block->stub_pc + block->stub_length > base))
			forget_block(block);
		else
			page->blocks[kept++] = block;
	}
	page->count = kept;
}

/* Calls use for each known page of the range. */
static void each_page(uint64_t base, uint64_t end, void (*use)(struct cache_page *, uint64_t, uint64_t))
{
	if ((end - base) / PAGE > runtime_cache.page_slots) {
		for (size_t i = 0; i < runtime_cache.page_slots; i++)
			if (runtime_cache.pages[i] && runtime_cache.pages[i]->address < end &&
			    runtime_cache.pages[i]->address + PAGE > base)
				use(runtime_cache.pages[i], base, end);
		return;
	}
	for (uint64_t at = base & ~(PAGE - 1); at < end && at + PAGE > at; at += PAGE) {
		struct cache_page *page = runtime_cache_page(at);

		if (page)
			use(page, base, end);
	}
}

void runtime_cache_forget(uint64_t base, uint64_t end)
{
	each_page(base, end, forget_page);
}

static void forget_guard(struct cache_page *page, uint64_t base, uint64_t end)
{
	(void)base;
	(void)end;
	set_guarded(page, false);
	forget_page(page, page->address, page->address + PAGE);
}

void runtime_cache_remapped(uint64_t base, uint64_t end)
{
	each_page(base, end, forget_guard);
}

static void lift_guard(struct cache_page *page, uint64_t base, uint64_t end)
{
	if (!page->guarded)
		return;
	RUNTIME_CALL(SYS_mprotect, page->address, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	forget_guard(page, base, end);
}

bool runtime_cache_write_fault(struct runtime_thread *thread, uint64_t address)
{
	struct cache_page *page;
	bool own = false;

	(void)thread;
	runtime_lock(&runtime.lock);
	page = runtime_cache_page(address & ~(PAGE - 1));
	if (page && page->guarded) {
		own = true;
		if (++page->faults > WRITE_FAULTS_MAX)
			page->unguarded = true;
		lift_guard(page, 0, 0);
	}
	if (page && !own) {
		/* Another thread may have lifted the protection just now. */
		static struct runtime_map map;

		own = runtime_maps_find(address, &map) && map.writable;
	}
	runtime_unlock(&runtime.lock);
	return own;
}

bool runtime_cache_unguard(uint64_t address)
{
	struct cache_page *page;

	runtime_lock(&runtime.lock);
	page = runtime_cache_page(address & ~(PAGE - 1));
	if (page)
		page->unguarded = true;
	runtime_unlock(&runtime.lock);
	return page;
}

/* ---- protection ---- */

void runtime_cache_unguard_locked(void)
{
	if (__atomic_load_n(&runtime_cache.guarded_count, __ATOMIC_SEQ_CST))
		each_page(0, UINT64_MAX, lift_guard);
}

void runtime_cache_unguard_for_good(void)
{
	runtime_lock(&runtime.lock);
	runtime_cache.is_unguarded = true;
	each_page(0, UINT64_MAX, lift_guard);
	runtime_unlock(&runtime.lock);
}

bool runtime_cache_has_guards(void)
{
	return __atomic_load_n(&runtime_cache.guarded_count, __ATOMIC_SEQ_CST) != 0;
}

void runtime_cache_unguard_range(uint64_t base, uint64_t end)
{
	runtime_lock(&runtime.lock);
	each_page(base, end, lift_guard);
	runtime_unlock(&runtime.lock);
}
