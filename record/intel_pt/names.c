/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds processes by name. If permitted, the kernel reports each executed program; otherwise looks at /proc find
 * processes that live long enough.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/program/message.h"
#include "common/text/program_name.h"
#include "record/intel_pt/intel_pt_state.h"
#include "record/observe/observer.h"
#include "record/perf/sideband.h"
#include "record/proc/proc_files.h"

#define LOOK_EVERY 100000000u /* nanoseconds, without reports of the kernel */
#define DROP_EVERY 100000000u

struct intel_pt_names {
	const struct common_string_list *patterns;
	struct record_sideband *programs; /* reports of executed programs; NULL without permission */
	struct common_hash_map seen;      /* program at the last look, by pid */
	uint64_t looked, dropped;
	uint64_t began; /* start of the recording; 0 during the first look */
	uint64_t found; /* number of processes found */
};

static int add_descriptor(void *context, int fd)
{
	return record_wait_descriptor(context, fd);
}

int intel_pt_names_open(struct intel_pt *pt)
{
	static const pid_t all = -1;
	const struct record_sideband_targets targets = {.threads = &all, .count = 1, .programs_only = true};
	struct intel_pt_names *names = pt->names = calloc(1, sizeof(*names));
	int status;

	if (!names)
		return common_fail_memory("names", sizeof(*names));
	names->patterns = &pt->session->settings->pt.processes;
	status = record_sideband_open(&targets, &names->programs);
	if (status == 0)
		return record_sideband_descriptors(names->programs, add_descriptor, &pt->session->wait);
	if (status != PTL_SYSTEM)
		return status;
	names->programs = NULL;
	common_message_note("processes that live for less than %u ms may be missing: the kernel does not report what "
			    "others execute (%s)",
			    LOOK_EVERY / 1000000, ptl_error_text());
	return 0;
}

void intel_pt_names_close(struct intel_pt_names *names)
{
	if (!names)
		return;
	record_sideband_close(names->programs);
	common_hash_map_free(&names->seen);
	free(names);
}

/* ---- names of a process ---------------------------------------------------------------------- */

/* Reads the name of the first thread. A script's process has the script's name. */
static void read_name(uint32_t pid, char *name, size_t size)
{
	char path[64];
	FILE *file;

	name[0] = 0;
	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	file = fopen(path, "re");
	if (file && fgets(name, (int)size, file))
		name[strcspn(name, "\n")] = 0;
	if (file)
		fclose(file);
}

static bool is_meant(const struct intel_pt_names *names, uint32_t pid)
{
	char link[64], program[4096], name[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/%u/exe", pid);
	size = readlink(link, program, sizeof(program) - 1);
	program[size > 0 ? size : 0] = 0;
	read_name(pid, name, sizeof(name));
	for (size_t i = 0; i < names->patterns->count; i++)
		if (common_program_matches(names->patterns->list[i], program, name))
			return true;
	return false;
}

/* ---- matching processes ---------------------------------------------------------------------- */

/* Reports the missing execution of a process between its start and its discovery. */
static int lose_beginning(struct intel_pt *pt, uint32_t pid, uint64_t since)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BYTES,
		.stream = PTL_NO_ID,
		.pid = pid,
		.tid = PTL_NO_ID,
		.count = 1,
		.first_time = since,
		.last_time = record_now(),
		.cause = "what the process executed before it was found by its name is not recorded",
	};

	return since ? record_capture_loss(&pt->session->capture, &loss) : 0;
}

/* Adds a process. since: time of its execve; 0: before the recording. */
static int add_process(struct intel_pt *pt, uint32_t pid, uint64_t since)
{
	const size_t first = pt->target_count;
	int status;

	/* A recorded parent passes its events on to the process. */
	if (pid == (uint32_t)getpid() || intel_pt_targets_has(pt, (pid_t)pid) || record_observer_has(pt->observer, pid))
		return 0;
	status = intel_pt_targets_add_process(pt, pid);
	/* The process has ended. */
	if (status == PTL_SYSTEM)
		return 0;
	if (status == 0)
		status = record_observer_listen_to(pt->observer, pt->targets + first, pt->target_count - first);
	if (status == 0)
		status = intel_pt_triggers_add(pt, pt->targets + first, pt->target_count - first);
	if (status == 0)
		status = intel_pt_events_add(pt, first);
	if (status == 0)
		status = record_observer_running(pt->observer, pid, record_now());
	if (status == 0)
		status = lose_beginning(pt, pid, since);
	pt->names->found++;
	return status;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int take_programs(struct intel_pt *pt)
{
	struct intel_pt_names *names = pt->names;
	const struct record_sideband_record *record;
	int status = record_sideband_collect(names->programs);

	while (status == 0 && (record = record_sideband_next(names->programs, UINT64_MAX))) {
		/* Repeats the look at /proc after lost reports. */
		if (record->kind == RECORD_SIDEBAND_LOST)
			names->looked = 0;
		else if (record->kind == RECORD_SIDEBAND_EXEC && is_meant(names, record->pid))
			status = add_process(pt, record->pid, record->time);
	}
	return status;
}

static int note_process_name(void *context, uint32_t pid)
{
	struct intel_pt *pt = context;
	struct intel_pt_names *names = pt->names;
	const uint64_t *before = common_hash_map_get(&names->seen, pid);
	struct record_proc_stat stat;
	uint64_t program;
	int status;

	if (!record_proc_stat(pid, &stat) || stat.state == 'Z')
		return 0;
	program = stat.program * 31 + stat.start_ticks;
	if (before && *before == program)
		return 0;
	status = common_hash_map_put(&names->seen, pid, program);
	if (status < 0 || !is_meant(names, pid))
		return status;
	return add_process(pt, pid, names->began);
}

int intel_pt_names_step(struct intel_pt *pt, uint64_t now)
{
	struct intel_pt_names *names = pt->names;
	int status = 0;

	if (now - names->dropped >= DROP_EVERY) {
		names->dropped = now;
		status = intel_pt_events_drop_ended(pt);
	}
	if (status == 0 && names->programs)
		status = take_programs(pt);
	if (status < 0 || (names->looked && (names->programs || now - names->looked < LOOK_EVERY)))
		return status;
	names->looked = now;
	status = record_proc_processes(note_process_name, pt);
	names->began = now;
	return status;
}

uint64_t intel_pt_names_due(const struct intel_pt_names *names)
{
	return names->programs ? names->dropped + DROP_EVERY : names->looked + LOOK_EVERY;
}
