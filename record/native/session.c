/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording without packets: the command runs natively, and is watched from outside. */
#include "record/native/session.h"

#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "record/launch/launch.h"
#include "record/capture/machine.h"
#include "record/kernel/observer.h"
#include "record/capture/proc_files.h"
#include "record/session/session.h"

#define MILLISECOND 1000000ull
#define FIRST_NUMBER 1

extern char **environ;

struct native_session {
	struct record_observer *observer;
	uint32_t doorbell;
};

static struct native_session *state_of(const struct record_session *session)
{
	return session->state;
}

static void describe(const struct record_settings *settings, struct ptl_machine *machine)
{
	(void)settings;
	snprintf(machine->source, sizeof(machine->source), "none");
	machine->timing = PTL_TIMING_NONE;
	machine->return_compression = false;
	machine->psb_period = 0;
}

static int open_source(struct record_session *session)
{
	struct native_session *state = state_of(session);
	int status;

	session->doorbell = &state->doorbell;
	if (session->has_command && !record_proc_has_children())
		common_message_warning("this kernel does not tell of processes' children "
				       "(CONFIG_PROC_CHILDREN): of the command's descendants, only "
				       "those that write events are in the trace");
	status = record_observer_new(&session->capture, FIRST_NUMBER, &state->observer);
	session->observer = state->observer;
	if (status < 0 || !session->has_command)
		return status;
	status = record_observer_listen(state->observer);
	if (status == PTL_SYSTEM) {
		common_message_note("processes that live only milliseconds may be missing: the kernel does "
				    "not let us hear of them (%s)",
				    ptl_error_text());
		status = 0;
	}
	return status;
}

static int launch(struct record_session *session, const struct record_command *command, const struct rlimit *files)
{
	const struct record_launch launch = {
		.path = command->path,
		.argv = command->argv,
		.envp = environ,
		.files = files,
	};
	const uint64_t time = record_now();
	int status = record_launch(&launch, &session->pid);

	return status < 0 ? status
			  : record_observer_command(state_of(session)->observer, (uint32_t)session->pid, time, command);
}

static int step(struct record_session *session, uint64_t now, bool *work)
{
	(void)work;
	return record_observer_step(state_of(session)->observer, now);
}

static int bury(struct record_session *session)
{
	(void)session;
	return 0;
}

static int exited(struct record_session *session, uint32_t pid, uint32_t wait_status)
{
	return record_observer_exited(state_of(session)->observer, pid, wait_status, record_now());
}

static void sleep_until(struct record_session *session, uint32_t seen, unsigned milliseconds)
{
	const uint64_t now = record_now(), due = record_observer_due(state_of(session)->observer);
	uint64_t time = milliseconds * MILLISECOND;
	struct timespec timeout;

	if (due < now + time)
		time = due > now ? due - now : 0;
	timeout = (struct timespec){(time_t)(time / 1000000000u), (long)(time % 1000000000u)};
	syscall(SYS_futex, session->doorbell, FUTEX_WAIT, seen, &timeout, NULL, 0);
}

static void stop(struct record_session *session)
{
	(void)session;
}

static int finish(struct record_session *session)
{
	return record_observer_finish(state_of(session)->observer, record_now());
}

static int verdict(const struct record_session *session)
{
	(void)session;
	return 0;
}

static const char *likely_cause(int signal)
{
	(void)signal;
	return NULL;
}

static void close_source(struct record_session *session)
{
	record_observer_free(state_of(session)->observer);
}

static const struct record_engine engine = {
	.describe = describe,
	.open = open_source,
	.launch = launch,
	.step = step,
	.bury = bury,
	.exited = exited,
	.sleep = sleep_until,
	.stop = stop,
	.finish = finish,
	.verdict = verdict,
	.likely_cause = likely_cause,
	.close = close_source,
};

int record_native_session(const struct record_source *source, const struct record_settings *settings)
{
	struct native_session state = {0};
	struct record_command command;
	int status;

	(void)source;
	if (!settings->command)
		return record_session(&engine, settings, NULL, &state);
	status = record_command_find(settings->command, true, &command);
	if (status) {
		common_message_error("%s", ptl_error_text());
		return status;
	}
	status = record_session(&engine, settings, &command, &state);
	record_command_free(&command);
	return status;
}
