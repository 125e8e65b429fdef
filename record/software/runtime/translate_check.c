/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a block compares the pending TNT bits with the thread's limit. Two rules make the check sufficient:
 * - A block passes the check before the block's first TNT bit, so that the bits fit into a word.
 * - Each cycle of blocks passes a check, so that a thread notices requests. Indirect branches, and blocks that enter
 *   the runtime, notice requests anyway. A cycle without these has a direct branch backward.
 */
#include "record/software/runtime/translate_state.h"

/* instructions examined behind the block */
#define LOOK 12
#define PUSHF 0x9c

/* Follows the code from the block's end. */
struct look {
	const struct translate_block *block;
	uint64_t offset;
	unsigned left;
};

static bool look_next(struct look *look, struct instruction *in)
{
	const struct translate_block *block = look->block;

	if (!look->left || look->offset >= block->size ||
	    !runtime_instruction_decode(block->bytes + look->offset, block->size - look->offset, in))
		return false;
	look->left--;
	look->offset += in->length;
	if (in->kind == INSTRUCTION_JUMP || in->kind == INSTRUCTION_CALL)
		look->offset += (uint64_t)in->target;
	return true;
}

/*
 * Returns whether code at `offset` of the block may use the flags. False only if the code provably overwrites the flags
 * first.
 */
static bool flags_live(const struct translate_block *block, uint64_t offset)
{
	struct look look = {block, offset, LOOK};
	struct instruction in;

	while (look_next(&look, &in)) {
		if (in.flags == INSTRUCTION_FLAGS_DEAD && in.kind == INSTRUCTION_PLAIN)
			return false;
		if (in.flags != INSTRUCTION_FLAGS_KEPT ||
		    (in.kind != INSTRUCTION_PLAIN && in.kind != INSTRUCTION_JUMP && in.kind != INSTRUCTION_CALL))
			return true;
	}
	return true;
}

/* Returns whether the code at pc provably reaches a check, or an instruction that notices requests. */
static bool checks_soon(const struct translate_block *block, uint64_t pc)
{
	uint8_t bytes[INSTRUCTION_MAX];
	struct instruction in;

	for (unsigned i = 0; i < LOOK; i++) {
		/* A breakpoint may stand for another instruction: see runtime_uprobe_replace. */
		if (!runtime_instruction_decode(bytes, block->read_code(pc, bytes, sizeof(bytes)), &in) ||
		    in.kind == INSTRUCTION_TRAP)
			return false;
		pc += in.length;
		if (in.kind == INSTRUCTION_JUMP || in.kind == INSTRUCTION_CALL)
			pc += (uint64_t)in.target;
		else if (in.kind != INSTRUCTION_PLAIN)
			return true;
	}
	return false;
}

/* Returns whether the block needs a check. end: the first instruction that is not plain, at `offset`; NULL: none. */
static bool needs_check(const struct translate_block *block, const struct instruction *end, uint64_t offset)
{
	if (!end)
		return false;
	switch ((enum instruction_kind)end->kind) {
	case INSTRUCTION_CONDITION:
	case INSTRUCTION_LOOP:
		return true;
	case INSTRUCTION_RETURN:
		return block->options.return_compression;
	case INSTRUCTION_JUMP:
	case INSTRUCTION_CALL:
		return end->target < 0 && !checks_soon(block, block->pc + offset + end->length + (uint64_t)end->target);
	default:
		return false;
	}
}

struct check_place runtime_translate_place_check(const struct translation *t)
{
	const struct translate_block *block = t->block;
	const struct instruction *end;
	uint64_t offset = 0;
	bool kept = true, is_needed;
	unsigned count = 0;

	/* The virtual clock counts whole blocks: the check stands at the head. */
	if (block->options.counted)
		return (struct check_place){CHECK_BEFORE, 0, flags_live(block, 0)};
	while (count < t->decoded_count && t->decoded[count].kind == INSTRUCTION_PLAIN)
		offset += t->decoded[count++].length;
	end = count < t->decoded_count ? &t->decoded[count] : NULL;
	is_needed = needs_check(block, end, offset);
	for (unsigned step = 0; step < count; step++) {
		const struct instruction *in = &t->decoded[step];

		/* A check restores the program's AC flag, which an access of the runtime may have cleared. */
		if (in->map == 0 && in->opcode == PUSHF)
			return (struct check_place){CHECK_BEFORE, step, true};
		if (is_needed && in->flags == INSTRUCTION_FLAGS_DEAD)
			/* At the head if the instructions before keep the flags. */
			return (struct check_place){CHECK_BEFORE, kept ? 0 : step, false};
		kept &= in->flags == INSTRUCTION_FLAGS_KEPT;
	}
	if (!is_needed)
		return (struct check_place){CHECK_NOWHERE, 0, false};
	if (end->kind == INSTRUCTION_RETURN)
		return (struct check_place){CHECK_BEFORE, count, true};
	/* An instruction before the end reads flags, or keeps some. */
	return (struct check_place){CHECK_BEFORE, 0, !kept || flags_live(block, offset)};
}
