/* SPDX-License-Identifier: BSD-2-Clause */
/* Opcodes of one byte. */
#include "record/software/runtime/instruction_reader.h"

static bool map0_has_modrm(uint8_t op)
{
	if (op < 0x40)
		return (op & 7) < 4;
	switch (op) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xf6:
	case 0xf7:
	case 0xfe:
	case 0xff:
		return true;
	default:
		return (op >= 0x80 && op <= 0x8f) || (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf);
	}
}

static enum runtime_immediate map0_immediate(uint8_t op)
{
	if (op < 0x40)
		return (op & 7) == 4 ? IMM_8 : (op & 7) == 5 ? IMM_Z : IMM_NONE;
	if (op >= 0x70 && op <= 0x7f)
		return IMM_REL8;
	if (op >= 0xa0 && op <= 0xa3)
		return IMM_OFFSET;
	if (op >= 0xb0 && op <= 0xb7)
		return IMM_8;
	if (op >= 0xb8 && op <= 0xbf)
		return IMM_V;
	switch (op) {
	case 0x68:
	case 0x69:
	case 0x81:
	case 0xa9:
	case 0xc7:
		return IMM_Z;
	case 0x6a:
	case 0x6b:
	case 0x80:
	case 0x83:
	case 0xa8:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xcd:
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
		return IMM_8;
	case 0xc2:
	case 0xca:
		return IMM_16;
	case 0xc8:
		return IMM_ENTER;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
	case 0xeb:
		return IMM_REL8;
	case 0xe8:
	case 0xe9:
		return IMM_REL32;
	case 0xf6:
	case 0xf7:
		return IMM_GROUP3;
	default:
		return IMM_NONE;
	}
}

static bool map0_is_undefined(const struct instruction *out)
{
	const uint8_t op = out->opcode;

	switch (op) {
	case 0x06:
	case 0x07:
	case 0x0e:
	case 0x16:
	case 0x17:
	case 0x1e:
	case 0x1f:
	case 0x27:
	case 0x2f:
	case 0x37:
	case 0x3f:
	case 0x60:
	case 0x61:
	case 0x62:
	case 0x82:
	case 0x9a:
	case 0xc4:
	case 0xc5:
	case 0xce:
	case 0xd4:
	case 0xd5:
	case 0xd6:
	case 0xea:
	case 0x6c:
	case 0x6d:
	case 0x6e:
	case 0x6f: /* ins, outs: privileged */
	case 0xe4:
	case 0xe5:
	case 0xe6:
	case 0xe7:
	case 0xec:
	case 0xed:
	case 0xee:
	case 0xef:
	case 0xf4:
	case 0xfa:
	case 0xfb:
		return true;
	case 0x8d:
		return out->modrm >> 6 == 3;
	case 0xfe:
		return (out->modrm >> 3 & 7) > 1;
	case 0xff:
		return (out->modrm >> 3 & 7) == 7;
	default:
		return false;
	}
}

static uint8_t map0_kind(const struct instruction *out)
{
	const uint8_t op = out->opcode;
	const unsigned group = out->modrm >> 3 & 7;

	if (map0_is_undefined(out))
		return INSTRUCTION_UNDEFINED;
	if (op >= 0x70 && op <= 0x7f)
		return INSTRUCTION_CONDITION;
	switch (op) {
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return INSTRUCTION_LOOP;
	case 0xeb:
	case 0xe9:
		return INSTRUCTION_JUMP;
	case 0xe8:
		return INSTRUCTION_CALL;
	case 0xc2:
	case 0xc3:
		return INSTRUCTION_RETURN;
	case 0xca:
	case 0xcb:
	case 0xcf:
		return INSTRUCTION_FAR;
	case 0xcc:
	case 0xf1:
		return INSTRUCTION_TRAP;
	case 0xcd:
		return INSTRUCTION_TRAP; /* int 0x80 is recognised by the immediate */
	case 0xc7:
		return out->modrm == 0xf8 ? INSTRUCTION_XBEGIN : INSTRUCTION_PLAIN;
	case 0xff:
		switch (group) {
		case 2:
			return INSTRUCTION_CALL_INDIRECT;
		case 4:
			return INSTRUCTION_JUMP_INDIRECT;
		case 3:
		case 5:
			return INSTRUCTION_FAR;
		default:
			return INSTRUCTION_PLAIN;
		}
	default:
		return INSTRUCTION_PLAIN;
	}
}

static uint8_t map0_flags(const struct instruction *out)
{
	const uint8_t op = out->opcode;
	const unsigned group = out->modrm >> 3 & 7;

	if (op < 0x40)
		/* adc and sbb read CF. */
		return (op >> 3 == 2 || op >> 3 == 3 || (op & 7) > 5) ? INSTRUCTION_FLAGS_OTHER
								      : INSTRUCTION_FLAGS_DEAD;
	if ((op >= 0x50 && op <= 0x5f) || (op >= 0x88 && op <= 0x8f) || (op >= 0xb0 && op <= 0xbf) ||
	    (op >= 0x90 && op <= 0x99) || (op >= 0xa0 && op <= 0xa5) || (op >= 0xd8 && op <= 0xd9) ||
	    (op >= 0xdc && op <= 0xde))
		return INSTRUCTION_FLAGS_KEPT;
	switch (op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return group == 2 || group == 3 ? INSTRUCTION_FLAGS_OTHER : INSTRUCTION_FLAGS_DEAD;
	case 0x84:
	case 0x85:
	case 0xa8:
	case 0xa9:
		return INSTRUCTION_FLAGS_DEAD;
	case 0xf6:
	case 0xf7:
		return group < 2 || group == 3 ? INSTRUCTION_FLAGS_DEAD
		       : group == 2            ? INSTRUCTION_FLAGS_KEPT
					       : INSTRUCTION_FLAGS_OTHER;
	case 0x63:
	case 0x68:
	case 0x6a:
	case 0x86:
	case 0x87:
	case 0xaa:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xc6:
	case 0xc7:
	case 0xe8:
	case 0xe9:
	case 0xeb:
	case 0xc8:
	case 0xc9:
		return INSTRUCTION_FLAGS_KEPT;
	case 0xff:
		return group == 6 ? INSTRUCTION_FLAGS_KEPT : INSTRUCTION_FLAGS_OTHER;
	default:
		return INSTRUCTION_FLAGS_OTHER;
	}
}

static void map0_registers(struct instruction *out)
{
	const uint8_t op = out->opcode;

	if (op < 0x40 || op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x84 && op <= 0x8b) || op == 0x8d)
		out->reg_general = out->rm_general = true;
	else if (op < 0xd8 || op > 0xdf)
		out->rm_general = out->modrm_at != 0;
	out->opcode_general = (op >= 0x50 && op <= 0x5f) || (op >= 0x90 && op <= 0x97) || (op >= 0xb0 && op <= 0xbf);
}

static bool map0_writes(const struct instruction *out)
{
	const uint8_t op = out->opcode;
	const unsigned group = out->modrm >> 3 & 7;

	if (op < 0x38)
		return (op & 7) < 2;
	switch (op) {
	case 0x80:
	case 0x81:
	case 0x83:
		return group != 7;
	case 0x84:
	case 0x85:
	case 0x8d:
	case 0x38:
	case 0x39:
	case 0x8a:
	case 0x8b:
	case 0x8e:
	case 0x63:
	case 0x69:
	case 0x6b:
		return false;
	case 0xf6:
	case 0xf7:
		return group == 2 || group == 3;
	case 0xff:
		return group < 2;
	case 0xa2:
	case 0xa3:
	case 0xa4:
	case 0xa5:
	case 0xaa:
	case 0xab:
		return true;
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x89:
	case 0x8c:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xfe:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return true;
	default:
		return op >= 0xd8 && op <= 0xdf && group >= 1;
	}
}

void runtime_reader_one_byte(struct runtime_reader *reader, struct instruction *out)
{
	const uint8_t op = out->opcode;

	if (map0_has_modrm(op))
		runtime_reader_modrm(reader, out);
	else
		out->rm = (uint8_t)((op & 7) | (reader->rex_b ? 8 : 0));
	map0_registers(out);
	runtime_reader_immediate(reader, out, map0_immediate(op));
	out->kind = map0_kind(out);
	out->flags = map0_flags(out);
	out->writes_memory = map0_writes(out);
	out->repeat = reader->simd_prefix >= 0xf2 && ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf));
}
