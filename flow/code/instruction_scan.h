/* SPDX-License-Identifier: BSD-2-Clause */
/* A quick scan of the common instructions of 64-bit mode, which saves calls of Zydis. */
#ifndef FLOW_CODE_INSTRUCTION_SCAN_H
#define FLOW_CODE_INSTRUCTION_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The parts of a legacy-encoded instruction. */
struct flow_opcode {
	uint8_t length;
	uint8_t map; /* 0: one byte; 1: after 0F */
	uint8_t opcode;
	uint8_t modrm; /* 0 without ModRM */
	bool has_modrm;
	bool repeat;     /* has an F3 prefix */
	bool repeat_not; /* has an F2 prefix */
	bool rex2;
	int64_t displacement; /* displacement of a direct branch */
};

/*
 * Reads the instruction at bytes in 64-bit mode, of which size bytes are known. Returns false for an uncommon
 * instruction, or if size may be too small; such an instruction may still be valid.
 */
bool flow_instruction_scan(const uint8_t *bytes, size_t size, struct flow_opcode *opcode);

/*
 * Returns the length of the instruction at bytes in 64-bit mode; FLOW_INSTRUCTION_MAX bytes are known. 0: the
 * instruction is a branch, uncommon, or notable (see struct flow_instruction).
 */
unsigned flow_instruction_plain(const uint8_t *bytes);

#endif
