/* SPDX-License-Identifier: BSD-2-Clause */
/* What one instruction is to the flow of control: its length, its kind, and where a direct branch leads. */
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
	bool direct;     /* a branch whose target is in the instruction: */
	bool writes_cr3; /* MOV to CR3: PIP and a suppressed TIP.PGD can bind to it */
	bool ptwrite;
	bool sets_vmcs;    /* VMPTRLD, VMLAUNCH, VMRESUME: a VMCS packet can bind to it */
	bool enters_guest; /* VMLAUNCH, VMRESUME */
	uint64_t target;
};

/*
 * Decodes the instruction at ip of which size bytes are known. mode is 64, 32 or 16.
 * Returns 0; PTL_TRUNCATED where size bytes are too few; PTL_CORRUPT where no instruction starts so. No error
 * text is left.
 */
int flow_instruction_decode(const uint8_t *bytes, size_t size, unsigned mode, uint64_t ip,
			    struct flow_instruction *instruction);

#endif
