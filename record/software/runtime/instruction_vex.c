/* SPDX-License-Identifier: BSD-2-Clause */
/* VEX, EVEX and XOP. */
#include "record/software/runtime/instruction_reader.h"

static void vex1_registers(struct instruction *out, uint8_t prefix, bool evex)
{
	const uint8_t op = out->opcode;
	const bool scalar = prefix == 0xf3 || prefix == 0xf2;

	switch (op) {
	case 0x2a:
		out->rm_general = scalar;
		break;
	case 0x2c:
	case 0x2d:
		out->reg_general = scalar;
		break;
	case 0x78:
	case 0x79:
		out->reg_general = evex && scalar;
		break;
	case 0x7b:
		out->rm_general = evex && scalar;
		break;
	case 0x50:
	case 0xd7:
		out->reg_general = !evex;
		break;
	case 0xc5:
		out->reg_general = true;
		break;
	case 0x6e:
	case 0xc4:
		out->rm_general = true;
		break;
	case 0x7e:
		out->rm_general = prefix == 0x66;
		break;
	case 0x92:
		out->rm_general = !evex;
		break;
	case 0x93:
		out->reg_general = !evex;
		break;
	default:
		break;
	}
}

static void vex_registers(struct instruction *out, uint8_t prefix, bool evex)
{
	const uint8_t op = out->opcode;

	if (out->map == 1 || out->map == 5) {
		vex1_registers(out, prefix, evex);
	} else if (out->map == 2 && !evex) {
		if (op == 0xf2 || (op >= 0xf5 && op <= 0xf7) || (op >= 0xe0 && op <= 0xef))
			out->reg_general = out->vvvv_general = true;
		out->rm_general = op >= 0xf2;
		out->vvvv_general |= op == 0xf3;
	} else if (out->map == 2) {
		out->rm_general = op >= 0x7a && op <= 0x7c;
	} else if (out->map == 3) {
		runtime_three_byte_registers(out);
		if (op == 0xf0 && !evex)
			out->reg_general = out->rm_general = true;
	}
}

static uint8_t simd_prefix_of(unsigned pp)
{
	static const uint8_t prefixes[4] = {0, 0x66, 0xf3, 0xf2};

	return prefixes[pp & 3];
}

static void finish_vex(struct runtime_reader *reader, struct instruction *out, uint8_t prefix)
{
	out->opcode_at = (uint8_t)reader->at;
	out->opcode = runtime_reader_byte(reader);
	if (out->map == 1 && out->opcode == 0x77 && !reader->evex) {
		out->flags = INSTRUCTION_FLAGS_KEPT;
		return;
	}
	runtime_reader_modrm(reader, out);
	vex_registers(out, prefix, reader->evex);
	if (out->map == 3 || (out->map == 1 && (runtime_two_byte_immediate(out->opcode) == IMM_8)))
		runtime_reader_immediate(reader, out, IMM_8);
	out->vector_index = out->map == 2 && ((out->opcode >= 0x90 && out->opcode <= 0x93) ||
					      (reader->evex && ((out->opcode >= 0xa0 && out->opcode <= 0xa3) ||
								out->opcode == 0xc6 || out->opcode == 0xc7)));
	out->flags = out->map == 1 && out->opcode < 0x2e ? INSTRUCTION_FLAGS_KEPT : INSTRUCTION_FLAGS_OTHER;
	if (out->map == 1 && out->opcode >= 0x50 && out->opcode != 0x98 && out->opcode != 0x99)
		out->flags = INSTRUCTION_FLAGS_KEPT;
	out->writes_memory = true;
	if (out->map == 0 || out->map > 6 || out->map == 4)
		out->kind = INSTRUCTION_UNDEFINED;
}

void runtime_reader_vex2(struct runtime_reader *reader, struct instruction *out)
{
	const uint8_t byte = runtime_reader_byte(reader);

	reader->rex_r = !(byte & 0x80);
	out->vvvv = ~(byte >> 3) & 15;
	out->map = 1;
	finish_vex(reader, out, simd_prefix_of(byte));
}

void runtime_reader_vex3(struct runtime_reader *reader, struct instruction *out)
{
	const uint8_t first = runtime_reader_byte(reader), second = runtime_reader_byte(reader);

	reader->rex_r = !(first & 0x80);
	reader->rex_x = !(first & 0x40);
	reader->rex_b = !(first & 0x20);
	reader->rex_w = second & 0x80;
	out->map = first & 31;
	out->vvvv = ~(second >> 3) & 15;
	finish_vex(reader, out, simd_prefix_of(second));
}

void runtime_reader_evex(struct runtime_reader *reader, struct instruction *out)
{
	const uint8_t first = runtime_reader_byte(reader), second = runtime_reader_byte(reader);

	runtime_reader_byte(reader);
	reader->evex = true;
	reader->rex_r = !(first & 0x80);
	reader->rex_x = !(first & 0x40);
	reader->rex_b = !(first & 0x20);
	reader->rex_w = second & 0x80;
	out->map = first & 7;
	out->vvvv = ~(second >> 3) & 15;
	finish_vex(reader, out, simd_prefix_of(second));
}

/* AMD's XOP: as three-byte VEX, maps 8 to 10. */
void runtime_reader_xop(struct runtime_reader *reader, struct instruction *out)
{
	const uint8_t first = runtime_reader_byte(reader);
	const uint8_t second = runtime_reader_byte(reader);

	reader->rex_r = !(first & 0x80);
	reader->rex_x = !(first & 0x40);
	reader->rex_b = !(first & 0x20);
	out->map = first & 31;
	out->vvvv = ~(second >> 3) & 15;
	out->opcode_at = (uint8_t)reader->at;
	out->opcode = runtime_reader_byte(reader);
	runtime_reader_modrm(reader, out);
	runtime_reader_immediate(reader, out, out->map == 8 ? IMM_8 : out->map == 10 ? IMM_REL32 : IMM_NONE);
	out->target = 0;
	out->kind = INSTRUCTION_UNDEFINED;
}
