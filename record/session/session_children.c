/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder as a parent: ends of children, and signals that are meant for the command. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "common/program/message.h"
#include "record/capture/machine.h"
#include "record/launch/signals.h"
#include "record/session/session.h"

static int report_exit(struct record_session *session, uint32_t pid, uint32_t wait_status)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < session->running_count; i++)
		if (session->running[i].source->exited)
			status = session->running[i].source->exited(session->running[i].state, pid, wait_status);
	return status;
}

int record_session_reap(struct record_session *session)
{
	int wait_status, status = 0;
	pid_t pid = 0;

	while (status == 0 && session->has_command && (pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		if (pid == session->pid) {
			session->ended = true;
			session->wait_status = wait_status;
			session->end_of_command = record_now();
		}
		status = report_exit(session, (uint32_t)pid, (uint32_t)wait_status);
	}
	/* Orphans become our children, so that without a child there is no descendant either. */
	if (status == 0 && session->has_command && pid < 0 && errno == ECHILD)
		session->alone = true;
	return status;
}

void record_session_stop(struct record_session *session)
{
	if (session->stopped)
		return;
	session->stopped = true;
	for (size_t i = 0; i < session->running_count; i++)
		if (session->running[i].source->stop)
			session->running[i].source->stop(session->running[i].state);
}

static void keep_snapshot(struct record_session *session)
{
	if (session->capture.keeper) {
		session->failure = record_capture_keep(&session->capture);
		if (session->failure == PTL_MISUSE)
			session->failure = 0;
		return;
	}
	if (!session->settings->pt.snapshot)
		common_message_note(
			"SIGUSR2: everything is written as it comes; --snapshot keeps it in memory until then");
	for (size_t i = 0; !session->failure && i < session->running_count; i++)
		if (session->running[i].source->snapshot)
			session->failure = session->running[i].source->snapshot(session->running[i].state);
}

void record_session_signals(struct record_session *session)
{
	const struct record_signals signals = record_signals_take();

	if (signals.snapshots)
		keep_snapshot(session);

	if (signals.terminate && session->has_command && !session->ended)
		kill(session->pid, signals.terminate);
	else if (signals.terminate)
		session->leave = true;
	if (!signals.interrupts)
		return;
	session->interrupts += signals.interrupts;
	/* The command has got it as well, and decides for itself whether to end. */
	if (session->interrupts == 1 && session->has_command && !session->ended) {
		common_message_note("waiting for the command to end; once more ends the recording and "
				    "leaves it running");
		return;
	}
	session->leave = true;
}

void record_session_say_signal(const struct record_session *session)
{
	const struct record_source *source = session->running[0].source;
	const int wait_status = session->wait_status;
	const char *cause;
	int signal;

	if (!session->ended || !WIFSIGNALED(wait_status))
		return;
	signal = WTERMSIG(wait_status);
	/* Shells say nothing of these, which a user or the end of a pipe sends. */
	if (signal == SIGINT || signal == SIGPIPE)
		return;
	common_message_warning("%s: %s%s", session->settings->command[0], strsignal(signal),
			       WCOREDUMP(wait_status) ? " (core dumped)" : "");
	cause = source->likely_cause ? source->likely_cause(signal) : NULL;
	if (cause)
		common_message_hint("%s", cause);
}

int record_session_exit_status(const struct record_session *session)
{
	if (!session->has_command || (session->timed_out && !session->ended))
		return 0;
	if (!session->ended)
		return 128 + SIGINT;
	return WIFSIGNALED(session->wait_status) ? 128 + WTERMSIG(session->wait_status)
						 : WEXITSTATUS(session->wait_status);
}
