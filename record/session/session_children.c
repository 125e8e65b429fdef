/* SPDX-License-Identifier: BSD-2-Clause */
/* The recorder as a parent: reaps ended children, and handles signals meant for the command. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/error.h"
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
		/* An error may have left sources and model half changed: after a failure the model is only closed. */
		if (!session->failure)
			status = report_exit(session, (uint32_t)pid, (uint32_t)wait_status);
	}
	/* Orphans become children of the recorder. A recorder without children therefore has no descendants. */
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

void record_session_fail(struct record_session *session, int status)
{
	if (status == 0 || session->failure)
		return;
	session->failure = status;
	session->failure_time = record_now();
	snprintf(session->failure_text, sizeof(session->failure_text), "%s", ptl_error_text());
}

static void keep_snapshot(struct record_session *session)
{
	int status = 0;

	if (session->capture.keeping.keeper) {
		status = record_capture_keep(&session->capture);
		record_session_fail(session, status == PTL_MISUSE ? 0 : status);
		return;
	}
	if (!session->settings->pt.snapshot)
		common_message_note(
			"SIGUSR2: everything is written as it comes; --snapshot keeps it in memory until then");
	for (size_t i = 0; status == 0 && i < session->running_count; i++)
		if (session->running[i].source->snapshot)
			status = session->running[i].source->snapshot(session->running[i].state);
	record_session_fail(session, status);
}

void record_session_signals(struct record_session *session)
{
	const struct record_signals signals = record_signals_take();

	if (signals.snapshots && !session->failure)
		keep_snapshot(session);
	if (signals.unused)
		common_message_note("SIGUSR1 does nothing; SIGUSR2 keeps a snapshot");
	if (signals.terminate && session->has_command && !session->ended)
		kill(session->pid, signals.terminate);
	else if (signals.terminate)
		session->leave = true;
	if (!signals.interrupts)
		return;
	session->interrupts += signals.interrupts;
	/* The terminal sent SIGINT to the command as well. The command decides whether to end. */
	if (session->interrupts == 1 && session->has_command && !session->ended) {
		common_message_note("waiting for the command to end; once more ends the recording and "
				    "leaves it running");
		return;
	}
	session->leave = true;
}

void record_session_say_signal(const struct record_session *session)
{
	const int wait_status = session->wait_status;
	int signal;

	if (!session->ended || !WIFSIGNALED(wait_status))
		return;
	signal = WTERMSIG(wait_status);
	/* Shells do not report SIGINT or SIGPIPE: a user or a closed pipe sends them. */
	if (signal == SIGINT || signal == SIGPIPE)
		return;
	common_message_warning("%s: %s%s", session->settings->command[0], strsignal(signal),
			       WCOREDUMP(wait_status) ? " (core dumped)" : "");
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
