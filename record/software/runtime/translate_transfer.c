/* SPDX-License-Identifier: BSD-2-Clause */
/* Branches, calls and returns. */
#include "record/software/runtime/translate_state.h"

/* Loads the operand of an indirect jump or call into R11. R11 is saved in scratch 0. */
static void emit_load_target(struct translation *t, const uint8_t *source, const struct instruction *in, uint64_t pc,
			     struct translate_step *step)
{
	uint8_t bytes[INSTRUCTION_MAX + 3];
	unsigned other = NO_REGISTER;
	unsigned size = 0, mod = in->modrm >> 6, modrm_at;
	unsigned rex = 0x4c;

	if (mod == 3 && in->rm == R15) {
		emit_load(&t->e, R11, RUNTIME_REG(R15));
		return;
	}
	if (mod == 3) {
		/* mov r11, reg */
		emit_bytes(&t->e,
			   (const uint8_t[]){(uint8_t)(0x4c | in->rm >> 3), 0x8b, (uint8_t)(0xd8 | (in->rm & 7))}, 3);
		return;
	}
	if (in->rip_relative) {
		int32_t displacement;
		uint64_t to;

		memcpy(&displacement, source + in->displacement_at, 4);
		to = pc + in->length + (uint64_t)(int64_t)displacement;
		if (emit_reaches(t->e.at + 64, (const uint8_t *)to) &&
		    emit_reaches(t->e.at - 64, (const uint8_t *)to)) {
			if (in->segment_fs)
				emit_1(&t->e, 0x64);
			emit_bytes(&t->e, (const uint8_t[]){0x4c, 0x8b, 0x1d}, 3);
			emit_4(&t->e, (uint32_t)((int64_t)to - (int64_t)(t->e.at + 4)));
		} else {
			emit_constant(&t->e, R11, to);
			if (in->segment_fs)
				emit_1(&t->e, 0x64);
			emit_bytes(&t->e, (const uint8_t[]){0x4d, 0x8b, 0x1b}, 3);
		}
		return;
	}
	if (in->base != NO_REGISTER && in->base >= 8)
		rex |= 1;
	if (in->index != NO_REGISTER && in->index >= 8)
		rex |= 2;
	if (in->segment_fs)
		bytes[size++] = 0x64;
	if (in->address_32)
		bytes[size++] = 0x67;
	bytes[size++] = (uint8_t)rex;
	bytes[size++] = 0x8b;
	modrm_at = size;
	for (unsigned i = in->modrm_at; i < in->length; i++)
		bytes[size++] = source[i];
	bytes[modrm_at] = (uint8_t)((bytes[modrm_at] & 0xc7) | (R11 & 7) << 3);
	if (in->base == R15 || in->index == R15) {
		/* R11 gets the program's R15, or R10 if the operand has R11. */
		uint8_t *base = &bytes[in->sib_at ? modrm_at + 1 : modrm_at];

		other = in->base == R11 || in->index == R11 ? R10 : R11;
		if (in->base == R15)
			*base = (uint8_t)((*base & ~7u) | (other & 7));
		if (in->index == R15)
			bytes[modrm_at + 1] = (uint8_t)((bytes[modrm_at + 1] & ~0x38u) | (other & 7) << 3);
		if (other == R10) {
			emit_store(&t->e, RUNTIME_SCRATCH + 8, R10);
			step->word = 2 | R10 << 2;
			step->spilled = (uint16_t)(t->e.at - t->block->code);
		}
		emit_load(&t->e, other, RUNTIME_REG(R15));
	}
	emit_bytes(&t->e, bytes, size);
	if (other == R10)
		emit_load(&t->e, R10, RUNTIME_SCRATCH + 8);
}

/*
 * The translations of calls, returns and indirect branches use R10 and R11, which few programs keep over a call: a register
 * that is saved and restored delays its next use. Saves R11 in scratch 0.
 */
static void emit_save_r11(struct translation *t, struct translate_step *step)
{
	emit_store(&t->e, RUNTIME_SCRATCH, R11);
	step->scratch = R11;
	step->word = 0;
	step->spilled = (uint16_t)(t->e.at - t->block->code);
	step->back = 0xffff;
}

/* Goes to the translation of the address in R11. R11's value is in scratch 0. */
static void emit_go_to_target(struct translation *t, unsigned instructions)
{
	runtime_translate_count(t, instructions, RUNTIME_SCRATCH + 24);
	emit_jump_gs(&t->e, RUNTIME_TO_INDIRECT);
}

/* Pushes the return address `next`. */
static void emit_push_return(struct translation *t, uint64_t next)
{
	/* A return reads the whole address: two writes of its halves would delay the return. push [rip + return address] */
	emit_bytes(&t->e, (const uint8_t[]){0xff, 0x35}, 2);
	t->return_address = t->e.at;
	t->return_to = next;
	emit_4(&t->e, 0);
}

/* Puts the address `next` behind the call onto the return stack. R11 is free. */
static void emit_note_call(struct translation *t, uint64_t next)
{
	emit_load(&t->e, R11, RUNTIME_RETURN_TOP);
	emit_bytes(&t->e, (const uint8_t[]){0x4d, 0x8d, 0x5b, 0x04}, 4); /* lea r11, [r11 + 4] */
	emit_bytes(&t->e, (const uint8_t[]){0x41, 0xc7, 0x03}, 3);       /* mov dword [r11], site */
	emit_4(&t->e, runtime_translate_return_site(t, next));
	/* mov dword [r11 - 4 * RUNTIME_RETURN_STACK_SIZE], 0 */
	emit_bytes(&t->e, (const uint8_t[]){0x41, 0xc7, 0x83}, 3);
	emit_4(&t->e, (uint32_t)(-4 * RUNTIME_RETURN_STACK_SIZE));
	emit_4(&t->e, 0);
	emit_store(&t->e, RUNTIME_RETURN_TOP, R11);
}

/* lea rsp, [rsp + size] */
static void emit_drop(struct translation *t, uint32_t size)
{
	const bool is_short = size < 128;

	emit_bytes(&t->e, (const uint8_t[]){0x48, 0x8d, is_short ? 0x64 : 0xa4, 0x24}, 4);
	if (is_short)
		emit_1(&t->e, (uint8_t)size);
	else
		emit_4(&t->e, size);
}

void runtime_translate_return(struct translation *t, const uint8_t *source, const struct instruction *in,
			      struct translate_step *step, unsigned instructions)
{
	uint32_t drop = 0;
	uint8_t *hit;

	if (in->opcode == 0xc2)
		drop = (uint32_t)source[in->immediate_at] | (uint32_t)source[in->immediate_at + 1] << 8;
	emit_save_r11(t, step);
	emit_bytes(&t->e, (const uint8_t[]){0x41, 0x5b}, 2); /* pop r11 */
	if (drop)
		emit_drop(t, drop);
	if (!t->block->options.return_compression) {
		emit_append_bits(&t->e, t->bits, -1);
		emit_go_to_target(t, instructions);
		return;
	}
	emit_store(&t->e, RUNTIME_SCRATCH + 8, R10);
	/* The return's own bit: runtime_to_return_miss removes the bit. */
	emit_append_bits(&t->e, t->bits, 1);
	emit_store(&t->e, RUNTIME_SCRATCH + 16, RCX);
	runtime_translate_count_spilled(t, instructions);
	emit_load(&t->e, RCX, RUNTIME_RETURN_TOP);
	emit_bytes(&t->e, (const uint8_t[]){0x4c, 0x63, 0x11}, 3);       /* movsxd r10, dword [rcx] */
	emit_bytes(&t->e, (const uint8_t[]){0x48, 0x8d, 0x49, 0xfc}, 4); /* lea rcx, [rcx - 4] */
	emit_store(&t->e, RUNTIME_RETURN_TOP, RCX);
	emit_load(&t->e, RCX, RUNTIME_RETURN_SITES);
	emit_bytes(&t->e, (const uint8_t[]){0x4d, 0x8d, 0x14, 0x0a}, 4); /* lea r10, [r10 + rcx] */
	/* mov rcx, [r10]; lea rcx, [rcx + r11 + 1] */
	emit_bytes(&t->e, (const uint8_t[]){0x49, 0x8b, 0x0a, 0x4a, 0x8d, 0x4c, 0x19, 0x01}, 8);
	/* jrcxz hit; jmp miss */
	emit_bytes(&t->e, (const uint8_t[]){0xe3, 0}, 2);
	hit = t->e.at;
	emit_jump_gs(&t->e, RUNTIME_TO_RETURN_MISS);
	hit[-1] = (uint8_t)(t->e.at - hit);
	emit_load(&t->e, RCX, RUNTIME_SCRATCH + 16);
	emit_load(&t->e, R11, RUNTIME_SCRATCH);
	/* jmp [r10 + 8]: the entry of the block restores R10. */
	emit_bytes(&t->e, (const uint8_t[]){0x41, 0xff, 0x62, 0x08}, 4);
}

static void add_side_exit(struct translation *t, uint8_t *site, uint64_t target, unsigned instructions)
{
	t->sides[t->side_count++] = (struct side_exit){site, target, t->bits, instructions};
}

void runtime_translate_condition(struct translation *t, const struct instruction *in, uint64_t next,
				 unsigned instructions)
{
	const unsigned condition = in->opcode & 15;
	const uint64_t target = next + (uint64_t)in->target;

	if (target <= t->block->pc + 0 || in->target < 0) {
		/* Backward, so likely: the jump to the target's block stands here. */
		uint8_t *over;

		emit_bytes(&t->e, (const uint8_t[]){0x0f, (uint8_t)(0x80 | (condition ^ 1))}, 2);
		over = t->e.at;
		emit_4(&t->e, 0);
		runtime_translate_branch(t, target, t->bits, 1, instructions);
		emit_displacement(over, t->e.at);
	} else {
		emit_align_displacement(&t->e, 2);
		emit_bytes(&t->e, (const uint8_t[]){0x0f, (uint8_t)(0x80 | condition)}, 2);
		add_side_exit(t, t->e.at, target, instructions);
		emit_4(&t->e, 0);
	}
	t->bits++;
}

/* loop, loope, loopne, jrcxz have displacements of a byte: jump over a jump. */
void runtime_translate_loop(struct translation *t, const struct instruction *in, uint64_t next, unsigned instructions)
{
	emit_align_displacement(&t->e, in->address_32 ? 6 : 5);
	if (in->address_32)
		emit_1(&t->e, 0x67);
	emit_bytes(&t->e, (const uint8_t[]){in->opcode, 2, 0xeb, 5, 0xe9}, 5);
	add_side_exit(t, t->e.at, next + (uint64_t)in->target, instructions);
	emit_4(&t->e, 0);
	t->bits++;
}

/*
 * Reads the linkage stub at target, if the block may execute the stub's jump. Returns the jump's offset; SIZE_MAX: no such
 * stub.
 */
static size_t find_stub(const struct translation *t, uint64_t target, struct instruction *jump)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct translate_block *block = t->block;
	size_t size, offset;

	if (!block->options.joins_stubs || block->options.counted || block->step_count == TRANSLATE_INSTRUCTIONS_MAX)
		return SIZE_MAX;
	size = block->read_code(target, block->stub_bytes, sizeof(block->stub_bytes));
	offset = size > sizeof(endbr64) && memcmp(block->stub_bytes, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64)
												    : 0;
	if (!runtime_instruction_decode(block->stub_bytes + offset, size - offset, jump) ||
	    jump->kind != INSTRUCTION_JUMP_INDIRECT || !jump->rip_relative)
		return SIZE_MAX;
	return offset;
}

/* Writes the jump of the stub at target, which the call before has entered. R11 is saved in scratch 0. */
static void emit_stub(struct translation *t, uint64_t target, size_t offset, const struct instruction *jump,
		      unsigned instructions)
{
	struct translate_block *block = t->block;
	const uint16_t code = (uint16_t)(t->e.at - block->code);
	struct translate_step *step = &block->steps[block->step_count++];

	block->stub_pc = target;
	block->stub_length = (uint32_t)offset + jump->length;
	*step = (struct translate_step){
		.code = code,
		.spilled = code,
		.back = 0xffff,
		.offset_low = (uint8_t)offset,
		.scratch = R11,
		.bits = (uint8_t)t->bits,
		.length = jump->length,
	};
	emit_load_target(t, block->stub_bytes + offset, jump, target + offset, step);
	emit_append_bits(&t->e, t->bits, -1);
	emit_go_to_target(t, instructions);
}

void runtime_translate_call(struct translation *t, const uint8_t *source, const struct instruction *in, uint64_t pc,
			    struct translate_step *step, unsigned instructions)
{
	const uint64_t next = pc + in->length;

	if (in->kind == INSTRUCTION_CALL) {
		const uint64_t target = next + (uint64_t)in->target;
		struct instruction jump;
		const size_t offset = in->target ? find_stub(t, target, &jump) : SIZE_MAX;
		/* A call of the next instruction only reads the instruction pointer: no return is expected. */
		const bool noted = in->target != 0 && t->block->options.return_compression;

		emit_push_return(t, next);
		if (noted || offset != SIZE_MAX)
			emit_save_r11(t, step);
		if (noted)
			emit_note_call(t, next);
		if (offset != SIZE_MAX) {
			emit_stub(t, target, offset, &jump, instructions);
			return;
		}
		if (noted)
			emit_load(&t->e, R11, RUNTIME_SCRATCH);
		runtime_translate_exit(t, target, t->bits, -1, instructions);
		return;
	}
	emit_save_r11(t, step);
	emit_load_target(t, source, in, pc, step);
	emit_push_return(t, next);
	emit_append_bits(&t->e, t->bits, -1);
	if (t->block->options.return_compression) {
		emit_store(&t->e, RUNTIME_SCRATCH + 24, R11);
		emit_note_call(t, next);
		emit_load(&t->e, R11, RUNTIME_SCRATCH + 24);
	}
	emit_go_to_target(t, instructions);
}

void runtime_translate_jump_indirect(struct translation *t, const uint8_t *source, const struct instruction *in,
				     uint64_t pc, struct translate_step *step, unsigned instructions)
{
	emit_save_r11(t, step);
	emit_load_target(t, source, in, pc, step);
	emit_append_bits(&t->e, t->bits, -1);
	emit_go_to_target(t, instructions);
}
