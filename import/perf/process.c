/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes and threads, from COMM, FORK, EXIT and SWITCH records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "import/perf/import.h"

#define NAME_SIZE 64
#define PROCESSES_MAX (1u << 22)

/*
 * What is known of a process. Its start, or the program that it now executes, may wait for the record that says
 * its name, or what the program's file is.
 */
struct perf_process {
	uint64_t key;
	uint32_t pid;
	uint32_t parent;
	uint32_t threads; /* alive */
	enum { NOTHING_WAITS, RUNDOWN_WAITS, EXEC_WAITS } waits;
	struct ptl_event pending; /* its time, CPU, and thread */
	char name[NAME_SIZE];
	bool ended;
};

/* A number in a table of pointers. */
static struct perf_process *find(const struct perf_import *import, uint32_t pid)
{
	const uint64_t *value = common_hash_map_get(&import->processes, pid);

	return value ? (struct perf_process *)(uintptr_t)*value : NULL;
}

static int write_process(struct perf_import *import, const struct perf_process *process, uint8_t opcode,
			 const char *path, const struct ptl_event *from)
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

static int write_thread(struct perf_import *import, uint32_t pid, uint32_t tid, const char *name, uint8_t opcode,
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

/* What waited can be said now. */
static int release(struct perf_import *import, struct perf_process *process, const char *path)
{
	const uint8_t opcode = process->waits == EXEC_WAITS ? PTL_OPCODE_EXEC : PTL_OPCODE_START_RUNDOWN;

	if (process->waits == NOTHING_WAITS)
		return 0;
	process->waits = NOTHING_WAITS;
	return write_process(import, process, opcode, path, &process->pending);
}

static void wait_with(struct perf_process *process, int what, const struct ptl_event *from)
{
	process->waits = what;
	process->pending = *from;
}

static int add(struct perf_import *import, uint32_t pid, uint32_t parent, struct perf_process **added)
{
	struct perf_process *process = find(import, pid);
	int status;

	if (!process && import->processes.used >= PROCESSES_MAX)
		return common_fail(PTL_NO_MEMORY, "more than %u processes", PROCESSES_MAX);
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return common_fail_memory("a process", sizeof(*process));
		status = common_hash_map_put(&import->processes, pid, (uint64_t)(uintptr_t)process);
		if (status) {
			free(process);
			return status;
		}
	}
	*process = (struct perf_process){.key = ++import->next_key, .pid = pid, .parent = parent};
	*added = process;
	return 0;
}

static struct ptl_event moment(const struct perf_import *import, const struct perf_sample *sample, uint32_t tid)
{
	return (struct ptl_event){.time = perf_time(import, sample), .cpu = sample->cpu, .tid = tid};
}

int perf_process_need(struct perf_import *import, uint32_t pid, uint64_t time)
{
	const struct ptl_event at = {.time = time, .cpu = PTL_NO_CPU, .tid = pid};
	struct perf_process *process = find(import, pid);
	int status;

	if (process && !process->ended)
		return 0;
	status = add(import, pid, 0, &process);
	if (!status && pid == 0)
		snprintf(process->name, sizeof(process->name), "[kernel]");
	return status ? status : write_process(import, process, PTL_OPCODE_START_RUNDOWN, process->name, &at);
}

int perf_process_maps(struct perf_import *import, uint32_t pid, const char *path)
{
	struct perf_process *process = find(import, pid);

	/* The first file is the program: the kernel maps it before the dynamic linker. */
	return process && path[0] == '/' ? release(import, process, path) : 0;
}

uint32_t perf_thread_process(const struct perf_import *import, uint32_t tid)
{
	const uint64_t *pid = common_hash_map_get(&import->threads, tid);

	return pid ? (uint32_t)*pid : tid;
}

int perf_thread_seen(struct perf_import *import, const struct perf_record *record)
{
	const size_t tid = record->type == PERF_RECORD_FORK ? 8 : 4;

	if ((record->type != PERF_RECORD_FORK && record->type != PERF_RECORD_COMM) || record->size < tid + 4)
		return 0;
	return common_hash_map_put(&import->threads, common_load32(record->body + tid), common_load32(record->body));
}

/* The name of something that was there before. */
static int comm_rundown(struct perf_import *import, const struct perf_sample *sample, uint32_t pid, uint32_t tid,
			const char *name)
{
	const struct ptl_event at = moment(import, sample, tid);
	struct perf_process *process = find(import, pid);
	int status = 0;

	if (!process || process->ended)
		status = add(import, pid, process ? process->parent : 0, &process);
	else if (process->waits == NOTHING_WAITS && pid == tid)
		return 0; /* reported twice */
	if (!status && pid == tid) {
		snprintf(process->name, sizeof(process->name), "%s", name);
		wait_with(process, RUNDOWN_WAITS, &at);
	}
	if (!status)
		process->threads++;
	return status ? status : write_thread(import, pid, tid, name, PTL_OPCODE_START_RUNDOWN, &at);
}

int perf_comm(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	struct common_cursor cursor = common_cursor(record->body, body);
	const uint32_t pid = common_read32(&cursor), tid = common_read32(&cursor);
	const size_t left = common_cursor_left(&cursor);
	const char *text = (const char *)common_read_bytes(&cursor, left);
	const struct ptl_event at = moment(import, sample, tid);
	struct perf_process *process;
	char name[NAME_SIZE];
	int status;

	if (cursor.failed)
		return common_fail(PTL_CORRUPT, "offset %llu: a name without a process",
				   (unsigned long long)record->offset);
	snprintf(name, sizeof(name), "%.*s", (int)(left < NAME_SIZE ? left : NAME_SIZE - 1), text);
	if (perf_is_rundown(import, sample))
		return comm_rundown(import, sample, pid, tid, name);
	if (!(record->misc & PERF_MISC_COMM_EXEC))
		return perf_event_keep(import, record, sample, body);
	status = perf_process_need(import, pid, at.time);
	process = find(import, pid);
	if (!status)
		status = release(import, process, process->name);
	if (status)
		return status;
	snprintf(process->name, sizeof(process->name), "%s", name);
	wait_with(process, EXEC_WAITS, &at);
	return 0;
}

/* pid, parent's pid, tid, parent's tid, time: FORK and EXIT. */
struct task {
	uint32_t pid, parent, tid, parent_tid;
};

static int parse_task(const struct perf_record *record, size_t body, struct task *task)
{
	struct common_cursor cursor = common_cursor(record->body, body);

	task->pid = common_read32(&cursor);
	task->parent = common_read32(&cursor);
	task->tid = common_read32(&cursor);
	task->parent_tid = common_read32(&cursor);
	return cursor.failed ? common_fail(PTL_CORRUPT, "offset %llu: a task without numbers",
					   (unsigned long long)record->offset)
			     : 0;
}

static int fork_process(struct perf_import *import, const struct task *task, const struct perf_sample *sample)
{
	const struct ptl_event at = moment(import, sample, task->tid);
	struct perf_process *process, *parent = find(import, task->parent);
	int status = parent ? release(import, parent, parent->name) : 0;

	if (!status)
		status = add(import, task->pid, task->parent, &process);
	if (status)
		return status;
	/* A process of before says its name next. */
	if (perf_is_rundown(import, sample)) {
		wait_with(process, RUNDOWN_WAITS, &at);
		return 0;
	}
	if (parent)
		snprintf(process->name, sizeof(process->name), "%s", parent->name);
	return write_process(import, process, PTL_OPCODE_START, "", &at);
}

int perf_fork(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	const bool rundown = perf_is_rundown(import, sample);
	struct perf_process *process;
	struct ptl_event at;
	struct task task;
	int status = parse_task(record, body, &task);

	if (!status && task.pid == task.tid && task.pid != task.parent)
		status = fork_process(import, &task, sample);
	else if (!status)
		status = perf_process_need(import, task.pid, perf_time(import, sample));
	/* A thread of before is reported with its name. */
	if (status || rundown)
		return status;
	process = find(import, task.pid);
	process->threads++;
	at = moment(import, sample, task.tid);
	return write_thread(import, task.pid, task.tid, process->name, PTL_OPCODE_START, &at);
}

int perf_exit(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	struct perf_process *process;
	struct ptl_event at;
	struct task task;
	int status = parse_task(record, body, &task);

	if (!status)
		status = perf_process_need(import, task.pid, perf_time(import, sample));
	if (status)
		return status;
	at = moment(import, sample, task.tid);
	process = find(import, task.pid);
	status = release(import, process, process->name);
	if (!status)
		status = write_thread(import, task.pid, task.tid, process->name, PTL_OPCODE_END, &at);
	if (process->threads)
		process->threads--;
	/* Threads from before may not have been reported: the first one's end counts then. */
	if (status || process->threads)
		return status;
	process->ended = true;
	return write_process(import, process, PTL_OPCODE_END, process->name, &at);
}

/* What runs on a CPU is told from what was switched out of it by this bit. */
#define RUNS (1ull << 32)

/* The event is of the thread that comes next, or where that is not known, of the one that stops. */
static int write_switch(struct perf_import *import, const struct perf_sample *sample, uint32_t pid, uint32_t tid,
			const struct ptl_switch_event *data)
{
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = ptl_switch_encode(data, &import->storage, &event);
	if (status)
		return status;
	event.time = perf_time(import, sample);
	event.cpu = sample->cpu;
	event.pid = pid;
	event.tid = tid;
	return perf_event_write(import, &event);
}

/* What comes next says so itself, unless it is not recorded: then nothing of it matters. */
static int switch_out(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		      size_t body)
{
	const bool wide = record->type == PERF_RECORD_SWITCH_CPU_WIDE, known = wide && body >= 8;
	const uint32_t pid = known ? common_load32(record->body) : sample->pid;
	const uint32_t tid = known ? common_load32(record->body + 4) : sample->tid;
	const struct ptl_switch_event data = {.new_thread = known ? tid : 0, .old_thread = sample->tid};

	if (common_hash_map_put(&import->on_cpu, sample->cpu, known ? tid | RUNS : sample->tid))
		return PTL_NO_MEMORY;
	return known || !wide ? write_switch(import, sample, pid, tid, &data) : 0;
}

static int switch_in(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		     size_t body)
{
	const uint64_t *old = common_hash_map_get(&import->on_cpu, sample->cpu);
	const bool wide = record->type == PERF_RECORD_SWITCH_CPU_WIDE && body >= 8;
	const uint32_t other = wide ? common_load32(record->body + 4) : 0; /* the idle thread, unless it is said */
	const struct ptl_switch_event data = {.new_thread = sample->tid, .old_thread = old ? (uint32_t)*old : other};

	if (old && *old == (sample->tid | RUNS))
		return 0;
	if (common_hash_map_put(&import->on_cpu, sample->cpu, sample->tid | RUNS))
		return PTL_NO_MEMORY;
	return write_switch(import, sample, sample->pid, sample->tid, &data);
}

int perf_switch(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		size_t body)
{
	if (sample->cpu == PTL_NO_CPU || sample->tid == PTL_NO_ID)
		return perf_event_keep(import, record, sample, body);
	return record->misc & PERF_MISC_SWITCH_OUT ? switch_out(import, record, sample, body)
						   : switch_in(import, record, sample, body);
}

int perf_process_finish(struct perf_import *import)
{
	uint64_t pid, value;
	size_t at = 0;
	int status = 0;

	while (!status && common_hash_map_next(&import->processes, &at, &pid, &value)) {
		struct perf_process *process = (struct perf_process *)(uintptr_t)value;

		status = release(import, process, process->name);
	}
	return status;
}

void perf_process_free(struct perf_import *import)
{
	uint64_t pid, value;
	size_t at = 0;

	while (common_hash_map_next(&import->processes, &at, &pid, &value))
		free((void *)(uintptr_t)value);
	common_hash_map_free(&import->processes);
	common_hash_map_free(&import->threads);
	common_hash_map_free(&import->on_cpu);
}
