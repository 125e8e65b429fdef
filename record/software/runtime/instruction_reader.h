/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the parts of the instruction decoder: the reader of bytes, and a function per kind of opcode. */
#ifndef RECORD_SOFTWARE_RUNTIME_INSTRUCTION_READER_H
#define RECORD_SOFTWARE_RUNTIME_INSTRUCTION_READER_H

#include "record/software/runtime/instruction.h"

/* Immediate forms of an opcode. */
enum runtime_immediate {
	IMM_NONE,
	IMM_8,
	IMM_16,
	IMM_Z,    /* 2 bytes with prefix 66, else 4 */
	IMM_V,    /* 2, 4 or 8 bytes (B8 to BF) */
	IMM_REL8, /* branch displacement */
	IMM_REL32,
	IMM_ENTER,  /* 16 and 8 bits */
	IMM_OFFSET, /* an address of 8 (or, with 67, 4) bytes */
	IMM_GROUP3, /* F6, F7: only /0 and /1 */
};

struct runtime_reader {
	const uint8_t *code;
	size_t size;
	size_t at;
	bool short_of_bytes;
	bool rex_w, rex_r, rex_x, rex_b;
	uint8_t simd_prefix; /* 0, 0x66, 0xf3, 0xf2 */
	bool lock;
	bool evex;
};

/* Returns the next byte. At the end of the bytes, sets short_of_bytes and returns 0. */
static inline uint8_t runtime_reader_byte(struct runtime_reader *reader)
{
	if (reader->at >= reader->size) {
		reader->short_of_bytes = true;
		return 0;
	}
	return reader->code[reader->at++];
}

/* Reads ModRM, SIB and displacement. */
void runtime_reader_modrm(struct runtime_reader *reader, struct instruction *out);
void runtime_reader_immediate(struct runtime_reader *reader, struct instruction *out, enum runtime_immediate form);

/* Read the bytes behind the opcode and complete the instruction. */
void runtime_reader_one_byte(struct runtime_reader *reader, struct instruction *out);
void runtime_reader_two_byte(struct runtime_reader *reader, struct instruction *out);
void runtime_reader_three_byte(struct runtime_reader *reader, struct instruction *out);
/* Read the bytes behind the first byte of the prefix. */
void runtime_reader_vex2(struct runtime_reader *reader, struct instruction *out);
void runtime_reader_vex3(struct runtime_reader *reader, struct instruction *out);
void runtime_reader_evex(struct runtime_reader *reader, struct instruction *out);
void runtime_reader_xop(struct runtime_reader *reader, struct instruction *out);

/* Returns the immediate form of an opcode behind 0F; VEX uses the same. */
enum runtime_immediate runtime_two_byte_immediate(uint8_t op);
/* Sets the operands of an opcode behind 0F3A that are general registers. */
void runtime_three_byte_registers(struct instruction *out);

#endif
