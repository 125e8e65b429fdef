/* SPDX-License-Identifier: BSD-2-Clause */
/* Decodes x86-64 instructions as far as a translator needs: length, fields, registers, kind. */
#ifndef RECORD_SOFTWARE_RUNTIME_INSTRUCTION_H
#define RECORD_SOFTWARE_RUNTIME_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_MAX 15u
/* opcode in map 0 */
#define INSTRUCTION_POPF 0x9d

/* How an instruction ends a block, or how the translator has to treat it. */
enum instruction_kind {
	INSTRUCTION_PLAIN = 0,     /* copied; falls through */
	INSTRUCTION_CONDITION,     /* jcc */
	INSTRUCTION_LOOP,          /* loop, loope, loopne, jrcxz: conditional without flags of its own */
	INSTRUCTION_JUMP,          /* direct near jump */
	INSTRUCTION_CALL,          /* direct near call */
	INSTRUCTION_JUMP_INDIRECT, /* near jump to a register's or memory's value */
	INSTRUCTION_CALL_INDIRECT,
	INSTRUCTION_RETURN, /* near return */
	INSTRUCTION_SYSCALL,
	INSTRUCTION_INT80,     /* 32-bit system call */
	INSTRUCTION_TRAP,      /* int3, int1, int n */
	INSTRUCTION_FAR,       /* far jump, call or return, iret */
	INSTRUCTION_XBEGIN,    /* begins a transaction: always aborted */
	INSTRUCTION_GS_BASE,   /* rdgsbase, wrgsbase */
	INSTRUCTION_UNDEFINED, /* no instruction, or not executable in user mode */
};

/* Effect of an instruction on the status flags CF, PF, AF, ZF, SF and OF. */
enum instruction_flags {
	INSTRUCTION_FLAGS_KEPT,  /* reads and writes no flag */
	INSTRUCTION_FLAGS_DEAD,  /* writes all flags and reads no flag */
	INSTRUCTION_FLAGS_OTHER, /* anything else */
};

/* A decoded instruction. Offsets are in bytes from the instruction's start; 0 means a missing field. */
struct instruction {
	uint8_t length;
	uint8_t kind;  /* enum instruction_kind */
	uint8_t flags; /* enum instruction_flags */
	uint8_t opcode_at;
	uint8_t opcode; /* last opcode byte */
	uint8_t map;    /* 0: one byte; 1: 0F; 2: 0F38; 3: 0F3A; 5, 6: EVEX maps */
	uint8_t rex_at; /* REX prefix */
	uint8_t vex_at; /* first byte of VEX (C4, C5) or EVEX (62) */
	uint8_t modrm_at;
	uint8_t modrm;
	uint8_t sib_at;
	uint8_t displacement_at;
	uint8_t displacement_size;
	uint8_t immediate_at;
	uint8_t immediate_size;
	bool repeat;        /* string instruction with a repeat prefix */
	bool operand_16;    /* prefix 66 */
	bool address_32;    /* prefix 67 */
	bool segment_fs;    /* prefix 64 is the last segment prefix */
	bool segment_gs;    /* prefix 65 is the last segment prefix */
	bool rip_relative;  /* memory operand relative to the next instruction */
	bool writes_memory; /* may write the memory operand or, as a string instruction, memory */
	bool vector_index;  /* the SIB index is a vector register */
	/* Fields that name a general register: R8 to R15 or, without extension, the lower eight. */
	bool reg_general, rm_general, vvvv_general, opcode_general;
	uint8_t reg, rm, base, index, vvvv; /* register numbers 0 to 15; base and index: 0xff if missing */
	int64_t target;                     /* target of a direct branch, relative to the next instruction */
};

/*
 * Decodes the instruction at code, of which `size` bytes can be read. Returns false if there are not enough bytes: the
 * instruction is then longer than size. Bytes that are no instruction have kind INSTRUCTION_UNDEFINED and length 1 or
 * more.
 */
bool runtime_instruction_decode(const uint8_t *code, size_t size, struct instruction *out);

/* Returns whether any field names the general register `number` (8 to 15). */
bool runtime_instruction_names(const struct instruction *instruction, unsigned number);

#endif
