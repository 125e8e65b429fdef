/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads in the timeline: starts, ends, rundown, exec, pids used again. */
#include "common/error.h"
#include "flow/timeline/timeline_state.h"

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

static uint32_t last_index(const struct common_hash_map *map, uint64_t key)
{
	const uint64_t *index = common_hash_map_get(map, key);

	return index ? (uint32_t)*index : FLOW_NONE;
}

/* ---- processes --------------------------------------------------------------------------- */

static int add_process(struct flow_timeline *timeline, uint32_t pid, uint32_t *index)
{
	struct flow_process_state state = {
		.data =
			{
				.pid = pid,
				.parent_pid = PTL_NO_ID,
				.parent = FLOW_NONE,
				.end = FLOW_TIME_END,
				.implied = true,
				.name = "",
			},
		.previous = last_index(&timeline->last_process, pid),
	};
	int status = flow_timeline_grow((void **)&timeline->processes, timeline->process_count,
					&timeline->process_capacity, sizeof(state));

	if (status < 0)
		return status;
	*index = (uint32_t)timeline->process_count;
	status = common_hash_map_put(&timeline->last_process, pid, *index);
	if (status < 0)
		return status;
	timeline->processes[timeline->process_count++] = state;
	return 0;
}

int flow_timeline_need_process(struct flow_timeline *timeline, uint32_t pid, uint32_t *process)
{
	*process = last_index(&timeline->last_process, pid);
	return *process == FLOW_NONE ? add_process(timeline, pid, process) : 0;
}

static int add_program(struct flow_timeline *timeline, struct flow_process_state *state, uint64_t time,
		       const char *path, const char *command_line)
{
	struct flow_program program = {
		.time = time,
		.path = flow_timeline_text(timeline, path),
		.command_line = flow_timeline_text(timeline, command_line),
	};
	int status;

	if (!program.path || !program.command_line)
		return common_fail_memory("program", 0);
	status = flow_timeline_grow((void **)&state->programs, state->data.program_count, &state->program_capacity,
				    sizeof(program));
	if (status < 0)
		return status;
	state->programs[state->data.program_count++] = program;
	return 0;
}

/* Whether the event tells again of a process that is known and has not ended. */
static bool is_known(const struct flow_process_state *state, const struct ptl_process_event *data, uint8_t opcode)
{
	if (state->data.implied)
		return !state->data.ended;
	if (data->unique_key && state->data.unique_key)
		return data->unique_key == state->data.unique_key;
	return !state->data.ended && opcode != PTL_OPCODE_START;
}

/* The program that a forked process runs until it executes another: its parent's. */
static void inherit_program(const struct flow_timeline *timeline, uint32_t parent, const char **path,
			    const char **command_line)
{
	const struct flow_process_state *state;

	if (parent == FLOW_NONE || (*path)[0])
		return;
	state = &timeline->processes[parent];
	if (!state->data.program_count)
		return;
	*path = state->programs[state->data.program_count - 1].path;
	if (!(*command_line)[0])
		*command_line = state->programs[state->data.program_count - 1].command_line;
}

static int start_process(struct flow_timeline *timeline, const struct ptl_event *event,
			 const struct ptl_process_event *data, uint32_t index)
{
	uint8_t opcode = event->descriptor.opcode;
	bool start = opcode == PTL_OPCODE_START;
	uint32_t parent = last_index(&timeline->last_process, data->parent_id);
	const char *path = data->image_file_name, *command_line = data->command_line;
	struct flow_process_state *state = &timeline->processes[index];
	int status;

	state->data.implied = false;
	state->data.unique_key = data->unique_key;
	state->data.parent_pid = data->parent_id;
	state->data.parent = parent == index ? FLOW_NONE : parent;
	state->data.started = start;
	state->data.start = start ? event->time : 0;
	if (start && !data->begins_empty)
		inherit_program(timeline, state->data.parent, &path, &command_line);
	status = add_program(timeline, state, state->data.start, path, command_line);
	if (status < 0 || !start || data->begins_empty || state->data.parent == FLOW_NONE || state->version_count)
		return status;
	return flow_timeline_fork(timeline, index, state->data.parent);
}

static int process_begins(struct flow_timeline *timeline, const struct ptl_event *event,
			  const struct ptl_process_event *data)
{
	uint32_t index = last_index(&timeline->last_process, data->process_id);
	int status;

	if (index != FLOW_NONE && is_known(&timeline->processes[index], data, event->descriptor.opcode)) {
		struct flow_process_state *state = &timeline->processes[index];

		return state->data.implied ? start_process(timeline, event, data, index) : 0;
	}
	/* The pid is used again: if the end of the one before was lost, it was before now. */
	if (index != FLOW_NONE && !timeline->processes[index].data.ended)
		timeline->processes[index].data.end = event->time;
	status = add_process(timeline, data->process_id, &index);
	return status < 0 ? status : start_process(timeline, event, data, index);
}

static int process_ends(struct flow_timeline *timeline, const struct ptl_event *event,
			const struct ptl_process_event *data)
{
	uint32_t index = last_index(&timeline->last_process, data->process_id);
	struct flow_timeline_process *process;

	if (index == FLOW_NONE) {
		int status = add_process(timeline, data->process_id, &index);

		if (!status)
			status = start_process(timeline, event, data, index);
		if (status < 0)
			return status;
	}
	process = &timeline->processes[index].data;
	if (process->ended)
		return 0;
	process->ended = true;
	process->end = event->time;
	process->has_exit_status = data->has_exit_status;
	process->exit_status = data->exit_status;
	return 0;
}

static int process_executes(struct flow_timeline *timeline, const struct ptl_event *event,
			    const struct ptl_process_event *data)
{
	uint32_t index;
	int status = flow_timeline_need_process(timeline, data->process_id, &index);

	if (status < 0)
		return status;
	status = flow_timeline_clear(timeline, index, event->time);
	if (status < 0)
		return status;
	timeline->processes[index].data.implied = false;
	return add_program(timeline, &timeline->processes[index], event->time, data->image_file_name,
			   data->command_line);
}

int flow_timeline_process_event(struct flow_timeline *timeline, const struct ptl_event *event,
				const struct ptl_process_event *data)
{
	switch (event->descriptor.opcode) {
	case PTL_OPCODE_START:
	case PTL_OPCODE_START_RUNDOWN:
	case PTL_OPCODE_END_RUNDOWN:
		return process_begins(timeline, event, data);
	case PTL_OPCODE_END:
		return process_ends(timeline, event, data);
	case PTL_OPCODE_EXEC:
		return process_executes(timeline, event, data);
	default:
		return common_fail(PTL_UNSUPPORTED, "process event with opcode %u", event->descriptor.opcode);
	}
}

/* ---- threads ----------------------------------------------------------------------------- */

static int add_thread(struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint32_t *index)
{
	struct flow_thread_state state = {
		.data = {.pid = pid, .tid = tid, .end = FLOW_TIME_END, .implied = true, .name = ""},
		.previous = last_index(&timeline->last_thread, thread_key(pid, tid)),
	};
	int status = flow_timeline_need_process(timeline, pid, &state.data.process);

	if (!status)
		status = flow_timeline_grow((void **)&timeline->threads, timeline->thread_count,
					    &timeline->thread_capacity, sizeof(state));
	if (status < 0)
		return status;
	*index = (uint32_t)timeline->thread_count;
	status = common_hash_map_put(&timeline->last_thread, thread_key(pid, tid), *index);
	if (status < 0)
		return status;
	timeline->threads[timeline->thread_count++] = state;
	return 0;
}

int flow_timeline_need_thread(struct flow_timeline *timeline, uint32_t pid, uint32_t tid, uint64_t time)
{
	uint32_t process = flow_timeline_process_at(timeline, pid, time);
	uint32_t index = flow_timeline_thread_at(timeline, pid, tid, time);
	int status;

	if (index != FLOW_NONE && timeline->threads[index].data.process == process)
		return 0;
	status = add_thread(timeline, pid, tid, &index);
	if (!status && process != FLOW_NONE) {
		timeline->threads[index].data.process = process;
		timeline->threads[index].data.start = timeline->processes[process].data.start;
	}
	return status;
}

static int thread_begins(struct flow_timeline *timeline, const struct ptl_event *event,
			 const struct ptl_thread_event *data)
{
	bool start = event->descriptor.opcode == PTL_OPCODE_START;
	uint32_t index = last_index(&timeline->last_thread, thread_key(data->process_id, data->thread_id));
	struct flow_timeline_thread *thread;
	uint32_t process;
	int status = flow_timeline_need_process(timeline, data->process_id, &process);

	if (status < 0)
		return status;
	/* Rundown may tell again of a thread that is known. */
	if (index == FLOW_NONE || start || timeline->threads[index].data.ended ||
	    timeline->threads[index].data.process != process)
		status = add_thread(timeline, data->process_id, data->thread_id, &index);
	if (status < 0)
		return status;
	thread = &timeline->threads[index].data;
	if (thread->implied) {
		thread->implied = false;
		thread->started = start;
		thread->start = start ? event->time : 0;
		thread->start_address = data->start_address;
	} else if (!data->name[0]) {
		return 0;
	}
	/* It may have got another name meanwhile. */
	thread->name = flow_timeline_text(timeline, data->name);
	return thread->name ? 0 : common_fail_memory("name of a thread", 0);
}

static int thread_ends(struct flow_timeline *timeline, const struct ptl_event *event,
		       const struct ptl_thread_event *data)
{
	uint32_t index = last_index(&timeline->last_thread, thread_key(data->process_id, data->thread_id));
	struct flow_timeline_thread *thread;

	if (index == FLOW_NONE) {
		int status = add_thread(timeline, data->process_id, data->thread_id, &index);

		if (status < 0)
			return status;
	}
	thread = &timeline->threads[index].data;
	if (thread->ended)
		return 0;
	thread->ended = true;
	thread->end = event->time;
	if (!thread->name[0])
		thread->name = flow_timeline_text(timeline, data->name);
	return thread->name ? 0 : common_fail_memory("name of a thread", 0);
}

int flow_timeline_thread_event(struct flow_timeline *timeline, const struct ptl_event *event,
			       const struct ptl_thread_event *data)
{
	switch (event->descriptor.opcode) {
	case PTL_OPCODE_START:
	case PTL_OPCODE_START_RUNDOWN:
	case PTL_OPCODE_END_RUNDOWN:
		return thread_begins(timeline, event, data);
	case PTL_OPCODE_END:
		return thread_ends(timeline, event, data);
	default:
		return common_fail(PTL_UNSUPPORTED, "thread event with opcode %u", event->descriptor.opcode);
	}
}
