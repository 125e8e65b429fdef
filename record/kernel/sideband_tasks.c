/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes processes of the kernel's records. */
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/kernel/sideband_state.h"

#define STEPS_MAX 1024 /* of a process that are kept */

/* Layouts of perf_event_open(2). */
struct id_trailer {
	uint32_t pid, tid;
	uint64_t time;
};

struct task_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[];
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t base, size, file_offset;
	uint32_t major_number, minor_number;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
	char name[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

void record_task_free(struct record_task *task)
{
	for (size_t i = 0; i < task->past.step_count; i++)
		free(task->steps[i].name);
	free(task->steps);
	free(task);
}

uint64_t record_told_time(const void *data, size_t size)
{
	struct id_trailer trailer;

	if (size < sizeof(struct perf_event_header) + sizeof(trailer))
		return 0;
	memcpy(&trailer, (const uint8_t *)data + size - sizeof(trailer), sizeof(trailer));
	return trailer.time;
}

static struct record_task *find(const struct record_sideband *sideband, uint32_t pid)
{
	const uint64_t *value = common_hash_map_get(&sideband->tasks, pid);

	return value ? (struct record_task *)(uintptr_t)*value : NULL;
}

bool record_sideband_task_start(const struct record_sideband *sideband, uint32_t pid, uint64_t *start)
{
	const struct record_task *task = find(sideband, pid);

	/* One without a parent was first heard of when it did something else. */
	if (!task || !task->past.parent)
		return false;
	*start = task->past.start;
	return true;
}

bool record_told_is_start(const struct record_told *told, uint32_t pid)
{
	struct task_record record;

	if (told->size < sizeof(record))
		return false;
	memcpy(&record, told->data, sizeof(record));
	return record.header.type == PERF_RECORD_FORK && record.pid == pid && record.parent != pid;
}

static int add_step(struct record_task *task, const struct record_step *step, const char *name, size_t room)
{
	struct record_step *made;

	if (task->past.step_count == STEPS_MAX)
		return 0;
	if (COMMON_VECTOR_RESERVE(task->steps, task->capacity, task->past.step_count + 1, "the kernel's events"))
		return PTL_NO_MEMORY;
	made = &task->steps[task->past.step_count];
	*made = *step;
	made->name = strndup(name, room);
	if (!made->name)
		return common_fail_memory("the kernel's events", room);
	task->past.step_count++;
	task->past.steps = task->steps;
	return 0;
}

/* The step at which its last program began. */
static size_t last_exec(const struct record_task *task)
{
	size_t i = task->past.step_count;

	while (i && task->steps[i - 1].kind != RECORD_STEP_EXEC)
		i--;
	return i ? i - 1 : 0;
}

/* The child has its parent's last program, from its own start on. */
static int copy_steps(struct record_task *child, const struct record_task *parent)
{
	int status = 0;

	for (size_t i = last_exec(parent); status == 0 && i < parent->past.step_count; i++) {
		struct record_step step = parent->steps[i];

		step.time = child->past.start;
		status = add_step(child, &step, step.name, strlen(step.name));
	}
	child->past.inherited = child->past.step_count;
	return status;
}

static int put(struct record_sideband *sideband, uint32_t pid, uint32_t parent, uint64_t time,
	       struct record_task **result)
{
	struct record_task *task = calloc(1, sizeof(*task)), *before = find(sideband, pid);
	int status = task ? common_hash_map_put(&sideband->tasks, pid, (uint64_t)(uintptr_t)task)
			  : common_fail_memory("the kernel's events", sizeof(*task));

	if (status < 0) {
		free(task);
		return status;
	}
	/* Its end was lost. */
	if (before)
		record_task_free(before);
	task->past = (struct record_past){.pid = pid, .parent = parent, .start = time};
	task->threads = 1;
	*result = task;
	return 0;
}

/* One whose start was not told: the command itself, or one whose record was lost. */
static int find_or_put(struct record_sideband *sideband, uint32_t pid, uint64_t time, struct record_task **result)
{
	*result = find(sideband, pid);
	return *result ? 0 : put(sideband, pid, 0, time, result);
}

static int take_fork(struct record_sideband *sideband, const struct task_record *record, uint64_t time)
{
	struct record_task *task;
	int status;

	if (record->pid == record->parent) {
		status = find_or_put(sideband, record->pid, time, &task);
		if (status == 0)
			task->threads++;
		return status;
	}
	status = put(sideband, record->pid, record->parent, time, &task);
	if (status == 0 && find(sideband, record->parent))
		status = copy_steps(task, find(sideband, record->parent));
	return status;
}

static int take_exec(struct record_sideband *sideband, const struct comm_record *record, size_t size, uint64_t time)
{
	const struct record_step step = {.kind = RECORD_STEP_EXEC, .time = time};
	struct record_task *task;
	int status;

	if (!(record->header.misc & PERF_RECORD_MISC_COMM_EXEC))
		return 0;
	status = find_or_put(sideband, record->pid, time, &task);
	if (status < 0)
		return status;
	return add_step(task, &step, record->name, size - sizeof(*record));
}

static int take_map(struct record_sideband *sideband, const struct mmap2_record *record, size_t size, uint64_t time)
{
	const struct record_step step = {
		.kind = RECORD_STEP_MAP,
		.time = time,
		.base = record->base,
		.size = record->size,
		.file_offset = record->file_offset,
		.device = makedev(record->major_number, record->minor_number),
		.inode = record->inode,
		.protection = record->protection,
	};
	struct record_task *task;
	int status = find_or_put(sideband, record->pid, time, &task);

	return status < 0 ? status : add_step(task, &step, record->name, size - sizeof(*record));
}

static int take_exit(struct record_sideband *sideband, const struct task_record *record, uint64_t time,
		     int (*ended)(void *context, const struct record_past *past), void *context)
{
	struct record_task *task = find(sideband, record->pid);
	const struct record_task *parent;
	int status;

	if (!task || --task->threads)
		return 0;
	task->past.end = time;
	parent = find(sideband, task->past.parent);
	task->past.parent_is_same = parent && parent->past.step_count &&
				    parent->steps[last_exec(parent)].time <= task->past.start;
	if (!task->past.parent)
		task->past.parent = record->parent;
	common_hash_map_remove(&sideband->tasks, record->pid);
	status = ended(context, &task->past);
	record_task_free(task);
	return status;
}

int record_sideband_apply(struct record_sideband *sideband, const struct record_told *told,
			  int (*ended)(void *context, const struct record_past *past), void *context, uint64_t *lost)
{
	const struct perf_event_header *header = told->data;
	/* Without the ids and the time behind it. */
	const size_t size = told->size - sizeof(struct id_trailer);

	if (told->size < sizeof(*header) + sizeof(struct id_trailer))
		return 0;
	switch (header->type) {
	case PERF_RECORD_FORK:
		return size < sizeof(struct task_record) ? 0 : take_fork(sideband, told->data, told->time);
	case PERF_RECORD_EXIT:
		return size < sizeof(struct task_record) ? 0
							 : take_exit(sideband, told->data, told->time, ended, context);
	case PERF_RECORD_COMM:
		return size <= sizeof(struct comm_record) ? 0 : take_exec(sideband, told->data, size, told->time);
	case PERF_RECORD_MMAP2:
		return size <= sizeof(struct mmap2_record) ? 0 : take_map(sideband, told->data, size, told->time);
	case PERF_RECORD_LOST:
		if (size >= sizeof(struct lost_record))
			*lost += ((const struct lost_record *)told->data)->lost;
		return 0;
	default:
		return 0;
	}
}
