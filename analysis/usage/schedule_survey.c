/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognises context switches, and finds out which of them a trace has. */
#include <string.h>

#include "analysis/usage/schedule_state.h"
#include "common/error.h"
#include "format/event/kernel_switch.h"

#define WAKE_FIELDS                                                                                                    \
	{                                                                                                              \
		"pid", "comm", "common_flags", "success"                                                               \
	}

const struct usage_event_type usage_schedule_types[] = {
	{"sched",
	 "sched_switch",
	 USAGE_TRACEPOINT_SWITCH,
	 {"prev_pid", "prev_state", "next_pid", "prev_comm", "next_comm"}},
	{"sched", "sched_waking", USAGE_WAKE, WAKE_FIELDS},
	{"sched", "sched_wakeup", USAGE_WAKE, WAKE_FIELDS},
	{"sched", "sched_wakeup_new", USAGE_WAKE_NEW, WAKE_FIELDS},
	{"Windows Kernel", "Thread/ReadyThread", USAGE_READY, {"TThreadId", "Flag"}},
};
const size_t usage_schedule_type_count = sizeof(usage_schedule_types) / sizeof(usage_schedule_types[0]);

/* ---- states of threads that leave a CPU ------------------------------------------------------------ */

/* Bits of prev_state since Linux 4.14. Older kernels name their bits in the format of the event. */
static const struct {
	const char *name;
	uint64_t bit;
	enum usage_state state;
} task_states[] = {
	{"X", 0x10, USAGE_ENDED},    {"Z", 0x20, USAGE_ENDED},    {"D", 0x02, USAGE_BLOCKED},
	{"S", 0x01, USAGE_SLEEPING}, {"T", 0x04, USAGE_SLEEPING}, {"t", 0x08, USAGE_SLEEPING},
	{"P", 0x40, USAGE_SLEEPING}, {"I", 0x80, USAGE_SLEEPING},
};
#define TASK_STATES (sizeof(task_states) / sizeof(task_states[0]))

static bool has_bit(const struct ptl_map *map, const char *name, uint64_t number)
{
	for (size_t i = 0; i < map->count; i++)
		if (!strcmp(map->entries[i].name, name))
			return map->entries[i].value & number;
	return false;
}

/* A preempted thread can run: it has no bit of the table, whatever bit marks the preemption. */
static enum usage_state task_state(const struct ptl_trace *trace, const struct usage_event *read)
{
	const struct usage_value *value = &read->values[USAGE_PREV_STATE];
	const struct ptl_map *map;

	if (!value->given)
		return USAGE_OFF;
	map = ptl_map_of_field(trace, &read->schema->provider, value->field);
	for (size_t i = 0; i < TASK_STATES; i++)
		if (map ? has_bit(map, task_states[i].name, value->number) : value->number & task_states[i].bit)
			return task_states[i].state;
	return USAGE_WAITING;
}

/* KTHREAD_STATE of Windows. Switch records of Linux have the states Ready and Waiting, or 0 if the state is unknown. */
static enum usage_state windows_state(const struct ptl_event *event)
{
	static const enum usage_state states[] = {
		[FORMAT_OLD_UNKNOWN] = USAGE_OFF,        [FORMAT_OLD_READY] = USAGE_WAITING,
		[FORMAT_OLD_RUNNING] = USAGE_WAITING,    [FORMAT_OLD_STANDBY] = USAGE_WAITING,
		[FORMAT_OLD_TERMINATED] = USAGE_ENDED,   [FORMAT_OLD_WAITING] = USAGE_SLEEPING,
		[FORMAT_OLD_TRANSITION] = USAGE_BLOCKED, [FORMAT_OLD_DEFERRED_READY] = USAGE_WAITING,
	};
	const struct format_old_thread old = format_switch_old_thread(event);

	if (old.state == FORMAT_OLD_WAITING && old.paging)
		return USAGE_BLOCKED;
	return old.state < sizeof(states) / sizeof(states[0]) ? states[old.state] : USAGE_OFF;
}

/* ---- switches -------------------------------------------------------------------------------------- */

static void read_tracepoint(const struct ptl_trace *trace, const struct usage_event *read, struct usage_switch *result)
{
	const struct ptl_event *event = read->event;

	*result = (struct usage_switch){
		.cpu = event->cpu,
		.old_tid = read->values[USAGE_PREV].given ? usage_machine_id(event, read->values[USAGE_PREV].number)
							  : event->tid,
		.new_tid = read->values[USAGE_NEXT].given ? usage_machine_id(event, read->values[USAGE_NEXT].number)
							  : PTL_NO_ID,
		.old_pid = PTL_NO_ID,
		.new_pid = PTL_NO_ID,
		.has_old = true,
		.is_tracepoint = true,
		.old_state = task_state(trace, read),
	};
	if (event->tid == result->old_tid)
		result->old_pid = event->pid;
}

/* In a switch record without a new thread, the event belongs to the old thread; see docs/format.md. */
static void read_record(const struct ptl_event *event, const struct ptl_switch_event *data, struct usage_switch *result)
{
	const uint32_t pid = event->pid == PTL_NO_ID ? PTL_NO_ID : event->pid % PTL_MACHINE_IDS;

	*result = (struct usage_switch){
		.cpu = event->cpu,
		.old_tid = usage_machine_id(event, data->old_thread),
		.new_tid = usage_machine_id(event, data->new_thread),
		.old_pid = PTL_NO_ID,
		.new_pid = event->pid,
		.has_old = data->old_thread || !data->new_thread || format_switch_old_thread(event).state,
		.old_state = windows_state(event),
	};
	if (!data->new_thread && pid) {
		result->old_alone = true;
		/* Switches were lost. */
		if (event->pid == PTL_NO_ID)
			result->old_state = USAGE_UNKNOWN;
		result->old_pid = event->tid == result->old_tid ? event->pid : PTL_NO_ID;
		result->new_tid = result->new_pid = PTL_NO_ID;
	}
}

int usage_switch_read(struct usage_schedule_state *state, const struct ptl_trace *trace, const struct ptl_event *event,
		      struct usage_event *read, bool *has_read, struct usage_switch *result)
{
	struct ptl_switch_event data;
	int status;

	*has_read = false;
	if (format_class_of(&event->descriptor) == FORMAT_CLASS_SWITCH) {
		if (event->cpu == PTL_NO_CPU || ptl_switch_decode(event, &data) < 0)
			return 0;
		read_record(event, &data, result);
		return 1;
	}
	status = usage_event_read(&state->events, trace, event, read);
	if (status <= 0)
		return status;
	*has_read = true;
	if (read->type->kind != USAGE_TRACEPOINT_SWITCH || event->cpu == PTL_NO_CPU)
		return 0;
	read_tracepoint(trace, read, result);
	return 1;
}

/* ---- the survey ------------------------------------------------------------------------------------ */

/*
 * Whether the thread belongs to the system: the idle thread, or a thread of the kernel that each CPU has. A recording of
 * a command's threads has no switch away from such a thread.
 */
static bool is_of_system(const struct usage_switch *change, const struct usage_event *read)
{
	static const char *const names[] = {"swapper/", "ksoftirqd/", "migration/", "kworker/", "rcu_", "rcuc/"};
	const struct usage_value *comm = &read->values[USAGE_PREV_COMM];
	bool found = change->old_tid % PTL_MACHINE_IDS == 0;

	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
		found = comm->size > strlen(names[i]) && !memcmp(comm->bytes, names[i], strlen(names[i]));
	return found;
}

static int survey_tracepoint(struct usage_schedule_state *state, const struct usage_switch *change,
			     const struct usage_event *read)
{
	const uint64_t *last = common_hash_map_get(&state->last, change->cpu);
	int status = common_hash_map_put(&state->own, change->old_tid, 1);

	state->tracepoints++;
	state->tracepoint_breaks += last && *last != change->old_tid;
	state->system_left = state->system_left || is_of_system(change, read);
	return status < 0 ? status : common_hash_map_put(&state->last, change->cpu, change->new_tid);
}

static int survey_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct usage_schedule *schedule = context;
	struct usage_schedule_state *state = schedule->state;
	struct usage_switch change;
	struct usage_event read;
	bool has_read;
	int status = usage_switch_read(state, trace, event, &read, &has_read, &change);

	if (status < 0)
		return status;
	if ((status || has_read) && !state->first_time)
		state->first_time = event->time;
	if (status && change.is_tracepoint)
		return survey_tracepoint(state, &change, &read);
	if (status) {
		state->records++;
		state->has_unrecorded |= change.old_alone;
	}
	schedule->has_wakeups |= !status && has_read;
	return 0;
}

int usage_schedule_survey(struct usage_schedule *schedule, struct ptl_trace *trace)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks), .event = survey_event};
	struct usage_schedule_state *state = schedule->state;
	const int status = ptl_process(trace, NULL, &callbacks, schedule);
	bool some;

	some = state->tracepoint_breaks && !state->system_left;
	state->by_tracepoints = state->tracepoints && (!state->records || !some);
	schedule->partial = state->by_tracepoints ? some : state->has_unrecorded;
	return status;
}
