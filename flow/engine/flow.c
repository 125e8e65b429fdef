/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of what flow consists of, and which events are bound to an address. */
#include "flow/engine/flow.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const branch_names[] = {
	[PTL_BRANCH_NONE] = "none",
	[PTL_BRANCH_CONDITIONAL] = "conditional",
	[PTL_BRANCH_JUMP] = "jump",
	[PTL_BRANCH_JUMP_INDIRECT] = "indirect-jump",
	[PTL_BRANCH_CALL] = "call",
	[PTL_BRANCH_CALL_INDIRECT] = "indirect-call",
	[PTL_BRANCH_RETURN] = "return",
	[PTL_BRANCH_FAR_CALL] = "far-call",
	[PTL_BRANCH_FAR_RETURN] = "far-return",
	[PTL_BRANCH_FAR_JUMP] = "far-jump",
};

static const struct {
	const char *name;
	bool splits;
} kinds[] = {
	[0] = {"unknown", false},
	[PTL_FLOW_ENABLED] = {"enabled", true},
	[PTL_FLOW_DISABLED] = {"disabled", true},
	[PTL_FLOW_ASYNC_DISABLED] = {"async-disabled", true},
	[PTL_FLOW_ASYNC_BRANCH] = {"async-branch", true},
	[PTL_FLOW_TSX] = {"tsx", true},
	[PTL_FLOW_EXEC_MODE] = {"exec-mode", true},
	[PTL_FLOW_PAGING] = {"paging", true},
	[PTL_FLOW_VMCS] = {"vmcs", true},
	[PTL_FLOW_PTWRITE] = {"ptwrite", true},
	[PTL_FLOW_STOPPED] = {"stopped", true},
	[PTL_FLOW_EXSTOP] = {"exstop", true},
	[PTL_FLOW_MWAIT] = {"mwait", true},
	[PTL_FLOW_GAP] = {"gap", true},
	[PTL_FLOW_CONTROL] = {"control-flow-event", true},
	[PTL_FLOW_EVENT_DATA] = {"event-data", true},
	[PTL_FLOW_BLOCK_ITEM] = {"block-item", true},
	[PTL_FLOW_TRIGGER] = {"trigger", true},
	[PTL_FLOW_CBR] = {"cbr", false},
	[PTL_FLOW_POWER_ENTRY] = {"power-entry", false},
	[PTL_FLOW_POWER_EXIT] = {"power-exit", false},
};

static const char *const cause_names[PTL_GAP_COUNT] = {
	[PTL_GAP_NONE] = "none",
	[PTL_GAP_OVERFLOW] = "overflow",
	[PTL_GAP_LOST] = "lost",
	[PTL_GAP_SYNC] = "unsynchronised",
	[PTL_GAP_PACKET] = "damaged-packets",
	[PTL_GAP_CODE] = "missing-code",
	[PTL_GAP_MISMATCH] = "mismatch",
	[PTL_GAP_SWITCH] = "context-switch",
};

static const struct {
	const char *name;
	bool vector;
} controls[] = {
	[PTL_CONTROL_INTERRUPT] = {"interrupt", true},
	[PTL_CONTROL_IRET] = {"iret", false},
	[PTL_CONTROL_SMI] = {"smi", false},
	[PTL_CONTROL_RSM] = {"rsm", false},
	[PTL_CONTROL_SIPI] = {"sipi", true},
	[PTL_CONTROL_INIT] = {"init", false},
	[PTL_CONTROL_VM_ENTRY] = {"vm-entry", false},
	[PTL_CONTROL_VM_EXIT] = {"vm-exit", false},
	[PTL_CONTROL_VM_EXIT_INTERRUPT] = {"vm-exit-interrupt", true},
	[PTL_CONTROL_SHUTDOWN] = {"shutdown", false},
	[PTL_CONTROL_USER_INTERRUPT] = {"user-interrupt", true},
	[PTL_CONTROL_UIRET] = {"uiret", false},
};

static const char *const event_data_names[] = {
	[PTL_DATA_PAGE_FAULT] = "page-fault-address",
	[PTL_DATA_VM_EXIT_QUALIFICATION] = "vm-exit-qualification",
	[PTL_DATA_VM_EXIT_REASON] = "vm-exit-reason",
};

const char *ptl_branch_name(uint8_t branch)
{
	return branch < COUNT(branch_names) ? branch_names[branch] : "unknown";
}

const char *ptl_flow_kind_name(uint8_t kind)
{
	return kinds[kind < COUNT(kinds) ? kind : 0].name;
}

const char *ptl_control_name(uint8_t type)
{
	return type < COUNT(controls) ? controls[type].name : NULL;
}

bool ptl_control_has_vector(uint8_t type)
{
	return type < COUNT(controls) && controls[type].vector;
}

const char *ptl_event_data_name(uint8_t type)
{
	return type < COUNT(event_data_names) ? event_data_names[type] : NULL;
}

const char *ptl_gap_cause_name(uint8_t cause)
{
	return cause < COUNT(cause_names) ? cause_names[cause] : "unknown";
}

bool ptl_event_splits(uint8_t kind)
{
	return kinds[kind < COUNT(kinds) ? kind : 0].splits;
}
