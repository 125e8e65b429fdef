/* SPDX-License-Identifier: BSD-2-Clause */
/* An instruction's effect on control flow: length, kind, and target of a direct branch. */
#ifndef FLOW_CODE_INSTRUCTION_H
#define FLOW_CODE_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow/code/branch.h"

#define FLOW_INSTRUCTION_MAX 15 /* bytes; SDM volume 2, section 2.3.11 */

struct flow_instruction {
	uint8_t length;
	uint8_t branch;  /* enum flow_branch */
	bool direct;     /* the branch's target is in the instruction: `target` */
	bool writes_cr3; /* MOV to CR3: a PIP and a suppressed TIP.PGD can refer to the instruction */
	bool ptwrite;
	bool sets_vmcs;    /* VMPTRLD, VMLAUNCH, VMRESUME: a VMCS packet can refer to the instruction */
	bool enters_guest; /* VMLAUNCH, VMRESUME */
	uint64_t target;
};

/*
 * Decodes the instruction at ip, from `size` bytes. mode is 64, 32 or 16.
 * Returns 0; PTL_TRUNCATED if size bytes are too few; PTL_CORRUPT if the bytes are no instruction. Leaves no error
 * text.
 */
int flow_instruction_decode(const uint8_t *bytes, size_t size, unsigned mode, uint64_t ip,
			    struct flow_instruction *instruction);

#endif
