/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/cut/switch.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/vector.h"
#include "format/event/kernel_class.h"

static int need(struct relog_switches *switches, uint32_t cpu, struct relog_last_switch **last)
{
	const uint64_t *known = common_hash_map_get(&switches->cpus, cpu);
	int status;

	if (known) {
		*last = &switches->list[*known];
		return 0;
	}
	if (!common_vector_room(&switches->list, switches->count, sizeof(*switches->list)))
		return common_fail_memory("CPUs", (switches->count + 1) * sizeof(*switches->list));
	*last = &switches->list[switches->count];
	status = common_hash_map_put(&switches->cpus, cpu, switches->count);
	switches->count += !status;
	return status;
}

int relog_switches_note(struct relog_switches *switches, const struct ptl_event *event)
{
	struct relog_last_switch *last = NULL;
	struct ptl_switch_event data;
	int status;

	if (event->cpu == PTL_NO_CPU || format_class_of(&event->descriptor) != FORMAT_CLASS_SWITCH ||
	    ptl_switch_decode(event, &data))
		return 0;
	status = need(switches, event->cpu, &last);
	if (!status)
		*last = (struct relog_last_switch){event->cpu, event->pid, event->tid, data};
	return status;
}

int relog_switches_report(const struct relog_switches *switches, struct ptl_relogger *relogger, uint64_t time)
{
	struct ptl_bytes storage = {0};
	int status = 0;

	for (size_t i = 0; !status && i < switches->count; i++) {
		const struct relog_last_switch *last = &switches->list[i];
		struct ptl_event event = {0};

		storage.size = 0;
		status = ptl_switch_encode(&last->data, &storage, &event);
		event.time = time;
		event.cpu = last->cpu;
		event.pid = last->pid;
		event.tid = last->tid;
		event.flags = PTL_EVENT_INJECTED;
		if (!status)
			status = ptl_relogger_inject_record(relogger, &event);
	}
	common_bytes_free(&storage);
	return status;
}

void relog_switches_free(struct relog_switches *switches)
{
	common_hash_map_free(&switches->cpus);
	free(switches->list);
	*switches = (struct relog_switches){0};
}
