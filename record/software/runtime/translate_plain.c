/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies instructions without control transfer. An instruction that names R15 uses another register. An operand
 * relative to RIP gets a new displacement, or, if the cache is too far away, a register with the address.
 */
#include "record/software/runtime/translate_state.h"

static unsigned free_register(const struct instruction *in)
{
	static const uint8_t candidates[] = {R14, R11, R10, R9, R8};

	for (unsigned i = 0; i < sizeof(candidates); i++)
		if (!runtime_instruction_names(in, candidates[i]))
			return candidates[i];
	return R14;
}

/* Replaces R15 by `to` (R8 to R11, R14) in each field of the instruction. */
static void replace_r15(uint8_t *bytes, const struct instruction *in, unsigned to)
{
	const bool register_rm = in->modrm_at && in->modrm >> 6 == 3;
	const unsigned low = to & 7;

	if (in->opcode_general && in->rm == R15)
		bytes[in->opcode_at] = (uint8_t)((bytes[in->opcode_at] & ~7u) | low);
	if (in->modrm_at && in->reg_general && in->reg == R15)
		bytes[in->modrm_at] = (uint8_t)((bytes[in->modrm_at] & ~0x38u) | low << 3);
	if (register_rm && in->rm_general && in->rm == R15)
		bytes[in->modrm_at] = (uint8_t)((bytes[in->modrm_at] & ~7u) | low);
	if (in->base == R15) {
		uint8_t *field = &bytes[in->sib_at ? in->sib_at : in->modrm_at];

		*field = (uint8_t)((*field & ~7u) | low);
	}
	if (in->index == R15)
		bytes[in->sib_at] = (uint8_t)((bytes[in->sib_at] & ~0x38u) | low << 3);
	if (in->vvvv_general && in->vvvv == R15) {
		/* Byte 1 of a two-byte VEX, else byte 2; inverted. */
		const unsigned at = (in->vex_at & 0x7fu) + (bytes[in->vex_at & 0x7f] == 0xc5 ? 1 : 2);

		bytes[at] = (uint8_t)((bytes[at] & ~0x78u) | (~to & 15u) << 3);
	}
}

/*
 * Returns a register for the address of a RIP-relative operand out of the cache's reach. RSI, RDI and RBX have no
 * implicit use in instructions with such an operand.
 */
static unsigned address_register(const struct instruction *in)
{
	static const uint8_t candidates[] = {RDI, RSI, RBX};

	for (unsigned i = 0; i < sizeof(candidates); i++) {
		const unsigned number = candidates[i];
		const bool as_reg = in->reg_general && (in->reg & 7) == number;

		if (!as_reg && !(in->vvvv_general && in->vvvv == number))
			return number;
	}
	return RBX;
}

/* Writes the instruction with a base register in place of RIP. Returns the size in bytes. */
static unsigned without_rip(uint8_t *out, const uint8_t *bytes, const struct instruction *in, unsigned number)
{
	unsigned size = 0;

	for (unsigned i = 0; i < in->length; i++) {
		if (i >= in->displacement_at && i < in->displacement_at + 4u)
			continue;
		out[size] = bytes[i];
		if (i == in->modrm_at)
			out[size] = (uint8_t)((bytes[i] & 0x38) | number);
		size++;
	}
	/* extension bit of the base register; ignored with RIP */
	if (in->rex_at)
		out[in->rex_at & 0x7f] &= (uint8_t)~1u;
	if (in->vex_at && bytes[in->vex_at & 0x7f] != 0xc5)
		out[(in->vex_at & 0x7f) + 1] |= 0x20;
	return size;
}

static void remove_gs_prefix(uint8_t *bytes, struct instruction *in)
{
	/* The program's %gs base is 0: the operand is the same without the prefix. */
	for (unsigned i = 0; i < in->opcode_at; i++)
		if (bytes[i] == 0x65) {
			bytes[i] = 0x3e; /* %ds, which means nothing */
			return;
		}
}

/*
 * Translates mov from and to R15, push and pop of R15 by one instruction with a memory operand. False: another
 * instruction.
 */
static bool emit_simple_r15(struct translation *t, const uint8_t *bytes, const struct instruction *in)
{
	const bool plain = in->map == 0 && in->rex_at && !in->operand_16 && in->length == (in->rex_at & 0x7f) + 3u &&
			   in->rex_at == 0x80;
	const bool wide = in->rex_at && bytes[in->rex_at & 0x7f] & 8;

	if (in->map == 0 && in->opcode_general && in->rm == R15 && in->opcode >= 0x50 && in->opcode <= 0x5f &&
	    !in->operand_16) {
		emit_1(&t->e, 0x65);
		emit_bytes(&t->e,
			   in->opcode < 0x58 ? (const uint8_t[]){0xff, 0x34, 0x25}
					     : (const uint8_t[]){0x8f, 0x04, 0x25},
			   3);
		emit_4(&t->e, RUNTIME_REG(R15));
		return true;
	}
	if (!plain || !wide || in->modrm >> 6 != 3 || in->reg == in->rm || (in->opcode != 0x89 && in->opcode != 0x8b))
		return false;
	if ((in->opcode == 0x89 ? in->rm : in->reg) == R15)
		emit_store(&t->e, RUNTIME_REG(R15), in->opcode == 0x89 ? in->reg : in->rm);
	else
		emit_load(&t->e, in->opcode == 0x89 ? in->rm : in->reg, RUNTIME_REG(R15));
	return true;
}

void runtime_translate_plain(struct translation *t, const uint8_t *source, const struct instruction *decoded,
			     uint64_t pc, struct translate_step *step)
{
	struct instruction in = *decoded;
	uint8_t bytes[2 * INSTRUCTION_MAX];
	unsigned size = in.length, scratch = NO_REGISTER, address = NO_REGISTER;

	memcpy(bytes, source, size);
	if (in.segment_gs)
		remove_gs_prefix(bytes, &in);
	if (runtime_instruction_names(&in, R15)) {
		if (emit_simple_r15(t, bytes, &in))
			return;
		scratch = free_register(&in);
		replace_r15(bytes, &in, scratch);
	}
	if (in.rip_relative) {
		int32_t displacement;
		uint64_t to;

		memcpy(&displacement, source + in.displacement_at, 4);
		to = pc + in.length + (uint64_t)(int64_t)displacement;
		if (in.address_32)
			to = (uint32_t)to;
		/* 64 bytes of margin for the loads before the instruction */
		if (!in.address_32 && emit_reaches(t->e.at + 64, (const uint8_t *)to) &&
		    emit_reaches(t->e.at - 64, (const uint8_t *)to)) {
			/* The loads come first, as the displacement depends on the instruction's final address. */
			if (scratch != NO_REGISTER) {
				emit_store(&t->e, RUNTIME_SCRATCH, scratch);
				step->spilled = (uint16_t)(t->e.at - t->block->code);
				emit_load(&t->e, scratch, RUNTIME_REG(R15));
			}
			displacement = (int32_t)((int64_t)to - (int64_t)(t->e.at + size));
			memcpy(bytes + in.displacement_at, &displacement, 4);
			emit_bytes(&t->e, bytes, size);
			goto behind;
		}
		address = address_register(&in);
		emit_store(&t->e, RUNTIME_SCRATCH + 8, address);
		if (scratch == NO_REGISTER) {
			step->scratch = (uint8_t)address;
			step->word = 1;
			step->spilled = (uint16_t)(t->e.at - t->block->code);
		}
		emit_constant(&t->e, address, to);
		{
			uint8_t without[2 * INSTRUCTION_MAX];

			size = without_rip(without, bytes, &in, address);
			memcpy(bytes, without, size);
		}
	}
	if (scratch != NO_REGISTER) {
		emit_store(&t->e, RUNTIME_SCRATCH, scratch);
		step->spilled = (uint16_t)(t->e.at - t->block->code);
		emit_load(&t->e, scratch, RUNTIME_REG(R15));
	}
	emit_bytes(&t->e, bytes, size);
behind:
	if (scratch != NO_REGISTER) {
		step->scratch = (uint8_t)scratch;
		step->word = address == NO_REGISTER ? 0 : 2 | (uint8_t)address << 2;
		emit_store(&t->e, RUNTIME_REG(R15), scratch);
		step->back = (uint16_t)(t->e.at - t->block->code);
		emit_load(&t->e, scratch, RUNTIME_SCRATCH);
	}
	if (address != NO_REGISTER) {
		if (scratch == NO_REGISTER)
			step->back = (uint16_t)(t->e.at - t->block->code);
		emit_load(&t->e, address, RUNTIME_SCRATCH + 8);
	}
}
