/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds lengths of instructions by a table, which is an order of magnitude faster than a full decoder. The speed
 * matters while a trace's code is new.
 */
#include "flow/code/instruction_scan.h"

#include "common/bytes.h"
#include "flow/code/instruction.h"

/*
 * Kinds of bytes behind the opcode, in rows of 16 opcodes. The table only has opcodes whose length follows the rule
 * with any ModRM and with any of the prefixes below. So the scan takes no instruction that Zydis refuses (the unit test
 * compares both for all opcodes). SDM volume 2, appendix A, tables.
 *
 *   .  not in the table       m  ModRM                    A  group 11: ModRM, imm8 (C6 /0)
 *   0  nothing                b  ModRM, imm8              B  group 11: ModRM, imm16/32 (C7 /0)
 *   1  imm8                   w  ModRM, imm16/32          C  group 3: ModRM, imm8 for /0 and /1 (F6)
 *   2  imm16                  l  ModRM of memory (LEA)    D  group 3: ModRM, imm16/32 for /0 and /1 (F7)
 *   3  imm16, imm8 (ENTER)    r  rel32, no 66 prefix      E  group 4: ModRM, /0 and /1 (FE)
 *   z  imm16/32               v  imm16/32/64 (MOV)        F  group 5: ModRM, near branches and /0 /1 /6 (FF)
 *   j  rel8                   p  a prefix                 n, i, h  as 0, 1, 2, and a branch
 */
static const char maps[513] = "mmmm1z..mmmm1z.."
			      "mmmm1z..mmmm1z.."
			      "mmmm1z..mmmm1z.."
			      "mmmm1z..mmmm1z.."
			      "................"
			      "0000000000000000"
			      "...mppp.zw1b0000"
			      "jjjjjjjjjjjjjjjj"
			      "bw.bmmmmmmmm.l.."
			      "0000000000.00000"
			      "....00001z000000"
			      "11111111vvvvvvvv"
			      "bbhn..AB30hnni.n"
			      "mmmm...0m...m..."
			      "jjjj1111rr.j0000"
			      ".npp00CD000000EF"
			      /* After 0F. */
			      "..mm.n0n00.0.m0."
			      "mm......mm..mmmm"
			      "..........m.mm.."
			      "0000nn.........."
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

#define ALL 0xff
#define REFUSED FLOW_INSTRUCTION_MAX /* a length that no instruction can have */

/* Rule of a character in `maps`. The rules avoid branches, because the CPU cannot predict branches in new code. */
static const struct rule {
	uint8_t immediate[4];  /* bytes: plain, with 66, with REX.W, with both */
	uint8_t has_immediate; /* bit set of the ModRM.reg values with an immediate; bit 0 without ModRM */
	uint8_t refused;       /* bit set of refused ModRM.reg values */
	uint8_t modrm;         /* ALL: with ModRM; 0: without */
	uint8_t highest;       /* highest allowed ModRM */
	bool branch;
	bool relative; /* the immediate is the branch's displacement */
} rules['z' + 1] = {
	['.'] = {.refused = ALL},
	['p'] = {.refused = ALL},
	['0'] = {.highest = ALL},
	['1'] = {{1, 1, 1, 1}, ALL, .highest = ALL},
	['2'] = {{2, 2, 2, 2}, ALL, .highest = ALL},
	['3'] = {{3, 3, 3, 3}, ALL, .highest = ALL},
	['n'] = {.highest = ALL, .branch = true},
	['i'] = {{1, 1, 1, 1}, ALL, .highest = ALL, .branch = true},
	['h'] = {{2, 2, 2, 2}, ALL, .highest = ALL, .branch = true},
	['z'] = {{4, 2, 4, 4}, ALL, .highest = ALL},
	['v'] = {{4, 2, 8, 8}, ALL, .highest = ALL},
	['j'] = {{1, 1, 1, 1}, ALL, .highest = ALL, .branch = true, .relative = true},
	['r'] = {{4, REFUSED, 4, REFUSED}, ALL, .highest = ALL, .branch = true, .relative = true},
	['m'] = {.modrm = ALL, .highest = ALL},
	['b'] = {{1, 1, 1, 1}, ALL, .modrm = ALL, .highest = ALL},
	['w'] = {{4, 2, 4, 4}, ALL, .modrm = ALL, .highest = ALL},
	['l'] = {.modrm = ALL, .highest = 0xbf},
	['A'] = {{1, 1, 1, 1}, ALL, .refused = 0xfe, .modrm = ALL, .highest = ALL},
	['B'] = {{4, 2, 4, 4}, ALL, .refused = 0xfe, .modrm = ALL, .highest = ALL},
	['C'] = {{1, 1, 1, 1}, .has_immediate = 0x03, .modrm = ALL, .highest = ALL},
	['D'] = {{4, 2, 4, 4}, .has_immediate = 0x03, .modrm = ALL, .highest = ALL},
	['E'] = {.refused = 0xfc, .modrm = ALL, .highest = ALL},
	['F'] = {.refused = 0xa8, .modrm = ALL, .highest = ALL, .branch = true},
};

/* Bytes of ModRM, SIB and displacement by mod and rm. SDM volume 2, table 2-2. */
static const uint8_t address_sizes[4][8] = {
	{1, 1, 1, 1, 2, 5, 1, 1},
	{2, 2, 2, 2, 3, 2, 2, 2},
	{5, 5, 5, 5, 6, 5, 5, 5},
	{1, 1, 1, 1, 1, 1, 1, 1},
};

#define PREFIXES_MAX 4
#define OPERAND_SIZE 1u
#define WIDE 2u /* REX.W */

/* The parts of an instruction during the scan. */
struct parts {
	const struct rule *rule;
	size_t immediate; /* offset of the immediate */
	size_t length;
	unsigned sizes; /* OPERAND_SIZE and WIDE */
	unsigned map;
	uint8_t opcode;
	uint8_t modrm; /* 0 without ModRM */
	bool repeat, repeat_not;
};

/* Skips the prefixes 66, F2 and F3, and the segment overrides that 64-bit code uses. */
static inline size_t skip_prefixes(const uint8_t *bytes, struct parts *parts)
{
	size_t at = 0;

	for (; at < PREFIXES_MAX && maps[bytes[at]] == 'p'; at++) {
		parts->sizes |= bytes[at] == 0x66 ? OPERAND_SIZE : 0;
		parts->repeat |= bytes[at] == 0xf3;
		parts->repeat_not |= bytes[at] == 0xf2;
	}
	return at;
}

/* Returns the bytes of ModRM, SIB and displacement. SIB without a base has a displacement of four bytes: table 2-3. */
static inline size_t address_size(unsigned modrm, unsigned sib)
{
	return address_sizes[modrm >> 6][modrm & 7] + 4 * (((modrm & 0xc7) == 0x04) & ((sib & 7) == 5));
}

/*
 * Splits an instruction into parts. Returns false for uncommon instructions. Always inline, to keep the parts in
 * registers.
 */
static inline __attribute__((always_inline)) bool take_apart(const uint8_t *bytes, struct parts *parts)
{
	const struct rule *rule;
	unsigned rex, reg;
	size_t at;

	*parts = (struct parts){0};
	at = skip_prefixes(bytes, parts);
	rex = (bytes[at] & 0xf0) == 0x40;
	parts->sizes |= bytes[at] >> 2 & rex << 1;
	at += rex;
	parts->map = bytes[at] == 0x0f;
	at += parts->map;
	parts->opcode = bytes[at];
	parts->rule = rule = &rules[(unsigned char)maps[parts->map << 8 | bytes[at]]];
	at++;
	parts->modrm = bytes[at] & rule->modrm;
	at += address_size(parts->modrm, bytes[at + 1]) & rule->modrm;
	reg = parts->modrm >> 3 & 7;
	parts->immediate = at;
	parts->length = at + (rule->immediate[parts->sizes] & -(rule->has_immediate >> reg & 1u));
	return !(rule->refused >> reg & 1) && parts->modrm <= rule->highest && parts->length <= FLOW_INSTRUCTION_MAX;
}

bool flow_instruction_scan(const uint8_t *bytes, size_t size, struct flow_opcode *opcode)
{
	struct parts parts;

	/* The size suffices for any instruction, so take_apart needs no checks. */
	if (size < FLOW_INSTRUCTION_MAX || !take_apart(bytes, &parts))
		return false;
	*opcode = (struct flow_opcode){
		.length = (uint8_t)parts.length,
		.map = (uint8_t)parts.map,
		.opcode = parts.opcode,
		.modrm = parts.modrm,
		.has_modrm = parts.rule->modrm,
		.repeat = parts.repeat,
		.repeat_not = parts.repeat_not,
	};
	if (parts.rule->relative)
		opcode->displacement = parts.length - parts.immediate == 1
					       ? (int8_t)bytes[parts.immediate]
					       : (int32_t)common_load32(bytes + parts.immediate);
	return true;
}

unsigned flow_instruction_plain(const uint8_t *bytes)
{
	struct parts parts;

	return take_apart(bytes, &parts) && !parts.rule->branch ? (unsigned)parts.length : 0;
}
