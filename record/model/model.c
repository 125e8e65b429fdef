/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of processes and threads: starts, ends, exit statuses, and the rundown at the end. */
#include "record/model/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"
#include "record/clock/clock.h"
#include "record/model/model_state.h"

#define NANOSECONDS 1000000000ull
/*
 * How long to wait for the exit status of a dead process, and how long to remember a dead process for its silent
 * children.
 */
#define STATUS_SECONDS 1
#define REMEMBER_SECONDS 10

int record_model_new(const struct record_sink *sink, struct record_model **model)
{
	*model = calloc(1, sizeof(**model));
	if (!*model)
		return common_fail_memory("process model", sizeof(**model));
	(*model)->sink = *sink;
	return 0;
}

static void free_thread(struct record_thread *thread)
{
	free(thread->leaving_for);
	common_bytes_free(&thread->leaving_with);
}

static void free_process(struct record_process *process)
{
	for (size_t i = 0; i < process->thread_count; i++)
		free_thread(&process->threads[i]);
	free(process->threads);
	record_log_free(&process->log);
	free(process->path);
	free(process->command_line);
	free(process->word);
	free(process);
}

void record_model_free(struct record_model *model)
{
	uint64_t number, value;
	size_t at = 0;

	if (!model)
		return;
	while (common_hash_map_next(&model->by_number, &at, &number, &value))
		free_process((struct record_process *)(uintptr_t)value);
	common_hash_map_free(&model->by_number);
	common_hash_map_free(&model->by_pid);
	common_bytes_free(&model->storage);
	free(model->stream_pairs);
	free(model);
}

struct record_process *record_find_process(const struct record_model *model, uint32_t number)
{
	const uint64_t *value = common_hash_map_get(&model->by_number, number);

	return value ? (struct record_process *)(uintptr_t)*value : NULL;
}

/* ---- threads --------------------------------------------------------------------------------- */

static struct record_thread *find_thread(const struct record_process *process, uint32_t tid)
{
	for (size_t i = 0; i < process->thread_count; i++)
		if (process->threads[i].tid == tid)
			return &process->threads[i];
	return NULL;
}

static int add_thread(struct record_model *model, struct record_process *process, uint32_t tid)
{
	if (find_thread(process, tid))
		return 0;
	if (COMMON_VECTOR_RESERVE(process->threads, process->thread_capacity, process->thread_count + 1, "threads"))
		return PTL_NO_MEMORY;
	process->threads[process->thread_count++] = (struct record_thread){.tid = tid};
	model->counts.threads++;
	return 0;
}

static int end_thread(struct record_model *model, struct record_process *process, struct record_thread *thread,
		      uint64_t time)
{
	const struct record_thread ended = *thread;

	free_thread(thread);
	*thread = process->threads[--process->thread_count];
	return record_emit_thread(model, process, PTL_OPCODE_END, ended.tid, ended.name, 0, time);
}

/* Ends all threads except for `survivor` (0: no exception). */
static int end_threads(struct record_model *model, struct record_process *process, uint32_t survivor, uint64_t time)
{
	int status = 0;

	for (size_t i = process->thread_count; status == 0 && i-- > 0;)
		if (process->threads[i].tid != survivor)
			status = end_thread(model, process, &process->threads[i], time);
	return status;
}

/* ---- starts and ends ------------------------------------------------------------------------- */

static int inherit(struct record_model *model, struct record_process *child, const struct record_process *parent,
		   const struct record_fact *fact)
{
	int status;

	free(child->path);
	free(child->command_line);
	free(child->word);
	child->path = strdup(parent->path);
	child->command_line = strdup(parent->command_line);
	child->word = strdup(parent->word);
	if (!child->path || !child->command_line || !child->word)
		return common_fail_memory("process", 0);
	status = record_start(model, child, 0);
	return status < 0 ? status : record_memory_inherit(model, child, parent, fact->start.parent_epoch);
}

/* Reports that the child's memory is unknown, because its parent is forgotten. */
static int lose_memory(struct record_model *model, const struct record_process *child)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_CODE,
		.stream = PTL_NO_ID,
		.pid = child->pid,
		.tid = PTL_NO_ID,
		.count = 1,
		.first_time = child->start_time,
		.last_time = child->start_time,
		.cause = "the process was first seen too long after its fork to know what it "
			 "inherited",
	};

	return model->sink.loss(model->sink.context, &loss);
}

static int forked(struct record_model *model, struct record_process *child, const struct record_fact *fact)
{
	const struct record_process *parent = record_find_process(model, fact->start.parent_process);
	int status;

	/* A faulty source may name a process as its own parent. */
	if (parent && parent != child)
		return inherit(model, child, parent, fact);
	status = record_start(model, child, 0);
	return status < 0 ? status : lose_memory(model, child);
}

static struct record_process *new_process(const struct record_fact *fact)
{
	struct record_process *process = calloc(1, sizeof(*process));

	if (!process)
		return NULL;
	process->number = fact->process;
	process->pid = fact->pid;
	process->parent_pid = fact->start.parent_pid;
	process->first_tid = fact->tid;
	process->start_time = process->last_time = fact->time;
	process->found = fact->rundown;
	process->path = strdup("");
	process->command_line = strdup("");
	process->word = strdup("");
	if (process->path && process->command_line && process->word)
		return process;
	free_process(process);
	return NULL;
}

static int process_starts(struct record_model *model, const struct record_fact *fact)
{
	struct record_process *process;
	int status;

	/* A known number means a faulty source: numbers are never reused. */
	if (record_find_process(model, fact->process))
		return 0;
	process = new_process(fact);
	if (!process)
		return common_fail_memory("process", sizeof(*process));
	status = common_hash_map_put(&model->by_number, process->number, (uint64_t)(uintptr_t)process);
	if (status < 0) {
		free_process(process);
		return status;
	}
	status = common_hash_map_put(&model->by_pid, process->pid, process->number);
	if (status == 0)
		status = record_take_stream_pair(model, process);
	if (status == 0)
		status = add_thread(model, process, process->first_tid);
	if (status < 0)
		return status;
	model->counts.processes++;
	model->counts.living++;
	/* The first program follows; a forked process has its parent's program. */
	return fact->start.forked ? forked(model, process, fact) : 0;
}

/* Reports the end of a dead process, after its exit status is known or given up. */
static int end_process(struct record_model *model, struct record_process *process)
{
	int status = record_start(model, process, 0);

	/* The wait status is unknown: the process's own announcement is the best answer. */
	if (!process->has_exit_status && (process->announced_exit || process->fatal_signal)) {
		process->has_exit_status = true;
		process->exit_status = process->announced_exit ? process->announced_status : process->fatal_signal;
	}
	if (status == 0)
		status = end_threads(model, process, 0, process->last_time);
	if (status == 0)
		status = record_emit_process(model, process, PTL_OPCODE_END, process->last_time);
	process->ended = true;
	model->stream_pairs[process->stream_pair].busy = false;
	model->counts.living--;
	return status;
}

static int set_exit_status(struct record_model *model, struct record_process *process, uint32_t wait_status)
{
	if (process->ended)
		return 0;
	if (!process->has_exit_status) {
		process->has_exit_status = true;
		process->exit_status = wait_status;
	}
	return process->gone ? end_process(model, process) : 0;
}

int record_model_exit_status(struct record_model *model, uint32_t pid, uint32_t wait_status)
{
	const uint64_t *number = common_hash_map_get(&model->by_pid, pid);
	struct record_process *process = number ? record_find_process(model, (uint32_t)*number) : NULL;

	return process ? set_exit_status(model, process, wait_status) : 0;
}

int record_model_exit_status_of(struct record_model *model, uint32_t number, uint32_t wait_status)
{
	struct record_process *process = record_find_process(model, number);

	return process ? set_exit_status(model, process, wait_status) : 0;
}

/* Reports a program that runs but is not followed, so that the process has the program's name. */
static int leave_process(struct record_model *model, struct record_process *process, const struct record_thread *thread)
{
	const struct record_change clear = {.kind = RECORD_CHANGE_CLEAR, .epoch = process->latest_epoch + 1};
	const struct record_program program = {thread->leaving_with.data, thread->leaving_with.size};
	int status = record_start(model, process, 0);

	if (status == 0)
		status = record_log_add(&process->log, &clear);
	if (status < 0)
		return status;
	process->latest_epoch++;
	/* behind the last packets, which need the old code */
	return record_exec(model, process, &program, 0, ++process->last_time);
}

/* Reports losses for the untraced programs of the process's threads. */
static int lose_leaving(struct record_model *model, struct record_process *process)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < process->thread_count; i++) {
		struct record_thread *thread = &process->threads[i];
		const struct ptl_loss loss = {
			.kind = PTL_LOSS_PROCESS,
			.stream = PTL_NO_ID,
			.pid = process->pid,
			.tid = thread->tid,
			.count = 1,
			.first_time = process->last_time,
			.cause = thread->leaving_for,
		};

		if (!thread->leaving)
			continue;
		thread->leaving = false;
		model->counts.not_followed++;
		status = leave_process(model, process, thread);
		if (status == 0)
			status = model->sink.loss(model->sink.context, &loss);
	}
	return status;
}

int record_model_gone(struct record_model *model, uint32_t number, uint64_t now, bool status_expected)
{
	struct record_process *process = record_find_process(model, number);
	int status;

	if (!process || process->gone)
		return 0;
	process->gone = true;
	process->gone_at = now;
	status = lose_leaving(model, process);
	if (status < 0 || (status_expected && !process->has_exit_status && !process->announced_exit))
		return status;
	return end_process(model, process);
}

int record_model_tick(struct record_model *model, uint64_t now)
{
	uint64_t number, value;
	size_t at = 0;
	int status = 0;

	model->now = now;
	while (status == 0 && common_hash_map_next(&model->by_number, &at, &number, &value)) {
		struct record_process *process = (struct record_process *)(uintptr_t)value;
		const uint64_t elapsed = record_elapsed(process->gone_at, now);

		if (!process->gone)
			continue;
		if (!process->ended && elapsed >= STATUS_SECONDS * NANOSECONDS)
			status = end_process(model, process);
		if (elapsed < REMEMBER_SECONDS * NANOSECONDS)
			continue;
		common_hash_map_remove(&model->by_number, number);
		free_process(process);
		/* A removal may move other entries: the next tick starts anew. */
		break;
	}
	return status;
}

static int rundown(struct record_model *model, struct record_process *process)
{
	struct record_log log = {0};
	int status = record_start(model, process, 0);
	uint64_t time;

	if (status == 0)
		status = lose_leaving(model, process);
	time = model->last_time;
	if (status == 0)
		status = record_emit_process(model, process, PTL_OPCODE_END_RUNDOWN, time);
	for (size_t i = 0; status == 0 && i < process->thread_count; i++)
		status = record_emit_thread(model, process, PTL_OPCODE_END_RUNDOWN, process->threads[i].tid,
					    process->threads[i].name, 0, time);
	if (status == 0)
		status = record_log_copy(&process->log, UINT64_MAX, &log);
	for (size_t i = 0; status == 0 && i < log.count; i++)
		if (log.changes[i].kind == RECORD_CHANGE_LOAD)
			status = record_emit_image_rundown(model, process, PTL_OPCODE_END_RUNDOWN, log.changes[i].image,
							   time);
	record_log_free(&log);
	return status;
}

int record_model_finish(struct record_model *model)
{
	uint64_t number, value;
	size_t at = 0;
	int status = 0;

	while (status == 0 && common_hash_map_next(&model->by_number, &at, &number, &value)) {
		struct record_process *process = (struct record_process *)(uintptr_t)value;

		if (process->gone && !process->ended)
			status = end_process(model, process);
		else if (!process->gone)
			status = rundown(model, process);
	}
	return status;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static int execs(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	const struct record_change clear = {.kind = RECORD_CHANGE_CLEAR, .epoch = fact->epoch};
	struct record_thread *thread;
	int status = record_log_add(&process->log, &clear);

	if (status == 0 && fact->epoch > process->latest_epoch)
		process->latest_epoch = fact->epoch;
	if (status == 0 && process->started)
		status = end_threads(model, process, fact->tid, fact->time);
	thread = find_thread(process, fact->tid);
	/* The kernel names the thread after the program. */
	if (thread)
		thread->name[0] = 0;
	/* A thread that executes a program takes the id of the first thread. */
	if (status == 0 && process->started && !thread) {
		status = add_thread(model, process, fact->tid);
		if (status == 0)
			status = record_emit_thread(model, process, PTL_OPCODE_START, fact->tid, "",
						    fact->exec.start_address, fact->time);
	}
	return status < 0 ? status
			  : record_exec(model, process, &fact->exec.program, fact->exec.start_address, fact->time);
}

static int thread_starts(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	const struct record_thread *parent;
	struct record_thread *thread;
	int status;

	if (find_thread(process, fact->tid))
		return 0;
	status = add_thread(model, process, fact->tid);
	if (status < 0)
		return status;
	thread = find_thread(process, fact->tid);
	parent = find_thread(process, fact->parent_tid);
	if (parent)
		memcpy(thread->name, parent->name, sizeof(thread->name));
	return record_emit_thread(model, process, fact->rundown ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_START,
				  fact->tid, thread->name, 0, fact->time);
}

/* Reports the name as a rundown, which repeats a known thread. An unknown thread starts with the name. */
static int thread_is_named(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct record_thread *thread = find_thread(process, fact->tid);
	uint8_t opcode = PTL_OPCODE_START_RUNDOWN;
	int status = 0;

	if (!thread) {
		opcode = PTL_OPCODE_START;
		status = add_thread(model, process, fact->tid);
		thread = find_thread(process, fact->tid);
	}
	if (status < 0)
		return status;
	snprintf(thread->name, sizeof(thread->name), "%s", fact->name);
	return record_emit_thread(model, process, opcode, thread->tid, thread->name, 0, fact->time);
}

static int thread_ends(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct record_thread *thread = find_thread(process, fact->tid);

	return thread ? end_thread(model, process, thread, fact->time) : 0;
}

/* Keeps the cause until the result of the execve is known. */
static int leaves(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct record_thread *thread = find_thread(process, fact->tid);
	const struct record_program *program = &fact->leave.program;
	const char *path = program->strings;

	(void)model;
	if (!thread)
		return 0;
	free_thread(thread);
	thread->leaving_for = NULL;
	thread->leaving_with = (struct ptl_bytes){0};
	common_write_bytes(&thread->leaving_with, path, program->size);
	if (thread->leaving_with.failed || asprintf(&thread->leaving_for, "%.*s ran untraced: %s",
						    (int)strnlen(path, program->size), path, fact->leave.cause) < 0) {
		thread->leaving_for = NULL;
		return common_fail_memory("cause", 0);
	}
	thread->leaving = true;
	return 0;
}

static int stays(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct record_thread *thread = find_thread(process, fact->tid);

	(void)model;
	if (thread)
		thread->leaving = false;
	return 0;
}

static int exits(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	(void)model;
	/* Keeps the first announcement. A signal may still kill the process: then the wait status differs. */
	if (!process->announced_exit) {
		process->announced_exit = true;
		process->announced_status = fact->exit.wait_status;
	}
	return 0;
}

/* Reports the thread. The exit status follows by a wait status, which also tells of a core dump. */
static int takes_signal(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	if (!process->fatal_signal)
		process->fatal_signal = fact->signal.signal & 0x7f;
	return record_emit_signal(model, process, fact);
}

static int child_status(struct record_model *model, struct record_process *process, const struct record_fact *fact)
{
	struct record_process *child = fact->exit.process ? record_find_process(model, fact->exit.process) : NULL;

	(void)process;
	if (fact->exit.process)
		return child ? set_exit_status(model, child, fact->exit.wait_status) : 0;
	return record_model_exit_status(model, fact->exit.pid, fact->exit.wait_status);
}

/* Handlers of a living process's facts, indexed by kind. */
static int (*const handlers[])(struct record_model *model, struct record_process *process,
			       const struct record_fact *fact) = {
	[RECORD_FACT_EXEC] = execs,
	[RECORD_FACT_EXIT] = exits,
	[RECORD_FACT_SIGNAL] = takes_signal,
	[RECORD_FACT_CHILD_STATUS] = child_status,
	[RECORD_FACT_THREAD_START] = thread_starts,
	[RECORD_FACT_THREAD_END] = thread_ends,
	[RECORD_FACT_THREAD_NAME] = thread_is_named,
	[RECORD_FACT_IMAGE_MAP] = record_memory_fact,
	[RECORD_FACT_IMAGE_UNMAP] = record_memory_fact,
	[RECORD_FACT_IMAGE_PROTECT] = record_memory_fact,
	[RECORD_FACT_CODE] = record_memory_fact,
	[RECORD_FACT_LEAVE] = leaves,
	[RECORD_FACT_STAY] = stays,
};

int record_model_fact(struct record_model *model, const struct record_fact *fact, uint64_t now)
{
	struct record_process *process;
	int status = 0;

	model->now = now;
	if (fact->kind == RECORD_FACT_PROCESS_START)
		return process_starts(model, fact);
	process = record_find_process(model, fact->process);
	if (!process || process->ended)
		return 0;
	if (fact->time > process->last_time)
		process->last_time = fact->time;
	if (fact->kind == RECORD_FACT_ALIVE)
		return 0;
	/* Reports the start first, if its program is not known yet. */
	if (fact->kind != RECORD_FACT_EXEC)
		status = record_start(model, process, 0);
	return status < 0 ? status : handlers[fact->kind](model, process, fact);
}

void record_model_reach(struct record_model *model, uint64_t time)
{
	if (time > model->last_time)
		model->last_time = time;
}

bool record_model_program_of(const struct record_model *model, uint32_t pid, struct record_program_name *name)
{
	const uint64_t *number = common_hash_map_get(&model->by_pid, pid);
	const struct record_process *process = number ? record_find_process(model, (uint32_t)*number) : NULL;

	if (process)
		*name = (struct record_program_name){process->path, process->word};
	return process;
}

bool record_model_has(const struct record_model *model, uint32_t pid)
{
	const uint64_t *number = common_hash_map_get(&model->by_pid, pid);
	const struct record_process *process = number ? record_find_process(model, (uint32_t)*number) : NULL;

	return process && !process->gone && !process->ended;
}

void record_model_counts(const struct record_model *model, struct record_model_counts *counts)
{
	*counts = model->counts;
}

uint64_t record_model_last_time(const struct record_model *model)
{
	return model->last_time;
}

const char *record_model_program(const struct record_model *model, uint32_t number)
{
	const struct record_process *process = record_find_process(model, number);

	return process ? process->path : "";
}
