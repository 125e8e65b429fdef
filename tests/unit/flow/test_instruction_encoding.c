/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests instruction lengths by the encoding rules: against Zydis for known instructions; otherwise against instructions
 * composed as in the manual, and against instructions assembled by LLVM 19.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <Zydis/Zydis.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/text/text.h"
#include "flow/code/disassembly.h"
#include "flow/code/instruction.h"
#include "flow/code/instruction_encoding.h"

/* An instruction being built. Bytes behind the instruction are noise, which must not matter. */
struct built {
	uint8_t bytes[32];
	unsigned size;
};

static void put(struct built *built, unsigned byte)
{
	built->bytes[built->size++] = (uint8_t)byte;
}

static struct built begin(uint8_t noise)
{
	struct built built = {.size = 0};

	memset(built.bytes, noise, sizeof(built.bytes));
	return built;
}

/* ---- where Zydis knows ------------------------------------------------------------------------------------------------ */

static const struct {
	unsigned mode;
	ZydisMachineMode machine;
	ZydisStackWidth stack;
} modes[] = {
	{64, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64},
	{32, ZYDIS_MACHINE_MODE_LONG_COMPAT_32, ZYDIS_STACK_WIDTH_32},
	{16, ZYDIS_MACHINE_MODE_LONG_COMPAT_16, ZYDIS_STACK_WIDTH_16},
};

static ZydisDecoder decoders[3];

static int open_decoders(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		if (ZYAN_FAILED(ZydisDecoderInit(&decoders[i], modes[i].machine, modes[i].stack)))
			return -1;
	return 0;
}

/* Of CPUs without Intel PT: 3DNow, SSE4a and VIA's instructions, branches by mask registers. Relative branches are not read. */
static bool is_foreign(const ZydisDecodedInstruction *known)
{
	const bool after_0f = known->opcode_map == ZYDIS_OPCODE_MAP_0F;

	if (known->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX)
		return after_0f && known->meta.category == ZYDIS_CATEGORY_COND_BR;
	if (known->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
		return true;
	return known->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && after_0f &&
	       (known->opcode == 0x0e || known->opcode == 0x78 || known->opcode == 0xa6 || known->opcode == 0xa7 ||
		known->opcode >> 4 == 8);
}

/* Returns 1 if Zydis knows the instruction. */
static unsigned compare(const struct built *built, unsigned i)
{
	ZydisDecodedInstruction known;
	struct flow_encoding encoding;

	if (ZYAN_FAILED(
		    ZydisDecoderDecodeInstruction(&decoders[i], NULL, built->bytes, FLOW_INSTRUCTION_MAX, &known)) ||
	    is_foreign(&known))
		return 0;
	assert_int_equal(flow_encoding_read(built->bytes, FLOW_INSTRUCTION_MAX, modes[i].mode, &encoding), 0);
	assert_int_equal(encoding.length, known.length);
	assert_int_equal(encoding.opcode, known.opcode);
	assert_int_equal(encoding.modrm, known.raw.modrm.offset ? built->bytes[known.raw.modrm.offset] : 0);
	return 1;
}

/* Compares all opcodes and ModRM bytes behind the built bytes, with a SIB with base and a SIB without. */
static unsigned compare_all(const struct built *start, unsigned i)
{
	unsigned count = 0;

	for (unsigned rest = 0; rest < 0x20000; rest++) {
		struct built built = *start;

		memset(built.bytes + built.size, rest >> 16 ? 0x25 : 0x11, sizeof(built.bytes) - built.size);
		put(&built, rest >> 8 & 0xff);
		put(&built, rest & 0xff);
		count += compare(&built, i);
	}
	return count;
}

static void legacy_known(void **state)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3, 0x67};
	static const uint8_t maps[] = {0, 0x38, 0x3a};
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned j = 0; j < sizeof(prefixes) * sizeof(maps); j++) {
			struct built start = begin(0);

			if (prefixes[j / sizeof(maps)])
				put(&start, prefixes[j / sizeof(maps)]);
			put(&start, 0x0f);
			if (maps[j % sizeof(maps)])
				put(&start, maps[j % sizeof(maps)]);
			count += compare_all(&start, i);
		}
	assert_true(count > 1000000);
}

static void vex_known(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i += 2)
		for (unsigned map = 1; map <= 3; map++)
			for (unsigned pp = 0; pp < 8; pp++) {
				struct built start = begin(0);

				put(&start, 0xc4);
				put(&start, 0xe0 | map);
				put(&start, (pp >> 2 ? 0xfc : 0x78) | (pp & 3));
				count += compare_all(&start, i);
			}
	for (unsigned pp = 0; pp < 8; pp++) {
		struct built start = begin(0);

		put(&start, 0xc5);
		put(&start, 0xf8 | pp);
		count += compare_all(&start, 0);
	}
	assert_true(count > 500000);
}

/* with and without the bit by which Zydis tells EVEX from MVEX */
static void evex_known(void **state)
{
	static const uint8_t maps[] = {1, 2, 3, 5, 6};
	unsigned count = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(maps) * 16; i++) {
		struct built start = begin(0);

		put(&start, 0x62);
		put(&start, 0xf0 | maps[i >> 4]);
		put(&start, 0x78 | (i & 3) | (i & 4 ? 0x80 : 0) | (i & 8 ? 0 : 4));
		put(&start, i & 8 ? 0x08 : 0x49);
		count += compare_all(&start, 0);
	}
	assert_true(count > 100000);
}

static void xop_known(void **state)
{
	unsigned count = 0;

	(void)state;
	for (unsigned map = 8; map <= 10; map++)
		for (unsigned wide = 0; wide < 2; wide++) {
			struct built start = begin(0);

			put(&start, 0x8f);
			put(&start, 0xe0 | map);
			put(&start, wide ? 0xf8 : 0x78);
			count += compare_all(&start, 0);
		}
	assert_true(count > 10000);
}

/*
 * REX2 is REX plus more register bits: an instruction has the same length with REX2 as with REX, apart from the prefix.
 * SDM: rows 4, 7, A and E of map 0, and rows 3 and 8 of map 1 are undefined.
 */
static bool is_row_undefined(unsigned map, unsigned opcode)
{
	const unsigned row = opcode >> 4;

	return map ? row == 3 || row == 8 : row == 4 || row == 7 || row == 10 || row == 14;
}

static void compare_rex2(unsigned prefix, unsigned payload, unsigned rest)
{
	const unsigned map = payload >> 7, opcode = rest >> 8 & 0xff;
	struct built with = begin(0x25), without = begin(0x25);
	ZydisDecodedInstruction known;
	struct flow_encoding encoding;
	int status;

	if (prefix) {
		put(&with, prefix);
		put(&without, prefix);
	}
	put(&with, 0xd5);
	put(&with, payload);
	put(&without, 0x40 | (payload & 0x0f));
	if (map)
		put(&without, 0x0f);
	put(&with, opcode);
	put(&with, rest & 0xff);
	put(&without, opcode);
	put(&without, rest & 0xff);
	status = flow_encoding_read(with.bytes, FLOW_INSTRUCTION_MAX, 64, &encoding);
	if (is_row_undefined(map, opcode)) {
		/* JMPABS */
		if (map || opcode != 0xa1 || prefix || payload & 8)
			assert_int_equal(status, PTL_CORRUPT);
		return;
	}
	if (ZYAN_FAILED(
		    ZydisDecoderDecodeInstruction(&decoders[0], NULL, without.bytes, FLOW_INSTRUCTION_MAX, &known)) ||
	    is_foreign(&known) || known.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || known.opcode != opcode)
		return;
	/* Prefixes and escapes are not opcodes. */
	if (known.opcode_map != (map ? ZYDIS_OPCODE_MAP_0F : ZYDIS_OPCODE_MAP_DEFAULT))
		return;
	assert_int_equal(status, 0);
	assert_int_equal(encoding.length, known.length + 1 - map);
	assert_int_equal(encoding.kind, FLOW_ENCODING_REX2);
}

static void rex2_known(void **state)
{
	static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3, 0xf0};
	static const uint8_t payloads[] = {0x00, 0x08, 0x55, 0x80, 0xd5, 0xff};

	(void)state;
	for (unsigned i = 0; i < sizeof(prefixes) * sizeof(payloads); i++)
		for (unsigned rest = 0; rest < 0x10000; rest++)
			compare_rex2(prefixes[i / sizeof(payloads)], payloads[i % sizeof(payloads)], rest);
}

/* ---- where only the rules do ------------------------------------------------------------------------------------------ */

/* Adds ModRM and the bytes it requires, by tables 2-1 to 2-3 of the SDM for 64-bit and 16-bit addresses. */
static void put_address(struct built *built, unsigned modrm, unsigned sib, bool sixteen)
{
	const unsigned mod = modrm >> 6, rm = modrm & 7;
	unsigned displacement = mod == 1 ? 1 : mod == 2 ? (sixteen ? 2 : 4) : 0;

	put(built, modrm);
	if (mod == 3)
		return;
	if (sixteen) {
		displacement += mod == 0 && rm == 6 ? 2 : 0;
	} else if (rm == 4) {
		put(built, sib);
		displacement += mod == 0 && (sib & 7) == 5 ? 4 : 0;
	} else if (mod == 0 && rm == 5) {
		displacement = 4;
	}
	while (displacement--)
		put(built, 0x66);
}

static void expect_length(const struct built *built, unsigned mode)
{
	struct flow_encoding encoding;

	assert_int_equal(flow_encoding_read(built->bytes, sizeof(built->bytes), mode, &encoding), 0);
	assert_int_equal(encoding.length, built->size);
	/* Any truncation is too short. */
	for (unsigned size = 0; size < built->size; size++)
		assert_int_equal(flow_encoding_read(built->bytes, size, mode, &encoding), PTL_TRUNCATED);
}

/* Checks all ModRM bytes behind the built bytes, followed by immediate bytes. */
static void expect_addresses(const struct built *start, unsigned mode, unsigned immediate)
{
	for (unsigned modrm = 0; modrm < 256; modrm += modrm < 0xc0 ? 1 : 9)
		for (unsigned sib = 0x24; sib <= 0x25; sib++) {
			struct built built = *start;

			put_address(&built, modrm, sib, mode == 16);
			for (unsigned i = 0; i < immediate; i++)
				put(&built, 0xf3);
			expect_length(&built, mode);
		}
}

/* Map 3 has an immediate byte, and in map 1 PSHUF, shifts, compares, PINSRW, PEXTRW and SHUF do. */
static unsigned vector_immediate(unsigned map, unsigned opcode)
{
	static const uint8_t with[] = {0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6};

	return map == 7 ? 4 : map == 3 || (map == 1 && memchr(with, (int)opcode, sizeof(with))) ? 1 : 0;
}

static void vex_rules(void **state)
{
	static const uint8_t maps[] = {1, 2, 3, 5, 7};

	(void)state;
	for (unsigned i = 0; i < sizeof(maps) * 256; i++) {
		const unsigned map = maps[i >> 8], opcode = i & 0xff;
		struct built start = begin(0x2e);

		if (map == 1 && opcode == 0x77)
			continue;
		put(&start, 0x64);
		put(&start, 0xc4);
		put(&start, 0xe0 | map);
		put(&start, 0x7b);
		put(&start, opcode);
		expect_addresses(&start, 64, vector_immediate(map, opcode));
		expect_addresses(&start, 16, vector_immediate(map, opcode));
	}
}

/* with the bits for 32 general registers */
static void evex_rules(void **state)
{
	static const uint8_t maps[] = {1, 2, 3, 5, 6, 7};

	(void)state;
	for (unsigned i = 0; i < sizeof(maps) * 256; i++) {
		const unsigned map = maps[i >> 8], opcode = i & 0xff;
		struct built start = begin(0x2e);

		/* Without a prefix: 4, 1, 6 and 4 bytes are the maximum. */
		put(&start, 0x62);
		put(&start, 0x18 | map);
		put(&start, 0x78);
		put(&start, 0x00);
		put(&start, opcode);
		expect_addresses(&start, 64, vector_immediate(map, opcode));
	}
}

/* Instructions promoted from legacy maps: opcode, pp, W, ModRM.reg (8: any), immediate. */
static void promoted_rules(void **state)
{
	static const struct {
		uint8_t opcode, pp, wide, reg, immediate;
	} cases[] = {
		{0x69, 0, 0, 8, 4}, {0x69, 1, 0, 8, 2}, {0x69, 1, 1, 8, 4}, {0x6b, 0, 0, 8, 1}, {0x80, 0, 0, 8, 1},
		{0x81, 0, 0, 8, 4}, {0x81, 1, 0, 8, 2}, {0x81, 1, 1, 8, 4}, {0x83, 1, 0, 8, 1}, {0xc0, 0, 0, 8, 1},
		{0xc1, 1, 1, 8, 1}, {0xd4, 0, 0, 8, 1}, {0x24, 0, 0, 8, 1}, {0x2c, 1, 0, 8, 1}, {0xf6, 0, 0, 0, 1},
		{0xf6, 0, 0, 1, 1}, {0xf6, 0, 0, 2, 0}, {0xf7, 0, 0, 0, 4}, {0xf7, 1, 0, 1, 2}, {0xf7, 1, 1, 1, 4},
		{0xf7, 1, 0, 7, 0}, {0x01, 0, 0, 8, 0}, {0x03, 1, 0, 8, 0}, {0x40, 3, 0, 8, 0}, {0x60, 1, 0, 8, 0},
		{0x84, 0, 0, 8, 0}, {0x88, 0, 1, 8, 0}, {0x8f, 0, 0, 8, 0}, {0xa5, 0, 0, 8, 0}, {0xad, 0, 0, 8, 0},
		{0xaf, 0, 0, 8, 0}, {0xd3, 0, 0, 8, 0}, {0xf0, 2, 0, 8, 0}, {0xf8, 3, 0, 8, 0}, {0xff, 0, 0, 8, 0},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]) * 256; i++) {
		const unsigned j = i >> 8, modrm = i & 0xff;
		struct built built = begin(0x2e);

		if (cases[j].reg < 8 && (modrm >> 3 & 7) != cases[j].reg)
			continue;
		put(&built, 0x62);
		put(&built, 0xdc);
		put(&built, (unsigned)cases[j].wide << 7 | 0x78 | cases[j].pp);
		put(&built, 0x1c);
		put(&built, cases[j].opcode);
		put_address(&built, modrm, 0xa5, false);
		for (unsigned k = 0; k < cases[j].immediate; k++)
			put(&built, 0xf3);
		expect_length(&built, 64);
	}
}

/* Every opcode behind 0F 38 and 0F 3A has ModRM; behind 0F 3A an immediate byte follows. */
static void legacy_rules(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 512; i++) {
		struct built start = begin(0x2e);

		put(&start, 0xf2);
		put(&start, 0x0f);
		put(&start, i >> 8 ? 0x3a : 0x38);
		put(&start, i & 0xff);
		expect_addresses(&start, 64, i >> 8);
		expect_addresses(&start, 32, i >> 8);
		expect_addresses(&start, 16, i >> 8);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *bytes;
		unsigned size, mode;
	} cases[] = {
		{"\x06", 1, 64},                     /* invalid in 64-bit mode */
		{"\xd6", 1, 64},                     /* permanently invalid */
		{"\x0f\x04", 2, 64},                 /* an undefined opcode */
		{"\xf0\x0f\x38\xfc\x00", 5, 64},     /* LOCK */
		{"\x66\xc4\xe2\x6b\x50\xc0", 6, 64}, /* 66, F2, LOCK and REX before VEX, EVEX, XOP */
		{"\xf2\xc5\xf8\x58\xc0", 5, 64},
		{"\x48\xc4\xe2\x6b\x50\xc0", 6, 64},
		{"\xf0\x62\xf4\x7c\x08\x01\xc0", 7, 64},
		{"\x66\x8f\xe8\x78\xc0\xc0\x00", 7, 64},
		{"\x48\xd5\x10\x01\xc0", 5, 64}, /* REX before REX2 */
		{"\xd5\x10\x0f\xc0\xc0", 5, 64}, /* an escape and prefixes behind REX2 */
		{"\xd5\x10\x66\xc0\xc0", 5, 64},
		{"\xd5\x80\x38\xc0\xc0", 5, 64},
		{"\xd5\x08\xa1\x00\x00\x00\x00\x00\x00\x00\x00", 11, 64}, /* JMPABS with W, 66 */
		{"\x66\xd5\x00\xa1\x00\x00\x00\x00\x00\x00\x00\x00", 12, 64},
		{"\xc4\xe0\x78\x50\xc0", 5, 64}, /* undefined maps */
		{"\xc4\xe4\x78\x50\xc0", 5, 64},
		{"\xc4\xff\x78\x50\xc0", 5, 64},
		{"\x62\xf0\x7c\x08\x50\xc0", 6, 64},
		{"\x8f\xeb\x78\x50\xc0", 5, 64},
		{"\x62\xf4\x7c\x08\x01\xc0", 6, 32}, /* valid in 64-bit mode only */
		{"\x62\xf9\x7c\x08\x01\xc0", 6, 32},
		{"\x62\x01\xc0\x01\xc0\xc0", 6, 32}, /* BOUND, LES */
		{"\xc4\x01\xc0\x01\xc0\xc0", 6, 32},
	};
	struct flow_encoding encoding;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			flow_encoding_read((const uint8_t *)cases[i].bytes, cases[i].size, cases[i].mode, &encoding),
			PTL_CORRUPT);
}

/* The limit of an instruction is 15 bytes. */
static void too_long(void **state)
{
	struct built built = begin(0x2e);
	struct flow_encoding encoding;

	(void)state;
	put(&built, 0xc4);
	put(&built, 0xe2);
	put(&built, 0x6b);
	put(&built, 0x50);
	put(&built, 0xc0);
	for (unsigned prefixes = 0; prefixes < 14; prefixes++) {
		uint8_t bytes[24];

		memset(bytes, 0x2e, sizeof(bytes));
		memcpy(bytes + prefixes, built.bytes, 5);
		assert_int_equal(flow_encoding_read(bytes, sizeof(bytes), 64, &encoding),
				 prefixes <= 10 ? 0 : PTL_CORRUPT);
	}
}

/* ---- by name ---------------------------------------------------------------------------------------------------------- */

/* Instructions assembled by llvm-mc 19.1.7: lkgs r8w; wrmsrns; ... with Intel's names. */
static const struct {
	const char *bytes;
	unsigned size;
	const char *name;
} newer[] = {
	{"\xf2\x41\x0f\x00\xf0", 5, "lkgs"},
	{"\x0f\x01\xc6", 3, "wrmsrns"},
	{"\xf2\x0f\x01\xc6", 4, "rdmsrlist"},
	{"\xf3\x0f\x01\xc6", 4, "wrmsrlist"},
	{"\x0f\x01\xc7", 3, "pbndkb"},
	{"\xf2\x0f\x01\xca", 4, "erets"},
	{"\xf3\x0f\x01\xca", 4, "eretu"},
	{"\xf2\x0f\x38\xf8\xc3", 5, "urdmsr"},
	{"\xf3\x0f\x38\xf8\xd8", 5, "uwrmsr"},
	{"\xc4\xe7\x7b\xf8\xc0\x78\x56\x34\x12", 9, "urdmsr"},
	{"\xc4\xe7\x7a\xf8\xc0\x78\x56\x34\x12", 9, "uwrmsr"},
	{"\x0f\x38\xfc\x43\x08", 5, "aadd"},
	{"\x66\x48\x0f\x38\xfc\x43\x08", 7, "aand"},
	{"\xf2\x0f\x38\xfc\x84\x8c\x00\x01\x00\x00", 10, "aor"},
	{"\xf3\x48\x0f\x38\xfc\x05\x00\x01\x00\x00", 10, "axor"},
	{"\xc4\xe2\x6b\x50\xcb", 5, "vpdpbssd"},
	{"\xc4\xe2\x6e\x51\x8c\x08\x00\x10\x00\x00", 10, "vpdpbsuds"},
	{"\xc4\xc2\x68\x50\xcd", 5, "vpdpbuud"},
	{"\xc4\xe2\x69\xd2\xcb", 5, "vpdpwusd"},
	{"\xc4\xe2\x6c\xd3\x0d\x04\x00\x00\x00", 9, "vpdpwuuds"},
	{"\xc4\xe2\xe9\xb4\xcb", 5, "vpmadd52luq"},
	{"\xc4\xe2\xed\xb5\x0c\x24", 6, "vpmadd52huq"},
	{"\xc4\xe2\x79\xb0\x08", 5, "vcvtneeph2ps"},
	{"\xc4\xe2\x7f\xb0\x4d\x00", 6, "vcvtneobf162ps"},
	{"\xc4\xe2\x79\xb1\x08", 5, "vbcstnesh2ps"},
	{"\xc4\xc2\x7e\xb1\x4d\x00", 6, "vbcstnebf162ps"},
	{"\xc4\xe2\x7a\x72\xca", 5, "vcvtneps2bf16"},
	{"\xc4\xe2\x69\xe6\x08", 5, "cmpbexadd"},
	{"\xc4\xe2\xe9\xef\x4c\x24\x08", 7, "cmpnlexadd"},
	{"\xc4\xe2\x7f\xcc\xca", 5, "vsha512msg1"},
	{"\xc4\xe2\x7f\xcd\xca", 5, "vsha512msg2"},
	{"\xc4\xe2\x6f\xcb\xcb", 5, "vsha512rnds2"},
	{"\xc4\xe2\x68\xda\xcb", 5, "vsm3msg1"},
	{"\xc4\xe2\x69\xda\xcb", 5, "vsm3msg2"},
	{"\xc4\xe3\x69\xde\xcb\x07", 6, "vsm3rnds2"},
	{"\xc4\xe2\x6a\xda\xcb", 5, "vsm4key4"},
	{"\xc4\xe2\x6f\xda\x08", 5, "vsm4rnds4"},
	{"\xc4\xe2\x63\x5c\xca", 5, "tdpfp16ps"},
	{"\xc4\xe2\x61\x6c\xca", 5, "tcmmimfp16ps"},
	{"\xc4\xe2\x60\x6c\xca", 5, "tcmmrlfp16ps"},
	{"\xd5\x58\x01\xc8", 4, "add"},
	{"\xd5\x70\x03\x84\xec\x78\x56\x34\x12", 9, "add"},
	{"\xd5\x19\xbf\x88\x77\x66\x55\x44\x33\x22\x11", 11, "mov"},
	{"\xd5\x10\x50", 3, "push"},
	{"\xd5\x11\x5f", 3, "pop"},
	{"\xd5\x08\x50", 3, "pushp"},
	{"\xd5\x18\x58", 3, "popp"},
	{"\xd5\x10\xff\xd0", 4, "call"},
	{"\xd5\x10\xff\xe1", 4, "jmp"},
	{"\xd5\x10\xff\x50\x08", 5, "call"},
	{"\xd5\x20\xff\x24\xc8", 5, "jmp"},
	{"\xd5\xd8\x42\xc1", 4, "cmovb"},
	{"\xd5\xd8\xaf\xc1", 4, "imul"},
	{"\xd5\xd0\xb6\x01", 4, "movzx"},
	{"\xf0\xd5\x10\x01\x00", 5, "add"},
	{"\xd5\x10\xf6\xc0\x01", 5, "test"},
	{"\x66\xd5\x10\xc7\x00\x34\x12", 7, "mov"},
	{"\xd5\x00\xa1\x88\x77\x66\x55\x44\x33\x22\x11", 11, "jmpabs"},
	{"\xf3\xd5\x98\xae\xe0", 5, "ptwrite"},
	{"\xd5\x90\x22\xd8", 4, "mov"},
	{"\xf3\xd5\xc8\xb8\xc0", 5, "popcnt"},
	{"\xd5\x58\x87\x01", 4, "xchg"},
	{"\xd5\x98\xc8", 3, "bswap"},
	{"\x62\xec\xfc\x10\x01\xd1", 6, "add"},
	{"\x62\xfc\x7d\x18\x81\x00\x34\x12", 8, "add"},
	{"\x62\xf4\xfc\x0c\x81\xc0\x78\x56\x34\x12", 10, "add"},
	{"\x62\xfc\x7c\x0c\x29\xc8", 6, "sub"},
	{"\x62\xf4\xfc\x10\x83\xd8\x05", 7, "sbb"},
	{"\x62\x54\x34\x18\x30\xda", 6, "xor"},
	{"\x62\xe4\xf4\x18\x23\x0a", 6, "and"},
	{"\x62\x94\x7c\x18\x09\x1c\x08", 7, "or"},
	{"\x62\xf4\x7c\x10\x80\x10\x01", 7, "adc"},
	{"\x62\xf4\xfc\x08\xff\xc0", 6, "inc"},
	{"\x62\xf4\xfc\x10\xff\xc8", 6, "dec"},
	{"\x62\xf4\xfc\x10\xf7\xd8", 6, "neg"},
	{"\x62\xf4\x7d\x10\xf7\xd0", 6, "not"},
	{"\x62\xfc\xfc\x0c\xf7\xe0", 6, "mul"},
	{"\x62\xf4\xfc\x0c\xf7\xf1", 6, "div"},
	{"\x62\xe4\xfc\x0c\x69\xc0\x34\x12\x00\x00", 10, "imul"},
	{"\x62\xf4\xfc\x10\xaf\xc1", 6, "imul"},
	{"\x62\xe4\xfc\x18\x6b\xc0\x05", 7, "imulzu"},
	{"\x62\xf4\xfc\x10\xc1\xe0\x03", 7, "shl"},
	{"\x62\xf4\xfc\x10\xd3\xf8", 6, "sar"},
	{"\x62\xf4\xfc\x10\xd1\xc0", 6, "rol"},
	{"\x62\xfc\xfc\x08\xc1\xd8\x05", 7, "rcr"},
	{"\x62\xf4\xfc\x10\x24\xc8\x04", 7, "shld"},
	{"\x62\xf4\xfc\x10\xad\xc8", 6, "shrd"},
	{"\x62\xe4\xfc\x0c\x88\xc0", 6, "popcnt"},
	{"\x62\xe4\xfc\x0c\xf5\xc0", 6, "lzcnt"},
	{"\x62\xf4\x7c\x0c\xf4\xc1", 6, "tzcnt"},
	{"\x62\xf4\xfc\x10\x42\xc1", 6, "cmovb"},
	{"\x62\xfc\xfc\x08\x45\x00", 6, "cfcmovnz"},
	{"\x62\xf4\x7f\x18\x4f\xc0", 6, "setzunle"},
	{"\x62\xf4\x7f\x08\x42\xc0", 6, "setb"},
	{"\x62\xe4\x8c\x02\x39\xc0", 6, "ccmpb"},
	{"\x62\xf4\x84\x0a\x83\x38\x05", 7, "ccmpt"},
	{"\x62\xf4\xc4\x04\xf7\xc0\x78\x56\x34\x12", 10, "ctestz"},
	{"\x62\xf4\x04\x0b\xf6\xc0\x05", 7, "ctestf"},
	{"\x62\xf4\x04\x08\x84\xc8", 6, "ctests"},
	{"\x62\xfc\x7c\x10\xff\xf1", 6, "push2"},
	{"\x62\xf4\x7c\x18\x8f\xc1", 6, "pop2"},
	{"\x62\xfc\xfc\x10\xff\xf1", 6, "push2p"},
	{"\x62\xe4\xfc\x08\x60\x00", 6, "movbe"},
	{"\x62\xf4\xfc\x08\x61\x48\x04", 7, "movbe"},
	{"\x62\xe4\xfc\x08\xf1\xc0", 6, "crc32"},
	{"\x62\xec\x7c\x08\xf0\x01", 6, "crc32"},
	{"\x62\xf4\xfd\x08\x66\xc1", 6, "adcx"},
	{"\x62\xe4\xfe\x08\x66\xc1", 6, "adox"},
	{"\x62\xe4\x7d\x08\xf8\x00", 6, "movdir64b"},
	{"\x62\xfc\x7c\x08\xf9\x00", 6, "movdiri"},
	{"\x62\xe4\x7f\x08\xf8\x00", 6, "enqcmd"},
	{"\x62\xfc\x7e\x08\xf8\x00", 6, "enqcmds"},
	{"\x62\xe4\x7e\x08\xf0\x00", 6, "invept"},
	{"\x62\xe4\x7e\x08\xf1\x00", 6, "invvpid"},
	{"\x62\xe4\x7e\x08\xf2\x00", 6, "invpcid"},
	{"\x62\xfc\x7c\x08\x66\x00", 6, "wrssd"},
	{"\x62\xfc\xfd\x08\x65\x00", 6, "wrussq"},
	{"\x62\xfc\x7c\x08\xfc\x00", 6, "aadd"},
	{"\x62\xfc\xfe\x08\xfc\x00", 6, "axor"},
	{"\x62\xe4\x7f\x08\xf8\xc0", 6, "urdmsr"},
	{"\x62\xff\x7e\x08\xf8\xc0\x78\x56\x34\x12", 10, "uwrmsr"},
	{"\x62\xf9\x68\x48\x58\x0c\x88", 7, "vaddps"},
	{"\x62\xfb\x6d\x48\x25\x08\x05", 7, "vpternlogd"},
	{"\x62\x69\x7c\x48\x11\x78\x01", 7, "vmovups"},
	{"\x62\xfa\x7d\x49\x92\x4c\x90\x02", 8, "vgatherdps"},
	{"\x62\xf9\xfc\x08\x90\x08", 6, "kmovq"},
	{"\x62\xf9\x7d\x08\x91\x11", 6, "kmovb"},
	{"\x62\xe2\xfc\x08\xf2\xc1", 6, "andn"},
	{"\x62\xe2\xf4\x08\xf7\xc0", 6, "bextr"},
	{"\x62\xea\xf7\x00\xf6\xc2", 6, "mulx"},
	{"\x62\xeb\xff\x08\xf0\x01\x05", 7, "rorx"},
	{"\x62\xe2\xff\x08\xf5\xc1", 6, "pdep"},
	{"\x62\xe2\xf5\x08\xf7\xc0", 6, "shlx"},
	{"\x62\xfa\x7f\x08\x4b\x0c\x00", 7, "tileloadd"},
	{"\x62\xfa\x7c\x08\x49\x00", 6, "ldtilecfg"},
	{"\x62\xfa\x75\x08\xe4\x00", 6, "cmpzxadd"},
};

/* Returns whether the text begins with the name: a newer Zydis disassembles some of the instructions. */
static bool is_named(const struct ptl_bytes *text, const char *name)
{
	const size_t size = strlen(name);

	return text->size >= size && !memcmp(text->data, name, size) && (text->size == size || text->data[size] == ' ');
}

static void names(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++) {
		const uint8_t *bytes = (const uint8_t *)newer[i].bytes;
		struct flow_instruction instruction;
		struct ptl_bytes text = {0}, expected = {0};

		assert_int_equal(flow_instruction_decode(bytes, newer[i].size, 64, 0x401000, &instruction), 0);
		assert_int_equal(instruction.length, newer[i].size);
		for (unsigned j = 0; j < newer[i].size; j++) {
			assert_int_equal(flow_instruction_decode(bytes, j, 64, 0x401000, &instruction), PTL_TRUNCATED);
			common_text_format(&expected, "%s0x%02x", j ? ", " : ".byte ", bytes[j]);
		}
		common_text_format(&expected, " # %s", newer[i].name);
		flow_disassemble(bytes, newer[i].size, 64, 0x401000, &text);
		if (!is_named(&text, newer[i].name)) {
			assert_int_equal(text.size, expected.size);
			assert_memory_equal(text.data, expected.data, text.size);
		}
		common_bytes_free(&text);
		common_bytes_free(&expected);
	}
}

/* Tests the kind of branch of the instructions. */
static void branches(void **state)
{
	static const struct {
		const char *bytes;
		unsigned size;
		struct flow_instruction expected;
	} cases[] = {
		{"\xf2\x0f\x01\xca", 4, {.branch = FLOW_BRANCH_FAR_RETURN}}, /* ERETS */
		{"\xf3\x0f\x01\xca", 4, {.branch = FLOW_BRANCH_FAR_RETURN}}, /* ERETU */
		{"\x0f\x01\xca", 3, {.branch = FLOW_BRANCH_NONE}},           /* CLAC */
		{"\xd5\x00\xa1\x88\x77\x66\x55\x44\x33\x22\x11",
		 11,
		 {.branch = FLOW_BRANCH_JUMP_INDIRECT}},                                   /* JMPABS */
		{"\xa1\x88\x77\x66\x55\x44\x33\x22\x11", 9, {.branch = FLOW_BRANCH_NONE}}, /* MOV EAX, moffs */
		{"\xd5\x10\xff\xd0", 4, {.branch = FLOW_BRANCH_CALL_INDIRECT}},            /* CALL R16 */
		{"\xd5\x10\xff\xe0", 4, {.branch = FLOW_BRANCH_JUMP_INDIRECT}},            /* JMP R16 */
		{"\xd5\x00\xc3", 3, {.branch = FLOW_BRANCH_RETURN}},
		{"\xd5\x90\x22\xd8", 4, {.branch = FLOW_BRANCH_NONE, .writes_cr3 = true}},  /* MOV CR3, R16 */
		{"\xf3\xd5\x90\xae\xe0", 5, {.branch = FLOW_BRANCH_NONE, .ptwrite = true}}, /* PTWRITE R16D */
		{"\x62\xf4\x7c\x18\xff\xf0", 6, {.branch = FLOW_BRANCH_NONE}},              /* PUSH2 */
		{"\x62\xf4\x7c\x18\xc3\xc0", 6, {.branch = FLOW_BRANCH_NONE}},
		{"\xc4\xe7\x7b\xc3\xc0\x05\x00\x00\x00", 9, {.branch = FLOW_BRANCH_NONE}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct flow_instruction *expected = &cases[i].expected;
		struct flow_instruction instruction;

		assert_int_equal(flow_instruction_decode((const uint8_t *)cases[i].bytes, cases[i].size, 64, 0x401000,
							 &instruction),
				 0);
		assert_int_equal(instruction.length, cases[i].size);
		assert_int_equal(instruction.branch, expected->branch);
		assert_int_equal(instruction.direct, false);
		assert_int_equal(instruction.writes_cr3, expected->writes_cr3);
		assert_int_equal(instruction.ptwrite, expected->ptwrite);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(legacy_known), cmocka_unit_test(vex_known),      cmocka_unit_test(evex_known),
		cmocka_unit_test(xop_known),    cmocka_unit_test(rex2_known),     cmocka_unit_test(vex_rules),
		cmocka_unit_test(evex_rules),   cmocka_unit_test(promoted_rules), cmocka_unit_test(legacy_rules),
		cmocka_unit_test(refused),      cmocka_unit_test(too_long),       cmocka_unit_test(names),
		cmocka_unit_test(branches),
	};

	return cmocka_run_group_tests(tests, open_decoders, NULL);
}
