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

/* Returns whether code at `offset` of the block provably reaches a check, or an instruction that notices requests. */
static bool checks_soon(const struct translate_block *block, uint64_t offset)
{
	struct look look = {block, offset, LOOK};
	struct instruction in;

	while (look_next(&look, &in))
		if (in.kind != INSTRUCTION_PLAIN && in.kind != INSTRUCTION_JUMP && in.kind != INSTRUCTION_CALL)
			return true;
	return false;
}

struct check_place runtime_translate_place_check(const struct translation *t)
{
	const struct translate_block *block = t->block;
	const struct check_place nowhere = {CHECK_NOWHERE, 0, false};
	const struct instruction *in = NULL;
	uint64_t offset = 0;
	bool kept = true;
	unsigned step;

	/* The virtual clock counts whole blocks: the check stands at the head. */
	if (block->options.counted)
		return (struct check_place){CHECK_BEFORE, 0, flags_live(block, 0)};
	for (step = 0; step < t->decoded_count; step++) {
		in = &t->decoded[step];
		if (in->kind != INSTRUCTION_PLAIN)
			break;
		/* A check restores the program's AC flag, which an access of the runtime may have cleared. */
		if (in->map == 0 && in->opcode == PUSHF)
			return (struct check_place){CHECK_BEFORE, step, true};
		if (in->flags == INSTRUCTION_FLAGS_DEAD)
			/* At the head if the instructions before keep the flags. */
			return (struct check_place){CHECK_BEFORE, kept ? 0 : step, false};
		kept &= in->flags == INSTRUCTION_FLAGS_KEPT;
		offset += in->length;
	}
	if (step == t->decoded_count)
		return nowhere;
	switch ((enum instruction_kind)in->kind) {
	case INSTRUCTION_CONDITION:
	case INSTRUCTION_LOOP:
		return (struct check_place){CHECK_BEFORE, 0, flags_live(block, 0)};
	case INSTRUCTION_RETURN:
		return block->options.return_compression ? (struct check_place){CHECK_BEFORE, step, true} : nowhere;
	case INSTRUCTION_JUMP:
	case INSTRUCTION_CALL:
		offset += in->length;
		if (in->target >= 0 || checks_soon(block, offset + (uint64_t)in->target))
			return nowhere;
		return (struct check_place){CHECK_BEFORE, 0, flags_live(block, 0)};
	default:
		return nowhere;
	}
}
