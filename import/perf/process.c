/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts COMM, FORK, EXIT and SWITCH records to processes and threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/kernel.h>

#include "common/error.h"
#include "format/event/kernel_switch.h"
#include "import/perf/import.h"
#include "perf/fields.h"

#define NAME_SIZE 64
#define PROCESSES_MAX (1u << 22)
#define THREADS_MAX (1u << 22)
#define KTHREADD 2u               /* pid of the parent of all other kernel threads */
#define EXEC_MAPS_WITHIN 1000000u /* maximum nanoseconds from a COMM record to the mapping of the program */

/*
 * A process. Its start event, or exec event, may be pending until a record names the process, or the program's file is
 * mapped.
 */
struct perf_process {
	uint64_t key;
	uint32_t pid;
	uint32_t parent;
	uint32_t threads;  /* known live threads */
	uint32_t programs; /* number of execs so far; threads of an earlier program are gone */
	/* NAME_WAITS: a COMM record of an old kernel, which does not tell whether the name is from exec */
	enum { NOTHING_WAITS, RUNDOWN_WAITS, EXEC_WAITS, NAME_WAITS } waits;
	struct ptl_event pending; /* time, CPU and thread of the pending event */
	char name[NAME_SIZE];
	char new_name[NAME_SIZE]; /* name of NAME_WAITS */
	bool ended;
};

/* The last thread with a tid. */
struct perf_task {
	uint64_t key;      /* key of the thread's process */
	uint32_t programs; /* `programs` of the process when the thread was first seen */
	bool alive;
	char name[NAME_SIZE];
};

/* Returns the process with a pid. The table has pointers as numbers. */
static struct perf_process *find(const struct perf_import *import, uint32_t pid)
{
	const uint64_t *value = common_hash_map_get(&import->processes, pid);

	return value ? (struct perf_process *)(uintptr_t)*value : NULL;
}

/* Whether the pid is no pid: a process outside the recorder's pid namespace, or a dead process. */
static bool is_outside(uint32_t pid)
{
	return pid == 0 || pid == PTL_NO_ID;
}

bool perf_process_known(const struct perf_import *import, uint32_t pid)
{
	return find(import, pid);
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

/* ---- threads --------------------------------------------------------------------------------- */

static struct perf_task *find_task(const struct perf_import *import, uint32_t tid)
{
	const uint64_t *value = common_hash_map_get(&import->tasks, tid);

	return value ? (struct perf_task *)(uintptr_t)*value : NULL;
}

static bool is_alive(const struct perf_task *task, const struct perf_process *process)
{
	return task && task->alive && task->key == process->key && task->programs == process->programs;
}

/* Marks a thread as alive. *started: the thread was not alive before. Returns PTL_NO_MEMORY. */
static int start_task(struct perf_import *import, struct perf_process *process, uint32_t tid, const char *name,
		      bool *started)
{
	struct perf_task *task = find_task(import, tid);

	*started = !is_alive(task, process);
	if (!task) {
		if (import->tasks.used >= THREADS_MAX)
			return common_fail(PTL_NO_MEMORY, "more than %u threads", THREADS_MAX);
		task = calloc(1, sizeof(*task));
		if (!task || common_hash_map_put(&import->tasks, tid, (uint64_t)(uintptr_t)task)) {
			free(task);
			return common_fail_memory("a thread", sizeof(*task));
		}
	}
	process->threads += *started;
	task->key = process->key;
	task->programs = process->programs;
	task->alive = true;
	snprintf(task->name, sizeof(task->name), "%s", name);
	return 0;
}

/*
 * Writes the new name of a thread, as rundown. A thread that was unknown has existed from the start. Returns
 * PTL_NO_MEMORY, PTL_SYSTEM.
 */
static int rename_task(struct perf_import *import, struct perf_process *process, uint32_t tid, const char *name,
		       const struct ptl_event *from)
{
	bool started;
	int status = start_task(import, process, tid, name, &started);

	return status ? status : write_thread(import, process->pid, tid, name, PTL_OPCODE_START_RUNDOWN, from);
}

/* ---- pending events -------------------------------------------------------------------------- */

static void wait_with(struct perf_process *process, int what, const struct ptl_event *from)
{
	process->waits = what;
	process->pending = *from;
}

/*
 * Returns the program of a process with an unknown file: its name. A name with a slash, which is no path, is put into
 * brackets, as ps(1) shows kernel threads.
 */
static const char *program_of(const struct perf_process *process, char room[NAME_SIZE + 2])
{
	if (!strchr(process->name, '/'))
		return process->name;
	snprintf(room, NAME_SIZE + 2, "[%s]", process->name);
	return room;
}

/* Handles exec: the process has one thread, the main thread. */
static int begin_program(struct perf_import *import, struct perf_process *process, const char *name,
			 const struct ptl_event *at)
{
	const bool led = is_alive(find_task(import, process->pid), process);
	bool started;
	int status;

	process->programs++;
	process->threads = 0;
	snprintf(process->name, sizeof(process->name), "%s", name);
	wait_with(process, EXEC_WAITS, at);
	perf_unwind_forget(&import->unwinder, process->pid);
	status = start_task(import, process, process->pid, name, &started);
	/* A thread that calls exec gets the tid of the main thread. */
	return status ? status
		      : write_thread(import, process->pid, process->pid, name,
				     led ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_START, at);
}

/* Writes the pending event. path: file of the program; NULL: unknown. */
static int release(struct perf_import *import, struct perf_process *process, const char *path)
{
	const uint8_t opcode = process->waits == EXEC_WAITS ? PTL_OPCODE_EXEC : PTL_OPCODE_START_RUNDOWN;
	const bool renamed = process->waits == NAME_WAITS;
	char room[NAME_SIZE + 2];

	if (process->waits == NOTHING_WAITS)
		return 0;
	process->waits = NOTHING_WAITS;
	if (renamed)
		return rename_task(import, process, process->pid, process->new_name, &process->pending);
	return write_process(import, process, opcode, path ? path : program_of(process, room), &process->pending);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int add_process(struct perf_import *import, uint32_t pid, uint32_t parent, struct perf_process **added)
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
	const bool again = process != NULL;
	int status;

	if (process && !process->ended)
		return 0;
	status = add_process(import, pid, 0, &process);
	if (!status && pid % PTL_MACHINE_IDS == 0)
		snprintf(process->name, sizeof(process->name), "[kernel]");
	/* The pid is used again, and the FORK record was lost: earlier data belongs to another process. */
	return status ? status
		      : write_process(import, process, again ? PTL_OPCODE_START : PTL_OPCODE_START_RUNDOWN,
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
	struct perf_process *process = find(import, mapped->pid);
	int status = 0;

	if (!process || process->waits == NOTHING_WAITS)
		return 0;
	if (process->waits == NAME_WAITS && !is_exec(process, mapped))
		return release(import, process, NULL);
	if (process->waits == NAME_WAITS)
		status = begin_program(import, process, process->new_name, &process->pending);
	/* The first file is the program: the kernel maps the program before the dynamic linker. */
	return status || !perf_program_rank("", mapped->path) ? status : release(import, process, mapped->path);
}

uint32_t perf_thread_process(const struct perf_import *import, uint32_t tid)
{
	const uint64_t *pid = common_hash_map_get(&import->threads, tid);

	return pid ? (uint32_t)*pid : tid;
}

int perf_thread_seen(struct perf_import *import, const struct perf_record *record)
{
	struct perf_fields fields;

	if ((record->type != PERF_RECORD_FORK && record->type != PERF_RECORD_COMM) ||
	    !perf_fields_read(record->type, record->misc, record->body, record->size, &fields))
		return 0;
	return common_hash_map_put(&import->threads, fields.tid, fields.pid);
}

/* Handles a COMM record of an existing process or thread. */
static int comm_rundown(struct perf_import *import, const struct perf_sample *sample, uint32_t pid, uint32_t tid,
			const char *name)
{
	const struct ptl_event at = moment(import, sample, tid);
	struct perf_process *process = find(import, pid);
	char kernel_thread[NAME_SIZE + 2];
	const char *program;
	int status = 0;

	if (!process || process->ended)
		status = add_process(import, pid, process ? process->parent : 0, &process);
	else if (process->waits == NOTHING_WAITS && pid == tid)
		return 0; /* reported twice */
	if (status)
		return status;
	if (pid == tid) {
		snprintf(process->name, sizeof(process->name), "%s", name);
		wait_with(process, RUNDOWN_WAITS, &at);
		program = perf_programs_find(&import->programs, pid);
		if (program && !*program && (pid == KTHREADD || process->parent == KTHREADD)) {
			snprintf(kernel_thread, sizeof(kernel_thread), "[%s]", name);
			program = kernel_thread;
		}
		status = program ? release(import, process, *program ? program : NULL) : 0;
	}
	return status ? status : rename_task(import, process, tid, name, &at);
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
	int status = release(import, process, NULL);

	if (status)
		return status;
	if (record->misc & PERF_MISC_COMM_EXEC)
		return begin_program(import, process, name, at);
	if (at->tid != process->pid || says_exec(import))
		return rename_task(import, process, at->tid, name, at);
	snprintf(process->new_name, sizeof(process->new_name), "%s", name);
	wait_with(process, NAME_WAITS, at);
	return 0;
}

int perf_comm(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
	      size_t body)
{
	struct perf_fields fields;
	struct ptl_event at;
	char name[NAME_SIZE];
	uint32_t pid;
	int status;

	if (!perf_fields_read(record->type, record->misc, record->body, body, &fields))
		return common_fail(PTL_CORRUPT, "offset %llu: a name without a process",
				   (unsigned long long)record->offset);
	pid = fields.pid;
	at = moment(import, sample, fields.tid);
	snprintf(name, sizeof(name), "%.*s", (int)(fields.name_size < NAME_SIZE ? fields.name_size : NAME_SIZE - 1),
		 fields.name);
	/*
	 * Process 0 named "swapper" is the idle process of a CPU; with another name, a process outside the namespace.
	 */
	if (is_outside(pid) && (pid || strncmp(name, "swapper", strlen("swapper")) != 0))
		return perf_event_keep(import, record, sample, body);
	if (perf_is_rundown(import, sample))
		return comm_rundown(import, sample, pid, fields.tid, name);
	status = perf_process_need(import, pid, at.time);
	return status ? status : comm_changed(import, record, &at, find(import, pid), name);
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
	struct perf_process *process, *parent = is_outside(task->parent_pid) ? NULL : find(import, task->parent_pid);
	int status = parent ? release(import, parent, NULL) : 0;

	if (!status)
		status = add_process(import, task->pid, task->parent_pid, &process);
	if (!status)
		status = perf_unwind_fork(&import->unwinder, task->parent_pid, task->pid);
	if (status)
		return status;
	/* The name of an existing process follows. */
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
	process = find(import, task.pid);
	parent = is_outside(task.parent_tid) ? NULL : find_task(import, task.parent_tid);
	name = parent ? parent->name : process->name;
	at = moment(import, sample, task.tid);
	status = start_task(import, process, task.tid, name, &started);
	return status ? status : write_thread(import, task.pid, task.tid, name, PTL_OPCODE_START, &at);
}

/* Handles the end of a thread. The process ends with its last thread. */
static int end_task(struct perf_import *import, struct perf_process *process, uint32_t tid, const struct ptl_event *at)
{
	struct perf_task *task = find_task(import, tid);
	const bool known = is_alive(task, process);
	int status = release(import, process, NULL);

	if (!status)
		status = write_thread(import, process->pid, tid, known ? task->name : process->name, PTL_OPCODE_END,
				      at);
	if (known) {
		task->alive = false;
		process->threads--;
	}
	/* Rundown may have reported only the main thread of an existing process. */
	if (status || process->threads || (!known && tid != process->pid))
		return status;
	process->ended = true;
	perf_unwind_forget(&import->unwinder, process->pid);
	return write_process(import, process, PTL_OPCODE_END, process->name, at);
}

/*
 * Whether the thread has ended before. Some kernels report the end of a thread twice, and an ended process has no
 * threads.
 */
static bool has_ended(const struct perf_import *import, const struct perf_process *process, uint32_t tid)
{
	const struct perf_task *task = find_task(import, tid);

	return process->ended || (task && task->key == process->key && !task->alive);
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
	process = find(import, task.pid);
	if (is_outside(task.pid) || (process && has_ended(import, process, task.tid)))
		return perf_event_keep(import, record, sample, body);
	status = perf_process_need(import, task.pid, perf_time(import, sample));
	at = moment(import, sample, task.tid);
	return status ? status : end_task(import, find(import, task.pid), task.tid, &at);
}

/* Bit in import->on_cpu: the thread is running; else the thread was switched out. */
#define RUNS (1ull << 32)

/* Writes a switch event. pid and tid: of the next thread; if unknown, of the previous thread. */
static int write_switch(struct perf_import *import, const struct perf_sample *sample, uint32_t pid, uint32_t tid,
			const struct ptl_switch_event *data, enum format_old_state state)
{
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = format_switch_encode(data, state, &import->storage, &event);
	if (status)
		return status;
	event.time = perf_time(import, sample);
	event.cpu = sample->cpu;
	event.pid = pid;
	event.tid = tid;
	return perf_event_write(import, &event);
}

/* Handles a switch-out. The next thread reports its own switch-in, unless perf does not record the thread. */
static int switch_out(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		      size_t body)
{
	const bool wide = record->type == PERF_RECORD_SWITCH_CPU_WIDE;
	struct perf_fields next;
	const bool known = perf_fields_read(record->type, record->misc, record->body, body, &next);
	const uint32_t pid = known ? next.pid : sample->pid;
	const uint32_t tid = known ? next.tid : sample->tid;
	const struct ptl_switch_event data = {.new_thread = known ? tid : 0, .old_thread = sample->tid};

	if (common_hash_map_put(&import->on_cpu, sample->cpu, known ? tid | RUNS : sample->tid))
		return PTL_NO_MEMORY;
	return known || !wide ? write_switch(import, sample, pid, tid, &data,
					     record->misc & PERF_MISC_SWITCH_OUT_PREEMPT ? FORMAT_OLD_READY
											 : FORMAT_OLD_WAITING)
			      : 0;
}

static int switch_in(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		     size_t body)
{
	const uint64_t *old = common_hash_map_get(&import->on_cpu, sample->cpu);
	struct perf_fields before;
	/* the idle thread, unless the record names a thread */
	const uint32_t other = perf_fields_read(record->type, record->misc, record->body, body, &before) ? before.tid
													 : 0;
	const struct ptl_switch_event data = {.new_thread = sample->tid, .old_thread = old ? (uint32_t)*old : other};

	if (old && *old == (sample->tid | RUNS))
		return 0;
	if (common_hash_map_put(&import->on_cpu, sample->cpu, sample->tid | RUNS))
		return PTL_NO_MEMORY;
	return write_switch(import, sample, sample->pid, sample->tid, &data, FORMAT_OLD_UNKNOWN);
}

/* Notes the threads of the host that run, if some of the threads run virtual CPUs. */
static int note_run(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample)
{
	const bool out = record->misc & PERF_MISC_SWITCH_OUT;

	if (!import->guests.count || sample->machine)
		return 0;
	return perf_guest_flow_switch(&import->guest_flow, sample->cpu, out ? PTL_NO_ID : sample->tid,
				      perf_time(import, sample));
}

int perf_switch(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		size_t body)
{
	int status;

	if (sample->cpu == PTL_NO_CPU || sample->tid == PTL_NO_ID)
		return perf_event_keep(import, record, sample, body);
	status = note_run(import, record, sample);
	if (status)
		return status;
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

		status = release(import, process, NULL);
	}
	return status;
}

static void free_values(struct common_hash_map *map)
{
	uint64_t key, value;
	size_t at = 0;

	while (common_hash_map_next(map, &at, &key, &value))
		free((void *)(uintptr_t)value);
	common_hash_map_free(map);
}

void perf_process_free(struct perf_import *import)
{
	free_values(&import->processes);
	free_values(&import->tasks);
	common_hash_map_free(&import->threads);
	common_hash_map_free(&import->on_cpu);
}
