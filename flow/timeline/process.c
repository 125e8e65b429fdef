/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads in the timeline. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
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
		.fold = {.pid = pid, .implied = true},
		.data =
			{
				.pid = pid,
				.parent_pid = PTL_NO_ID,
				.parent = FLOW_NONE,
				.end = FLOW_TIME_END,
				.implied = true,
				.name = "",
			},
		.kernel = FLOW_NONE,
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

/* Returns the pid of the process that holds the kernel's images on the machine of `pid`. */
static uint32_t kernel_pid(const struct flow_timeline *timeline, uint32_t pid)
{
	const uint32_t machine = pid / PTL_MACHINE_IDS;

	return machine < ptl_machine_count(timeline->trace) ? machine * PTL_MACHINE_IDS : 0;
}

void flow_timeline_settle_kernels(struct flow_timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++) {
		struct flow_process_state *state = &timeline->processes[i];
		const uint32_t pid = kernel_pid(timeline, state->fold.pid);

		state->kernel = state->fold.pid == pid ? FLOW_NONE : last_index(&timeline->last_process, pid);
	}
}

#define ANCESTORS_MAX 256u

/* Checks whether `ancestor` is the process itself or an ancestor. Also true beyond ANCESTORS_MAX generations. */
static bool is_above(const struct flow_timeline *timeline, uint32_t ancestor, uint32_t process)
{
	for (unsigned i = 0; process != FLOW_NONE && process != ancestor; i++) {
		if (i == ANCESTORS_MAX)
			return true;
		process = timeline->processes[process].data.parent;
	}
	return process == ancestor;
}

void flow_timeline_settle_parents(struct flow_timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++) {
		struct flow_timeline_process *process = &timeline->processes[i].data;
		const struct flow_timeline_process *found;
		uint32_t parent;

		/* A parent pid of 0 is unknown. */
		if (process->parent != FLOW_NONE || process->parent_pid == PTL_NO_ID ||
		    process->parent_pid % PTL_MACHINE_IDS == 0)
			continue;
		parent = flow_timeline_process_at(timeline, process->parent_pid, process->start);
		found = parent == FLOW_NONE ? NULL : &timeline->processes[parent].data;
		/* The parent's pid may have passed to another process meanwhile, even to a descendant. */
		if (found && !found->implied && found->start <= process->start && found->end >= process->start &&
		    !is_above(timeline, (uint32_t)i, parent))
			process->parent = parent;
	}
}

/*
 * Returns the program's name. If the path is unknown, the first word of the command line serves as the path. NULL
 * without memory.
 */
static const char *program_name_of(struct flow_timeline *timeline, const struct flow_program *program)
{
	const size_t size = strcspn(program->command_line, " ");
	const char *name = NULL;
	char *word;

	if (*program->path)
		return common_base_name(program->path);
	word = strndup(program->command_line, size);
	if (word)
		name = flow_timeline_text(timeline, common_base_name(word));
	free(word);
	return name;
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
	program.name = program_name_of(timeline, &program);
	if (!program.name)
		return common_fail_memory("program", 0);
	status = flow_timeline_grow((void **)&state->programs, state->data.program_count, &state->program_capacity,
				    sizeof(program));
	if (status < 0)
		return status;
	state->programs[state->data.program_count++] = program;
	state->data.programs = state->programs;
	state->data.name = program.name;
	return 0;
}

static struct format_fold_process *fold_find_process(void *context, uint32_t pid)
{
	struct flow_timeline *timeline = context;
	const uint32_t index = last_index(&timeline->last_process, pid);

	return index == FLOW_NONE ? NULL : &timeline->processes[index].fold;
}

static int fold_add_process(void *context, uint32_t pid, struct format_fold_process **process)
{
	struct flow_timeline *timeline = context;
	uint32_t index;
	const int status = add_process(timeline, pid, &index);

	*process = status ? NULL : &timeline->processes[index].fold;
	return status;
}

static bool fold_program(void *context, const struct format_fold_process *process, const char **path,
			 const char **command_line)
{
	const struct flow_process_state *state = (const struct flow_process_state *)process;
	const struct flow_program *last;

	(void)context;
	if (!state->data.program_count)
		return false;
	last = &state->programs[state->data.program_count - 1];
	*path = last->path;
	*command_line = last->command_line;
	return true;
}

static int process_begins(void *context, struct format_fold_process *process, const struct format_fold_process *parent,
			  const struct ptl_process_event *data)
{
	struct flow_timeline *timeline = context;
	struct flow_process_state *state = flow_timeline_state_of(process);

	state->data.implied = false;
	state->data.unique_key = data->unique_key;
	state->data.parent_pid = data->parent_id;
	state->data.parent = parent ? flow_timeline_number(timeline, parent) : FLOW_NONE;
	state->data.started = process->started;
	state->data.start = process->start;
	state->begins_empty = data->begins_empty;
	/* A process first reported in a rundown began after the end of the previous process with its pid. */
	if (!process->started && state->previous != FLOW_NONE &&
	    timeline->processes[state->previous].data.end != FLOW_TIME_END)
		state->data.start = process->start = timeline->processes[state->previous].data.end;
	return add_program(timeline, state, process->start, data->image_file_name, data->command_line);
}

/* Threads may take fatal signals at the same time. The exit status tells which signal ended the process. */
static void choose_fatal(struct flow_process_state *state)
{
	const uint32_t signal = (uint32_t)state->data.exit_status & 0x7f;

	state->data.fatal = (struct flow_fatal_signal){0};
	for (size_t i = 0; i < state->fatal_count; i++)
		if (state->fatal[i].signal == signal)
			state->data.fatal = state->fatal[i];
}

static int process_ends(void *context, struct format_fold_process *process, uint64_t time,
			const struct ptl_process_event *data)
{
	struct flow_timeline_process *ended = &flow_timeline_state_of(process)->data;

	(void)context;
	ended->end = time;
	if (!data)
		return 0;
	ended->ended = true;
	ended->has_exit_status = data->has_exit_status;
	ended->exit_status = data->exit_status;
	if (data->has_exit_status)
		choose_fatal(flow_timeline_state_of(process));
	return 0;
}

static int signalled(void *context, struct format_fold_process *process, uint64_t time,
		     const struct ptl_signal_event *data)
{
	struct flow_process_state *state = flow_timeline_state_of(process);

	(void)context;
	if (state->data.ended || state->fatal_count == FLOW_FATAL_SIGNALS)
		return 0;
	for (size_t i = 0; i < state->fatal_count; i++)
		if (state->fatal[i].signal == data->signal)
			return 0;
	state->fatal[state->fatal_count++] = (struct flow_fatal_signal){
		.time = time,
		.tid = data->thread_id,
		.signal = data->signal,
		.code = data->code,
		.sender = data->sender_id,
		.has_address = data->has_address,
		.address = data->address,
	};
	state->data.fatal = state->fatal[0];
	return 0;
}

static int executes(void *context, struct format_fold_process *process, uint64_t time,
		    const struct ptl_process_event *data)
{
	struct flow_process_state *state = flow_timeline_state_of(process);

	state->data.implied = false;
	return add_program(context, state, time, data->image_file_name, data->command_line);
}

const struct format_fold_processes flow_timeline_processes = {
	.find = fold_find_process,
	.add = fold_add_process,
	.program = fold_program,
	.begins = process_begins,
	.ends = process_ends,
	.executes = executes,
	.signalled = signalled,
};

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

static bool find_thread(void *context, const struct format_fold_process *process, uint32_t tid, uint32_t *thread)
{
	const struct flow_timeline *timeline = context;

	*thread = last_index(&timeline->last_thread, thread_key(process->pid, tid));
	return *thread != FLOW_NONE && !timeline->threads[*thread].data.ended &&
	       timeline->threads[*thread].data.process == flow_timeline_number(timeline, process);
}

static int thread_renamed(void *context, uint32_t thread, const char *name)
{
	struct flow_timeline *timeline = context;
	const char *text = flow_timeline_text(timeline, name);

	if (!text)
		return common_fail_memory("name of a thread", 0);
	timeline->threads[thread].data.name = text;
	return 0;
}

static int thread_begins(void *context, struct format_fold_process *process, uint64_t time, bool started,
			 const struct ptl_thread_event *data)
{
	struct flow_timeline *timeline = context;
	struct flow_timeline_thread *thread;
	uint32_t index;
	const int status = add_thread(timeline, data->process_id, data->thread_id, &index);

	(void)process;
	if (status)
		return status;
	thread = &timeline->threads[index].data;
	thread->implied = false;
	thread->started = started;
	thread->start = started ? time : 0;
	thread->start_address = data->start_address;
	return thread_renamed(timeline, index, data->name);
}

static int thread_ends(void *context, uint64_t time, const struct ptl_thread_event *data)
{
	struct flow_timeline *timeline = context;
	uint32_t index = last_index(&timeline->last_thread, thread_key(data->process_id, data->thread_id));
	struct flow_timeline_thread *thread;
	int status = 0;

	if (index == FLOW_NONE)
		status = add_thread(timeline, data->process_id, data->thread_id, &index);
	if (status)
		return status;
	thread = &timeline->threads[index].data;
	if (thread->ended)
		return 0;
	thread->ended = true;
	thread->end = time;
	return thread->name[0] ? 0 : thread_renamed(timeline, index, data->name);
}

const struct format_fold_threads flow_timeline_threads = {
	.find = find_thread,
	.begins = thread_begins,
	.renamed = thread_renamed,
	.ends = thread_ends,
	.switched = flow_timeline_switched,
};
