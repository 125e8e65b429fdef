/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/export/timeline/cpu_slice.h"

#include <inttypes.h>

#include "common/error.h"
#include "common/text/text.h"
#include "format/reader/trace_end.h"

/* Sets text to the name of the running thread; empty for an idle CPU and for unselected threads. */
static void name_running(const struct analysis_calls *calls, const struct flow_switch *running, struct ptl_bytes *text)
{
	const uint32_t process = running->pid == PTL_NO_ID
					 ? FLOW_NONE
					 : flow_timeline_process_at(calls->timeline, running->pid, running->time);

	text->size = 0;
	if (running->pid == PTL_NO_ID || !running->tid ||
	    !analysis_filter_wants_thread(calls->input.filter, running->pid, running->tid))
		return;
	if (process != FLOW_NONE)
		common_text_safe(text, flow_timeline_process(calls->timeline, process)->name);
	common_text_format(text, " %" PRIu32 "/%" PRIu32, running->pid, running->tid);
}

bool dump_cpu_has_slices(const struct analysis_calls *calls, uint32_t cpu)
{
	size_t count;

	flow_timeline_switches(calls->timeline, cpu, &count);
	return count && common_id_set_has(&calls->input.filter->cpus, cpu);
}

int dump_cpu_slices(const struct analysis_calls *calls, uint32_t cpu, dump_cpu_slice *visit, void *context)
{
	const struct analysis_filter *filter = calls->input.filter;
	const uint64_t trace_end = format_trace_end(calls->input.trace);
	const uint64_t last = trace_end < filter->last_time ? trace_end : filter->last_time;
	struct ptl_bytes text = {0};
	size_t count;
	const struct flow_switch *switches = flow_timeline_switches(calls->timeline, cpu, &count);
	int status = 0;

	for (size_t i = 0; status == 0 && i < count; i++) {
		const uint64_t from = switches[i].time > filter->first_time ? switches[i].time : filter->first_time;
		const uint64_t next = i + 1 < count && switches[i + 1].time < last ? switches[i + 1].time : last;

		name_running(calls, &switches[i], &text);
		if (text.failed)
			status = common_fail_memory("names", text.size);
		else if (text.size && from < next)
			status = visit(context, from, next, common_text_string(&text));
	}
	common_bytes_free(&text);
	return status;
}
