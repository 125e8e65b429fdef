/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording without packets: the command runs natively, and the observer watches the command. */
#include "record/native/source.h"

#include <stdio.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/launch/launch.h"
#include "record/observe/observer.h"
#include "record/perf/tsc.h"
#include "record/proc/proc_files.h"
#include "record/session/session.h"

#define FIRST_NUMBER 1 /* number of the first process */

static void native_describe_machine(const struct record_settings *settings, struct ptl_machine *machine)
{
	struct record_tsc tsc;

	snprintf(machine->source, sizeof(machine->source), "none");
	machine->timing = PTL_TIMING_NONE;
	machine->return_compression = false;
	machine->psb_period = 0;
	if (settings->clock == PTL_CLOCK_SYSTEM)
		record_machine_use_wall(machine);
	/* `native_check` has tested the clock before. */
	else if (settings->clock == PTL_CLOCK_PERF && record_tsc_read(&tsc))
		record_machine_use_tsc(machine, &tsc);
}

static int native_check(const struct record_settings *settings, char *hint, size_t hint_size)
{
	struct record_tsc tsc;

	if (settings->clock != PTL_CLOCK_PERF || record_tsc_read(&tsc))
		return 0;
	snprintf(hint, hint_size, "--clock real");
	return common_fail(PTL_UNSUPPORTED, "the kernel does not say how its clock counts the TSC");
}

static int add_descriptor(void *context, int fd)
{
	return record_wait_descriptor(context, fd);
}

/* Starts kernel reports. Without permission, the observer relies on looks at /proc. */
static int listen_to_kernel(struct record_observer *observer, struct record_wait *wait)
{
	int status = record_observer_listen(observer, NULL);

	if (status != PTL_SYSTEM)
		return status < 0 ? status : record_observer_descriptors(observer, add_descriptor, wait);
	common_message_note("processes and threads that live only milliseconds may be missing: the kernel does "
			    "not report them (%s)",
			    ptl_error_text());
	if (!record_proc_has_children())
		common_message_warning("this kernel does not show processes' children (CONFIG_PROC_CHILDREN): of the "
				       "command's descendants, only those that write events are in the trace");
	return 0;
}

static int native_open(struct record_session *session, void **state)
{
	struct record_observer *observer;
	int status = record_observer_new(&session->capture, FIRST_NUMBER, &observer);

	if (status < 0)
		return status;
	if (session->has_command)
		status = listen_to_kernel(observer, &session->wait);
	if (status < 0) {
		record_observer_free(observer);
		return status;
	}
	*state = session->observer = observer;
	return 0;
}

static int native_start(void *state, struct record_session *session, const struct record_command *command,
			const struct rlimit *files)
{
	const struct record_launch launch = {
		.path = command->path,
		.argv = command->argv,
		.envp = environ,
		.files = files,
	};
	const uint64_t time = record_now();
	int status = record_launch(&launch, &session->pid);

	return status < 0 ? status : record_observer_command(state, (uint32_t)session->pid, time, command);
}

static int native_drain(void *state, uint64_t now, bool *work)
{
	(void)work;
	return record_observer_step(state, now);
}

static uint64_t native_due(void *state, uint64_t now)
{
	(void)now;
	return record_observer_due(state);
}

static int exited(void *state, uint32_t pid, uint32_t wait_status)
{
	return record_observer_exited(state, pid, wait_status, record_now());
}

static int native_finish(void *state, bool alone)
{
	(void)alone;
	return record_observer_finish(state, record_now());
}

static void native_close(void *state)
{
	record_observer_free(state);
	record_clock_use_monotonic();
}

const struct record_source record_native_source = {
	.name = "none",
	.summary = "no packets: the command runs natively; processes, and events of providers",
	.only_by_name = true,
	.native = true,
	.observes = true,
	.check = native_check,
	.describe = native_describe_machine,
	.start = native_start,
	.open = native_open,
	.drain = native_drain,
	.exited = exited,
	.due = native_due,
	.finish = native_finish,
	.close = native_close,
};
