/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of instructions that are newer than Zydis. */
#ifndef FLOW_CODE_INSTRUCTION_NAME_H
#define FLOW_CODE_INSTRUCTION_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/code/instruction_encoding.h"

#define DUMP_INSTRUCTION_NAME_SIZE 32

/*
 * Finds the mnemonic, in lower case, of the instruction at bytes. encoding: result of flow_encoding_read. Returns false
 * if the mnemonic is unknown. Operands are not named.
 */
bool flow_instruction_name(const uint8_t *bytes, unsigned mode, const struct flow_encoding *encoding,
			   char name[DUMP_INSTRUCTION_NAME_SIZE]);

#endif
