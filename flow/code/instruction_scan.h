/* SPDX-License-Identifier: BSD-2-Clause */
/* A quick look at the common instructions of 64-bit mode, for what Zydis need not be asked. */
#ifndef FLOW_CODE_INSTRUCTION_SCAN_H
#define FLOW_CODE_INSTRUCTION_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the parts of a legacy-encoded instruction are. */
struct flow_opcode {
	uint8_t length;
	uint8_t map; /* 0: one byte; 1: after 0F */
	uint8_t opcode;
	uint8_t modrm; /* 0 where there is none */
	bool has_modrm;
	bool repeat;     /* has an F3 prefix */
	bool repeat_not; /* has an F2 prefix */
	bool rex2;
	int64_t displacement; /* of a direct branch */
};

/*
 * Reads the instruction at bytes in 64-bit mode, of which size bytes are known. False where it is not one of
 * the common ones, or may be longer than size: that says nothing about it.
 */
bool flow_instruction_scan(const uint8_t *bytes, size_t size, struct flow_opcode *opcode);

/*
 * The length of the instruction at bytes in 64-bit mode, of which FLOW_INSTRUCTION_MAX are known. 0: it is a branch, or not
 * one of the common ones, or one of the notable ones (see struct flow_instruction).
 */
unsigned flow_instruction_plain(const uint8_t *bytes);

#endif
