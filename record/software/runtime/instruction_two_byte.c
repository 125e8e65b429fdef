/* SPDX-License-Identifier: BSD-2-Clause */
/* Opcodes behind 0F, 0F38 and 0F3A. */
#include "record/software/runtime/instruction_reader.h"

static bool map1_has_modrm(uint8_t op)
{
	switch (op) {
	case 0x05:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x0b:
	case 0x0e:
	case 0x30:
	case 0x31:
	case 0x32:
	case 0x33:
	case 0x34:
	case 0x35:
	case 0x37:
	case 0x77:
	case 0xa0:
	case 0xa1:
	case 0xa2:
	case 0xa8:
	case 0xa9:
	case 0xaa:
		return false;
	default:
		return !(op >= 0x80 && op <= 0x8f) && !(op >= 0xc8 && op <= 0xcf);
	}
}

enum runtime_immediate runtime_two_byte_immediate(uint8_t op)
{
	if (op >= 0x80 && op <= 0x8f)
		return IMM_REL32;
	switch (op) {
	case 0x70:
	case 0x71:
	case 0x72:
	case 0x73:
	case 0xa4:
	case 0xac:
	case 0xba:
	case 0xc2:
	case 0xc4:
	case 0xc5:
	case 0xc6:
	case 0x0f:
		return IMM_8;
	default:
		return IMM_NONE;
	}
}

static bool map1_is_undefined(const struct runtime_reader *reader, const struct instruction *out)
{
	switch (out->opcode) {
	case 0x04:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x0a:
	case 0x0b:
	case 0x0c:
	case 0x20:
	case 0x21:
	case 0x22:
	case 0x23:
	case 0x24:
	case 0x25:
	case 0x26:
	case 0x27:
	case 0x30:
	case 0x32:
	case 0x34:
	case 0x35:
	case 0x36:
	case 0x37:
	case 0x39:
	case 0x3b:
	case 0x3c:
	case 0x3d:
	case 0x3e:
	case 0x3f:
	case 0xa6:
	case 0xa7:
	case 0xaa:
	case 0xb9:
	case 0xff:
		return true;
	case 0xb8:
		return reader->simd_prefix != 0xf3;
	case 0xba:
		return (out->modrm >> 3 & 7) < 4;
	default:
		return false;
	}
}

static uint8_t map1_kind(const struct runtime_reader *reader, const struct instruction *out)
{
	const uint8_t op = out->opcode;

	if (map1_is_undefined(reader, out))
		return INSTRUCTION_UNDEFINED;
	if (op >= 0x80 && op <= 0x8f)
		return INSTRUCTION_CONDITION;
	if (op == 0x05)
		return INSTRUCTION_SYSCALL;
	if (op == 0xae && reader->simd_prefix == 0xf3 && out->modrm >> 6 == 3 && (out->modrm >> 3 & 1) &&
	    (out->modrm >> 3 & 7) < 4)
		return INSTRUCTION_GS_BASE;
	return INSTRUCTION_PLAIN;
}

/* Sets the operands of a 0F opcode that are general registers. prefix: 0, 66, F3, F2. */
static void map1_registers(struct instruction *out, uint8_t prefix)
{
	const uint8_t op = out->opcode;
	const bool scalar = prefix == 0xf3 || prefix == 0xf2;

	if ((op >= 0x40 && op <= 0x4f) || (op >= 0xaf && op <= 0xb9) || (op >= 0xbb && op <= 0xbf) || op == 0xa3 ||
	    op == 0xa4 || op == 0xa5 || op == 0xab || op == 0xac || op == 0xad || op == 0xc0 || op == 0xc1 ||
	    op == 0xff || op == 0x02 || op == 0x03) {
		out->reg_general = out->rm_general = true;
		return;
	}
	switch (op) {
	case 0x00:
	case 0x01:
	case 0xba:
	case 0xc4:
	case 0xc7:
	case 0x18:
	case 0x19:
	case 0x1a:
	case 0x1b:
	case 0x1c:
	case 0x1d:
	case 0x1e:
	case 0x1f:
	case 0x0d:
	case 0x6e:
	case 0xae:
		out->rm_general = true;
		if (op == 0xae)
			out->rm_general = prefix != 0;
		/* Of 0F 01, only smsw and lmsw name a register. */
		if (op == 0x01)
			out->rm_general = (out->modrm >> 3 & 5) == 4;
		break;
	case 0x7e:
		out->rm_general = prefix != 0xf3;
		break;
	case 0x2a:
		out->rm_general = scalar;
		break;
	case 0x2c:
	case 0x2d:
		out->reg_general = scalar;
		break;
	case 0x50:
	case 0xc3:
	case 0xc5:
	case 0xd7:
		out->reg_general = true;
		break;
	default:
		out->rm_general = op >= 0x90 && op <= 0x9f;
		out->opcode_general = op >= 0xc8 && op <= 0xcf;
	}
}

static uint8_t map1_flags(const struct instruction *out)
{
	const uint8_t op = out->opcode;

	if ((op >= 0x10 && op <= 0x1f) || (op >= 0x28 && op <= 0x2d) || (op >= 0x50 && op <= 0x7f) || op == 0xb6 ||
	    op == 0xb7 || op == 0xbe || op == 0xbf || (op >= 0xc2 && op <= 0xc6) || op >= 0xc8 || op == 0x31 ||
	    op == 0xa2)
		return INSTRUCTION_FLAGS_KEPT;
	return op == 0x2e || op == 0x2f ? INSTRUCTION_FLAGS_DEAD : INSTRUCTION_FLAGS_OTHER;
}

static bool map1_writes(uint8_t op)
{
	switch (op) {
	case 0x11:
	case 0x13:
	case 0x17:
	case 0x29:
	case 0x2b:
	case 0x7e:
	case 0x7f:
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xae:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xba:
	case 0xbb:
	case 0xc0:
	case 0xc1:
	case 0xc3:
	case 0xc7:
	case 0xd6:
	case 0xe7:
	case 0xf7:
		return true;
	default:
		return op >= 0x90 && op <= 0x9f;
	}
}

void runtime_reader_two_byte(struct runtime_reader *reader, struct instruction *out)
{
	const uint8_t op = out->opcode;

	if (map1_has_modrm(op))
		runtime_reader_modrm(reader, out);
	else
		out->rm = (uint8_t)((op & 7) | (reader->rex_b ? 8 : 0));
	map1_registers(out, reader->simd_prefix);
	runtime_reader_immediate(reader, out, runtime_two_byte_immediate(op));
	/* SSE4a: extrq, insertq. */
	if (op == 0x78 && (reader->simd_prefix == 0x66 || reader->simd_prefix == 0xf2))
		runtime_reader_immediate(reader, out, IMM_16);
	out->kind = map1_kind(reader, out);
	out->flags = map1_flags(out);
	out->writes_memory = map1_writes(op);
}

static void map2_registers(struct instruction *out)
{
	const uint8_t op = out->opcode;

	if (op == 0xf0 || op == 0xf1 || op == 0xf5 || op == 0xf6)
		out->reg_general = out->rm_general = true;
	if (op == 0xf8 || op == 0xf9)
		out->reg_general = true;
}

void runtime_three_byte_registers(struct instruction *out)
{
	const uint8_t op = out->opcode;

	out->rm_general = (op >= 0x14 && op <= 0x17) || op == 0x20 || op == 0x22;
}

void runtime_reader_three_byte(struct runtime_reader *reader, struct instruction *out)
{
	runtime_reader_modrm(reader, out);
	if (out->map == 2) {
		map2_registers(out);
		out->writes_memory = out->opcode == 0xf1 || out->opcode >= 0xf5;
		out->flags = out->opcode < 0xf0 && out->opcode != 0x17 ? INSTRUCTION_FLAGS_KEPT
								       : INSTRUCTION_FLAGS_OTHER;
	} else {
		runtime_three_byte_registers(out);
		runtime_reader_immediate(reader, out, IMM_8);
		out->writes_memory = out->opcode >= 0x14 && out->opcode <= 0x17;
		out->flags = out->opcode < 0x60 ? INSTRUCTION_FLAGS_KEPT : INSTRUCTION_FLAGS_OTHER;
	}
}
