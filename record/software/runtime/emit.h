/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes machine code. %gs-relative operands are absolute: the runtime's offsets in layout.h. */
#ifndef RECORD_SOFTWARE_RUNTIME_EMIT_H
#define RECORD_SOFTWARE_RUNTIME_EMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "record/software/runtime/layout.h"

struct emitter {
	uint8_t *at;
};

static inline void emit_1(struct emitter *e, uint8_t byte)
{
	*e->at++ = byte;
}

static inline void emit_4(struct emitter *e, uint32_t value)
{
	memcpy(e->at, &value, 4);
	e->at += 4;
}

static inline void emit_8(struct emitter *e, uint64_t value)
{
	memcpy(e->at, &value, 8);
	e->at += 8;
}

static inline void emit_bytes(struct emitter *e, const uint8_t *bytes, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		emit_1(e, bytes[i]);
}

/* An instruction with a register and a %gs operand: REX.W opcode reg, gs:[offset]. */
static inline void emit_gs(struct emitter *e, uint8_t opcode, unsigned reg, uint32_t offset)
{
	emit_1(e, 0x65);
	emit_1(e, (uint8_t)(0x48 | (reg & 8) >> 1));
	emit_1(e, opcode);
	emit_1(e, (uint8_t)(0x04 | (reg & 7) << 3));
	emit_1(e, 0x25);
	emit_4(e, offset);
}

static inline void emit_load(struct emitter *e, unsigned reg, uint32_t offset)
{
	emit_gs(e, 0x8b, reg, offset);
}

static inline void emit_store(struct emitter *e, uint32_t offset, unsigned reg)
{
	emit_gs(e, 0x89, reg, offset);
}

/* mov dword gs:[offset], value */
static inline void emit_store_32(struct emitter *e, uint32_t offset, uint32_t value)
{
	emit_1(e, 0x65);
	emit_1(e, 0xc7);
	emit_1(e, 0x04);
	emit_1(e, 0x25);
	emit_4(e, offset);
	emit_4(e, value);
}

static inline void emit_store_64(struct emitter *e, uint32_t offset, uint64_t value)
{
	emit_store_32(e, offset, (uint32_t)value);
	emit_store_32(e, offset + 4, (uint32_t)(value >> 32));
}

/* jmp gs:[offset] */
static inline void emit_jump_gs(struct emitter *e, uint32_t offset)
{
	emit_1(e, 0x65);
	emit_1(e, 0xff);
	emit_1(e, 0x24);
	emit_1(e, 0x25);
	emit_4(e, offset);
}

/* mov reg, value */
static inline void emit_constant(struct emitter *e, unsigned reg, uint64_t value)
{
	if (value >> 32 == 0) {
		if (reg & 8)
			emit_1(e, 0x41);
		emit_1(e, (uint8_t)(0xb8 | (reg & 7)));
		emit_4(e, (uint32_t)value);
	} else {
		emit_1(e, (uint8_t)(0x48 | reg >> 3));
		emit_1(e, (uint8_t)(0xb8 | (reg & 7)));
		emit_8(e, value);
	}
}

static inline bool emit_reaches(const uint8_t *from, const uint8_t *to)
{
	const int64_t distance = (int64_t)((uint64_t)to - (uint64_t)from);

	return distance == (int32_t)distance;
}

/* Lets the 4-byte displacement at site lead to `to`. */
static inline void emit_displacement(uint8_t *site, const uint8_t *to)
{
	const int32_t value = (int32_t)((int64_t)to - (int64_t)(site + 4));

	memcpy(site, &value, 4);
}

/* Pads so that a 4-byte displacement does not cross a cache line and can be changed in one write. */
static inline void emit_align_displacement(struct emitter *e, unsigned opcode_size)
{
	while (((uintptr_t)e->at + opcode_size) % 64 > 60)
		emit_1(e, 0x90);
}

/* lea r15, [r15 * 2^bits + value]: appends up to three TNT bits without touching the flags. */
static inline void emit_append(struct emitter *e, unsigned bits, unsigned value)
{
	if (!bits)
		return;
	if (bits == 1) {
		/* lea r15, [r15 + r15 + value] */
		emit_bytes(e, (const uint8_t[]){0x4f, 0x8d, 0x7c, 0x3f, (uint8_t)value}, 5);
		return;
	}
	emit_bytes(e, (const uint8_t[]){0x4e, 0x8d, 0x3c, (uint8_t)(bits << 6 | 7 << 3 | 5)}, 4);
	emit_4(e, value);
}

/* Appends `zeros` TNT bits 0 and, if last is 0 or 1, the bit `last`. */
static inline void emit_append_bits(struct emitter *e, unsigned zeros, int last)
{
	unsigned total = zeros + (last >= 0);

	while (total > 3) {
		emit_append(e, 3, 0);
		total -= 3;
	}
	emit_append(e, total, last == 1);
}

#endif
