/* SPDX-License-Identifier: BSD-2-Clause */
/* Reports processes that ended before the first look, with facts from the processes' events. */
#include <string.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/observe/observer_state.h"

/* Nanoseconds after the end during which a process counts as already reported. */
#define REMEMBERED 10000000000u

bool record_observer_was_reported(const struct record_observer *observer, uint32_t pid, uint64_t start)
{
	const uint64_t *when = common_hash_map_get(&observer->reported, pid);

	return when && start <= *when;
}

static int report_exited(struct record_observer *observer, struct record_observed *process,
			 const struct record_observer_dead *dead, uint64_t now)
{
	const uint64_t start = record_observer_start_before(observer, dead->since);
	struct ptl_bytes strings = {0};
	int status = record_observer_send_start(observer, process, NULL, dead->parent, start);

	record_proc_name_strings(&strings, dead->program, dead->program);
	if (status == 0)
		status = strings.failed ? common_fail_memory("command line", strings.size)
					: record_observer_send_program(observer, process, &strings, start);
	common_bytes_free(&strings);
	return status == 0 ? record_observer_end(observer, process, now) : status;
}

int record_observer_dead(struct record_observer *observer, const struct record_observer_dead *dead, uint64_t now)
{
	struct record_observed process = {.pid = dead->pid, .pidfd = -1, .found = dead->ran_before};
	int status = record_observer_take_reports(observer, record_now());

	if (status < 0 || record_observer_find(observer, dead->pid) ||
	    record_model_has(observer->capture->model, dead->pid) ||
	    record_observer_was_reported(observer, dead->pid, now > REMEMBERED ? now - REMEMBERED : 0))
		return status;
	process.number = observer->next_number++;
	status = common_hash_map_put(&observer->reported, dead->pid, now);
	return status < 0 ? status : report_exited(observer, &process, dead, now);
}

int record_observer_follows(struct record_observer *observer, uint32_t pid, bool *follows)
{
	const uint64_t now = record_now(), since = now > REMEMBERED ? now - REMEMBERED : 0;
	const struct record_observed *process = record_observer_find(observer, pid);
	int status = process || record_observer_was_reported(observer, pid, since)
			     ? 0
			     : record_observer_take_reports(observer, now);

	process = record_observer_find(observer, pid);
	*follows = process ? !process->attached : record_observer_was_reported(observer, pid, since);
	return status;
}
