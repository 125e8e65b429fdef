/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks at followed processes in /proc. */
#include <unistd.h>

#include "common/vector.h"
#include "record/clock/clock.h"
#include "record/observe/observer_state.h"
#include "record/proc/proc_files.h"

#define MILLISECOND 1000000ull
/* Longest delay between looks at mappings; the delay grows after the start of a program. */
#define MAPS_LAST (1000 * MILLISECOND)
/* How long the kernel's report of an end may lag behind a look. */
#define END_PATIENCE (50 * MILLISECOND)

struct thread_look {
	struct record_observer *observer;
	struct record_observed *process;
	uint64_t now;
};

static int see_child(void *context, uint32_t pid)
{
	struct thread_look *look = context;
	const struct record_observed *known = record_observer_find(look->observer, pid);
	struct record_proc_stat stat;

	if (known)
		return 0;
	return record_proc_stat(pid, &stat) ? record_observer_add_child(look->observer, pid, &stat) : 0;
}

static int see_thread(void *context, uint32_t tid)
{
	struct thread_look *look = context;
	struct record_observed *process = look->process;
	const bool is_new = !common_hash_map_get(&process->threads, tid);
	struct record_fact start = record_observer_fact(process, RECORD_FACT_THREAD_START, process->looked);
	int status = common_hash_map_put(&process->threads, tid, look->now);

	start.tid = tid;
	start.rundown = process->found && !process->threads_reported;
	if (status == 0 && is_new)
		status = record_observer_send(look->observer, &start);
	if (status < 0 || process->attached)
		return status;
	return record_proc_children(process->pid, tid, see_child, look);
}

/* Ends a thread that the current look did not find. */
static int end_threads(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	uint64_t tid, seen;
	size_t at = 0;
	int status = 0;

	while (status == 0 && common_hash_map_next(&process->threads, &at, &tid, &seen)) {
		struct record_fact ending = record_observer_fact(process, RECORD_FACT_THREAD_END, now);

		if (seen == now)
			continue;
		ending.tid = (uint32_t)tid;
		status = record_observer_send(observer, &ending);
		common_hash_map_remove(&process->threads, tid);
		/* A removal may move other entries: later looks end further threads. */
		break;
	}
	return status;
}

static int look_at_program(struct record_observer *observer, struct record_observed *process,
			   const struct record_proc_stat *stat, uint64_t now)
{
	if (!stat->program)
		return 0;
	process->program_looked = now;
	if (stat->program == process->program)
		return 0;
	process->program = stat->program;
	process->map_count = 0;
	process->maps_looked = process->looked;
	record_observer_look_at_maps_soon(process, now);
	return record_observer_send_found_program(observer, process, process->looked);
}

/*
 * Handles a process that a look found dead. Waits shortly for the kernel's report with the exact time and the last
 * actions.
 */
static int found_dead(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	if (!process->dead_since)
		process->dead_since = now;
	if (process->reported && !observer->finishing && record_elapsed(process->dead_since, now) < END_PATIENCE)
		return 0;
	return record_observer_end(observer, process, now);
}

/* Looks for programs and threads that the kernel did not report. */
static int look_within(struct record_observer *observer, struct record_observed *process,
		       const struct record_proc_stat *stat, uint64_t now)
{
	struct thread_look look = {observer, process, now};
	int status = look_at_program(observer, process, stat, now);

	if (status == 0)
		status = record_proc_threads(process->pid, see_thread, &look);
	process->threads_reported = true;
	return status == 0 ? end_threads(observer, process, now) : status;
}

/* Looks at a process after lost reports. A pending report of an execve comes first. */
static int look_closely(struct record_observer *observer, struct record_observed *process,
			const struct record_proc_stat *stat, uint64_t now)
{
	bool program, mapping;
	const int status = record_observer_awaits(observer, process->pid, &program, &mapping);

	observer->looks_again |= program;
	return status < 0 || program ? status : look_within(observer, process, stat, now);
}

/* Looks at a process. The entry of a dead process is removed when its pid is free again. */
static int look_at_process(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	struct record_proc_stat stat;
	const bool exists = record_proc_stat(process->pid, &stat) && stat.start_ticks == process->start_ticks;
	int status = 0;

	if (exists && !process->ended && stat.state == 'Z' && record_observer_is_dead(process))
		status = record_model_exit_status(observer->capture->model, process->pid, stat.exit_status);
	/* The recorder waits for its own child: the child's end comes with the exit status. */
	if (status == 0 && !process->ours && (!exists || record_observer_is_dead(process)))
		status = found_dead(observer, process, now);
	if (status < 0 || process->ended || process->dead_since || !exists)
		return status;
	if (!process->reported)
		status = look_within(observer, process, &stat, now);
	else if (observer->looks_closely)
		status = look_closely(observer, process, &stat, now);
	if (status == 0 && now >= process->maps_due) {
		status = record_observer_look_at_maps(observer, process, now);
		process->maps_due = now + process->maps_wait;
		if (process->maps_wait < MAPS_LAST)
			process->maps_wait *= 2;
	}
	process->looked = now;
	return status;
}

/* Lists all pids in advance, because looks may add processes. */
static int list_pids(struct record_observer *observer, size_t *count)
{
	uint64_t pid, value;
	size_t at = 0;

	*count = 0;
	if (COMMON_VECTOR_RESERVE(observer->pids, observer->pid_capacity, observer->processes.used, "processes"))
		return PTL_NO_MEMORY;
	while (common_hash_map_next(&observer->processes, &at, &pid, &value))
		observer->pids[(*count)++] = (uint32_t)pid;
	return 0;
}

/* Forgets an ended process whose pid is free, because no kernel report can follow. */
static int forget_if_gone(struct record_observer *observer, struct record_observed *process, uint64_t now)
{
	struct record_proc_stat stat;

	if (!process->ended || (record_proc_stat(process->pid, &stat) && stat.start_ticks == process->start_ticks))
		return 0;
	return record_observer_forget(observer, process, now);
}

/* Sees children of the recorder, including orphans. */
static int see_own_thread(void *context, uint32_t tid)
{
	return record_proc_children((uint32_t)getpid(), tid, see_child, context);
}

int record_observer_look(struct record_observer *observer, uint64_t now)
{
	struct thread_look own = {observer, NULL, now};
	size_t count;
	int status = list_pids(observer, &count);

	observer->looking = now;
	for (size_t i = 0; status == 0 && i < count; i++) {
		struct record_observed *process = record_observer_find(observer, observer->pids[i]);

		if (!process)
			continue;
		status = look_at_process(observer, process, now);
		if (status == 0)
			status = forget_if_gone(observer, process, now);
	}
	if (status == 0 && observer->follows && (!observer->sideband || observer->looks_closely))
		status = record_proc_threads((uint32_t)getpid(), see_own_thread, &own);
	observer->looked = now;
	observer->looks_closely = observer->looks_again;
	observer->looks_again = false;
	return status;
}
