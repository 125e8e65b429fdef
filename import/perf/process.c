/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts COMM, FORK and EXIT records to processes and threads. */
#include <stdio.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "import/perf/process_state.h"
#include "perf/fields.h"

#define KTHREADD 2u               /* pid of the parent of all other kernel threads */
#define EXEC_MAPS_WITHIN 1000000u /* maximum nanoseconds from a COMM record to the mapping of the program */

/* Whether the pid is no pid: a process outside the recorder's pid namespace, or a dead process. */
static bool is_outside(uint32_t pid)
{
	return pid == 0 || pid == PTL_NO_ID;
}

static struct ptl_event moment(const struct perf_import *import, const struct perf_sample *sample, uint32_t tid)
{
	return (struct ptl_event){.time = perf_time(import, sample), .cpu = sample->cpu, .tid = tid};
}

int perf_process_need(struct perf_import *import, uint32_t pid, uint64_t time)
{
	const struct ptl_event at = {.time = time, .cpu = PTL_NO_CPU, .tid = pid};
	struct perf_process *process = perf_process_find(import, pid);
	const bool again = process != NULL;
	int status;

	if (process && !process->ended)
		return 0;
	status = perf_process_add(import, pid, 0, &process);
	if (!status && pid % PTL_MACHINE_IDS == 0)
		snprintf(process->name, sizeof(process->name), "[kernel]");
	/* The pid is used again, and the FORK record was lost: earlier data belongs to another process. */
	return status ? status
		      : perf_process_write(import, process, again ? PTL_OPCODE_START : PTL_OPCODE_START_RUNDOWN,
					   process->name, &at);
}

/* Whether the mapping shows that the preceding COMM record was an exec: exec maps the program at once. */
static bool is_exec(const struct perf_process *process, const struct perf_mapped *mapped)
{
	return mapped->tid == process->pid && mapped->time >= process->pending.time &&
	       (mapped->time - process->pending.time <= EXEC_MAPS_WITHIN ||
		perf_program_rank(process->new_name, mapped->path) >= PERF_PROGRAM_NAMED);
}

int perf_process_maps(struct perf_import *import, const struct perf_mapped *mapped)
{
	struct perf_process *process = perf_process_find(import, mapped->pid);
	int status = 0;

	if (!process || process->waits == PERF_NOTHING_WAITS)
		return 0;
	if (process->waits == PERF_NAME_WAITS && !is_exec(process, mapped))
		return perf_process_release(import, process, NULL);
	if (process->waits == PERF_NAME_WAITS)
		status = perf_process_exec(import, process, process->new_name, &process->pending);
	/* The first file is the program: the kernel maps the program before the dynamic linker. */
	return status || !perf_program_rank("", mapped->path) ? status
							      : perf_process_release(import, process, mapped->path);
}

/* Handles a COMM record of an existing process or thread. */
static int comm_rundown(struct perf_import *import, const struct perf_sample *sample, uint32_t pid, uint32_t tid,
			const char *name)
{
	const struct ptl_event at = moment(import, sample, tid);
	struct perf_process *process = perf_process_find(import, pid);
	char kernel_thread[PERF_NAME_SIZE + 2];
	const char *program;
	int status = 0;

	if (!process || process->ended)
		status = perf_process_add(import, pid, process ? process->parent : 0, &process);
	else if (process->waits == PERF_NOTHING_WAITS && pid == tid)
		return 0; /* reported twice */
	if (status)
		return status;
	if (pid == tid) {
		snprintf(process->name, sizeof(process->name), "%s", name);
		perf_process_wait(process, PERF_RUNDOWN_WAITS, &at);
		program = perf_programs_find(&import->programs, pid);
		if (program && !*program && (pid == KTHREADD || process->parent == KTHREADD)) {
			snprintf(kernel_thread, sizeof(kernel_thread), "[%s]", name);
			program = kernel_thread;
		}
		status = program ? perf_process_release(import, process, *program ? program : NULL) : 0;
	}
	return status ? status : perf_task_rename(import, process, tid, name, &at);
}

/* Whether COMM records of this file mark execs (since Linux 3.16). */
static bool says_exec(const struct perf_import *import)
{
	for (size_t i = 0; i < import->attrs.count; i++)
		if (import->attrs.list[i].flags & PERF_ATTR_FLAG_COMM_EXEC)
			return true;
	return false;
}

/* Handles a COMM record of a running thread: a new name, or an exec. */
static int comm_changed(struct perf_import *import, const struct perf_record *record, const struct ptl_event *at,
			struct perf_process *process, const char *name)
{
	int status = perf_process_release(import, process, NULL);

	if (status)
		return status;
	if (record->misc & PERF_MISC_COMM_EXEC)
		return perf_process_exec(import, process, name, at);
	if (at->tid != process->pid || says_exec(import))
		return perf_task_rename(import, process, at->tid, name, at);
	snprintf(process->new_name, sizeof(process->new_name), "%s", name);
	perf_process_wait(process, PERF_NAME_WAITS, at);
	return 0;
}

int perf_comm(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	struct perf_fields fields;
	struct ptl_event at;
	char name[PERF_NAME_SIZE];
	uint32_t pid;
	int status;

	if (!perf_fields_read(record->type, record->misc, record->body, body, &fields))
		return common_fail(PTL_CORRUPT, "offset %llu: a name without a process",
				   (unsigned long long)record->offset);
	pid = fields.pid;
	at = moment(import, sample, fields.tid);
	snprintf(name, sizeof(name), "%.*s",
		 (int)(fields.name_size < PERF_NAME_SIZE ? fields.name_size : PERF_NAME_SIZE - 1), fields.name);
	/*
	 * Process 0 named "swapper" is the idle process of a CPU; with another name, a process outside the namespace.
	 */
	if (is_outside(pid) && (pid || strncmp(name, "swapper", strlen("swapper")) != 0))
		return perf_event_keep(import, record, sample, body);
	if (perf_is_rundown(import, sample))
		return comm_rundown(import, sample, pid, fields.tid, name);
	status = perf_process_need(import, pid, at.time);
	return status ? status : comm_changed(import, record, &at, perf_process_find(import, pid), name);
}

/* Decodes a FORK or EXIT record. Returns PTL_CORRUPT. */
static int parse_task(const struct perf_record *record, size_t body, struct perf_fields *task)
{
	return perf_fields_read(record->type, record->misc, record->body, body, task)
		       ? 0
		       : common_fail(PTL_CORRUPT, "offset %llu: a task without numbers",
				     (unsigned long long)record->offset);
}

static int fork_process(struct perf_import *import, const struct perf_fields *task, const struct perf_sample *sample)
{
	const struct ptl_event at = moment(import, sample, task->tid);
	struct perf_process *process,
		*parent = is_outside(task->parent_pid) ? NULL : perf_process_find(import, task->parent_pid);
	int status = parent ? perf_process_release(import, parent, NULL) : 0;

	if (!status)
		status = perf_process_add(import, task->pid, task->parent_pid, &process);
	if (!status)
		status = perf_unwind_fork(&import->unwinder, task->parent_pid, task->pid);
	if (status)
		return status;
	/* The name of an existing process follows. */
	if (perf_is_rundown(import, sample)) {
		perf_process_wait(process, PERF_RUNDOWN_WAITS, &at);
		return 0;
	}
	if (parent)
		snprintf(process->name, sizeof(process->name), "%s", parent->name);
	return perf_process_write(import, process, PTL_OPCODE_START, "", &at);
}

int perf_fork(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	const bool rundown = perf_is_rundown(import, sample);
	const struct perf_task *parent;
	struct perf_process *process;
	struct perf_fields task;
	struct ptl_event at;
	bool started;
	const char *name;
	int status = parse_task(record, body, &task);

	if (!status && is_outside(task.pid))
		return perf_event_keep(import, record, sample, body);
	if (!status && task.pid == task.tid && task.pid != task.parent_pid)
		status = fork_process(import, &task, sample);
	else if (!status)
		status = perf_process_need(import, task.pid, perf_time(import, sample));
	/* The COMM record reports an existing thread. */
	if (status || rundown)
		return status;
	process = perf_process_find(import, task.pid);
	parent = is_outside(task.parent_tid) ? NULL : perf_task_find(import, task.parent_tid);
	name = parent ? parent->name : process->name;
	at = moment(import, sample, task.tid);
	status = perf_task_start(import, process, task.tid, name, &started);
	return status ? status : perf_thread_write(import, task.pid, task.tid, name, PTL_OPCODE_START, &at);
}

/* Handles the end of a thread. The process ends with its last thread. */
static int end_task(struct perf_import *import, struct perf_process *process, uint32_t tid, const struct ptl_event *at)
{
	struct perf_task *task = perf_task_find(import, tid);
	const bool known = perf_task_is_alive(task, process);
	int status = perf_process_release(import, process, NULL);

	if (!status)
		status = perf_thread_write(import, process->pid, tid, known ? task->name : process->name,
					   PTL_OPCODE_END, at);
	if (known) {
		task->alive = false;
		process->threads--;
	}
	/* Rundown may have reported only the main thread of an existing process. */
	if (status || process->threads || (!known && tid != process->pid))
		return status;
	process->ended = true;
	perf_unwind_forget(&import->unwinder, process->pid);
	return perf_process_write(import, process, PTL_OPCODE_END, process->name, at);
}

int perf_exit(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	const struct perf_process *process;
	struct perf_fields task;
	struct ptl_event at;
	int status = parse_task(record, body, &task);

	if (status)
		return status;
	process = perf_process_find(import, task.pid);
	if (is_outside(task.pid) || (process && perf_task_has_ended(import, process, task.tid)))
		return perf_event_keep(import, record, sample, body);
	status = perf_process_need(import, task.pid, perf_time(import, sample));
	at = moment(import, sample, task.tid);
	return status ? status : end_task(import, perf_process_find(import, task.pid), task.tid, &at);
}

int perf_process_finish(struct perf_import *import)
{
	uint64_t pid, value;
	size_t at = 0;
	int status = 0;

	while (!status && common_hash_map_next(&import->processes, &at, &pid, &value)) {
		struct perf_process *process = (struct perf_process *)(uintptr_t)value;

		status = perf_process_release(import, process, NULL);
	}
	return status;
}
