/* SPDX-License-Identifier: BSD-2-Clause */
/* Searches events for a process or thread. */
#include "dump/run/event_owner.h"

#include <ptl/kernel.h>

#define FOUND 1

struct wanted {
	uint32_t pid, tid; /* PTL_NO_ID: not searched for */
	const struct common_id_set *pids;
};

/* A context switch names threads without their process, so it matches only if no process is selected. */
static bool is_switched(const struct wanted *wanted, const struct ptl_event *event)
{
	struct ptl_switch_event data;

	return !wanted->pids->count && event->descriptor.opcode == PTL_OPCODE_CONTEXT_SWITCH &&
	       !ptl_switch_decode(event, &data) && (data.new_thread == wanted->tid || data.old_thread == wanted->tid);
}

static int match_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	const struct wanted *wanted = context;

	(void)trace;
	if (wanted->tid == PTL_NO_ID)
		return event->pid == wanted->pid ? FOUND : 0;
	if (event->tid == wanted->tid && common_id_set_has(wanted->pids, event->pid))
		return FOUND;
	return is_switched(wanted, event) ? FOUND : 0;
}

static int find_owner(struct ptl_trace *trace, struct wanted *wanted, bool *found)
{
	static const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = match_event};
	const int status = ptl_process(trace, NULL, &callbacks, wanted);

	*found = status == FOUND;
	return status < 0 ? status : 0;
}

int dump_event_owner_find_process(struct ptl_trace *trace, uint32_t pid, bool *found)
{
	struct wanted wanted = {.pid = pid, .tid = PTL_NO_ID};

	return find_owner(trace, &wanted, found);
}

int dump_event_owner_find_thread(struct ptl_trace *trace, uint32_t tid, const struct common_id_set *pids, bool *found)
{
	struct wanted wanted = {.pid = PTL_NO_ID, .tid = tid, .pids = pids};

	return find_owner(trace, &wanted, found);
}
