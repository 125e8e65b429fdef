/* SPDX-License-Identifier: BSD-2-Clause */
/* Lengths by table: an order of magnitude faster than a full decoder, which counts when a trace's code is new. */
#include "dump/instruction_scan.h"

#include "common/bytes.h"

/*
 * What follows the opcode; in rows of 16 opcodes. Only opcodes whose length follows this rule with any ModRM and
 * any of the prefixes below are here, so that nothing that Zydis refuses is taken (the unit test compares
 * both for all of them). SDM volume 2, appendix A, tables.
 *
 *   .  not here               m  ModRM                    A  group 11: ModRM, imm8 (C6 /0)
 *   0  nothing                b  ModRM, imm8              B  group 11: ModRM, imm16/32 (C7 /0)
 *   1  imm8                   w  ModRM, imm16/32          C  group 3: ModRM, imm8 for /0 and /1 (F6)
 *   2  imm16                  l  ModRM of memory (LEA)    D  group 3: ModRM, imm16/32 for /0 and /1 (F7)
 *   3  imm16, imm8 (ENTER)    r  rel32, no 66 prefix      E  group 4: ModRM, /0 and /1 (FE)
 *   z  imm16/32               v  imm16/32/64 (MOV)        F  group 5: ModRM, near branches and /0 /1 /6 (FF)
 */
static const char one_byte_map[257] =
	"mmmm1z..mmmm1z.."
	"mmmm1z..mmmm1z.."
	"mmmm1z..mmmm1z.."
	"mmmm1z..mmmm1z.."
	"................"
	"0000000000000000"
	"...m....zw1b0000"
	"1111111111111111"
	"bw.bmmmmmmmm.l.."
	"0000000000.00000"
	"....00001z000000"
	"11111111vvvvvvvv"
	"bb20..AB302001.0"
	"mmmm...0m...m..."
	"11111111rr.10000"
	".0..00CD000000EF";

static const char two_byte_map[257] =
	"..mm.00000.0.m0."
	"mm......mm..mmmm"
	"..........m.mm.."
	"000000.........."
	"mmmmmmmmmmmmmmmm"
	".m......mmm.mmmm"
	"................"
	"b..............."
	"rrrrrrrrrrrrrrrr"
	"mmmmmmmmmmmmmmmm"
	"000mbm..000mbm.m"
	"mm.m..mm.m.mmmmm"
	"mmb.....00000000"
	"................"
	"................"
	"...............m";

#define PREFIXES_MAX 4

struct prefixes {
	bool operand_size; /* 66 */
	bool repeat;       /* F3 */
	bool wide;         /* REX.W */
};

/* Skips 66, F2, F3, the segment overrides that 64-bit code uses, and a REX right before the opcode. */
static size_t skip_prefixes(const uint8_t *bytes, struct prefixes *prefixes)
{
	size_t at = 0;

	for (; at < PREFIXES_MAX; at++) {
		uint8_t byte = bytes[at];

		if (byte == 0x66)
			prefixes->operand_size = true;
		else if (byte == 0xf3)
			prefixes->repeat = true;
		else if (byte != 0xf2 && byte != 0x64 && byte != 0x65)
			break;
	}
	if ((bytes[at] & 0xf0) == 0x40)
		prefixes->wide = bytes[at++] & 8;
	return at;
}

/* Bytes of ModRM, SIB and displacement. SDM volume 2, tables 2-2 and 2-3. */
static size_t address_size(const uint8_t *modrm)
{
	unsigned mod = modrm[0] >> 6, rm = modrm[0] & 7;
	size_t size = 1;

	if (mod == 3)
		return 1;
	if (rm == 4) {
		size = 2;
		rm = modrm[1] & 7;
	}
	if (mod == 1)
		return size + 1;
	return mod == 2 || rm == 5 ? size + 4 : size;
}

/* Bytes of the immediate for this kind and ModRM; -1: not one of the common instructions. */
static int immediate_size(char kind, unsigned modrm, const struct prefixes *prefixes)
{
	int full = prefixes->operand_size && !prefixes->wide ? 2 : 4;
	unsigned reg = modrm >> 3 & 7;

	switch (kind) {
	case '0':
	case 'm':
		return 0;
	case '1':
	case 'b':
		return 1;
	case '2':
		return 2;
	case '3':
		return 3;
	case 'z':
	case 'w':
		return full;
	case 'v':
		return prefixes->wide ? 8 : full;
	case 'r':
		return prefixes->operand_size ? -1 : 4;
	case 'l':
		return modrm >> 6 == 3 ? -1 : 0;
	case 'A':
		return reg ? -1 : 1;
	case 'B':
		return reg ? -1 : full;
	case 'C':
		return reg < 2 ? 1 : 0;
	case 'D':
		return reg < 2 ? full : 0;
	case 'E':
		return reg < 2 ? 0 : -1;
	case 'F':
		return reg == 3 || reg == 5 || reg == 7 ? -1 : 0;
	default:
		return -1;
	}
}

bool ptl_instruction_scan(const uint8_t *bytes, size_t size, struct ptl_opcode *opcode)
{
	struct prefixes prefixes = {0};
	size_t at;
	char kind;
	int immediate;

	/* Enough for any of them, so that nothing below has to look. */
	if (size < 15)
		return false;
	*opcode = (struct ptl_opcode){0};
	at = skip_prefixes(bytes, &prefixes);
	opcode->map = bytes[at] == 0x0f;
	at += opcode->map;
	opcode->opcode = bytes[at];
	kind = (opcode->map ? two_byte_map : one_byte_map)[bytes[at++]];
	opcode->repeat = prefixes.repeat;
	if (kind >= 'A' && !(kind == 'r' || kind == 'v' || kind == 'z')) {
		opcode->has_modrm = true;
		opcode->modrm = bytes[at];
		at += address_size(bytes + at);
	}
	immediate = immediate_size(kind, opcode->modrm, &prefixes);
	if (immediate < 0 || at + (size_t)immediate > 15)
		return false;
	opcode->length = (uint8_t)(at + (size_t)immediate);
	if (immediate == 1)
		opcode->displacement = (int8_t)bytes[at];
	else if (immediate == 4)
		opcode->displacement = (int32_t)ptl_load32(bytes + at);
	return true;
}
