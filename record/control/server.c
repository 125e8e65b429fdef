/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes connections of a session's socket, and answers them while the recording goes on. */
#include "record/control/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session_folder.h"
#include "record/capture/machine.h"
#include "record/control/ended.h"
#include "record/control/request.h"
#include "record/session/session.h"

#define CONNECTIONS_MAX 16
#define MILLISECOND 1000000u
#define LOOK_TIME (5 * MILLISECOND)
/* A connection that asks nothing is closed. */
#define REQUEST_TIME (2000ull * MILLISECOND)
#define MESSAGES_MAX 4096

struct connection {
	int fd;
	uint64_t since;
};

struct control {
	struct record_session *session;
	struct connection connections[CONNECTIONS_MAX]; /* that have not asked yet */
	size_t count;
	int stoppers[CONNECTIONS_MAX]; /* that wait for the end */
	size_t stopper_count;
	int keepers[CONNECTIONS_MAX]; /* that wait for what is in memory to be written */
	size_t keeper_count;
	bool ready;
	int messages; /* where our messages go once the session runs; -1: where they went before */
	char *request;
};

static int open_source(struct record_session *session, void **state)
{
	struct control *control = calloc(1, sizeof(*control));
	int status;

	if (!control || !(control->request = malloc(COMMON_SESSION_MESSAGE_MAX))) {
		free(control);
		return common_fail_memory("control of the session", COMMON_SESSION_MESSAGE_MAX);
	}
	control->session = session;
	control->messages = -1;
	status = record_wait_descriptor(&session->wait, session->settings->control.listener);
	if (status < 0) {
		free(control->request);
		free(control);
		return status;
	}
	*state = control;
	return 0;
}

/* ---- the terminal is left -------------------------------------------------------------------- */

/* Who started the session may go; what there is to say from now on is said to who stops it. */
static void leave_terminal(struct control *control)
{
	const char ready = 1;

	control->ready = true;
	record_ended_forget(control->session->settings->control.folder, control->session->settings->session_name);
	if (control->session->settings->control.ready < 0)
		return;
	control->messages = memfd_create("messages", MFD_CLOEXEC);
	if (control->messages >= 0) {
		fcntl(control->messages, F_SETFL, O_APPEND);
		dup2(control->messages, STDERR_FILENO);
	}
	(void)!write(control->session->settings->control.ready, &ready, 1);
	close(control->session->settings->control.ready);
}

/* ---- connections ----------------------------------------------------------------------------- */

static void take_connections(struct control *control)
{
	int fd;

	while (control->count < CONNECTIONS_MAX && (fd = accept4(control->session->settings->control.listener, NULL,
								 NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (common_session_trusts(fd))
			control->connections[control->count++] = (struct connection){fd, record_now()};
		else
			close(fd);
	}
}

static void send_answer(int fd, int status, const char *text, size_t size)
{
	struct iovec parts[] = {{.iov_base = (void *)(status < 0 ? "-" : "+"), .iov_len = 1},
				{.iov_base = (void *)text, .iov_len = size}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

	(void)sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer(int fd, int status, const char *text, size_t size)
{
	static const char too_long[] = "the answer is too long for one message";

	if (size < COMMON_SESSION_MESSAGE_MAX)
		send_answer(fd, status, text, size);
	else
		send_answer(fd, PTL_SYSTEM, too_long, strlen(too_long));
}

/* A client that waits for the end keeps the connection. */
static void handle(struct control *control, int fd, size_t size)
{
	char *text = NULL;
	size_t text_size = 0;
	FILE *stream = open_memstream(&text, &text_size);
	enum record_control_when when = RECORD_CONTROL_NOW;
	int status;

	if (!stream) {
		close(fd);
		return;
	}
	status = record_control_request(control->session, control->request, size, stream, &when);
	if (status < 0) {
		fclose(stream);
		answer(fd, status, ptl_error_text(), strlen(ptl_error_text()));
	} else {
		fclose(stream);
		if (when == RECORD_CONTROL_NOW)
			answer(fd, status, text, text_size);
	}
	free(text);
	if (when == RECORD_CONTROL_AT_END && control->stopper_count < CONNECTIONS_MAX)
		control->stoppers[control->stopper_count++] = fd;
	else if (when == RECORD_CONTROL_KEPT && control->keeper_count < CONNECTIONS_MAX)
		control->keepers[control->keeper_count++] = fd;
	else
		close(fd);
}

/* Whether the connection is done with. */
static bool look(struct control *control, const struct connection *connection, uint64_t now)
{
	const ssize_t size = recv(connection->fd, control->request, COMMON_SESSION_MESSAGE_MAX, MSG_DONTWAIT);

	if (size > 0) {
		handle(control, connection->fd, (size_t)size);
		return true;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR) && now < connection->since + REQUEST_TIME)
		return false;
	close(connection->fd);
	return true;
}

static void answer_keepers(struct control *control)
{
	const char *failure = control->session->capture.keep_failure;

	while (control->keeper_count) {
		const int fd = control->keepers[--control->keeper_count];

		answer(fd, failure[0] ? PTL_SYSTEM : 0, failure, strlen(failure));
		close(fd);
	}
}

static int drain(void *state, uint64_t now, bool *work)
{
	struct control *control = state;

	(void)work;
	if (!control->ready)
		leave_terminal(control);
	if (!record_keeper_works(control->session->capture.keeper))
		answer_keepers(control);
	take_connections(control);
	for (size_t i = control->count; i-- > 0;)
		if (look(control, &control->connections[i], now))
			control->connections[i] = control->connections[--control->count];
	return 0;
}

static uint64_t due(void *state, uint64_t now)
{
	const struct control *control = state;

	return control->count || control->keeper_count ? now + LOOK_TIME : UINT64_MAX;
}

static int finish(void *state, bool alone)
{
	(void)state;
	(void)alone;
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What was said since the terminal was left, with a zero behind it. */
static size_t read_messages(const struct control *control, char text[MESSAGES_MAX + 1])
{
	const ssize_t size = control->messages < 0 ? 0 : pread(control->messages, text, MESSAGES_MAX, 0);

	text[size > 0 ? size : 0] = 0;
	return size > 0 ? (size_t)size : 0;
}

static void answer_stoppers(const struct control *control)
{
	char text[MESSAGES_MAX + 1];
	const size_t size = read_messages(control, text);

	for (size_t i = 0; i < control->stopper_count; i++) {
		answer(control->stoppers[i], 0, text, size);
		close(control->stoppers[i]);
	}
}

static const char *why_ended(const struct record_session *session)
{
	const struct record_output *output = &session->capture.output;

	if (output->broken || output->failed || session->capture.series_failed)
		return "the file could not be written";
	if (session->failure)
		return "it could not go on";
	if (session->capture.full)
		return "the file has the size of --max-size";
	if (session->timed_out)
		return "--duration is over";
	if (session->leave)
		return "it was told to end";
	return "its command has ended";
}

/* For who asks later, as nobody waits for the end. */
static void leave_word(const struct control *control)
{
	const struct record_session *session = control->session;
	char *absolute = session->settings->mode == RECORD_MODE_REALTIME ? NULL : realpath(session->path, NULL);
	char messages[MESSAGES_MAX + 1];
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	read_messages(control, messages);
	record_ended_write(session->settings->control.folder, session->settings->session_name,
			   &(struct record_ended){
				   .time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec,
				   .why = why_ended(session),
				   .file = absolute ? absolute : "",
				   .messages = messages,
			   });
	free(absolute);
}

/* The file is complete by now. */
static void close_source(void *state)
{
	struct control *control = state;
	const struct record_settings *settings = control->session->settings;

	/* Before the name is free again. */
	if (control->ready && !control->stopper_count)
		leave_word(control);
	common_session_end(settings->control.folder, settings->session_name, settings->control.listener);
	answer_stoppers(control);
	answer_keepers(control);
	for (size_t i = 0; i < control->count; i++)
		close(control->connections[i].fd);
	if (control->messages >= 0)
		close(control->messages);
	free(control->request);
	free(control);
}

const struct record_source record_control_source = {
	.name = "control",
	.summary = "requests of who controls a named session",
	.open = open_source,
	.drain = drain,
	.due = due,
	.finish = finish,
	.close = close_source,
};
