/* SPDX-License-Identifier: BSD-2-Clause */
/* Tracks of processes and of their threads. */
#include <inttypes.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/export/timeline/timeline_state.h"

static int name_process(const struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t cpu,
			struct ptl_bytes *text)
{
	const char *name = flow_timeline_process_name(timeline->calls->timeline, process, 0);

	if (*name)
		common_text_safe(text, name);
	else if (pid == PTL_NO_ID && cpu != PTL_NO_CPU)
		common_text_format(text, "CPU %" PRIu32, cpu);
	else
		common_text_add(text, "[unknown]");
	return text->failed ? common_fail_memory("names", text->size) : 0;
}

static const char *command_line(const struct dump_timeline *timeline, uint32_t number, struct ptl_bytes *text)
{
	const struct flow_timeline_process *process = number == FLOW_NONE ? NULL
									  : flow_timeline_process(
										    timeline->calls->timeline, number);

	if (process && process->program_count)
		common_text_safe(text, process->programs[process->program_count - 1].command_line);
	return common_text_string(text);
}

int dump_timeline_process(struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t cpu, uint32_t *track)
{
	const uint64_t key = process != FLOW_NONE ? process
						  : (uint64_t)1 << 33 | (uint64_t)(pid == PTL_NO_ID) << 32 |
							    (pid == PTL_NO_ID ? cpu : pid);
	const uint64_t *known = common_hash_map_get(&timeline->processes, key);
	struct ptl_bytes name = {0}, words = {0};
	int status;

	if (known) {
		*track = (uint32_t)*known;
		return 0;
	}
	status = dump_timeline_track(&timeline->output, pid == PTL_NO_ID ? 0 : pid, pid == PTL_NO_ID ? 0 : pid, track);
	if (status == 0)
		status = common_hash_map_put(&timeline->processes, key, *track);
	if (status == 0)
		status = name_process(timeline, process, pid, cpu, &name);
	if (status == 0)
		timeline->output.format->process(&timeline->output, *track, common_text_string(&name),
						 command_line(timeline, process, &words));
	common_bytes_free(&name);
	common_bytes_free(&words);
	return status;
}

/* Appends the thread's name, "worker", or the process's name. */
static void name_thread(const struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t tid,
			uint32_t cpu, struct ptl_bytes *text)
{
	const struct flow_timeline *flow = timeline->calls->timeline;
	const uint32_t thread = pid == PTL_NO_ID ? FLOW_NONE : flow_timeline_thread_at(flow, pid, tid, UINT64_MAX);
	const char *name = thread == FLOW_NONE ? "" : flow_timeline_thread(flow, thread)->name;

	if (*name)
		common_text_safe(text, name);
	else
		name_process(timeline, process, pid, cpu, text);
}

int dump_timeline_thread(struct dump_timeline *timeline, uint32_t process, uint32_t pid, uint32_t tid, uint32_t cpu,
			 uint32_t *track)
{
	const uint64_t key = (uint64_t)process << 32 | (tid == PTL_NO_ID ? cpu : tid);
	const uint64_t *known = common_hash_map_get(&timeline->threads, key);
	struct ptl_bytes name = {0};
	uint32_t parent;
	int status;

	if (known) {
		*track = (uint32_t)*known;
		return 0;
	}
	status = dump_timeline_process(timeline, process, pid, cpu, &parent);
	if (status == 0)
		status = dump_timeline_track(&timeline->output, pid == PTL_NO_ID ? 0 : pid,
					     tid == PTL_NO_ID ? cpu : tid, track);
	if (status == 0)
		status = common_hash_map_put(&timeline->threads, key, *track);
	name_thread(timeline, process, pid, tid, cpu, &name);
	if (status == 0)
		timeline->output.format->thread(&timeline->output, *track, parent, common_text_string(&name));
	common_bytes_free(&name);
	return status;
}
