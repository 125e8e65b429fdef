/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies instructions without control transfer. An instruction that names R15 uses another register. An operand
 * relative to RIP gets a new displacement, or, if the cache is too far away, a register with the address.
 */
#include "record/software/runtime/translate_state.h"

static unsigned free_register(const struct instruction *in)
{
	static const uint8_t candidates[] = {R11, R10, R9, R8, R14};

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

#define READS 1u
#define WRITES 2u

/* Returns how an instruction of one opcode byte uses its operand rm or, with is_reg, its operand reg. */
static unsigned use_of_one_byte(const struct instruction *in, bool is_reg)
{
	const unsigned group = in->modrm >> 3 & 7;

	if (in->opcode < 0x40) {
		const bool is_target = !!(in->opcode & 2) == is_reg;

		return is_target && in->opcode < 0x38 ? READS | WRITES : READS;
	}
	switch (in->opcode) {
	case 0x84:
	case 0x85:
		return READS;
	case 0x88:
		return is_reg ? READS : READS | WRITES;
	case 0x89:
		return is_reg ? READS : WRITES;
	case 0x8a:
		return is_reg ? READS | WRITES : READS;
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d:
		return is_reg ? WRITES : READS;
	case 0x80:
	case 0x81:
	case 0x83:
		return group == 7 ? READS : READS | WRITES;
	case 0xc7:
		return WRITES;
	case 0xf6:
	case 0xf7:
		return group == 2 || group == 3 ? READS | WRITES : READS;
	default:
		return READS | WRITES;
	}
}

static unsigned use_of_two_bytes(const struct instruction *in, bool is_reg)
{
	switch (in->opcode) {
	case 0xb6:
	case 0xb7:
	case 0xbe:
	case 0xbf:
		return is_reg ? WRITES : READS;
	case 0xaf:
		return is_reg ? READS | WRITES : READS;
	default:
		if (in->opcode >= 0x40 && in->opcode <= 0x4f)
			return is_reg ? READS | WRITES : READS;
		return READS | WRITES;
	}
}

/* Returns whether the only prefixes are 66, REX and those of segments. */
static bool has_plain_prefixes(const uint8_t *bytes, const struct instruction *in)
{
	const unsigned end = in->opcode_at - in->map;

	for (unsigned i = 0; i < end; i++)
		if (bytes[i] != 0x66 && bytes[i] != 0x2e && bytes[i] != 0x3e &&
		    !(in->rex_at && i == (in->rex_at & 0x7fu)))
			return false;
	return true;
}

/* Returns how the instruction uses R15: READS, WRITES or both. WRITES alone: the whole register is written. */
static unsigned use_of_r15(const uint8_t *bytes, const struct instruction *in)
{
	const bool register_rm = in->modrm_at && in->modrm >> 6 == 3;
	unsigned use = in->base == R15 || in->index == R15 ? READS : 0;

	if (in->map > 1 || in->vex_at || !has_plain_prefixes(bytes, in))
		return READS | WRITES;
	if (in->opcode_general && in->rm == R15)
		use |= in->map == 0 && in->opcode >= 0xb8 ? WRITES : READS | WRITES;
	if (in->reg_general && in->modrm_at && in->reg == R15)
		use |= in->map ? use_of_two_bytes(in, true) : use_of_one_byte(in, true);
	if (in->rm_general && register_rm && in->rm == R15)
		use |= in->map ? use_of_two_bytes(in, false) : use_of_one_byte(in, false);
	/* An operand of 16 bits keeps the register's other bits. */
	return use & WRITES && in->operand_16 ? READS | WRITES : use;
}

/* Writes an instruction whose operand rm is the program's R15 in memory. reg: the other register, or the opcode's digit. */
static void emit_memory_r15(struct translation *t, const uint8_t *bytes, const struct instruction *in, uint8_t opcode,
			    unsigned reg)
{
	const uint8_t rex = bytes[in->rex_at & 0x7f];

	emit_1(&t->e, 0x65);
	if (in->operand_16)
		emit_1(&t->e, 0x66);
	emit_1(&t->e, (uint8_t)((rex & 0x48) | (reg & 8) >> 1));
	if (in->map)
		emit_1(&t->e, 0x0f);
	emit_bytes(&t->e, (const uint8_t[]){opcode, (uint8_t)(0x04 | (reg & 7) << 3), 0x25}, 3);
	emit_4(&t->e, RUNTIME_REG(R15));
}

/* Returns whether both operands of the instruction may change their places, with another opcode (in *opcode). */
static bool has_mirrored_form(const struct instruction *in, uint8_t *opcode)
{
	*opcode = in->opcode;
	if (in->map)
		return false;
	if (in->opcode == 0x84 || in->opcode == 0x85)
		return true;
	*opcode ^= 2;
	return (in->opcode < 0x40 && (in->opcode & 7) < 4) || (in->opcode >= 0x88 && in->opcode <= 0x8b);
}

/* Returns whether the operand rm of the instruction may be memory with the same effect. */
static bool may_be_memory(const struct instruction *in)
{
	if (in->map == 0)
		return (in->opcode < 0x40 && (in->opcode & 7) < 4) || in->opcode == 0x63 || in->opcode == 0x69 ||
		       in->opcode == 0x6b || (in->opcode >= 0x80 && in->opcode <= 0x85) ||
		       (in->opcode >= 0x88 && in->opcode <= 0x8b) || in->opcode == 0xc7 || in->opcode == 0xc1 ||
		       in->opcode == 0xd1 || in->opcode == 0xd3 || in->opcode == 0xf6 || in->opcode == 0xf7;
	return in->map == 1 && ((in->opcode >= 0x40 && in->opcode <= 0x4f) || in->opcode == 0xaf ||
				in->opcode == 0xb6 || in->opcode == 0xb7 || in->opcode == 0xbe || in->opcode == 0xbf);
}

/*
 * Translates an instruction with R15 by one instruction with a memory operand: push, pop, and instructions without
 * another memory operand that read R15 or write all of its 64 bits. A later read of R15 would have to wait for a write of
 * fewer bytes. False: another instruction.
 */
static bool emit_simple_r15(struct translation *t, const uint8_t *bytes, const struct instruction *in)
{
	const unsigned use = use_of_r15(bytes, in), group = in->modrm >> 3 & 7;
	const bool wide = in->rex_at && bytes[in->rex_at & 0x7f] & 8;
	uint8_t opcode;

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
	if (in->map > 1 || in->vex_at || !in->rex_at || !in->modrm_at || in->modrm >> 6 != 3 || !in->rm_general ||
	    !has_plain_prefixes(bytes, in))
		return false;
	if (in->reg_general && in->reg == R15 && in->rm == R15) {
		/* test r15, r15: cmp r15, 0. xor r15, r15: and r15, 0, which writes all 64 bits. */
		if (in->map != 0 || in->operand_16 || (in->opcode != 0x85 && in->opcode != 0x31 && in->opcode != 0x33))
			return false;
		emit_1(&t->e, 0x65);
		emit_1(&t->e, wide || in->opcode != 0x85 ? 0x48 : 0x40);
		emit_bytes(&t->e, (const uint8_t[]){0x83, in->opcode == 0x85 ? 0x3c : 0x24, 0x25}, 3);
		emit_4(&t->e, RUNTIME_REG(R15));
		emit_1(&t->e, 0);
		return true;
	}
	if (use & WRITES && !wide)
		return false;
	if (in->rm == R15 && may_be_memory(in)) {
		emit_memory_r15(t, bytes, in, in->opcode, in->reg_general ? in->reg : group);
		emit_bytes(&t->e, bytes + in->immediate_at, in->immediate_size);
		return true;
	}
	if (in->reg_general && in->reg == R15 && has_mirrored_form(in, &opcode)) {
		emit_memory_r15(t, bytes, in, opcode, in->rm);
		return true;
	}
	return false;
}

void runtime_translate_plain(struct translation *t, const uint8_t *source, const struct instruction *decoded,
			     uint64_t pc, struct translate_step *step)
{
	struct instruction in = *decoded;
	uint8_t bytes[2 * INSTRUCTION_MAX];
	unsigned size = in.length, scratch = NO_REGISTER, address = NO_REGISTER, use = 0;

	memcpy(bytes, source, size);
	if (in.segment_gs)
		remove_gs_prefix(bytes, &in);
	if (runtime_instruction_names(&in, R15)) {
		if (emit_simple_r15(t, bytes, &in))
			return;
		use = use_of_r15(bytes, &in);
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
				if (use & READS)
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
		if (use & READS)
			emit_load(&t->e, scratch, RUNTIME_REG(R15));
	}
	emit_bytes(&t->e, bytes, size);
behind:
	if (scratch != NO_REGISTER) {
		step->scratch = (uint8_t)scratch;
		step->word = address == NO_REGISTER ? 0 : 2 | (uint8_t)address << 2;
		if (use & WRITES)
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
