/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes events of processes and threads, at once or when their names are known. */
#include <stdio.h>
#include <string.h>

#include <ptl/kernel.h>

#include "import/perf/process_state.h"

int perf_process_write(struct perf_import *import, const struct perf_process *process, uint8_t opcode, const char *path,
		       const struct ptl_event *from)
{
	const struct ptl_process_event data = {
		.unique_key = process->key,
		.process_id = process->pid,
		.parent_id = process->parent,
		.image_file_name = path,
		.command_line = "",
	};
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = ptl_process_encode(&data, opcode, &import->storage, &event);
	if (status)
		return status;
	event.time = from->time;
	event.cpu = from->cpu;
	event.pid = process->pid;
	event.tid = from->tid;
	return perf_event_write(import, &event);
}

int perf_thread_write(struct perf_import *import, uint32_t pid, uint32_t tid, const char *name, uint8_t opcode,
		      const struct ptl_event *from)
{
	const struct ptl_thread_event data = {.process_id = pid, .thread_id = tid, .name = name};
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = ptl_thread_encode(&data, opcode, &import->storage, &event);
	if (status)
		return status;
	event.time = from->time;
	event.cpu = from->cpu;
	event.pid = pid;
	event.tid = tid;
	return perf_event_write(import, &event);
}

int perf_task_rename(struct perf_import *import, struct perf_process *process, uint32_t tid, const char *name,
		     const struct ptl_event *from)
{
	bool started;
	int status = perf_task_start(import, process, tid, name, &started);

	return status ? status : perf_thread_write(import, process->pid, tid, name, PTL_OPCODE_START_RUNDOWN, from);
}

void perf_process_wait(struct perf_process *process, enum perf_waits what, const struct ptl_event *from)
{
	process->waits = what;
	process->pending = *from;
}

/*
 * Returns the program of a process with an unknown file: its name. A name with a slash, which is no path, is put into
 * brackets, as ps(1) shows kernel threads.
 */
static const char *program_of(const struct perf_process *process, char room[PERF_NAME_SIZE + 2])
{
	if (!strchr(process->name, '/'))
		return process->name;
	snprintf(room, PERF_NAME_SIZE + 2, "[%s]", process->name);
	return room;
}

int perf_process_exec(struct perf_import *import, struct perf_process *process, const char *name,
		      const struct ptl_event *at)
{
	const bool led = perf_task_is_alive(perf_task_find(import, process->pid), process);
	bool started;
	int status;

	process->programs++;
	process->threads = 0;
	snprintf(process->name, sizeof(process->name), "%s", name);
	perf_process_wait(process, PERF_EXEC_WAITS, at);
	perf_unwind_forget(&import->unwinder, process->pid);
	status = perf_task_start(import, process, process->pid, name, &started);
	/* A thread that calls exec gets the tid of the main thread. */
	return status ? status
		      : perf_thread_write(import, process->pid, process->pid, name,
					  led ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_START, at);
}

int perf_process_release(struct perf_import *import, struct perf_process *process, const char *path)
{
	const uint8_t opcode = process->waits == PERF_EXEC_WAITS ? PTL_OPCODE_EXEC : PTL_OPCODE_START_RUNDOWN;
	const bool renamed = process->waits == PERF_NAME_WAITS;
	char room[PERF_NAME_SIZE + 2];

	if (process->waits == PERF_NOTHING_WAITS)
		return 0;
	process->waits = PERF_NOTHING_WAITS;
	if (renamed)
		return perf_task_rename(import, process, process->pid, process->new_name, &process->pending);
	return perf_process_write(import, process, opcode, path ? path : program_of(process, room), &process->pending);
}
