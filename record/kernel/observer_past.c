/* SPDX-License-Identifier: BSD-2-Clause */
/* Tells of processes that had ended before they were seen, by what they or the kernel say of them. */
#include <string.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/kernel/observer_state.h"
#include "record/capture/proc_files.h"

/* A start time of /proc is up to this much too early. */
#define TICK 10000000u
/* From the kernel's word of a program to when /proc shows it. */
#define EXEC_TIME 2000000u
/* For so long after its end a process is taken for the one that was told. */
#define REMEMBERED 10000000000u

bool record_observer_was_told(const struct record_observer *observer, uint32_t pid, uint64_t start)
{
	const uint64_t *when = common_hash_map_get(&observer->told, pid);

	return when && start <= *when;
}

/* Path, nothing, no folder, and the name as the only argument: all that is known. */
static int send_name(struct record_observer *observer, struct record_observed *process, const char *path,
		     const char *name, uint64_t time)
{
	struct ptl_bytes strings = {0};
	int status;

	common_write_bytes(&strings, path, strlen(path) + 1);
	common_write_bytes(&strings, "\0", 2);
	common_write_bytes(&strings, name, strlen(name) + 1);
	status = strings.failed ? common_fail_memory("command line", strings.size)
				: record_observer_send_program(observer, process, &strings, time);
	common_bytes_free(&strings);
	return status;
}

int record_observer_dead(struct record_observer *observer, const struct record_observer_dead *dead, uint64_t now)
{
	struct record_observed process = {.pid = dead->pid, .pidfd = -1, .found = dead->ran_before};
	int status;

	if (record_observer_find(observer, dead->pid) || record_model_has(observer->capture->model, dead->pid) ||
	    record_observer_was_told(observer, dead->pid, now > REMEMBERED ? now - REMEMBERED : 0))
		return 0;
	process.number = observer->next_number++;
	status = common_hash_map_put(&observer->told, dead->pid, now);
	if (status == 0)
		status = record_observer_send_start(observer, &process, NULL, dead->parent, observer->looked);
	if (status == 0)
		status = send_name(observer, &process, dead->program, dead->program, observer->looked);
	return status == 0 ? record_observer_end(observer, &process, now) : status;
}

/* ---- what the kernel tells ------------------------------------------------------------------- */

/* Looks at /proc have seen this very process. */
static bool is_this(const struct record_observed *process, const struct record_past *past)
{
	const uint64_t start = record_proc_start_time(process->start_ticks);

	return process->ours || (start <= past->end && start + 2 * TICK >= past->start);
}

uint64_t record_observer_start_time(struct record_observer *observer, uint32_t pid, uint64_t tick)
{
	uint64_t told;

	/* The other one may be of a process that had this pid before. */
	if (observer->sideband && record_sideband_start(observer->sideband, pid, &told) && told + TICK >= tick &&
	    told <= tick + 2 * TICK)
		return told;
	return tick;
}

static int send_map(struct record_observer *observer, struct record_observed *process, const struct record_step *step)
{
	struct record_observed_map map = {
		.base = step->base,
		.size = step->size,
		.file_offset = step->file_offset,
		.inode = step->inode,
		.protection = step->protection,
	};
	struct record_map_entry entry = {.device = step->device, .inode = step->inode};

	if (!record_maps_name(&entry, step->name, strlen(step->name)))
		return 0;
	record_maps_check("", &entry);
	map.device = entry.device;
	process->maps_looked = step->time;
	return record_observer_send_load(observer, process, &map, &entry);
}

/* The file that was mapped first for a program is its own, or its interpreter's. */
static const char *path_of(const struct record_past *past, size_t step)
{
	for (size_t i = step + 1; i < past->step_count; i++) {
		if (past->steps[i].kind == RECORD_STEP_EXEC)
			break;
		if (past->steps[i].inode)
			return past->steps[i].name;
	}
	return past->steps[step].name;
}

static int send_steps(struct record_observer *observer, struct record_observed *process, const struct record_past *past,
		      size_t first)
{
	int status = 0;

	for (size_t i = first; status == 0 && i < past->step_count; i++)
		status = past->steps[i].kind == RECORD_STEP_MAP ? send_map(observer, process, &past->steps[i])
								: send_name(observer, process, path_of(past, i),
									    past->steps[i].name, past->steps[i].time);
	return status;
}

/* The first program that began after the last look at what runs there; step_count: none. */
static size_t first_unseen(const struct record_observer *observer, const struct record_observed *process,
			   const struct record_past *past)
{
	for (size_t i = past->inherited; i < past->step_count; i++)
		if (past->steps[i].kind == RECORD_STEP_EXEC &&
		    past->steps[i].time + EXEC_TIME > process->program_looked &&
		    strcmp(path_of(past, i), record_model_program(observer->capture->model, process->number)) != 0)
			return i;
	return past->step_count;
}

/* What no look has seen of the end of a process that was seen. */
static int complete(struct record_observer *observer, struct record_observed *process, const struct record_past *past)
{
	size_t first = first_unseen(observer, process, past);
	int status;

	if (process->ended)
		return 0;
	/* Its last program was seen, but not yet what that has mapped. */
	if (first == past->step_count && !process->map_count)
		while (first > past->inherited && past->steps[first - 1].kind == RECORD_STEP_MAP)
			first--;
	status = send_steps(observer, process, past, first);
	/* The command's end comes with its exit status. */
	return status < 0 || process->ours ? status : record_observer_end(observer, process, past->end);
}

static int take(void *context, const struct record_past *past)
{
	struct record_observer *observer = context;
	struct record_observed process = {.pid = past->pid, .pidfd = -1};
	struct record_observed *seen = record_observer_find(observer, past->pid);
	const struct record_observed *parent;
	int status;

	if (record_observer_was_told(observer, past->pid, past->start))
		return 0;
	if (seen && is_this(seen, past))
		return complete(observer, seen, past);
	parent = record_observer_find(observer, past->parent);
	if (parent && (parent->ended || !past->parent_is_same))
		parent = NULL;
	process.number = observer->next_number++;
	status = common_hash_map_put(&observer->told, past->pid, past->end);
	if (status == 0)
		status = record_observer_send_start(observer, &process, parent, past->parent, past->start);
	if (parent)
		process.epoch = parent->epoch;
	else if (status == 0 && (!past->step_count || past->steps[0].kind == RECORD_STEP_MAP))
		status = send_name(observer, &process, "", "", past->start);
	if (status == 0)
		status = send_steps(observer, &process, past, parent ? past->inherited : 0);
	return status == 0 ? record_observer_end(observer, &process, past->end) : status;
}

int record_observer_lose_past(struct record_observer *observer)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = observer->sideband_lost,
		.cause = "the kernel told of processes faster than it could be heard: short ones may be "
			 "missing",
	};

	return loss.count ? record_capture_loss(observer->capture, &loss) : 0;
}

int record_observer_take_past(struct record_observer *observer, uint64_t now, bool all)
{
	return observer->sideband
		       ? record_sideband_take(observer->sideband, now, all, take, observer, &observer->sideband_lost)
		       : 0;
}

int record_observer_listen(struct record_observer *observer)
{
	return record_sideband_open(&observer->sideband);
}
