/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that each CPU ran at each time, from context switches. */
#include <stdlib.h>

#include "common/error.h"
#include "common/partition.h"
#include "flow/timeline/timeline_state.h"

static int need_cpu(struct flow_timeline *timeline, uint32_t number, struct flow_cpu_switches **cpu)
{
	const uint64_t *known = common_hash_map_get(&timeline->cpu_numbers, number);
	int status;

	if (known) {
		*cpu = &timeline->cpus[*known];
		return 0;
	}
	status = flow_timeline_grow((void **)&timeline->cpus, timeline->cpu_count, &timeline->cpu_capacity,
				    sizeof(*timeline->cpus));
	if (!status)
		status = common_hash_map_put(&timeline->cpu_numbers, number, timeline->cpu_count);
	if (status < 0)
		return status;
	*cpu = &timeline->cpus[timeline->cpu_count++];
	**cpu = (struct flow_cpu_switches){0};
	return 0;
}

static int add_switch(struct flow_cpu_switches *cpu, uint64_t time, uint32_t pid, uint32_t tid)
{
	int status;

	/* If several switches have one time, the last switch counts. */
	if (!cpu->count || cpu->switches[cpu->count - 1].time != time) {
		status = flow_timeline_grow((void **)&cpu->switches, cpu->count, &cpu->capacity,
					    sizeof(*cpu->switches));
		if (status < 0)
			return status;
		cpu->count++;
	}
	cpu->switches[cpu->count - 1] = (struct flow_switch){time, pid, tid};
	return 0;
}

/*
 * Returns the thread that runs after this event. The idle thread's process is 0. If new_thread is 0 and the event
 * belongs to the old thread, the old thread stops and the next thread is still unknown. If new_thread is 0 and the
 * event belongs to no process, switches were lost.
 */
static struct flow_switch switched_to(const struct ptl_event *event, const struct ptl_switch_event *data)
{
	struct flow_switch to = {event->time, event->pid, data->new_thread};

	if (!data->new_thread && event->pid)
		to.pid = PTL_NO_ID;
	if (!data->new_thread && event->pid == PTL_NO_ID)
		to.tid = PTL_NO_ID;
	return to;
}

int flow_timeline_switched(void *context, const struct ptl_event *event, const struct ptl_switch_event *data)
{
	struct flow_timeline *timeline = context;
	struct flow_cpu_switches *cpu;
	struct flow_switch to;
	int status;

	if (event->cpu == PTL_NO_CPU)
		return 0;
	status = need_cpu(timeline, event->cpu, &cpu);
	/*
	 * Adds the thread before the first switch. Its process is known if the CPU goes idle; otherwise
	 * flow_timeline_settle_switches finds the process.
	 */
	if (!status && !cpu->count)
		status = add_switch(cpu, 0, data->new_thread || event->tid != data->old_thread ? PTL_NO_ID : event->pid,
				    data->old_thread);
	if (status < 0)
		return status;
	to = switched_to(event, data);
	return add_switch(cpu, to.time, to.pid, to.tid);
}

void flow_timeline_settle_switches(struct flow_timeline *timeline)
{
	struct common_hash_map pids = {0};
	const uint64_t several = PTL_NO_ID;

	for (size_t i = 0; i < timeline->thread_count && timeline->cpu_count; i++) {
		const struct flow_timeline_thread *thread = &timeline->threads[i].data;
		const uint64_t *known = common_hash_map_get(&pids, thread->tid);

		/* Without memory, the process stays unknown. */
		if (common_hash_map_put(&pids, thread->tid, known && *known != thread->pid ? several : thread->pid) < 0)
			break;
	}
	for (size_t i = 0; i < timeline->cpu_count; i++) {
		struct flow_switch *first = &timeline->cpus[i].switches[0];
		const uint64_t *pid = common_hash_map_get(&pids, first->tid);

		if (first->pid != PTL_NO_ID)
			continue;
		if (!first->tid)
			first->pid = 0;
		else if (pid)
			first->pid = (uint32_t)*pid;
		if (first->pid == PTL_NO_ID)
			first->tid = PTL_NO_ID;
	}
	common_hash_map_free(&pids);
}

bool flow_timeline_any_switch(const struct flow_timeline *timeline,
			      bool (*each)(void *context, uint32_t pid, uint32_t tid), void *context)
{
	for (size_t i = 0; i < timeline->cpu_count; i++) {
		const struct flow_cpu_switches *cpu = &timeline->cpus[i];

		for (size_t k = 0; k < cpu->count; k++)
			if (cpu->switches[k].pid != PTL_NO_ID &&
			    each(context, cpu->switches[k].pid, cpu->switches[k].tid))
				return true;
	}
	return false;
}

const struct flow_switch *flow_timeline_switches(const struct flow_timeline *timeline, uint32_t cpu, size_t *count)
{
	const uint64_t *known = common_hash_map_get(&timeline->cpu_numbers, cpu);

	*count = known ? timeline->cpus[*known].count : 0;
	return known ? timeline->cpus[*known].switches : NULL;
}

size_t flow_switch_at(const struct flow_switch *switches, size_t count, uint64_t time)
{
	const size_t low = COMMON_PARTITION(count, at, switches[at].time <= time);

	return low ? low - 1 : 0;
}

#define LOOK_MAX 512

bool flow_timeline_runs_elsewhere(const struct flow_timeline *timeline, uint32_t cpu, uint32_t tid, uint64_t from,
				  uint64_t until)
{
	const uint64_t *own = common_hash_map_get(&timeline->cpu_numbers, cpu);
	size_t looked = 0;

	for (size_t i = 0; tid && i < timeline->cpu_count; i++) {
		const struct flow_cpu_switches *other = &timeline->cpus[i];

		if (++looked > LOOK_MAX)
			return true;
		if (own && *own == i)
			continue;
		for (size_t k = flow_switch_at(other->switches, other->count, from);
		     k < other->count && other->switches[k].time < until; k++) {
			if (other->switches[k].tid == tid || ++looked > LOOK_MAX)
				return true;
		}
	}
	return false;
}

void flow_timeline_free_switches(struct flow_timeline *timeline)
{
	for (size_t i = 0; i < timeline->cpu_count; i++)
		free(timeline->cpus[i].switches);
	free(timeline->cpus);
	common_hash_map_free(&timeline->cpu_numbers);
}
