/* SPDX-License-Identifier: BSD-2-Clause */
/* Follows a tree of processes by looks at /proc. */
#include "record/observe/observer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "record/capture/machine.h"
#include "record/observe/observer_state.h"
#include "record/proc/proc_files.h"

#define MILLISECOND 1000000ull
/* Interval of looks: at least this long, and so long that looks use at most a fiftieth of the time. */
#define INTERVAL_MIN (2 * MILLISECOND)
#define INTERVAL_SHARE 50
/* Interval if the kernel reports everything but unmapping. */
#define INTERVAL_REPORTED (20 * MILLISECOND)
/* Delay of the first look at mappings after the start of a program. */
#define MAPS_FIRST (4 * MILLISECOND)
#define ANCESTORS_MAX 256
#define NAME_SIZE 64 /* bytes for a name of kernel threads */

int record_observer_new(struct record_capture *capture, uint32_t first_number, struct record_observer **observer)
{
	struct record_observer *made = calloc(1, sizeof(*made));

	if (!made)
		return common_fail_memory("observer", sizeof(*made));
	made->capture = capture;
	made->next_number = first_number;
	made->looked = made->looking = record_now();
	*observer = made;
	return 0;
}

void record_observer_take_code(struct record_observer *observer)
{
	observer->reads_code = true;
}

static void free_process(struct record_observed *process)
{
	if (process->pidfd >= 0)
		close(process->pidfd);
	common_hash_map_free(&process->threads);
	common_hash_map_free(&process->code_pages);
	common_bytes_free(&process->executed.strings);
	free(process->maps);
	free(process);
}

struct record_observed *record_observer_find(const struct record_observer *observer, uint32_t pid)
{
	const uint64_t *value = common_hash_map_get(&observer->processes, pid);

	return value ? (struct record_observed *)(uintptr_t)*value : NULL;
}

void record_observer_free(struct record_observer *observer)
{
	uint64_t pid, value;
	size_t at = 0;

	if (!observer)
		return;
	while (common_hash_map_next(&observer->processes, &at, &pid, &value))
		free_process((struct record_observed *)(uintptr_t)value);
	for (at = 0; common_hash_map_next(&observer->pidfds, &at, &pid, &value);)
		close((int)value);
	common_hash_map_free(&observer->pidfds);
	common_hash_map_free(&observer->processes);
	common_hash_map_free(&observer->reported);
	record_sideband_close(observer->sideband);
	free(observer->pids);
	free(observer);
}

/* ---- facts ----------------------------------------------------------------------------------- */

/* Returns a fact about the process, or about its first thread. */
struct record_fact record_observer_fact(const struct record_observed *process, enum record_fact_kind kind,
					uint64_t time)
{
	return (struct record_fact){
		.kind = kind,
		.process = process->number,
		.pid = process->pid,
		.tid = process->pid,
		.time = time,
	};
}

int record_observer_send(const struct record_observer *observer, const struct record_fact *fact)
{
	return record_model_fact(observer->capture->model, fact, record_now());
}

int record_observer_send_start(struct record_observer *observer, const struct record_observed *process,
			       const struct record_observed *forked_from, uint32_t parent, uint64_t time)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_PROCESS_START, time);

	fact.rundown = process->found;
	fact.start.forked = forked_from != NULL;
	fact.start.parent_pid = parent;
	fact.start.parent_process = forked_from ? forked_from->number : 0;
	fact.start.parent_epoch = forked_from ? forked_from->epoch : 0;
	return record_observer_send(observer, &fact);
}

/* Reports the program of a process, described by these strings. */
int record_observer_send_program(struct record_observer *observer, struct record_observed *process,
				 const struct ptl_bytes *strings, uint64_t time)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_EXEC, time);
	int status;

	fact.epoch = ++process->epoch;
	fact.exec.program = (struct record_program){strings->data, strings->size};
	status = record_observer_send(observer, &fact);
	return status < 0 ? status : record_image_store_began(observer->capture->images, process->pid);
}

/* Checks for an argument behind path, script and working directory. */
static bool has_arguments(const struct ptl_bytes *strings)
{
	size_t at = 0;

	for (unsigned i = 0; i < 3 && at < strings->size; i++)
		at += strnlen((const char *)strings->data + at, strings->size - at) + 1;
	return at < strings->size;
}

/*
 * Names a process without a readable path. A kernel thread has a name in brackets, as ps(1) prints the name. An ending process
 * has lost path and arguments, and keeps the name.
 */
static void name_by_comm(uint32_t pid, struct ptl_bytes *strings)
{
	char name[NAME_SIZE], brackets[NAME_SIZE + 2];
	struct record_proc_stat stat;

	if (!record_proc_name(pid, name, sizeof(name)) || !record_proc_stat(pid, &stat))
		return;
	snprintf(brackets, sizeof(brackets), "[%s]", name);
	strings->size = 0;
	if (stat.kernel_thread)
		record_proc_name_strings(strings, brackets, "");
	else
		record_proc_name_strings(strings, name, name);
}

/* Reports the program of a process as shown by /proc. */
int record_observer_send_found_program(struct record_observer *observer, struct record_observed *process, uint64_t time)
{
	struct ptl_bytes strings = {0};
	int status;

	if (!record_proc_strings(process->pid, &strings) && !has_arguments(&strings))
		name_by_comm(process->pid, &strings);
	status = strings.failed ? common_fail_memory("command line", strings.size)
				: record_observer_send_program(observer, process, &strings, time);
	common_bytes_free(&strings);
	return status;
}

/* ---- starts ---------------------------------------------------------------------------------- */

void record_observer_look_at_maps_soon(struct record_observed *process, uint64_t now)
{
	process->maps_due = now;
	process->maps_wait = MAPS_FIRST;
}

int record_observer_add(struct record_observer *observer, uint32_t pid, const struct record_proc_stat *stat,
			struct record_observed **result)
{
	struct record_observed *process = calloc(1, sizeof(*process));
	int status;

	if (!process)
		return common_fail_memory("process", sizeof(*process));
	process->pid = pid;
	process->number = observer->next_number++;
	process->start_ticks = stat->start_ticks;
	process->program = stat->program;
	process->program_looked = observer->looking;
	record_observer_look_at_maps_soon(process, observer->looking);
	process->pidfd = record_observer_pidfd(observer, pid);
	status = common_hash_map_put(&process->threads, pid, 0);
	if (status == 0)
		status = common_hash_map_put(&observer->processes, pid, (uint64_t)(uintptr_t)process);
	if (status < 0)
		free_process(process);
	else
		*result = process;
	return status;
}

int record_observer_command(struct record_observer *observer, uint32_t pid, uint64_t time,
			    const struct record_command *command)
{
	struct record_proc_stat stat = {0};
	struct record_observed *process;
	struct ptl_bytes strings = {0};
	char folder[4096];
	int status;

	/* A child of the recorder exists, at least as a zombie, until the recorder waits for the child. */
	(void)record_proc_stat(pid, &stat);
	observer->follows = true;
	status = record_observer_add(observer, pid, &stat, &process);
	if (status < 0)
		return status;
	process->ours = true;
	process->reported = observer->sideband != NULL;
	process->looked = process->maps_looked = time;
	record_observer_look_at_maps_soon(process, time);
	common_write_bytes(&strings, command->program, strlen(command->program) + 1);
	common_write_bytes(&strings, "", 1);
	if (!getcwd(folder, sizeof(folder)))
		folder[0] = 0;
	common_write_bytes(&strings, folder, strlen(folder) + 1);
	common_write_bytes(&strings, command->words.data, command->words.size);
	status = strings.failed ? common_fail_memory("command line", strings.size)
				: record_observer_send_start(observer, process, NULL, (uint32_t)getpid(), time);
	if (status == 0)
		status = record_observer_send_program(observer, process, &strings, time);
	common_bytes_free(&strings);
	return status;
}

/* Adds the child of a followed process, or of a process that ended unseen. */
int record_observer_add_child(struct record_observer *observer, uint32_t pid, const struct record_proc_stat *stat)
{
	struct record_observed *parent = record_observer_find(observer, stat->parent), *process;
	uint64_t time = record_proc_start_time(stat->start_ticks);
	bool same_program;
	int status;

	if (record_observer_was_reported(observer, pid, time))
		return 0;
	if (parent && parent->ended)
		parent = NULL;
	if (time < (parent ? parent->looked : observer->looked))
		time = parent ? parent->looked : observer->looked;
	status = record_observer_add(observer, pid, stat, &process);
	if (status < 0)
		return status;
	/* A child before its execve runs the parent's program. */
	same_program = parent && stat->program && stat->program == parent->program;
	process->looked = process->maps_looked = time;
	record_observer_look_at_maps_soon(process, time);
	status = record_observer_send_start(observer, process, same_program ? parent : NULL, stat->parent, time);
	if (status == 0 && same_program)
		return record_observer_inherit(process, parent);
	return status == 0 ? record_observer_send_found_program(observer, process, time) : status;
}

/* Checks whether the recorder, or a followed process, is an ancestor. */
static bool is_descendant(const struct record_observer *observer, const struct record_proc_stat *child)
{
	struct record_proc_stat stat = *child;

	for (unsigned i = 0; observer->follows && i < ANCESTORS_MAX && stat.parent > 1; i++) {
		const struct record_observed *parent = record_observer_find(observer, stat.parent);

		if (stat.parent == (uint32_t)getpid() || (parent && !parent->attached))
			return true;
		if (!record_proc_stat(stat.parent, &stat))
			return false;
	}
	return false;
}

int record_observer_writer(struct record_observer *observer, uint32_t pid, uint64_t since, uint64_t now, bool *gone)
{
	const uint64_t start = record_observer_start_before(observer, since);
	struct record_observed *process;
	struct record_proc_stat stat;
	int status = record_observer_take_reports(observer, record_now());

	*gone = false;
	process = record_observer_find(observer, pid);
	if (status < 0)
		return status;
	*gone = !record_proc_stat(pid, &stat);
	if (*gone)
		return 0;
	if (process && process->start_ticks == stat.start_ticks) {
		record_observer_look_at_maps_soon(process, now);
		return process->ended ? 0 : record_observer_look_at_maps(observer, process, now);
	}
	/* Another source of the capture may have reported the process. */
	if (process || record_model_has(observer->capture->model, pid))
		return 0;
	if (is_descendant(observer, &stat)) {
		status = record_observer_add_child(observer, pid, &stat);
		process = record_observer_find(observer, pid);
		return status == 0 && process ? record_observer_look_at_maps(observer, process, now) : status;
	}
	status = record_observer_add(observer, pid, &stat, &process);
	if (status < 0)
		return status;
	process->found = true;
	process->attached = true;
	process->looked = process->maps_looked = start;
	record_observer_look_at_maps_soon(process, now);
	status = record_observer_send_start(observer, process, NULL, stat.parent, start);
	if (status == 0)
		status = record_observer_send_found_program(observer, process, start);
	if (status == 0)
		status = record_observer_look_at_maps(observer, process, now);
	return status;
}

int record_observer_running(struct record_observer *observer, uint32_t pid, uint64_t now)
{
	struct record_observed *process;
	bool gone;
	int status = record_observer_writer(observer, pid, UINT64_MAX, now, &gone);

	process = record_observer_find(observer, pid);
	if (status < 0 || !process || !observer->sideband || process->reported)
		return status;
	/* One close look finds the threads. Afterwards the kernel reports the process. */
	process->reported = true;
	process->has_code = true;
	observer->looks_closely = true;
	return 0;
}

/* ---- ends ------------------------------------------------------------------------------------ */

bool record_observer_is_dead(const struct record_observed *process)
{
	return record_proc_has_ended(process->pidfd);
}

int record_observer_end(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	const struct record_fact last = record_observer_fact(process, RECORD_FACT_ALIVE,
							     process->dead_since ? process->dead_since : now);
	uint32_t wait_status;
	int status;

	if (process->ended)
		return 0;
	status = record_observer_complete_program(observer, process);
	if (status < 0)
		return status;
	process->ended = true;
	status = record_image_store_ended(observer->capture->images, process->pid);
	if (status < 0)
		return status;
	/* Raises the last time of the process to the time of death. */
	status = record_observer_send(observer, &last);
	if (status == 0 && record_proc_wait_status(process->pidfd, process->pid, &wait_status))
		status = record_model_exit_status(observer->capture->model, process->pid, wait_status);
	/* No exit status is available for a process without a pidfd and without reports. */
	return status < 0 ? status
			  : record_model_gone(observer->capture->model, process->number, record_now(),
					      process->pidfd >= 0 || process->reported);
}

int record_observer_exited(struct record_observer *observer, uint32_t pid, uint32_t wait_status, uint64_t now)
{
	struct record_observed *process;
	int status = record_model_exit_status(observer->capture->model, pid, wait_status);

	/* Handles pending reports first: the kernel may have reported more of the process or its children. */
	if (status == 0)
		status = record_observer_take_reports(observer, record_now());
	process = record_observer_find(observer, pid);
	return process && status == 0 ? record_observer_end(observer, process, now) : status;
}

int record_observer_forget(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	int status = record_observer_end(observer, process, now);

	if (status == 0)
		status = common_hash_map_put(&observer->reported, process->pid, now);
	common_hash_map_remove(&observer->processes, process->pid);
	free_process(process);
	return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Returns the CPU time of looks, which is independent of the machine's load. */
static uint64_t cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Checks whether a process is known only through looks. */
static bool has_unreported(const struct record_observer *observer)
{
	uint64_t pid, value;
	size_t at = 0;

	while (common_hash_map_next(&observer->processes, &at, &pid, &value)) {
		const struct record_observed *process = (const struct record_observed *)(uintptr_t)value;

		if (!process->reported && !process->ended)
			return true;
	}
	return observer->looks_closely;
}

int record_observer_step(struct record_observer *observer, uint64_t now)
{
	uint64_t before, taken, least;
	int status = record_observer_take_reports(observer, now - RECORD_SIDEBAND_DELAY);

	if (status < 0 || now < observer->due)
		return status;
	before = cpu_time();
	/* Handles reports first, so that the look finds only unreported changes. */
	status = record_observer_take_reports(observer, record_now());
	if (status == 0)
		status = record_observer_look(observer, now);
	taken = (cpu_time() - before) * INTERVAL_SHARE;
	least = has_unreported(observer) ? INTERVAL_MIN : INTERVAL_REPORTED;
	observer->due = now + (taken > least ? taken : least);
	return status;
}

uint64_t record_observer_due(const struct record_observer *observer)
{
	const uint64_t report = observer->sideband ? record_sideband_due(observer->sideband) : UINT64_MAX;

	return report < observer->due - RECORD_SIDEBAND_DELAY ? report + RECORD_SIDEBAND_DELAY : observer->due;
}

int record_observer_finish(struct record_observer *observer, uint64_t now)
{
	uint64_t pid, value;
	size_t at = 0;
	int status;

	while (common_hash_map_next(&observer->processes, &at, &pid, &value))
		((struct record_observed *)(uintptr_t)value)->maps_due = 0;
	record_model_reach(observer->capture->model, now);
	status = observer->sideband ? record_sideband_collect_losses(observer->sideband) : 0;
	if (status == 0)
		status = record_observer_take_reports(observer, UINT64_MAX);
	observer->finishing = true;
	if (status == 0)
		status = record_observer_look(observer, now);
	if (status == 0)
		status = record_observer_lose_code(observer);
	return status < 0 ? status : record_observer_lose_reports(observer);
}
