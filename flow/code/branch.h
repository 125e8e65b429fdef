/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of branches. */
#ifndef FLOW_CODE_BRANCH_H
#define FLOW_CODE_BRANCH_H

#include <stdint.h>

/* Kind of a block's last instruction. */
enum flow_branch {
	FLOW_BRANCH_NONE = 0, /* no branch: an event or the end of the flow follows */
	FLOW_BRANCH_CONDITIONAL,
	FLOW_BRANCH_JUMP,
	FLOW_BRANCH_JUMP_INDIRECT,
	FLOW_BRANCH_CALL,
	FLOW_BRANCH_CALL_INDIRECT,
	FLOW_BRANCH_RETURN,
	FLOW_BRANCH_FAR_CALL,   /* SYSCALL, SYSENTER, INT n, far CALL, VMCALL, ... */
	FLOW_BRANCH_FAR_RETURN, /* SYSRET, IRET, far RET, ... */
	FLOW_BRANCH_FAR_JUMP,
};

/* Returns the name of the branch: "conditional", "jump", ...; never NULL. */
const char *flow_branch_name(uint8_t branch);

#endif
