/* SPDX-License-Identifier: BSD-2-Clause */
#include "record/software/runtime/instruction_reader.h"

#define NO_REGISTER 0xff

/* Passes bytes that are not decoded. */
static void pass_bytes(struct runtime_reader *reader, unsigned count)
{
	if (count > reader->size - reader->at) {
		count = (unsigned)(reader->size - reader->at);
		reader->short_of_bytes = true;
	}
	reader->at += count;
}

static void read_prefixes(struct runtime_reader *reader, struct instruction *out)
{
	for (;;) {
		const uint8_t byte = runtime_reader_byte(reader);

		if (reader->short_of_bytes)
			return;
		switch (byte) {
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
			break;
		case 0x64:
			out->segment_fs = true;
			out->segment_gs = false;
			break;
		case 0x65:
			out->segment_gs = true;
			out->segment_fs = false;
			break;
		case 0x66:
			out->operand_16 = true;
			if (!reader->simd_prefix)
				reader->simd_prefix = 0x66;
			break;
		case 0x67:
			out->address_32 = true;
			break;
		case 0xf0:
			reader->lock = true;
			break;
		case 0xf2:
		case 0xf3:
			reader->simd_prefix = byte;
			break;
		default:
			/* REX counts only directly before the opcode. */
			if ((byte & 0xf0) == 0x40) {
				const uint8_t after = reader->at < reader->size ? reader->code[reader->at] : 0;
				const bool prefix = (after & 0xf0) == 0x40 || after == 0x26 || after == 0x2e ||
						    after == 0x36 || after == 0x3e ||
						    (after >= 0x64 && after <= 0x67) || after == 0xf0 ||
						    after == 0xf2 || after == 0xf3;

				if (reader->at >= reader->size) {
					reader->short_of_bytes = true;
					return;
				}
				if (prefix)
					break;
				out->rex_at = (uint8_t)(reader->at - 1);
				reader->rex_w = byte & 8;
				reader->rex_r = byte & 4;
				reader->rex_x = byte & 2;
				reader->rex_b = byte & 1;
				/* 0x80 marks a REX prefix at offset 0, since rex_at 0 means no prefix. */
				if (!out->rex_at)
					out->rex_at = 0x80;
				return;
			}
			reader->at--;
			return;
		}
	}
}

void runtime_reader_modrm(struct runtime_reader *reader, struct instruction *out)
{
	unsigned mod, rm;

	out->modrm_at = (uint8_t)reader->at;
	out->modrm = runtime_reader_byte(reader);
	mod = out->modrm >> 6;
	rm = out->modrm & 7;
	out->reg = (uint8_t)((out->modrm >> 3 & 7) | (reader->rex_r ? 8 : 0));
	out->rm = (uint8_t)(rm | (reader->rex_b ? 8 : 0));
	if (mod == 3)
		return;
	if (rm == 4) {
		const uint8_t sib = (out->sib_at = (uint8_t)reader->at, runtime_reader_byte(reader));
		const unsigned index = (sib >> 3 & 7u) | (reader->rex_x ? 8u : 0u);

		if (index != 4)
			out->index = (uint8_t)index;
		if ((sib & 7) == 5 && mod == 0)
			out->displacement_size = 4;
		else
			out->base = (uint8_t)((sib & 7) | (reader->rex_b ? 8 : 0));
	} else if (rm == 5 && mod == 0) {
		out->rip_relative = true;
		out->displacement_size = 4;
	} else {
		out->base = out->rm;
	}
	if (mod == 1)
		out->displacement_size = 1;
	else if (mod == 2)
		out->displacement_size = 4;
	if (out->displacement_size) {
		out->displacement_at = (uint8_t)reader->at;
		pass_bytes(reader, out->displacement_size);
	}
}

static int64_t read_signed(const uint8_t *bytes, unsigned size)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	if (size == 1)
		return (int8_t)value;
	return size == 4 ? (int32_t)value : (int64_t)value;
}

void runtime_reader_immediate(struct runtime_reader *reader, struct instruction *out, enum runtime_immediate form)
{
	unsigned size = 0;

	switch (form) {
	case IMM_NONE:
		return;
	case IMM_8:
	case IMM_REL8:
		size = 1;
		break;
	case IMM_16:
		size = 2;
		break;
	case IMM_Z:
		size = out->operand_16 && !reader->rex_w ? 2 : 4;
		break;
	case IMM_V:
		size = reader->rex_w ? 8 : out->operand_16 ? 2 : 4;
		break;
	case IMM_REL32:
		size = 4;
		break;
	case IMM_ENTER:
		size = 3;
		break;
	case IMM_OFFSET:
		size = out->address_32 ? 4 : 8;
		break;
	case IMM_GROUP3:
		if ((out->modrm >> 3 & 7) > 1)
			return;
		size = out->opcode == 0xf6 ? 1 : out->operand_16 && !reader->rex_w ? 2 : 4;
		break;
	}
	out->immediate_at = (uint8_t)reader->at;
	out->immediate_size = (uint8_t)size;
	pass_bytes(reader, size);
	if ((form == IMM_REL8 || form == IMM_REL32) && !reader->short_of_bytes)
		out->target = read_signed(reader->code + out->immediate_at, size);
}

bool runtime_instruction_decode(const uint8_t *code, size_t size, struct instruction *out)
{
	struct runtime_reader reader = {.code = code, .size = size < INSTRUCTION_MAX ? size : INSTRUCTION_MAX};
	uint8_t op;

	*out = (struct instruction){.base = NO_REGISTER, .index = NO_REGISTER, .flags = INSTRUCTION_FLAGS_OTHER};
	read_prefixes(&reader, out);
	out->opcode_at = (uint8_t)reader.at;
	op = out->opcode = runtime_reader_byte(&reader);
	if (op == 0x0f) {
		out->map = 1;
		out->opcode_at = (uint8_t)reader.at;
		op = out->opcode = runtime_reader_byte(&reader);
		if (op == 0x38 || op == 0x3a) {
			out->map = op == 0x38 ? 2 : 3;
			out->opcode_at = (uint8_t)reader.at;
			out->opcode = runtime_reader_byte(&reader);
			runtime_reader_three_byte(&reader, out);
		} else {
			runtime_reader_two_byte(&reader, out);
		}
	} else if (op == 0xc4 || op == 0xc5 || op == 0x62) {
		out->vex_at = (uint8_t)(reader.at - 1);
		if (!out->vex_at)
			out->vex_at = 0x80;
		if (op == 0xc5)
			runtime_reader_vex2(&reader, out);
		else if (op == 0xc4)
			runtime_reader_vex3(&reader, out);
		else
			runtime_reader_evex(&reader, out);
	} else if (op == 0x8f && reader.at < reader.size && (code[reader.at] & 31) >= 8) {
		runtime_reader_xop(&reader, out);
	} else {
		runtime_reader_one_byte(&reader, out);
	}
	out->length = (uint8_t)reader.at;
	if (out->map == 0 && out->opcode == 0xcd && !reader.short_of_bytes && code[out->immediate_at] == 0x80)
		out->kind = INSTRUCTION_INT80;
	if (reader.short_of_bytes && reader.at >= INSTRUCTION_MAX) {
		out->kind = INSTRUCTION_UNDEFINED;
		return true;
	}
	if (reader.short_of_bytes && !out->length)
		out->length = 1;
	/* X and V' extend the vector index, which is no general register. */
	if (out->vector_index)
		out->index = NO_REGISTER;
	return !reader.short_of_bytes;
}

bool runtime_instruction_names(const struct instruction *instruction, unsigned number)
{
	const bool register_rm = instruction->modrm_at && instruction->modrm >> 6 == 3;

	return (instruction->opcode_general && instruction->rm == number) ||
	       (instruction->modrm_at && instruction->reg_general && instruction->reg == number) ||
	       (register_rm && instruction->rm_general && instruction->rm == number) || instruction->base == number ||
	       instruction->index == number || (instruction->vvvv_general && instruction->vvvv == number);
}
