/* SPDX-License-Identifier: BSD-2-Clause */
/* Splits an instruction into its parts by the rules for encodings, without knowing the instruction. */
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
	uint8_t map;    /* 0: one byte; 1: 0F; 2: 0F 38; 3: 0F 3A; 4 and more: numbers of VEX, EVEX and XOP */
	uint8_t prefix; /* prefix that selects the instruction: 66, F3 or F2; 0: no prefix */
	uint8_t opcode;
	uint8_t modrm; /* 0 without ModRM */
	bool has_modrm;
	bool wide;     /* REX.W, or W of another encoding */
	uint8_t start; /* offset of the encoding's prefix; FLOW_ENCODING_LEGACY: offset of the opcode with its 0F */
	uint8_t length;
};

/*
 * Reads the instruction at bytes, of which size bytes are known. mode is 64, 32 or 16. For instructions that a complete
 * decoder refuses: newer instructions are in maps in which the encoding gives the length. The legacy maps with newer
 * instructions are the three maps behind 0F. The one-byte map will get no new instructions, so its undefined opcodes
 * are refused. Encodings that the rules call undefined are refused, too.
 * Returns 0; PTL_TRUNCATED if size bytes are too few; PTL_CORRUPT. Leaves no error text.
 */
int flow_encoding_read(const uint8_t *bytes, size_t size, unsigned mode, struct flow_encoding *encoding);

#endif
