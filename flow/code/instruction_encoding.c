/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources: SDM volume 2, chapter 2 (prefixes, ModRM and SIB, VEX, EVEX) and appendix A (maps); "Intel Advanced
 * Performance Extensions Architecture Specification" (REX2, EVEX map 4); AMD64 manual volume 6 (XOP).
 */
#include "flow/code/instruction_encoding.h"

#include <string.h>

#include "common/error.h"
#include "flow/code/instruction.h"

/*
 * What follows the opcode, in rows of 16 opcodes:
 *
 *   .  undefined, or a prefix     m  ModRM                         C  ModRM, imm8 for /0 and /1 (F6)
 *   0  nothing                    x  ModRM of registers, always    D  ModRM, imm16/32 for /0 and /1 (F7)
 *   1  imm8                       b  ModRM, imm8                   4  ModRM, imm32
 *   2  imm16                      w  ModRM, imm16/32               J  a 64-bit target (JMPABS)
 *   3  imm16, imm8 (ENTER)        z  imm16/32                      v  imm16/32/64 (MOV)
 */
static const char one_byte[257] = /* 64-bit mode with REX2: rows 4, 7, A and E are undefined, except JMPABS */
	"mmmm1z..mmmm1z.."
	"mmmm1z..mmmm1z.."
	"mmmm1z..mmmm1z.."
	"mmmm1z..mmmm1z.."
	"................"
	"0000000000000000"
	"...m....zw1b0000"
	"................"
	"bw.bmmmmmmmmmmmm"
	"0000000000.00000"
	".J.............."
	"11111111vvvvvvvv"
	"bb20..bw302001.0"
	"mmmm...0mmmmmmmm"
	"................"
	".0..00CD000000mm";

static const char after_0f[257] = /* without jumps, which are not new and are undefined with REX2 */
	"mmmm.00000.0.m.."
	"mmmmmmmmmmmmmmmm"
	"xxxx....mmmmmmmm"
	"000000.0........"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"bbbbmmm0mm..mmmm"
	"................"
	"mmmmmmmmmmmmmmmm"
	"000mbm..000mbmmm"
	"mmmmmmmmmmbmmmmm"
	"mmbmbbbm00000000"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm"
	"mmmmmmmmmmmmmmmm";

/* EVEX map 4: instructions with an immediate in the legacy maps have an immediate here, too. */
static char promoted(uint8_t opcode)
{
	switch (opcode) {
	case 0x24: /* SHLD */
	case 0x2c: /* SHRD */
	case 0x6b: /* IMUL */
	case 0x80: /* group 1 */
	case 0x83:
	case 0xc0: /* group 2 */
	case 0xc1:
	case 0xd4: /* SHA1RNDS4 */
		return 'b';
	case 0x69:
	case 0x81:
		return 'w';
	case 0xf6:
		return 'C';
	case 0xf7:
		return 'D';
	default:
		return 'm';
	}
}

/* Vector maps 1 with an immediate: shifts, shuffles, compares, inserts and extracts. */
static char vector_0f(uint8_t opcode)
{
	return (opcode >= 0x70 && opcode <= 0x73) || (opcode >= 0xc4 && opcode <= 0xc6) || opcode == 0xc2 ? 'b' : 'm';
}

static char rule_of(const struct flow_encoding *encoding)
{
	static const char legacy[] = {'.', '.', 'm', 'b'};
	static const char vex[] = {'.', '.', 'm', 'b', '.', 'm', '.', '4'};
	static const char evex[] = {'.', '.', 'm', 'b', '.', 'm', 'm', '4'};
	static const char xop[] = {'b', 'm', '4'};
	const uint8_t map = encoding->map, opcode = encoding->opcode;

	switch (encoding->kind) {
	case FLOW_ENCODING_LEGACY:
		return map == 1 ? after_0f[opcode] : legacy[map];
	case FLOW_ENCODING_REX2:
		if (!map)
			return one_byte[opcode];
		return opcode >> 4 == 3 ? '.' : after_0f[opcode];
	case FLOW_ENCODING_VEX:
		if (map == 1)
			return opcode == 0x77 ? '0' : vector_0f(opcode); /* VZEROUPPER, VZEROALL */
		return map < sizeof(vex) ? vex[map] : '.';
	case FLOW_ENCODING_EVEX:
		if (map == 1)
			return vector_0f(opcode);
		return map == 4 ? promoted(opcode) : evex[map];
	default:
		return map >= 8 && map < 8 + sizeof(xop) ? xop[map - 8] : '.';
	}
}

/* The position of reading, and the prefixes. */
struct reader {
	const uint8_t *bytes;
	size_t size;
	size_t at;
	unsigned mode;
	struct flow_encoding *encoding;
	bool operand_size; /* prefix 66 */
	bool address_size; /* prefix 67 */
	bool lock;
	bool beyond;    /* the reader needed more than `size` bytes */
	uint8_t repeat; /* last of the prefixes F2 and F3 */
	uint8_t rex;
};

/* Returns a byte without moving. A byte behind the end is 0; then the reader's result is not used. */
static uint8_t peek(struct reader *reader, size_t ahead)
{
	if (reader->at + ahead < reader->size)
		return reader->bytes[reader->at + ahead];
	reader->beyond = true;
	return 0;
}

static bool take_prefix(struct reader *reader)
{
	uint8_t byte = peek(reader, 0);

	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		break;
	case 0x66:
		reader->operand_size = true;
		break;
	case 0x67:
		reader->address_size = true;
		break;
	case 0xf0:
		reader->lock = true;
		break;
	case 0xf2:
	case 0xf3:
		reader->repeat = byte;
		break;
	default:
		if (reader->mode != 64 || (byte & 0xf0) != 0x40)
			return false;
		reader->rex = byte;
		reader->at++;
		return true;
	}
	/* A REX prefix before other prefixes has no effect. */
	reader->rex = 0;
	reader->at++;
	return true;
}

static bool has_simd_prefix(const struct reader *reader)
{
	return reader->operand_size || reader->repeat || reader->lock || reader->rex;
}

static void choose_encoding(struct flow_encoding *encoding, unsigned pp)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xf3, 0xf2};

	encoding->prefix = prefixes[pp & 3];
}

/* Reads VEX or XOP of three bytes, or EVEX: the three forms have map, W and pp in equal bits. */
static bool take_vector(struct reader *reader, enum flow_encoding_kind kind, unsigned map_bits, size_t size)
{
	struct flow_encoding *encoding = reader->encoding;
	const uint8_t map = peek(reader, 1) & map_bits, last = peek(reader, 2);

	/* Outside of 64-bit mode, these bits distinguish VEX, XOP and EVEX from LES, LDS and BOUND. */
	if (has_simd_prefix(reader) || (reader->mode != 64 && (peek(reader, 1) & 0xc0) != 0xc0))
		return false;
	encoding->kind = kind;
	encoding->map = map;
	encoding->wide = last >> 7;
	choose_encoding(encoding, last);
	reader->at += size;
	return true;
}

static bool take_short_vex(struct reader *reader)
{
	uint8_t payload = peek(reader, 1);

	if (has_simd_prefix(reader) || (reader->mode != 64 && (payload & 0xc0) != 0xc0))
		return false;
	reader->encoding->kind = FLOW_ENCODING_VEX;
	reader->encoding->map = 1;
	choose_encoding(reader->encoding, payload);
	reader->at += 2;
	return true;
}

/* Reads EVEX. The new maps, and the bits for more general registers, exist in 64-bit mode only. */
static bool take_evex(struct reader *reader)
{
	uint8_t payload = peek(reader, 1);

	if (reader->mode != 64 && ((payload & 0x08) || (payload & 0x07) == 4 || (payload & 0x07) == 7))
		return false;
	return take_vector(reader, FLOW_ENCODING_EVEX, 0x07, 4);
}

static void choose_by_prefix(struct reader *reader)
{
	reader->encoding->prefix = reader->repeat ? reader->repeat : reader->operand_size ? 0x66 : 0;
}

static bool take_rex2(struct reader *reader)
{
	uint8_t payload = peek(reader, 1);

	if (reader->mode != 64 || reader->rex)
		return false;
	reader->encoding->kind = FLOW_ENCODING_REX2;
	reader->encoding->map = payload >> 7;
	reader->encoding->wide = payload >> 3 & 1;
	choose_by_prefix(reader);
	reader->at += 2;
	return true;
}

/* Reads a legacy map behind 0F. No new instruction has a LOCK prefix. */
static bool take_legacy(struct reader *reader)
{
	struct flow_encoding *encoding = reader->encoding;
	uint8_t next = peek(reader, 1);

	if (reader->lock)
		return false;
	encoding->map = next == 0x38 ? 2 : next == 0x3a ? 3 : 1;
	encoding->wide = reader->rex >> 3 & 1;
	choose_by_prefix(reader);
	reader->at += encoding->map == 1 ? 1 : 2;
	return true;
}

/* Reads all bytes before the opcode. */
static bool take_kind(struct reader *reader)
{
	while (reader->at < FLOW_INSTRUCTION_MAX && take_prefix(reader))
		;
	reader->encoding->start = (uint8_t)reader->at;
	switch (peek(reader, 0)) {
	case 0x0f:
		return take_legacy(reader);
	case 0x62:
		return take_evex(reader);
	case 0x8f:
		return (peek(reader, 1) & 0x1f) >= 8 && take_vector(reader, FLOW_ENCODING_XOP, 0x1f, 3);
	case 0xc4:
		return take_vector(reader, FLOW_ENCODING_VEX, 0x1f, 3);
	case 0xc5:
		return take_short_vex(reader);
	case 0xd5:
		return take_rex2(reader);
	default:
		return false;
	}
}

/* Returns the bytes of displacement and SIB behind ModRM: SDM tables 2-1 to 2-3. */
static size_t address_bytes(struct reader *reader)
{
	static const uint8_t wide[4] = {0, 1, 4, 0}, narrow[4] = {0, 1, 2, 0};
	const unsigned mod = reader->encoding->modrm >> 6, rm = reader->encoding->modrm & 7;
	const bool sixteen = reader->mode == 16 ? !reader->address_size : reader->mode == 32 && reader->address_size;

	if (mod == 3)
		return 0;
	if (sixteen)
		return narrow[mod] + (mod == 0 && rm == 6 ? 2 : 0);
	if (rm == 4)
		return 1 + wide[mod] + (mod == 0 && (peek(reader, 0) & 7) == 5 ? 4 : 0);
	return wide[mod] + (mod == 0 && rm == 5 ? 4 : 0);
}

/* Returns the bytes of an immediate of the operand's size, at most four. */
static size_t operand_bytes(const struct reader *reader)
{
	const struct flow_encoding *encoding = reader->encoding;
	const bool flipped = encoding->kind == FLOW_ENCODING_EVEX ? encoding->prefix == 0x66 : reader->operand_size;

	return flipped && !encoding->wide ? 2 : 4;
}

static size_t immediate_bytes(const struct reader *reader, char rule)
{
	const bool test = (reader->encoding->modrm >> 3 & 7) < 2;

	switch (rule) {
	case '1':
	case 'b':
		return 1;
	case '2':
		return 2;
	case '3':
		return 3;
	case '4':
		return 4;
	case 'C':
		return test ? 1 : 0;
	case 'D':
		return test ? operand_bytes(reader) : 0;
	case 'z':
	case 'w':
		return operand_bytes(reader);
	case 'v':
		return reader->encoding->wide ? 8 : operand_bytes(reader);
	case 'J':
		return 8;
	default:
		return 0;
	}
}

/* Checks whether the opcode is defined. JMPABS is undefined with any prefix but REX2. */
static bool is_defined(const struct reader *reader, char rule)
{
	const bool plain = !has_simd_prefix(reader) && !reader->address_size && !reader->encoding->wide;

	return rule != '.' && (rule != 'J' || plain);
}

/* Reads the opcode and the bytes behind the opcode. Returns false if the rules do not give the length. */
static bool take_opcode(struct reader *reader)
{
	struct flow_encoding *encoding = reader->encoding;
	char rule;

	encoding->opcode = peek(reader, 0);
	reader->at++;
	rule = rule_of(encoding);
	if (!is_defined(reader, rule))
		return false;
	encoding->has_modrm = strchr("mxbwCD4", rule) != NULL;
	if (encoding->has_modrm) {
		encoding->modrm = peek(reader, 0);
		reader->at++;
		if (rule != 'x')
			reader->at += address_bytes(reader);
	}
	reader->at += immediate_bytes(reader, rule);
	return true;
}

int flow_encoding_read(const uint8_t *bytes, size_t size, unsigned mode, struct flow_encoding *encoding)
{
	struct reader reader = {.bytes = bytes, .mode = mode, .encoding = encoding};
	bool read;

	reader.size = size < FLOW_INSTRUCTION_MAX ? size : FLOW_INSTRUCTION_MAX;
	*encoding = (struct flow_encoding){0};
	read = take_kind(&reader) && take_opcode(&reader);
	if (reader.beyond || reader.at > reader.size)
		return size < FLOW_INSTRUCTION_MAX ? PTL_TRUNCATED : PTL_CORRUPT;
	if (!read)
		return PTL_CORRUPT;
	encoding->length = (uint8_t)reader.at;
	return 0;
}
