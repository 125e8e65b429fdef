/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of an instruction by the rules for encodings alone, whatever the instruction is. */
#ifndef FLOW_CODE_INSTRUCTION_ENCODING_H
#define FLOW_CODE_INSTRUCTION_ENCODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flow_encoding_kind {
	FLOW_ENCODING_LEGACY,
	FLOW_ENCODING_REX2, /* legacy maps 0 and 1 */
	FLOW_ENCODING_VEX,
	FLOW_ENCODING_EVEX,
	FLOW_ENCODING_XOP,
};

struct flow_encoding {
	uint8_t kind;   /* enum flow_encoding_kind */
	uint8_t map;    /* 0: one byte; 1: 0F; 2: 0F 38; 3: 0F 3A; 4 and more: as VEX, EVEX and XOP number them */
	uint8_t prefix; /* that chooses the instruction: 66, F3 or F2; 0: none */
	uint8_t opcode;
	uint8_t modrm; /* 0 where there is none */
	bool has_modrm;
	bool wide;     /* REX.W and its like */
	uint8_t start; /* where the prefix of the kind begins; of FLOW_ENCODING_LEGACY, the opcode with its 0F */
	uint8_t length;
};

/*
 * Reads the instruction at bytes of which size are known; mode is 64, 32 or 16. For what a decoder that knows all
 * instructions refuses: newer ones are in the maps where the encoding gives the length. Of the legacy maps these are
 * the three behind 0F; what is not in the one-byte map today is not going to be, and is refused, as is what the rules call
 * undefined.
 * Returns 0; PTL_TRUNCATED where size bytes are too few; PTL_CORRUPT. No error text is left.
 */
int flow_encoding_read(const uint8_t *bytes, size_t size, unsigned mode, struct flow_encoding *encoding);

#endif
