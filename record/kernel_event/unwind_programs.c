/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps the kernel's reports of execve, mmap and fork until some time after the process has ended. */
#include "record/kernel_event/unwind_programs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/vector.h"
#include "record/perf/sideband.h"
#include "record/proc/maps.h"
#include "record/proc/proc_files.h"

#define PROGRAMS_MAX 4u       /* programs kept per process: samples from before an execve may still be in the rings */
#define KEPT_TIME 1000000000u /* nanoseconds after the end of the process */
#define FORGET_INTERVAL 100000000u /* nanoseconds between searches for ended processes */

struct process {
	struct kernel_event_program *now;
	uint64_t ended; /* time of exit; 0: running */
};

struct kernel_event_programs {
	struct record_sideband *sideband;
	struct common_hash_map processes; /* pid: struct process * */
	uint64_t last_id;
	uint64_t forgotten; /* time of the last search for ended processes */
};

static void free_program(struct kernel_event_program *program)
{
	for (size_t i = 0; i < program->count; i++)
		free(program->maps[i].path);
	free(program->maps);
	free(program);
}

/* Frees the program and its predecessors. */
static void free_programs(struct kernel_event_program *program)
{
	while (program) {
		struct kernel_event_program *before = program->before;

		free_program(program);
		program = before;
	}
}

static struct process *find_program_process(const struct kernel_event_programs *programs, uint32_t pid)
{
	const uint64_t *known = common_hash_map_get(&programs->processes, pid);

	return known ? (struct process *)(uintptr_t)*known : NULL;
}

static struct process *find_or_add(struct kernel_event_programs *programs, uint32_t pid)
{
	struct process *process = find_program_process(programs, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process || common_hash_map_put(&programs->processes, pid, (uintptr_t)process) < 0) {
		free(process);
		common_fail_memory("a process", sizeof(*process));
		return NULL;
	}
	return process;
}

/* Begins a program without mappings. NULL: no memory. */
static struct kernel_event_program *begin_program(struct kernel_event_programs *programs, uint32_t pid, uint64_t time)
{
	struct kernel_event_program *program = calloc(1, sizeof(*program)), *last;
	struct process *process = program ? find_or_add(programs, pid) : NULL;

	if (!process) {
		free(program);
		common_fail_memory("a program", sizeof(*program));
		return NULL;
	}
	program->id = ++programs->last_id;
	program->since = time;
	program->before = process->now;
	process->now = program;
	process->ended = 0;
	last = program;
	for (unsigned i = 1; last && i < PROGRAMS_MAX; i++)
		last = last->before;
	if (last) {
		free_programs(last->before);
		last->before = NULL;
	}
	return program;
}

static void remove_overlapped(struct kernel_event_program *program, uint64_t base, uint64_t size)
{
	size_t left = 0;

	for (size_t i = 0; i < program->count; i++) {
		struct kernel_event_mapped *map = &program->maps[i];

		if (map->base < base + size && base < map->base + map->size)
			free(map->path);
		else
			program->maps[left++] = *map;
	}
	program->replaced += left < program->count;
	program->count = left;
}

static int add_mapping(struct kernel_event_program *program, const struct kernel_event_mapped *map)
{
	struct kernel_event_mapped copy = *map;

	copy.path = strdup(map->path);
	if (!copy.path ||
	    COMMON_VECTOR_RESERVE(program->maps, program->capacity, program->count + 1, "mapped files") < 0) {
		free(copy.path);
		return common_fail_memory("mapped files", sizeof(copy));
	}
	program->maps[program->count++] = copy;
	return 0;
}

static int take_map(struct kernel_event_programs *programs, const struct record_sideband_record *record)
{
	const struct process *process = find_program_process(programs, record->pid);

	if (!process || !record->size)
		return 0;
	remove_overlapped(process->now, record->base, record->size);
	/* Memory without a file has no unwind tables. */
	if (!record->inode)
		return 0;
	return add_mapping(process->now, &(struct kernel_event_mapped){record->base, record->size, record->file_offset,
								       record->inode, (char *)record->name});
}

/* Begins a program for the child with the mappings of the parent. */
static int take_fork(struct kernel_event_programs *programs, const struct record_sideband_record *record)
{
	const struct process *parent = find_program_process(programs, record->parent_pid);
	const struct kernel_event_program *from;
	struct kernel_event_program *program;
	int status = 0;

	if (!parent || record->pid == record->parent_pid)
		return 0;
	from = parent->now;
	program = begin_program(programs, record->pid, record->time);
	if (!program)
		return PTL_NO_MEMORY;
	for (size_t i = 0; status == 0 && i < from->count; i++)
		status = add_mapping(program, &from->maps[i]);
	return status;
}

static void take_exit(const struct kernel_event_programs *programs, const struct record_sideband_record *record)
{
	struct process *process = record->pid == record->tid ? find_program_process(programs, record->pid) : NULL;

	if (process)
		process->ended = record->time;
}

static int take_map_record(struct kernel_event_programs *programs, const struct record_sideband_record *record)
{
	switch (record->kind) {
	case RECORD_SIDEBAND_EXEC:
		return begin_program(programs, record->pid, record->time) ? 0 : PTL_NO_MEMORY;
	case RECORD_SIDEBAND_MAP:
		return take_map(programs, record);
	case RECORD_SIDEBAND_FORK:
		return take_fork(programs, record);
	case RECORD_SIDEBAND_EXIT:
		take_exit(programs, record);
		return 0;
	default:
		return 0;
	}
}

/* Forgets processes that ended KEPT_TIME ago: their samples have been read. */
static void forget_ended(struct kernel_event_programs *programs, uint64_t now)
{
	uint64_t pid, value;
	size_t at = 0;

	if (now - programs->forgotten < FORGET_INTERVAL)
		return;
	programs->forgotten = now;
	while (common_hash_map_next(&programs->processes, &at, &pid, &value)) {
		struct process *process = (struct process *)(uintptr_t)value;

		if (!process->ended || now - process->ended < KEPT_TIME)
			continue;
		free_programs(process->now);
		free(process);
		/* The removal may move an entry behind the walk; the next call finds that entry. */
		common_hash_map_remove(&programs->processes, pid);
	}
}

int kernel_event_programs_take(struct kernel_event_programs *programs)
{
	const struct record_sideband_record *record;
	uint64_t now = programs->forgotten;
	int status = record_sideband_collect(programs->sideband);

	while (status == 0 && (record = record_sideband_next(programs->sideband, UINT64_MAX))) {
		now = record->time > now ? record->time : now;
		status = take_map_record(programs, record);
	}
	forget_ended(programs, now);
	return status;
}

const struct kernel_event_program *kernel_event_programs_find(const struct kernel_event_programs *programs,
							      uint32_t pid, uint64_t time)
{
	const struct process *process = find_program_process(programs, pid);
	const struct kernel_event_program *program = process ? process->now : NULL;

	while (program && program->since > time)
		program = program->before;
	return program;
}

/* ---- who runs already ------------------------------------------------------------------------ */

/* Adds a running process. A process that ends meanwhile, or that may not be inspected, is left out. */
static int add_running(void *context, uint32_t pid)
{
	struct kernel_event_programs *programs = context;
	struct kernel_event_program *program = NULL;
	struct record_map_entry entry;
	struct record_maps maps;
	int status = 0;

	record_maps_open(&maps, pid);
	while (status == 0 && record_maps_next(&maps, &entry)) {
		if (!entry.executable || !entry.inode)
			continue;
		if (!program)
			program = begin_program(programs, pid, 0);
		status = program ? add_mapping(program,
					       &(struct kernel_event_mapped){entry.base, entry.end - entry.base,
									     entry.file_offset, entry.inode,
									     entry.path})
				 : PTL_NO_MEMORY;
	}
	record_maps_close(&maps);
	return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

int kernel_event_programs_open(bool all, struct kernel_event_programs **result)
{
	const struct record_sideband_targets targets = {.threads = (const pid_t[]){-1}, .count = 1};
	struct kernel_event_programs *programs = calloc(1, sizeof(*programs));
	int status;

	if (!programs)
		return common_fail_memory("programs", sizeof(*programs));
	status = record_sideband_open(all ? &targets : NULL, &programs->sideband);
	if (status == 0 && all)
		status = record_proc_processes(add_running, programs);
	if (status < 0)
		kernel_event_programs_close(programs);
	else
		*result = programs;
	return status;
}

void kernel_event_programs_close(struct kernel_event_programs *programs)
{
	uint64_t pid, value;
	size_t at = 0;

	if (!programs)
		return;
	record_sideband_close(programs->sideband);
	while (common_hash_map_next(&programs->processes, &at, &pid, &value)) {
		free_programs(((struct process *)(uintptr_t)value)->now);
		free((struct process *)(uintptr_t)value);
	}
	common_hash_map_free(&programs->processes);
	free(programs);
}
