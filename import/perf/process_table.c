/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of processes and threads, by number. */
#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "import/perf/process_state.h"
#include "perf/fields.h"

#define PROCESSES_MAX (1u << 22)
#define THREADS_MAX (1u << 22)

/* The table has pointers as numbers. */
struct perf_process *perf_process_find(const struct perf_import *import, uint32_t pid)
{
	const uint64_t *value = common_hash_map_get(&import->processes, pid);

	return value ? (struct perf_process *)(uintptr_t)*value : NULL;
}

bool perf_process_known(const struct perf_import *import, uint32_t pid)
{
	return perf_process_find(import, pid);
}

int perf_process_add(struct perf_import *import, uint32_t pid, uint32_t parent, struct perf_process **added)
{
	struct perf_process *process = perf_process_find(import, pid);
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

struct perf_task *perf_task_find(const struct perf_import *import, uint32_t tid)
{
	const uint64_t *value = common_hash_map_get(&import->tasks, tid);

	return value ? (struct perf_task *)(uintptr_t)*value : NULL;
}

bool perf_task_is_alive(const struct perf_task *task, const struct perf_process *process)
{
	return task && task->alive && task->key == process->key && task->programs == process->programs;
}

int perf_task_start(struct perf_import *import, struct perf_process *process, uint32_t tid, const char *name,
		    bool *started)
{
	struct perf_task *task = perf_task_find(import, tid);

	*started = !perf_task_is_alive(task, process);
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

bool perf_task_has_ended(const struct perf_import *import, const struct perf_process *process, uint32_t tid)
{
	const struct perf_task *task = perf_task_find(import, tid);

	return process->ended || (task && task->key == process->key && !task->alive);
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
