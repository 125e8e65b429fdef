/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of branches. */
#include "flow/code/branch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const branch_names[] = {
	[FLOW_BRANCH_NONE] = "none",
	[FLOW_BRANCH_CONDITIONAL] = "conditional",
	[FLOW_BRANCH_JUMP] = "jump",
	[FLOW_BRANCH_JUMP_INDIRECT] = "indirect-jump",
	[FLOW_BRANCH_CALL] = "call",
	[FLOW_BRANCH_CALL_INDIRECT] = "indirect-call",
	[FLOW_BRANCH_RETURN] = "return",
	[FLOW_BRANCH_FAR_CALL] = "far-call",
	[FLOW_BRANCH_FAR_RETURN] = "far-return",
	[FLOW_BRANCH_FAR_JUMP] = "far-jump",
};

const char *flow_branch_name(uint8_t branch)
{
	return branch < COUNT(branch_names) ? branch_names[branch] : "unknown";
}
