/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record start: runs a recorder that outlives its terminal. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/session/session_folder.h"
#include "common/text/text.h"
#include "record/control/control.h"
#include "record/control/ended.h"

#define WHERE_MAX 4096 /* bytes that a pipe takes in one write */

/* Runs the recorder in its own process session, so that no hang-up of the terminal reaches the recorder. */
static int record(struct record_settings *settings, int (*run)(const struct record_settings *settings))
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		if (!settings->command)
			dup2(null, STDOUT_FILENO);
		close(null);
	}
	settings->progress = RECORD_PROGRESS_NEVER;
	return run(settings);
}

/* Checks whether a session of all programs of the user has no provider or event turned on. */
static bool records_nothing(const struct record_settings *settings)
{
	return settings->attach && !settings->command && !settings->rule_count && !settings->tracepoints.count &&
	       !settings->flags && !settings->values.count;
}

/* Waits until the recorder reports a running session. A recorder that fails before has printed the cause. */
static int wait_until_ready(const struct record_settings *settings, pid_t child, int ready)
{
	char where[WHERE_MAX + 1];
	ssize_t size;
	int status;

	do
		size = read(ready, where, WHERE_MAX);
	while (size < 0 && errno == EINTR);
	if (size > 0) {
		where[size] = 0;
		common_message_note("session %s records %s; ptl-record stop %s ends it", settings->session_name, where,
				    settings->session_name);
		if (records_nothing(settings) && !settings->quiet) {
			common_message_note("nothing is turned on so far: no event is recorded");
			common_message_hint("ptl-record update %s, with -p, -e or --flags", settings->session_name);
		}
		return COMMON_EXIT_OK;
	}
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : COMMON_EXIT_SYSTEM;
}

static int start_recorder(struct record_settings *settings, int (*run)(const struct record_settings *settings))
{
	int ends[2], status;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return common_message_failure(common_fail_errno("cannot start a session"));
	child = fork();
	if (child == 0) {
		close(ends[0]);
		settings->control.ready = ends[1];
		_exit(record(settings, run));
	}
	close(ends[1]);
	/* Only the recorder keeps the listener: its close ends the session. */
	close(settings->control.listener);
	settings->control.listener = -1;
	status = child < 0 ? common_message_failure(common_fail_errno("cannot start a session"))
			   : wait_until_ready(settings, child, ends[0]);
	close(ends[0]);
	return status;
}

/* Reports a killed predecessor, whose record the new session is about to replace. */
static void say_killed(const struct record_settings *settings)
{
	struct ptl_bytes files = {0};
	char memory[RECORD_ENDED_MAX];
	struct record_ended ended;

	if (record_ended_read(settings->control.folder, settings->session_name, &ended, memory) < 0 || *ended.why)
		return;
	if (record_ended_describe(&ended, &files) == 0)
		common_message_note("the session %s before this one was killed; %s", settings->session_name,
				    common_text_string(&files));
	common_bytes_free(&files);
}

int record_control_start(struct record_settings *settings, int (*run)(const struct record_settings *settings))
{
	int status = common_session_folder(true, &settings->control.folder);

	if (status == 0)
		status = common_session_listen(settings->control.folder, settings->session_name,
					       &settings->control.listener);
	if (status < 0)
		return common_message_failure(status);
	say_killed(settings);
	status = start_recorder(settings, run);
	/* A failed start leaves the socket behind. */
	if (status != COMMON_EXIT_OK)
		common_session_end(settings->control.folder, settings->session_name, settings->control.listener);
	return status;
}
