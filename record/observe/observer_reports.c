/* SPDX-License-Identifier: BSD-2-Clause */
/* Turns kernel reports about the command and its descendants into facts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/observe/observer_state.h"
#include "record/proc/proc_files.h"

int record_observer_listen(struct record_observer *observer, const struct record_sideband_targets *targets)
{
	return record_sideband_open(targets, &observer->sideband);
}

int record_observer_listen_to(struct record_observer *observer, const pid_t *threads, size_t count)
{
	if (!observer->sideband)
		return 0;
	record_sideband_drop_ended(observer->sideband);
	return record_sideband_add(observer->sideband, threads, count);
}

bool record_observer_has(struct record_observer *observer, uint32_t pid)
{
	const struct record_observed *process = record_observer_find(observer, pid);

	return process && !process->ended && !record_observer_is_dead(process);
}

int record_observer_descriptors(const struct record_observer *observer, int (*add)(void *context, int fd),
				void *context)
{
	return observer->sideband ? record_sideband_descriptors(observer->sideband, add, context) : 0;
}

static int add_descriptor(void *context, int fd)
{
	return record_wait_descriptor(context, fd);
}

static int see_running(void *context, uint32_t pid)
{
	return record_observer_running(context, pid, record_now());
}

int record_observer_everyone(struct record_observer *observer, struct record_wait *wait)
{
	pid_t everyone = -1;
	const struct record_sideband_targets targets = {&everyone, 1};
	int status;

	if (observer->sideband)
		return 0;
	status = record_observer_listen(observer, &targets);
	if (status == 0)
		status = record_observer_descriptors(observer, add_descriptor, wait);
	else if (status == PTL_SYSTEM)
		common_message_note(
			"processes that start from now on have no names: the kernel does not report them (%s)",
			ptl_error_text());
	if (status < 0 && status != PTL_SYSTEM)
		return status;
	return record_proc_processes(see_running, observer);
}

/* ---- programs -------------------------------------------------------------------------------- */

/* Checks whether a pending report tells of an execve after `time`. */
static bool executes_after(struct record_observer *observer, uint32_t pid, uint64_t time)
{
	const struct record_sideband_record *record;

	for (size_t i = 0; (record = record_sideband_waiting(observer->sideband, i)); i++)
		if (record->kind == RECORD_SIDEBAND_EXEC && record->pid == pid && record->time > time)
			return true;
	return false;
}

int record_observer_awaits(struct record_observer *observer, uint32_t pid, bool *program, bool *mapping)
{
	const struct record_sideband_record *record;
	const int status = observer->sideband ? record_sideband_collect(observer->sideband) : 0;

	*program = *mapping = false;
	for (size_t i = 0; observer->sideband && (record = record_sideband_waiting(observer->sideband, i)); i++) {
		*program |= record->kind == RECORD_SIDEBAND_EXEC && record->pid == pid;
		*mapping |= (record->kind == RECORD_SIDEBAND_MAP && record->pid == pid) ||
			    (record->kind == RECORD_SIDEBAND_FORK && record->parent_pid == pid);
	}
	return status;
}

/*
 * Reads the strings of a program started at `time` from /proc. Leaves the strings empty if the process is gone, has
 * executed another program, or has no arguments yet.
 */
static int read_strings(struct record_observer *observer, uint32_t pid, uint64_t time, struct ptl_bytes *strings)
{
	bool whole;
	int status;

	if (executes_after(observer, pid, time))
		return 0;
	whole = record_proc_strings(pid, strings);
	status = strings->failed ? common_fail_memory("command line", strings->size)
				 : record_sideband_collect(observer->sideband);
	if (status < 0 || !whole || executes_after(observer, pid, time))
		common_bytes_free(strings);
	return status;
}

static int note_program(struct record_observer *observer, const struct record_sideband_record *record, size_t at)
{
	struct ptl_bytes strings = {0};
	int status = record->note.size ? 0 : read_strings(observer, record->pid, record->time, &strings);

	/* Collecting reports may have moved the record. */
	if (strings.size)
		record_sideband_waiting(observer->sideband, at)->note = strings;
	return status;
}

/* Opens a pidfd: the kernel keeps the exit status of an ended process for owners of a pidfd. */
static int note_process(struct record_observer *observer, const struct record_sideband_record *record)
{
	int fd;

	if (record->parent_pid == record->pid || common_hash_map_get(&observer->pidfds, record->pid))
		return 0;
	fd = (int)syscall(SYS_pidfd_open, record->pid, 0);
	return fd < 0 ? 0 : common_hash_map_put(&observer->pidfds, record->pid, (uint64_t)fd);
}

/* Saves facts that may be gone when their reports are handled. */
static int note_all(struct record_observer *observer)
{
	struct record_sideband_record *record;
	int status = 0;

	for (size_t i = 0; status == 0 && (record = record_sideband_waiting(observer->sideband, i)); i++)
		if (record->kind == RECORD_SIDEBAND_FORK)
			status = note_process(observer, record);
		else if (record->kind == RECORD_SIDEBAND_EXEC)
			status = note_program(observer, record, i);
	return status;
}

int record_observer_pidfd(struct record_observer *observer, uint32_t pid)
{
	const uint64_t *noted = common_hash_map_get(&observer->pidfds, pid);
	const int fd = noted ? (int)*noted : (int)syscall(SYS_pidfd_open, pid, 0);

	if (noted)
		common_hash_map_remove(&observer->pidfds, pid);
	return fd;
}

/* Sends the known facts of a program: the path, no script, no folder, and the name as the only argument. */
static int send_name(struct record_observer *observer, struct record_observed *process, const char *path,
		     const char *name, uint64_t time)
{
	struct ptl_bytes strings = {0};
	int status;

	record_proc_name_strings(&strings, path, name);
	status = strings.failed ? common_fail_memory("command line", strings.size)
				: record_observer_send_program(observer, process, &strings, time);
	common_bytes_free(&strings);
	return status;
}

static int send_thread_name(struct record_observer *observer, struct record_observed *process, uint32_t tid,
			    const char *name, uint64_t time)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_THREAD_NAME, time);

	fact.tid = tid;
	snprintf(fact.name, sizeof(fact.name), "%s", name);
	process->named = true;
	return record_observer_send(observer, &fact);
}

/*
 * Sends the program of the last reported execve when the next report of the process arrives. map: that report, if about
 * a mapping: the first mapped file is the program's own file.
 */
static int complete_with(struct record_observer *observer, struct record_observed *process,
			 const struct record_sideband_record *map)
{
	struct record_executed *executed = &process->executed;
	int status = 0;

	if (!executed->pending)
		return 0;
	executed->pending = false;
	if (!executed->strings.size)
		status = read_strings(observer, process->pid, executed->time, &executed->strings);
	if (status == 0 && executed->strings.size)
		status = record_observer_send_program(observer, process, &executed->strings, executed->time);
	else if (status == 0)
		status = send_name(observer, process, map && map->inode ? map->name : executed->name, executed->name,
				   executed->time);
	common_bytes_free(&executed->strings);
	/* exec resets the thread's name: reports the new name. */
	if (status == 0 && process->named)
		status = send_thread_name(observer, process, process->pid, executed->name, executed->time);
	process->named = false;
	return status;
}

int record_observer_complete_program(struct record_observer *observer, struct record_observed *process)
{
	return complete_with(observer, process, NULL);
}

/* ---- starts ---------------------------------------------------------------------------------- */

static int start_process(struct record_observer *observer, const struct record_sideband_record *record,
			 struct record_observed **result)
{
	struct record_observed *parent = record_observer_find(observer, record->parent_pid);
	struct record_proc_stat stat = {0};
	int status;

	if (parent && parent->ended)
		parent = NULL;
	/* The process may be gone. */
	(void)record_proc_stat(record->pid, &stat);
	status = record_observer_add(observer, record->pid, &stat, result);
	if (status < 0)
		return status;
	(*result)->reported = true;
	(*result)->looked = (*result)->maps_looked = record->time;
	(*result)->has_code = true;
	status = record_observer_send_start(observer, *result, parent, record->parent_pid, record->time);
	if (status < 0)
		return status;
	return parent ? record_observer_inherit(*result, parent) : send_name(observer, *result, "", "", record->time);
}

/* Returns the process of a report; NULL if unknown, because its start was lost or it is no descendant. */
static struct record_observed *reported(const struct record_observer *observer, uint32_t pid)
{
	struct record_observed *process = record_observer_find(observer, pid);

	return process && !process->ended ? process : NULL;
}

static int take_thread(struct record_observer *observer, struct record_observed *process,
		       const struct record_sideband_record *record)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_THREAD_START, record->time);
	int status = common_hash_map_put(&process->threads, record->tid, record->time);

	fact.tid = record->tid;
	fact.parent_tid = record->parent_tid;
	return status < 0 ? status : record_observer_send(observer, &fact);
}

static int take_fork(struct record_observer *observer, const struct record_sideband_record *record)
{
	struct record_observed *process = record_observer_find(observer, record->pid);
	int status = 0;

	if (record->parent_pid == record->pid)
		return process && !process->ended ? take_thread(observer, process, record) : 0;
	/* A look has added the process before the report. */
	if (process && !process->ended && !process->reported && !process->attached) {
		process->reported = true;
		return 0;
	}
	/* The pid was reused. */
	if (process)
		status = record_observer_forget(observer, process, record->time);
	return status < 0 ? status : start_process(observer, record, &process);
}

/* ---- what a process does --------------------------------------------------------------------- */

static int take_exec(struct record_observer *observer, const struct record_sideband_record *record)
{
	struct record_observed *process = record_observer_find(observer, record->pid);
	struct record_executed *executed;
	int status = 0;

	/* The report of the start was lost. */
	if (!process || process->ended) {
		if (process)
			status = record_observer_forget(observer, process, record->time);
		if (status == 0)
			status = start_process(observer, record, &process);
		if (status < 0)
			return status;
	}
	/* The command line tells the command's first program. */
	if (process->ours && !process->began) {
		process->began = true;
		return 0;
	}
	status = complete_with(observer, process, NULL);
	executed = &process->executed;
	executed->pending = true;
	executed->time = record->time;
	snprintf(executed->name, sizeof(executed->name), "%s", record->name);
	executed->strings.size = 0;
	common_write_bytes(&executed->strings, record->note.data, record->note.size);
	process->map_count = 0;
	process->has_code = false;
	common_hash_map_free(&process->threads);
	common_hash_map_free(&process->code_pages);
	if (status == 0 && executed->strings.failed)
		status = common_fail_memory("command line", record->note.size);
	return status < 0 ? status : common_hash_map_put(&process->threads, record->pid, record->time);
}

/* Checks whether the file still exists, as seen by the process; as seen by the recorder if the process is gone. */
static void check_file(const struct record_observed *process, struct record_map_entry *entry)
{
	char root[64];

	snprintf(root, sizeof(root), "/proc/%u/root", process->pid);
	record_maps_check(access(root, F_OK) == 0 ? root : "", entry);
}

static int take_map(struct record_observer *observer, struct record_observed *process,
		    const struct record_sideband_record *record)
{
	struct record_observed_map map = {
		.base = record->base,
		.size = record->size,
		.file_offset = record->file_offset,
		.device = record->device,
		.inode = record->inode,
		/* the same bits as a look sets */
		.protection = PROT_READ | PROT_EXEC | (record->protection & PROT_WRITE),
	};
	struct record_map_entry entry = {.device = record->device, .inode = record->inode};
	int status;

	process->has_code = true;
	if (!record->size || !record_maps_name(&entry, record->name, strlen(record->name)))
		return 0;
	status = record_observer_note_map(process, &map);
	/* A look has seen the mapping before, or the memory becomes executable again with other content. */
	if (status <= 0)
		return status < 0 ? status
				  : record_observer_read_again(observer, process, &map, entry.deleted, record->time);
	check_file(process, &entry);
	map.device = entry.device;
	process->maps_looked = record->time;
	return record_observer_send_load(observer, process, &map, &entry);
}

static bool is_over(const struct record_observed *process, const struct record_proc_stat *stat)
{
	return record_observer_is_dead(process) || stat->state == 'Z' || stat->state == 'X';
}

/*
 * Continues with looks after the kernel's reports ended. The kernel also ends reports at an execve with other rights,
 * before any mapping.
 */
static int go_on_looking(struct record_observer *observer, struct record_observed *process,
			 const struct record_proc_stat *stat)
{
	process->reported = false;
	process->start_ticks = stat->start_ticks;
	process->program = stat->program;
	/* The end of the reports is the only known time of the end. */
	return is_over(process, stat) ? record_observer_end(observer, process, record_now()) : 0;
}

static int take_last_exit(struct record_observer *observer, struct record_observed *process,
			  const struct record_sideband_record *record)
{
	struct record_proc_stat stat;

	if (!record_proc_stat(process->pid, &stat))
		stat = (struct record_proc_stat){.state = 'X'};
	if (!process->has_code)
		return go_on_looking(observer, process, &stat);
	process->dead_since = record->time;
	/* Otherwise a look will find the dead process and its exit status. */
	return is_over(process, &stat) ? record_observer_end(observer, process, record->time) : 0;
}

static int take_exit(struct record_observer *observer, struct record_observed *process,
		     const struct record_sideband_record *record)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_THREAD_END, record->time);

	if (!common_hash_map_get(&process->threads, record->tid))
		return 0;
	if (process->threads.used == 1)
		return take_last_exit(observer, process, record);
	common_hash_map_remove(&process->threads, record->tid);
	fact.tid = record->tid;
	return record_observer_send(observer, &fact);
}

static int take_signal(struct record_observer *observer, struct record_observed *process,
		       const struct record_sideband_record *record)
{
	struct record_fact fact = record_observer_fact(process, RECORD_FACT_SIGNAL, record->time);

	fact.tid = record->tid;
	fact.signal = (struct ptl_signal_event){.signal = record->signal, .code = record->signal_code};
	return record_observer_send(observer, &fact);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int take_report(struct record_observer *observer, const struct record_sideband_record *record)
{
	struct record_observed *process;
	int status;

	switch (record->kind) {
	case RECORD_SIDEBAND_NONE:
		return 0;
	case RECORD_SIDEBAND_LOST:
		observer->sideband_lost += record->lost;
		observer->looks_closely = true;
		return 0;
	case RECORD_SIDEBAND_EXEC:
		return take_exec(observer, record);
	default:
		break;
	}
	/* A child inherits the state of its parent at this time: completes the parent's program first. */
	process = reported(observer, record->kind == RECORD_SIDEBAND_FORK ? record->parent_pid : record->pid);
	status = process ? complete_with(observer, process, record->kind == RECORD_SIDEBAND_MAP ? record : NULL) : 0;
	if (status < 0)
		return status;
	if (record->kind == RECORD_SIDEBAND_FORK)
		return take_fork(observer, record);
	if (!process)
		return 0;
	if (record->kind == RECORD_SIDEBAND_SIGNAL)
		return take_signal(observer, process, record);
	if (record->kind == RECORD_SIDEBAND_NAME)
		return send_thread_name(observer, process, record->tid, record->name, record->time);
	return record->kind == RECORD_SIDEBAND_MAP ? take_map(observer, process, record)
						   : take_exit(observer, process, record);
}

int record_observer_take_reports(struct record_observer *observer, uint64_t until)
{
	const struct record_sideband_record *record;
	int status;

	if (!observer->sideband)
		return 0;
	status = record_sideband_collect(observer->sideband);
	if (status == 0)
		status = note_all(observer);
	while (status == 0 && (record = record_sideband_next(observer->sideband, until)))
		status = take_report(observer, record);
	return status;
}

int record_observer_lose_reports(struct record_observer *observer)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = observer->sideband_lost,
		.cause = "the kernel reported processes faster than the reports could be taken: short ones may be "
			 "missing",
	};

	return loss.count ? record_capture_loss(observer->capture, &loss) : 0;
}
