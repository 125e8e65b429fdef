/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes blocks: reads code across ranges, and decodes each instruction once. */
#include "flow/native/cache/block.h"

#include <stdlib.h>
#include <string.h>

#include "common/vector.h"
#include "flow/code/instruction.h"
#include "flow/code/instruction_scan.h"
#include "flow/native/cache/cache.h"
#include "flow/native/cache/shared.h"

static bool find_range(struct native_code *code, uint64_t ip)
{
	struct flow_code_range *range = &code->range;

	if (ip - range->first > range->last - range->first || range->last < range->first) {
		code->source.find(code->source.context, ip, range);
		native_invalidation_range(&code->invalidation, range);
	}
	code->invalidation.tracked_read |= code->invalidation.range_tracked;
	return range->bytes != NULL;
}

/* Copies up to size bytes from ip on, across the ends of ranges. Returns the number of bytes. */
static size_t gather_code(struct native_code *code, uint64_t ip, uint8_t *to, size_t size)
{
	size_t done = 0;

	while (done < size && find_range(code, ip)) {
		uint64_t left = code->range.last - ip;
		size_t part = size - done;

		if (left < part - 1)
			part = (size_t)left + 1;
		memcpy(to + done, code->range.bytes + (ip - code->range.first), part);
		done += part;
		ip += part;
		if (!ip)
			break;
	}
	return done;
}

/*
 * Decodes the instruction at ip, near the end of a range. Returns PTL_NOT_FOUND if bytes of the instruction are
 * unknown.
 */
static int decode_at(struct native_code *code, uint64_t ip, unsigned mode, struct flow_instruction *instruction)
{
	uint8_t scratch[FLOW_INSTRUCTION_MAX];
	size_t size;
	int status;

	if (!find_range(code, ip))
		return PTL_NOT_FOUND;
	size = gather_code(code, ip, scratch, sizeof(scratch));
	status = flow_instruction_decode(scratch, size, mode, ip, instruction);
	return status == PTL_TRUNCATED ? PTL_NOT_FOUND : status;
}

static __attribute__((noinline, cold)) bool grow_lengths(struct native_code *code)
{
	const size_t capacity = code->blocks.length_capacity;

	return COMMON_VECTOR_GROW(code->blocks.lengths, code->blocks.length_capacity, capacity + 1);
}

/* Adds the length of an instruction of a new block. */
static inline bool add_length(struct native_code *code, uint32_t at, uint8_t length)
{
	if (at == code->blocks.length_capacity && !grow_lengths(code))
		return false;
	code->blocks.lengths[at] = length;
	return true;
}

static uint8_t notable_of(const struct flow_instruction *instruction)
{
	return (instruction->writes_cr3 ? NATIVE_WRITES_CR3 : 0) | (instruction->sets_vmcs ? NATIVE_SETS_VMCS : 0) |
	       (instruction->ptwrite ? NATIVE_PTWRITE : 0);
}

/*
 * A stretch: bytes of a range with enough bytes behind for any instruction. Instructions in a stretch are decoded in
 * place.
 */
struct stretch {
	const uint8_t *bytes; /* bytes of the next instruction */
	uint64_t left;        /* number of bytes left in the stretch */
};

/* Returns the stretch at ip. `left` is 0 if the bytes of the instruction must be gathered. */
static struct stretch stretch_at(struct native_code *code, uint64_t ip)
{
	uint64_t after;

	if (!find_range(code, ip))
		return (struct stretch){0};
	after = code->range.last - ip;
	return (struct stretch){
		.bytes = code->range.bytes + (ip - code->range.first),
		.left = after >= FLOW_INSTRUCTION_MAX - 1 ? after - (FLOW_INSTRUCTION_MAX - 2) : 0,
	};
}

static void pass_bytes(struct stretch *stretch, unsigned length)
{
	stretch->bytes += length;
	stretch->left -= length < stretch->left ? length : stretch->left;
}

/* Returns the number of bytes from ip to the next address where a long block ends. */
static uint64_t reach_of(uint64_t ip)
{
	return FLOW_BLOCK_SPAN - ip % FLOW_BLOCK_SPAN;
}

/*
 * Adds plain instructions in the stretch that begin less than `reach` bytes behind the block's start. Returns false
 * without memory.
 */
static bool walk_plain(struct native_code *code, struct flow_block *block, struct stretch *stretch, uint64_t reach,
		       uint64_t *at)
{
	unsigned length;

	while (stretch->left && *at - block->ip < reach) {
		length = flow_instruction_plain(stretch->bytes);
		if (!length)
			return true;
		if (!add_length(code, block->instructions, (uint8_t)length))
			return false;
		block->instructions++;
		block->last_ip = *at;
		*at += length;
		pass_bytes(stretch, length);
	}
	return true;
}

/* Decodes the instruction at ip, at the beginning of `stretch`. */
static int decode_next(struct native_code *code, uint64_t ip, unsigned mode, struct stretch *stretch,
		       struct flow_instruction *instruction)
{
	int status;

	if (!stretch->left)
		return decode_at(code, ip, mode, instruction);
	status = flow_instruction_decode(stretch->bytes, FLOW_INSTRUCTION_MAX, mode, ip, instruction);
	if (status == 0)
		pass_bytes(stretch, instruction->length);
	return status;
}

static void add_kind(struct native_block *made, const struct flow_instruction *instruction, uint64_t next)
{
	if (instruction->writes_cr3 && !made->paging)
		made->paging = (uint32_t)(next - made->block.ip);
	made->notable |= notable_of(instruction);
	made->block.branch = instruction->branch;
	made->block.target = instruction->direct ? instruction->target : 0;
}

/* Decodes from ip to the first branch, and stores lengths in code->blocks.lengths. Returns false without memory. */
static bool walk_instructions(struct native_code *code, struct native_block *made, uint64_t ip, unsigned mode)
{
	struct flow_block *block = &made->block;
	struct stretch stretch = {0};
	uint64_t at = ip, reach = reach_of(ip);

	while (!block->branch) {
		struct flow_instruction instruction;
		int status;

		if (at - ip >= reach) {
			if (flow_block_is_full(block->instructions, block->last_ip, at)) {
				made->stop = NATIVE_CONTINUE;
				break;
			}
			reach = at - ip + reach_of(at);
		}
		if (!stretch.left)
			stretch = stretch_at(code, at);
		if (mode == 64 && !walk_plain(code, block, &stretch, reach, &at))
			return false;
		if (at - ip >= reach)
			continue;
		status = decode_next(code, at, mode, &stretch, &instruction);
		if (status < 0) {
			made->stop = status == PTL_NOT_FOUND ? NATIVE_NO_CODE : NATIVE_BAD_CODE;
			break;
		}
		if (!add_length(code, block->instructions, instruction.length))
			return false;
		block->instructions++;
		block->last_ip = at;
		at += instruction.length;
		add_kind(made, &instruction, at);
	}
	block->size = (uint32_t)(at - ip);
	return true;
}

/* Points the block to its bytes: in their range, or a copy of bytes from several ranges. */
static bool keep_bytes(struct native_code *code, struct flow_block *block)
{
	uint8_t *copy;

	if (find_range(code, block->ip)) {
		block->image = code->range.image;
		block->code_event = code->range.code_event;
		block->code = code->range.bytes + (block->ip - code->range.first);
		if (!block->size || code->range.last - block->ip >= block->size - 1)
			return true;
	}
	copy = native_arena_take(&code->arena, block->size);
	if (!copy)
		return false;
	gather_code(code, block->ip, copy, block->size);
	block->code = copy;
	return true;
}

static int grow_block_slots(struct native_code *code)
{
	size_t slots = code->blocks.slot_count * 2;
	struct native_block **blocks = native_pages_take(slots * sizeof(*blocks));

	if (!blocks)
		return -1;
	for (size_t i = 0; i < code->blocks.slot_count; i++) {
		struct native_block *block = code->blocks.slots[i];

		while (block) {
			struct native_block *next = block->chain;
			struct native_block **head = &blocks[native_slot(block->block.ip, slots)];

			block->chain = *head;
			*head = block;
			block = next;
		}
	}
	native_code_free_table(code, code->blocks.slots, code->blocks.slot_count);
	code->blocks.slots = blocks;
	code->blocks.slot_count = slots;
	return 0;
}

/* Adds a block to the table. A whole block has room for its lengths. Returns NULL without memory. */
static struct native_block *insert(struct native_code *code, const struct native_block *made)
{
	const size_t lengths = made->whole ? made->block.instructions : 0;
	struct native_block *block;
	struct native_block **head;

	if (code->blocks.count >= code->blocks.slot_count && grow_block_slots(code) < 0)
		return NULL;
	block = native_arena_take(&code->arena, sizeof(*block) + lengths);
	if (!block)
		return NULL;
	*block = *made;
	block->self = &block->block;
	if (lengths)
		block->block.lengths = memcpy(block->lengths, code->blocks.lengths, lengths);
	head = &code->blocks.slots[native_slot(block->block.ip, code->blocks.slot_count)];
	block->chain = *head;
	*head = block;
	code->blocks.count++;
	if (block->tracked)
		native_invalidation_add_block(code, block);
	return block;
}

void native_block_remove(struct native_code *code, struct native_block *block)
{
	struct native_block **at = &code->blocks.slots[native_slot(block->block.ip, code->blocks.slot_count)];

	while (*at != block)
		at = &(*at)->chain;
	*at = block->chain;
	code->blocks.count--;
}

/*
 * Checks whether the block pushes a return address. A call of the next instruction only reads the instruction pointer:
 * SDM, "Return Compression".
 */
static bool pushes(const struct flow_block *block)
{
	if (block->branch == FLOW_BRANCH_CALL)
		return block->target != block->ip + block->size;
	return block->branch == FLOW_BRANCH_CALL_INDIRECT;
}

static bool add_site(struct native_code *code, struct native_block *made)
{
	if (!pushes(&made->block))
		return true;
	made->return_site = native_arena_take(&code->arena, sizeof(*made->return_site));
	if (!made->return_site)
		return false;
	*made->return_site = (struct native_return_site){.ip = made->block.ip + made->block.size};
	return true;
}

const struct native_run *native_block_alone(struct native_code *code, const struct flow_block *block)
{
	struct native_block *alone = (struct native_block *)native_block_of(block);

	if (alone->alone)
		return alone->alone;
	alone->alone = native_arena_take(&code->arena, sizeof(*alone->alone));
	if (!alone->alone)
		return NULL;
	*alone->alone = (struct native_run){
		.run =
			{
				.blocks = &alone->self,
				.instructions = block->instructions,
				.count = 1,
				.branches = block->branch != FLOW_BRANCH_NONE,
			},
		.pushes = &alone->return_site,
		.push_count = alone->return_site != NULL,
	};
	return alone->alone;
}

static struct native_block *make_block(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_block made = {
		.block = {.ip = ip, .last_ip = ip, .image = FLOW_NONE, .mode = (uint8_t)mode},
		.whole = true,
	};

	code->invalidation.tracked_read = false;
	if (!walk_instructions(code, &made, ip, mode))
		return NULL;
	made.tracked = code->invalidation.tracked_read;
	if (!keep_bytes(code, &made.block) || !add_site(code, &made))
		return NULL;
	return insert(code, &made);
}

struct native_block *native_block_get(struct native_code *code, uint64_t ip, unsigned mode)
{
	struct native_block *block = code->blocks.slots[native_slot(ip, code->blocks.slot_count)];

	while (block && (!block->whole || block->block.ip != ip || block->block.mode != mode))
		block = block->chain;
	if (!block && code->shared)
		block = native_shared_block(code->shared, ip, mode);
	return block ? block : make_block(code, ip, mode);
}

static struct native_block *find_part(struct native_code *code, const struct flow_block *whole, uint64_t first,
				      uint64_t end)
{
	struct native_block *block = code->blocks.slots[native_slot(first, code->blocks.slot_count)];

	while (block && (block->block.ip != first || block->block.size != end - first ||
			 block->block.mode != whole->mode || block->block.instructions == 0))
		block = block->chain;
	return block;
}

const struct flow_block *native_block_part(struct native_code *code, const struct flow_block *whole, uint64_t first,
					   uint64_t end)
{
	struct native_block *found = find_part(code, whole, first, end);
	struct native_block part = {
		.block = *whole,
		.tracked = native_block_of(whole)->tracked,
		.notable = native_block_of(whole)->notable,
	};
	uint64_t at = whole->ip;
	uint32_t from, to;

	if (found)
		return &found->block;
	for (from = 0; from < whole->instructions && at != first; from++)
		at += whole->lengths[from];
	for (to = from; to < whole->instructions && at != end; to++) {
		part.block.last_ip = at;
		at += whole->lengths[to];
	}
	if (at != end || to == from)
		return NULL;
	part.block.ip = first;
	part.block.size = (uint32_t)(end - first);
	part.block.instructions = to - from;
	part.block.code = whole->code + (first - whole->ip);
	part.block.lengths = whole->lengths + from;
	if (to < whole->instructions) {
		part.block.branch = FLOW_BRANCH_NONE;
		part.block.target = 0;
	} else {
		part.return_site = native_block_of(whole)->return_site;
	}
	found = insert(code, &part);
	return found ? &found->block : NULL;
}

/* ---- as one of the caches ---------------------------------------------------------------------------------- */

static void close_blocks(struct native_code *code)
{
	native_code_free_table(code, code->blocks.slots, code->blocks.slot_count);
	free(code->blocks.lengths);
}

static void clear_blocks(struct native_code *code)
{
	memset(code->blocks.slots, 0, code->blocks.slot_count * sizeof(*code->blocks.slots));
	code->blocks.count = 0;
}

const struct native_cache native_cache_blocks = {.close = close_blocks, .clear = clear_blocks};
