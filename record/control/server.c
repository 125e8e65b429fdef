/* SPDX-License-Identifier: BSD-2-Clause */
/* Accepts connections to a session's socket, and answers requests while the recording goes on. */
#include "record/control/server.h"
#include "record/capture/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session/session_folder.h"
#include "common/text/text.h"
#include "record/capture/machine.h"
#include "record/capture/series_rest.h"
#include "record/control/ended.h"
#include "record/control/request.h"
#include "record/session/session.h"

#define CONNECTIONS_MAX 16
#define MILLISECOND 1000000u
#define LOOK_TIME (5 * MILLISECOND)
/* Maximum time until the request of a connection. */
#define REQUEST_TIME (2000ull * MILLISECOND)
#define MESSAGES_MAX 4096
/* Maximum number of real-time readers. Further waiters have room of their own, so that readers cannot block a stop. */
#define READERS_MAX 64
#define WAITERS_MAX (READERS_MAX + 2 * CONNECTIONS_MAX)

struct connection {
	int fd;
	uint64_t since;
};

/* A connection that waits for its answer. */
struct waiter {
	int fd;
	enum record_control_when when;
};

struct control {
	struct record_session *session;
	struct connection connections[CONNECTIONS_MAX]; /* connections without a request so far */
	size_t count;
	struct waiter waiters[WAITERS_MAX];
	size_t waiter_count;
	bool ready;
	int64_t begun; /* nanoseconds since 1970, by the clock of file times */
	int messages;  /* file for messages of the running session; -1: messages still go to the terminal */
	char *request;
};

static int64_t time_by(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t wall_time(void)
{
	return time_by(CLOCK_REALTIME);
}

/* Returns the modification time of a file written now: the kernel uses the time of the last tick. */
static int64_t time_of_files(void)
{
	return time_by(CLOCK_REALTIME_COARSE);
}

static int server_open(struct record_session *session, void **state)
{
	struct control *control = calloc(1, sizeof(*control));
	int status;

	if (!control || !(control->request = malloc(COMMON_SESSION_MESSAGE_MAX))) {
		free(control);
		return common_fail_memory("control of the session", COMMON_SESSION_MESSAGE_MAX);
	}
	control->session = session;
	control->messages = -1;
	control->begun = time_of_files();
	status = record_wait_descriptor(&session->wait, session->settings->control.listener);
	if (status < 0) {
		free(control->request);
		free(control);
		return status;
	}
	*state = control;
	return 0;
}

/* ---- leaving the terminal -------------------------------------------------------------------- */

/* Tells the starting command the destination of the recording, for "session NAME records ...". */
static void say_ready(const struct record_session *session)
{
	static const char *const where[] = {"to %s", "to %s and the files that follow",
					    "to %s and the files that follow, of which the last eight are kept",
					    "in memory, of which %s is made at its end or when it is asked for",
					    /* indexed by enum record_mode */
					    "in memory, for those who read it with --live"};
	const struct record_series *series = session->settings->mode == RECORD_MODE_BUFFERING ? NULL
											      : session->capture.series;
	struct ptl_bytes text = {0};
	const char *format = where[session->settings->mode], *path = strstr(format, "%s");

	common_write_bytes(&text, format, path ? (size_t)(path - format) : strlen(format));
	if (path) {
		common_text_safe(&text, series ? record_series_path(series) : session->path);
		common_text_add(&text, path + 2);
	}
	/* Any byte tells that the session records. */
	(void)!write(session->settings->control.ready, text.failed ? "" : (const char *)text.data,
		     text.failed ? 1 : text.size);
	common_bytes_free(&text);
}

/* Writes the record of the session for later queries. why: as in struct record_ended. */
static void leave_word(const struct control *control, const char *why, const char *messages)
{
	const struct record_session *session = control->session;
	const struct record_series *series = session->capture.series;
	char *absolute = session->settings->mode == RECORD_MODE_REALTIME ? NULL : realpath(session->path, NULL);
	const bool several = series && !record_series_in_memory(series);
	struct ptl_bytes stem = {0};

	if (several)
		record_series_stem_absolute(series, &stem);
	record_ended_write(session->settings->control.folder, session->settings->session_name,
			   &(struct record_ended){
				   .time = wall_time(),
				   .why = why,
				   .file = absolute ? absolute : "",
				   .messages = messages,
				   .begun = control->begun,
				   .stem = several ? common_text_string(&stem) : "",
				   .suffix = several ? record_series_suffix(series) : "",
			   });
	common_bytes_free(&stem);
	free(absolute);
}

/* Releases the starting command. Later messages go to the command that stops the session. */
static void leave_terminal(struct control *control)
{
	control->ready = true;
	/* Replaces the predecessor's record by a record for the case that this session is killed. */
	leave_word(control, "", "");
	if (control->session->settings->control.ready < 0)
		return;
	control->messages = memfd_create("messages", MFD_CLOEXEC);
	if (control->messages >= 0) {
		fcntl(control->messages, F_SETFL, O_APPEND);
		dup2(control->messages, STDERR_FILENO);
	}
	say_ready(control->session);
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

static void send_limited_answer(int fd, int status, const char *text, size_t size)
{
	static const char too_long[] = "the answer is too long for one message";

	if (size < COMMON_SESSION_MESSAGE_MAX)
		send_answer(fd, status, text, size);
	else
		send_answer(fd, PTL_SYSTEM, too_long, strlen(too_long));
}

/* ---- waiting connections --------------------------------------------------------------------- */

static void leave_waiter(struct control *control, size_t index)
{
	close(control->waiters[index].fd);
	control->waiters[index] = control->waiters[--control->waiter_count];
}

/* Drops closed connections, because a session may run for days. */
static void leave_gone(struct control *control)
{
	for (size_t i = control->waiter_count; i-- > 0;) {
		char byte;
		const ssize_t got = recv(control->waiters[i].fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			leave_waiter(control, i);
	}
}

static size_t count_waiters(const struct control *control, enum record_control_when when)
{
	size_t count = 0;

	for (size_t i = 0; i < control->waiter_count; i++)
		count += control->waiters[i].when == when;
	return count;
}

static void add_waiter(struct control *control, int fd, enum record_control_when when)
{
	static const char too_many[] = "too many wait for this session";
	const size_t most = when == RECORD_CONTROL_REST ? READERS_MAX : CONNECTIONS_MAX;

	if (count_waiters(control, when) == most)
		leave_gone(control);
	if (count_waiters(control, when) < most) {
		control->waiters[control->waiter_count++] = (struct waiter){fd, when};
		return;
	}
	send_answer(fd, PTL_SYSTEM, too_many, strlen(too_many));
	close(fd);
}

static void answer_waiters(struct control *control, enum record_control_when when, int status, const char *text)
{
	for (size_t i = control->waiter_count; i-- > 0;)
		if (control->waiters[i].when == when) {
			send_limited_answer(control->waiters[i].fd, status, text, strlen(text));
			leave_waiter(control, i);
		}
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Handles a request. The connection of a client that waits for an answer stays open. */
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
		send_limited_answer(fd, status, ptl_error_text(), strlen(ptl_error_text()));
	} else {
		fclose(stream);
		if (when == RECORD_CONTROL_NOW)
			send_limited_answer(fd, status, text, text_size);
	}
	free(text);
	if (when == RECORD_CONTROL_NOW)
		close(fd);
	else
		add_waiter(control, fd, when);
}

/* Reads a request. Returns true if the connection needs no further look. */
static bool read_request(struct control *control, const struct connection *connection, uint64_t now)
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
	const char *failure = control->session->capture.keeping.failure;

	answer_waiters(control, RECORD_CONTROL_KEPT, failure[0] ? PTL_SYSTEM : 0, failure);
}

static int server_drain(void *state, uint64_t now, bool *work)
{
	struct control *control = state;

	(void)work;
	if (!control->ready)
		leave_terminal(control);
	if (!record_keeper_works(control->session->capture.keeping.keeper))
		answer_keepers(control);
	take_connections(control);
	for (size_t i = control->count; i-- > 0;)
		if (read_request(control, &control->connections[i], now))
			control->connections[i] = control->connections[--control->count];
	return 0;
}

static uint64_t server_due(void *state, uint64_t now)
{
	const struct control *control = state;

	return control->count || count_waiters(control, RECORD_CONTROL_KEPT) ? now + LOOK_TIME : UINT64_MAX;
}

static int server_finish(void *state, bool alone)
{
	(void)state;
	(void)alone;
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Reads the messages since the terminal was left, zero-terminated. */
static size_t read_messages(const struct control *control, char text[MESSAGES_MAX + 1])
{
	const ssize_t size = control->messages < 0 ? 0 : pread(control->messages, text, MESSAGES_MAX, 0);

	text[size > 0 ? size : 0] = 0;
	return size > 0 ? (size_t)size : 0;
}

static void answer_stoppers(struct control *control)
{
	char text[MESSAGES_MAX + 1];

	read_messages(control, text);
	answer_waiters(control, RECORD_CONTROL_AT_END, 0, text);
}

/*
 * Sends the rest of the series with descriptors: a file in memory vanishes with this process. Without descriptors, the
 * text still tells the missed events.
 */
static bool send_rest(int fd, const struct record_series_rest *rest, size_t descriptor_count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(rest->descriptors))];
	} room = {0};
	struct iovec parts[] = {{.iov_base = (void *)"+", .iov_len = 1},
				{.iov_base = rest->text.data, .iov_len = rest->text.size}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	const size_t size = descriptor_count * sizeof(rest->descriptors[0]);

	if (size) {
		message.msg_control = &room;
		message.msg_controllen = CMSG_SPACE(size);
		room.header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(size)};
		memcpy(CMSG_DATA(&room.header), rest->descriptors, size);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

static void answer_reader(int fd, const struct record_series_rest *rest)
{
	static const char failure[] = "there was no memory to say which files are left";

	if (rest->text.failed || (!send_rest(fd, rest, rest->descriptor_count) && !send_rest(fd, rest, 0)))
		send_answer(fd, PTL_NO_MEMORY, failure, strlen(failure));
}

static void answer_readers(struct control *control)
{
	for (size_t i = control->waiter_count; i-- > 0;)
		if (control->waiters[i].when == RECORD_CONTROL_REST) {
			answer_reader(control->waiters[i].fd, &control->session->capture.rotation.rest);
			leave_waiter(control, i);
		}
}

static const char *why_ended(const struct record_session *session)
{
	const struct record_output *output = &session->capture.output;

	if (output->broken || output->failed || session->capture.rotation.failed)
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

static void leave_last_word(const struct control *control)
{
	const struct record_settings *settings = control->session->settings;
	char messages[MESSAGES_MAX + 1];

	read_messages(control, messages);
	if (count_waiters(control, RECORD_CONTROL_AT_END))
		record_ended_forget(settings->control.folder, settings->session_name);
	else
		leave_word(control, why_ended(control->session), messages);
}

/* Runs after the file is complete. */
static void server_close(void *state)
{
	struct control *control = state;
	const struct record_settings *settings = control->session->settings;

	/* Answers readers before the name is free: a reader must not go on with another session. */
	answer_readers(control);
	record_series_rest_free(&control->session->capture.rotation.rest);
	if (control->ready)
		leave_last_word(control);
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
	.open = server_open,
	.drain = server_drain,
	.due = server_due,
	.finish = server_finish,
	.close = server_close,
};
