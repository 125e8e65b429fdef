/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources: SDM volume 2; "Intel Architecture Instruction Set Extensions and Future Features"; "Intel Advanced
 * Performance Extensions Architecture Specification".
 */
#include "flow/code/instruction_name.h"

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <string.h>

#include "flow/code/instruction.h"

#define ANY 0xff

/* ---- instructions with names of their own --------------------------------------------------------------------- */

/* An instruction matches if ModRM & mask is `modrm`. The mask c0 stands for "registers", MEMORY for "memory". */
#define MEMORY 0x01

struct named {
	uint8_t kind, map, prefix, opcode, mask, modrm;
	const char *name;
	char narrow[2], wide[2]; /* suffix of the name: without W, with W */
};

#define LEGACY FLOW_ENCODING_LEGACY
#define VEX FLOW_ENCODING_VEX
#define EVEX FLOW_ENCODING_EVEX

static const struct named table[] = {
	{LEGACY, 1, 0xf2, 0x00, 0x38, 0x30, "lkgs"},
	{LEGACY, 1, 0x00, 0x01, 0xff, 0xc6, "wrmsrns"},
	{LEGACY, 1, 0xf2, 0x01, 0xff, 0xc6, "rdmsrlist"},
	{LEGACY, 1, 0xf3, 0x01, 0xff, 0xc6, "wrmsrlist"},
	{LEGACY, 1, 0x00, 0x01, 0xff, 0xc7, "pbndkb"},
	{LEGACY, 1, 0xf2, 0x01, 0xff, 0xca, "erets"},
	{LEGACY, 1, 0xf3, 0x01, 0xff, 0xca, "eretu"},
	{LEGACY, 2, 0xf2, 0xf8, 0xc0, 0xc0, "urdmsr"},
	{LEGACY, 2, 0xf3, 0xf8, 0xc0, 0xc0, "uwrmsr"},
	{LEGACY, 2, 0x00, 0xfc, MEMORY, 0, "aadd"},
	{LEGACY, 2, 0x66, 0xfc, MEMORY, 0, "aand"},
	{LEGACY, 2, 0xf2, 0xfc, MEMORY, 0, "aor"},
	{LEGACY, 2, 0xf3, 0xfc, MEMORY, 0, "axor"},
	{VEX, 2, 0x00, 0x50, 0, 0, "vpdpbuud"},
	{VEX, 2, 0xf2, 0x50, 0, 0, "vpdpbssd"},
	{VEX, 2, 0xf3, 0x50, 0, 0, "vpdpbsud"},
	{VEX, 2, 0x00, 0x51, 0, 0, "vpdpbuuds"},
	{VEX, 2, 0xf2, 0x51, 0, 0, "vpdpbssds"},
	{VEX, 2, 0xf3, 0x51, 0, 0, "vpdpbsuds"},
	{VEX, 2, 0xf2, 0x5c, 0xc0, 0xc0, "tdpfp16ps"},
	{VEX, 2, 0x00, 0x6c, 0xc0, 0xc0, "tcmmrlfp16ps"},
	{VEX, 2, 0x66, 0x6c, 0xc0, 0xc0, "tcmmimfp16ps"},
	{VEX, 2, 0xf3, 0x72, 0, 0, "vcvtneps2bf16"},
	{VEX, 2, 0x00, 0xb0, MEMORY, 0, "vcvtneoph2ps"},
	{VEX, 2, 0x66, 0xb0, MEMORY, 0, "vcvtneeph2ps"},
	{VEX, 2, 0xf2, 0xb0, MEMORY, 0, "vcvtneobf162ps"},
	{VEX, 2, 0xf3, 0xb0, MEMORY, 0, "vcvtneebf162ps"},
	{VEX, 2, 0x66, 0xb1, MEMORY, 0, "vbcstnesh2ps"},
	{VEX, 2, 0xf3, 0xb1, MEMORY, 0, "vbcstnebf162ps"},
	{VEX, 2, 0x66, 0xb4, 0, 0, "vpmadd52luq"},
	{VEX, 2, 0x66, 0xb5, 0, 0, "vpmadd52huq"},
	{VEX, 2, 0xf2, 0xcb, 0xc0, 0xc0, "vsha512rnds2"},
	{VEX, 2, 0xf2, 0xcc, 0xc0, 0xc0, "vsha512msg1"},
	{VEX, 2, 0xf2, 0xcd, 0xc0, 0xc0, "vsha512msg2"},
	{VEX, 2, 0x00, 0xd2, 0, 0, "vpdpwuud"},
	{VEX, 2, 0x66, 0xd2, 0, 0, "vpdpwusd"},
	{VEX, 2, 0xf3, 0xd2, 0, 0, "vpdpwsud"},
	{VEX, 2, 0x00, 0xd3, 0, 0, "vpdpwuuds"},
	{VEX, 2, 0x66, 0xd3, 0, 0, "vpdpwusds"},
	{VEX, 2, 0xf3, 0xd3, 0, 0, "vpdpwsuds"},
	{VEX, 2, 0x00, 0xda, 0, 0, "vsm3msg1"},
	{VEX, 2, 0x66, 0xda, 0, 0, "vsm3msg2"},
	{VEX, 2, 0xf2, 0xda, 0, 0, "vsm4rnds4"},
	{VEX, 2, 0xf3, 0xda, 0, 0, "vsm4key4"},
	{VEX, 3, 0x66, 0xde, 0, 0, "vsm3rnds2"},
	{VEX, 7, 0xf2, 0xf8, 0xf8, 0xc0, "urdmsr"},
	{VEX, 7, 0xf3, 0xf8, 0xf8, 0xc0, "uwrmsr"},
	{EVEX, 7, 0xf2, 0xf8, 0xf8, 0xc0, "urdmsr"},
	{EVEX, 7, 0xf3, 0xf8, 0xf8, 0xc0, "uwrmsr"},
	{EVEX, 4, ANY, 0x24, 0, 0, "shld"},
	{EVEX, 4, ANY, 0x2c, 0, 0, "shrd"},
	{EVEX, 4, 0x00, 0x60, 0, 0, "movbe"},
	{EVEX, 4, 0x66, 0x60, 0, 0, "movbe"},
	{EVEX, 4, 0x00, 0x61, 0, 0, "movbe"},
	{EVEX, 4, 0x66, 0x61, 0, 0, "movbe"},
	{EVEX, 4, 0x66, 0x65, MEMORY, 0, "wruss", "d", "q"},
	{EVEX, 4, 0x00, 0x66, MEMORY, 0, "wrss", "d", "q"},
	{EVEX, 4, 0x66, 0x66, 0, 0, "adcx"},
	{EVEX, 4, 0xf3, 0x66, 0, 0, "adox"},
	{EVEX, 4, ANY, 0x88, 0, 0, "popcnt"},
	{EVEX, 4, 0x00, 0x8f, 0xf8, 0xc0, "pop2", "", "p"},
	{EVEX, 4, ANY, 0xa5, 0, 0, "shld"},
	{EVEX, 4, ANY, 0xad, 0, 0, "shrd"},
	{EVEX, 4, ANY, 0xaf, 0, 0, "imul"},
	{EVEX, 4, 0x00, 0xf0, 0, 0, "crc32"},
	{EVEX, 4, 0xf3, 0xf0, MEMORY, 0, "invept"},
	{EVEX, 4, 0x00, 0xf1, 0, 0, "crc32"},
	{EVEX, 4, 0x66, 0xf1, 0, 0, "crc32"},
	{EVEX, 4, 0xf3, 0xf1, MEMORY, 0, "invvpid"},
	{EVEX, 4, 0xf3, 0xf2, MEMORY, 0, "invpcid"},
	{EVEX, 4, ANY, 0xf4, 0, 0, "tzcnt"},
	{EVEX, 4, ANY, 0xf5, 0, 0, "lzcnt"},
	{EVEX, 4, 0x66, 0xf8, MEMORY, 0, "movdir64b"},
	{EVEX, 4, 0xf2, 0xf8, MEMORY, 0, "enqcmd"},
	{EVEX, 4, 0xf3, 0xf8, MEMORY, 0, "enqcmds"},
	{EVEX, 4, 0xf2, 0xf8, 0xc0, 0xc0, "urdmsr"},
	{EVEX, 4, 0xf3, 0xf8, 0xc0, 0xc0, "uwrmsr"},
	{EVEX, 4, 0x00, 0xf9, MEMORY, 0, "movdiri"},
	{EVEX, 4, 0x00, 0xfc, MEMORY, 0, "aadd"},
	{EVEX, 4, 0x66, 0xfc, MEMORY, 0, "aand"},
	{EVEX, 4, 0xf2, 0xfc, MEMORY, 0, "aor"},
	{EVEX, 4, 0xf3, 0xfc, MEMORY, 0, "axor"},
	{EVEX, 4, 0x00, 0xff, 0xf8, 0xf0, "push2", "", "p"},
};

static bool fits(const struct named *named, const struct flow_encoding *encoding)
{
	if (named->kind != encoding->kind || named->map != encoding->map || named->opcode != encoding->opcode ||
	    (named->prefix != ANY && named->prefix != encoding->prefix))
		return false;
	return named->mask == MEMORY ? encoding->modrm < 0xc0 : (encoding->modrm & named->mask) == named->modrm;
}

static bool find_in_table(const struct flow_encoding *encoding, char *name)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (fits(&table[i], encoding))
			return snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "%s%.1s", table[i].name,
					encoding->wide ? table[i].wide : table[i].narrow) > 0;
	return false;
}

/* ---- instructions with a condition ---------------------------------------------------------------------------- */

static const char conditions[16][4] = {"o", "no", "b", "nb", "z", "nz", "be", "nbe",
				       "s", "ns", "p", "np", "l", "nl", "le", "nle"};

/* Bits in the last byte of an EVEX prefix, for instructions of map 4. */
#define NEW_DESTINATION 0x10
#define NO_FLAGS 0x04

/* Finds the name of an instruction of EVEX map 4 whose opcode or ModRM byte gives the name. */
static const char *find_promoted(const struct flow_encoding *encoding, uint8_t last)
{
	static const char arithmetic[8][4] = {"add", "or", "adc", "sbb", "and", "sub", "xor", ""};
	static const char shifts[8][4] = {"rol", "ror", "rcl", "rcr", "shl", "shr", "shl", "sar"};
	static const char group_3[8][5] = {"", "", "not", "neg", "mul", "imul", "div", "idiv"};
	static const char group_4[8][4] = {"inc", "dec", "", "", "", "", "", ""};
	const unsigned reg = encoding->modrm >> 3 & 7;
	const uint8_t opcode = encoding->opcode;

	if (opcode < 0x40 && (opcode & 7) < 4)
		return arithmetic[opcode >> 3];
	switch (opcode) {
	case 0x69:
	case 0x6b:
		return last & NEW_DESTINATION ? "imulzu" : "imul";
	case 0x80:
	case 0x81:
	case 0x83:
		return arithmetic[reg];
	case 0xc0:
	case 0xc1:
	case 0xd0 ... 0xd3:
		return shifts[reg];
	case 0xf6:
	case 0xf7:
		return group_3[reg];
	case 0xfe:
	case 0xff:
		return group_4[reg];
	default:
		return "";
	}
}

/* Finds CCMPcc and CTESTcc. The prefix has the condition; "true" and "false" replace the parity conditions. */
static const char *find_compare(const struct flow_encoding *encoding)
{
	const unsigned reg = encoding->modrm >> 3 & 7;
	const uint8_t opcode = encoding->opcode;

	if ((opcode >= 0x38 && opcode <= 0x3b) || ((opcode & 0xfc) == 0x80 && opcode != 0x82 && reg == 7))
		return "ccmp";
	if (opcode == 0x84 || opcode == 0x85 || ((opcode & 0xfe) == 0xf6 && reg < 2))
		return "ctest";
	return NULL;
}

static const char *find_conditional(const struct flow_encoding *encoding, uint8_t last)
{
	if (encoding->opcode >> 4 != 4)
		return NULL;
	if (encoding->prefix == 0xf2)
		return last & NEW_DESTINATION ? "setzu" : "set";
	return (last & (NEW_DESTINATION | NO_FLAGS)) == NEW_DESTINATION ? "cmov" : "cfcmov";
}

static bool name_promoted(const uint8_t *prefix, const struct flow_encoding *encoding, char *name)
{
	const uint8_t last = prefix[3], code = last & 0x0f;
	const char *found = find_compare(encoding);

	if (found) {
		snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "%s%s", found,
			 code == 0x0a   ? "t"
			 : code == 0x0b ? "f"
					: conditions[code]);
		return true;
	}
	found = find_conditional(encoding, last);
	if (found) {
		snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "%s%s", found, conditions[encoding->opcode & 0x0f]);
		return true;
	}
	found = find_promoted(encoding, last);
	snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "%s", found);
	return *found;
}

static bool name_by_encoding(const uint8_t *bytes, const struct flow_encoding *encoding, char *name)
{
	if (find_in_table(encoding, name))
		return true;
	if (encoding->kind == EVEX && encoding->map == 4)
		return name_promoted(bytes + encoding->start, encoding, name);
	/* CMPccXADD */
	if (encoding->kind != LEGACY && encoding->map == 2 && encoding->prefix == 0x66 &&
	    encoding->opcode >> 4 == 0xe && encoding->modrm < 0xc0)
		return snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "cmp%sxadd", conditions[encoding->opcode & 0x0f]) > 0;
	return false;
}

/* ---- known instructions with newer registers ------------------------------------------------------------------ */

/* Asks Zydis for the name of the instruction with another prefix: `size` bytes of prefix replace `old` bytes. */
static bool ask_zydis(const uint8_t *bytes, unsigned mode, const struct flow_encoding *encoding, const uint8_t *prefix,
		      size_t size, size_t old, char *name)
{
	uint8_t changed[FLOW_INSTRUCTION_MAX + 4];
	const size_t start = encoding->start, rest = encoding->length - start - old;
	ZydisDecodedInstruction decoded;
	ZydisDecoder decoder;

	memcpy(changed, bytes, start);
	memcpy(changed + start, prefix, size);
	memcpy(changed + start + size, bytes + start + old, rest);
	if (mode != 64 || ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, changed, start + size + rest, &decoded)))
		return false;
	snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "%s", ZydisMnemonicGetString(decoded.mnemonic));
	return true;
}

/* Names an instruction with REX2. The name equals the name with REX, except JMPABS, and PUSH and POP with W. */
static bool name_with_rex2(const uint8_t *bytes, unsigned mode, const struct flow_encoding *encoding, char *name)
{
	const uint8_t payload = bytes[encoding->start + 1];
	const uint8_t prefix[] = {0x40 | (payload & 0x0f), 0x0f};

	if (!encoding->map && encoding->opcode == 0xa1)
		return snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, "jmpabs") > 0;
	if (!encoding->map && encoding->opcode >> 4 == 5 && encoding->wide)
		return snprintf(name, DUMP_INSTRUCTION_NAME_SIZE, encoding->opcode & 8 ? "popp" : "pushp") > 0;
	return ask_zydis(bytes, mode, encoding, prefix, encoding->map ? 2 : 1, 2, name);
}

/* Names a vector instruction, with its addresses in older registers, or in its older VEX form. */
static bool name_with_evex(const uint8_t *bytes, unsigned mode, const struct flow_encoding *encoding, char *name)
{
	const uint8_t *from = bytes + encoding->start;
	const uint8_t evex[] = {0x62, (uint8_t)(from[1] & ~0x08), from[2] | 0x04, from[3]};
	const uint8_t vex[] = {0xc4, (from[1] & 0xe0) | encoding->map, (from[2] & 0xfb) | (from[3] >> 3 & 0x04)};

	return encoding->map != 4 && (ask_zydis(bytes, mode, encoding, evex, sizeof(evex), 4, name) ||
				      ask_zydis(bytes, mode, encoding, vex, sizeof(vex), 4, name));
}

bool flow_instruction_name(const uint8_t *bytes, unsigned mode, const struct flow_encoding *encoding,
			   char name[DUMP_INSTRUCTION_NAME_SIZE])
{
	if (encoding->kind == FLOW_ENCODING_REX2)
		return name_with_rex2(bytes, mode, encoding, name);
	return name_by_encoding(bytes, encoding, name) ||
	       (encoding->kind == EVEX && name_with_evex(bytes, mode, encoding, name));
}
