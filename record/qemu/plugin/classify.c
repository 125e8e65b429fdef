/* SPDX-License-Identifier: BSD-2-Clause */
/* What an instruction does to the flow of control, from its bytes. */

#include "record/qemu/plugin/classify.h"

#include <Zydis/Zydis.h>
#include <string.h>

/* One-byte opcodes that are not linear. FF and 0F need a look at the next byte. */
static const uint8_t one_byte[256] = {
	[0x70 ... 0x7f] = QEMU_BLOCK_COND, [0xe0 ... 0xe3] = QEMU_BLOCK_COND, [0xe8] = QEMU_BLOCK_CALL,
	[0xe9] = QEMU_BLOCK_JUMP,          [0xeb] = QEMU_BLOCK_JUMP,          [0xc2] = QEMU_BLOCK_RETURN,
	[0xc3] = QEMU_BLOCK_RETURN,        [0xca] = QEMU_BLOCK_FAR,           [0xcb] = QEMU_BLOCK_FAR,
	[0xcf] = QEMU_BLOCK_FAR,           [0xcc] = QEMU_BLOCK_TRAP,          [0xf1] = QEMU_BLOCK_TRAP,
	[0xcd] = QEMU_BLOCK_SYSCALL,
};

/* By the reg field of FF's ModRM. */
static const uint8_t group5[8] = {
	[2] = QEMU_BLOCK_CALL_INDIRECT,
	[3] = QEMU_BLOCK_FAR,
	[4] = QEMU_BLOCK_JUMP_INDIRECT,
	[5] = QEMU_BLOCK_FAR,
};

/* Opcodes after 0F. */
static const uint8_t two_byte[256] = {
	[0x05] = QEMU_BLOCK_SYSCALL,   [0x07] = QEMU_BLOCK_FAR,           [0x34] = QEMU_BLOCK_SYSCALL,
	[0x35] = QEMU_BLOCK_FAR,       [0x80 ... 0x8f] = QEMU_BLOCK_COND, [0x0b] = QEMU_BLOCK_UNDEFINED,
	[0xb9] = QEMU_BLOCK_UNDEFINED, [0xff] = QEMU_BLOCK_UNDEFINED,
};

static bool is_string(uint8_t opcode)
{
	return (opcode >= 0xa4 && opcode <= 0xa7) || (opcode >= 0xaa && opcode <= 0xaf) ||
	       (opcode >= 0x6c && opcode <= 0x6f);
}

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
	case 0x66:
	case 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
	case 0x40 ... 0x4f:
		return true;
	default:
		return false;
	}
}

/* The displacement is what follows the opcode: one byte, or four (two with an operand size prefix).
 */
static uint64_t direct_target(const uint8_t *displacement, size_t size, uint64_t end)
{
	if (size == 1)
		return end + (uint64_t)(int64_t)(int8_t)displacement[0];
	if (size == 2) {
		int16_t value;
		memcpy(&value, displacement, sizeof(value));
		return end + (uint64_t)(int64_t)value;
	}
	if (size == 4) {
		int32_t value;
		memcpy(&value, displacement, sizeof(value));
		return end + (uint64_t)(int64_t)value;
	}
	return 0;
}

struct plugin_instruction plugin_classify(const uint8_t *bytes, size_t length, uint64_t address)
{
	struct plugin_instruction result = {QEMU_BLOCK_LINEAR, 0};
	bool repeat = false;
	size_t at = 0;

	while (at < length && is_prefix(bytes[at])) {
		repeat |= bytes[at] == 0xf2 || bytes[at] == 0xf3;
		at++;
	}
	if (at == length)
		return result;

	uint8_t opcode = bytes[at++];

	if (opcode == 0x0f && at < length)
		result.kind = two_byte[bytes[at++]];
	else if (opcode == 0xff && at < length)
		result.kind = group5[(bytes[at] >> 3) & 7];
	else if (repeat && is_string(opcode))
		result.kind = QEMU_BLOCK_REPEAT;
	else
		result.kind = one_byte[opcode];
	/* Only one of these is a system call; the others are signals. */
	if (opcode == 0xcd && at < length && bytes[at] != 0x80)
		result.kind = QEMU_BLOCK_TRAP;

	if (result.kind == QEMU_BLOCK_COND || result.kind == QEMU_BLOCK_JUMP || result.kind == QEMU_BLOCK_CALL)
		result.target = direct_target(bytes + at, length - at, address + length);
	return result;
}

bool plugin_is_cut(const uint8_t *bytes, size_t length)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction instruction;

	if (ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return false;
	return ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, length, &instruction) == ZYDIS_STATUS_NO_MORE_DATA;
}
