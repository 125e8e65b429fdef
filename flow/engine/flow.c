/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of branches, events and causes, and the table of events that are bound to an address. */
#include "flow/engine/flow.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *name;
	bool splits;
} kinds[] = {
	[0] = {"unknown", false},
	[FLOW_ENABLED] = {"enabled", true},
	[FLOW_DISABLED] = {"disabled", true},
	[FLOW_ASYNC_DISABLED] = {"async-disabled", true},
	[FLOW_ASYNC_BRANCH] = {"async-branch", true},
	[FLOW_TSX] = {"tsx", true},
	[FLOW_EXEC_MODE] = {"exec-mode", true},
	[FLOW_PAGING] = {"paging", true},
	[FLOW_VMCS] = {"vmcs", true},
	[FLOW_PTWRITE] = {"ptwrite", true},
	[FLOW_STOPPED] = {"stopped", true},
	[FLOW_EXSTOP] = {"exstop", true},
	[FLOW_MWAIT] = {"mwait", true},
	[FLOW_GAP] = {"gap", true},
	[FLOW_CONTROL] = {"control-flow-event", true},
	[FLOW_EVENT_DATA] = {"event-data", true},
	[FLOW_BLOCK_ITEM] = {"block-item", true},
	[FLOW_TRIGGER] = {"trigger", true},
	[FLOW_CBR] = {"cbr", false},
	[FLOW_POWER_ENTRY] = {"power-entry", false},
	[FLOW_POWER_EXIT] = {"power-exit", false},
	[FLOW_COUNTED] = {"counted", true},
};

static const char *const cause_names[FLOW_GAP_COUNT] = {
	[FLOW_GAP_NONE] = "none",           [FLOW_GAP_OVERFLOW] = "overflow",      [FLOW_GAP_LOST] = "lost",
	[FLOW_GAP_SYNC] = "unsynchronised", [FLOW_GAP_PACKET] = "damaged-packets", [FLOW_GAP_CODE] = "missing-code",
	[FLOW_GAP_MISMATCH] = "mismatch",   [FLOW_GAP_SWITCH] = "context-switch",  [FLOW_GAP_GUEST] = "guest",
};

static const struct {
	const char *name;
	bool vector;
} controls[] = {
	[FLOW_CONTROL_INTERRUPT] = {"interrupt", true},
	[FLOW_CONTROL_IRET] = {"iret", false},
	[FLOW_CONTROL_SMI] = {"smi", false},
	[FLOW_CONTROL_RSM] = {"rsm", false},
	[FLOW_CONTROL_SIPI] = {"sipi", true},
	[FLOW_CONTROL_INIT] = {"init", false},
	[FLOW_CONTROL_VM_ENTRY] = {"vm-entry", false},
	[FLOW_CONTROL_VM_EXIT] = {"vm-exit", false},
	[FLOW_CONTROL_VM_EXIT_INTERRUPT] = {"vm-exit-interrupt", true},
	[FLOW_CONTROL_SHUTDOWN] = {"shutdown", false},
	[FLOW_CONTROL_USER_INTERRUPT] = {"user-interrupt", true},
	[FLOW_CONTROL_UIRET] = {"uiret", false},
	[FLOW_CONTROL_SOFTWARE_INTERRUPT] = {"software-interrupt", true},
	[FLOW_CONTROL_SYSTEM_CALL] = {"system-call", false},
};

static const char *const event_data_names[] = {
	[FLOW_DATA_PAGE_FAULT] = "page-fault-address",
	[FLOW_DATA_VM_EXIT_QUALIFICATION] = "vm-exit-qualification",
	[FLOW_DATA_VM_EXIT_REASON] = "vm-exit-reason",
};

const char *flow_kind_name(uint8_t kind)
{
	return kinds[kind < COUNT(kinds) ? kind : 0].name;
}

const char *flow_control_name(uint8_t type)
{
	return type < COUNT(controls) ? controls[type].name : NULL;
}

bool flow_control_has_vector(uint8_t type)
{
	return type < COUNT(controls) && controls[type].vector;
}

const char *flow_event_data_name(uint8_t type)
{
	return type < COUNT(event_data_names) ? event_data_names[type] : NULL;
}

const char *flow_gap_cause_name(uint8_t cause)
{
	return cause < COUNT(cause_names) ? cause_names[cause] : "unknown";
}

bool flow_event_splits(uint8_t kind)
{
	return kinds[kind < COUNT(kinds) ? kind : 0].splits;
}
