/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes a named session's answers to a request for files. The whole input is one message, after which the session
 * ends. An empty answer means that the session ended. With a line feed in the input, the bytes before are the answer to
 * "next", and the bytes after are the answer to "rest", which carries descriptors.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session/session_ask.h"
#include "common/session/session_folder.h"
#include "format/reader/session_files.h"

#define SESSION "fuzz"
#define SENT_MAX (COMMON_SESSION_DESCRIPTORS_MAX + 2)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	int folder, listener;
	pthread_t thread;
	/* lock of the members below: a server thread may still write an answer without a reader */
	pthread_mutex_t lock;
	uint8_t *data;
	size_t size;
	int sent; /* reading end of the last pipe sent to the client; -1: no pipe was sent */
} session = {.lock = PTHREAD_MUTEX_INITIALIZER, .sent = -1};

/* Sends `count` descriptors of a pipe; the pipe's other end shows when all copies are closed. */
static void send_descriptors(int fd, const uint8_t *data, size_t data_size, size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(SENT_MAX * sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = (void *)(uintptr_t)data, .iov_len = data_size};
	const struct msghdr message = {.msg_iov = &part,
				       .msg_iovlen = 1,
				       .msg_control = &control,
				       .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	int ends[2], descriptors[SENT_MAX];

	if (session.sent >= 0)
		close(session.sent);
	if (pipe2(ends, O_CLOEXEC))
		abort();
	session.sent = ends[0];
	for (size_t i = 0; i < count; i++)
		descriptors[i] = ends[1];
	control.header = (struct cmsghdr){
		.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof(int))};
	memcpy(CMSG_DATA(&control.header), descriptors, count * sizeof(int));
	(void)sendmsg(fd, &message, MSG_NOSIGNAL);
	close(ends[1]);
}

static void answer_one(int fd, const char *request)
{
	const uint8_t *line = session.size ? memchr(session.data, '\n', session.size) : NULL;
	const size_t first = line ? (size_t)(line - session.data) : session.size;
	const uint8_t *rest = line ? line + 1 : session.data;
	const size_t rest_size = line ? session.size - first - 1 : session.size;

	if (strcmp(request, "rest") == 0 && rest_size)
		send_descriptors(fd, rest, rest_size, 1 + rest_size % SENT_MAX);
	else if (strcmp(request, "next") == 0 && first)
		(void)send(fd, session.data, first, MSG_NOSIGNAL);
	else if (strcmp(request, "query") == 0 && session.size)
		(void)send(fd, session.data, session.size, MSG_NOSIGNAL);
}

/* Answers every request, also repeated requests. */
static void *answer(void *unused)
{
	char request[256];

	(void)unused;
	for (;;) {
		const int fd = accept(session.listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		pthread_mutex_lock(&session.lock);
		if (recv(fd, request, sizeof(request), 0) > 0)
			answer_one(fd, request);
		pthread_mutex_unlock(&session.lock);
		close(fd);
	}
}

static char place[] = "/tmp/ptl-fuzz-XXXXXX";

static void remove_place(void)
{
	char path[64];

	shutdown(session.listener, SHUT_RDWR);
	pthread_join(session.thread, NULL);
	free(session.data);
	session.data = NULL;
	common_session_end(session.folder, SESSION, session.listener);
	(void)unlinkat(session.folder, ".lock", 0);
	snprintf(path, sizeof(path), "%s/ptl-record", place);
	(void)rmdir(path);
	(void)rmdir(place);
}

/* Opens a session of this process; paths of answers are relative to an empty folder. */
static void open_session(void)
{
	static bool open;
	int flags;

	if (open)
		return;
	open = true;
	if (!mkdtemp(place) || setenv("XDG_RUNTIME_DIR", place, 1) || common_session_folder(true, &session.folder) ||
	    common_session_listen(session.folder, SESSION, &session.listener))
		abort();
	flags = fcntl(session.listener, F_GETFL);
	(void)fcntl(session.listener, F_SETFL, flags & ~O_NONBLOCK);
	if (pthread_create(&session.thread, NULL, answer, NULL) || atexit(remove_place))
		abort();
}

static void ask_for_text(const uint8_t *data, size_t size)
{
	struct ptl_bytes request = {0};
	const char *text;
	char *memory;
	size_t text_size;

	common_write_bytes(&request, "query", sizeof("query"));
	if (common_session_ask(session.folder, SESSION, NULL, &request, &memory, &text, &text_size) == 0) {
		if (!size || data[0] != '+' || text_size != size - 1 || text[text_size] ||
		    memcmp(text, data + 1, text_size) != 0)
			abort();
		free(memory);
	} else if (size && data[0] == '+')
		abort();
}

/* Requests the next file. Returns whether there is a file. */
static bool ask_for_file(struct format_session_files *files)
{
	const uint64_t missed = files->missed;
	int fd = -1, status;
	char *path = NULL;

	status = format_session_files_next(files, &fd, &path);
	if ((!status && !path != (fd < 0)) || (status && path) || files->missed < missed)
		abort();
	/* A failure has an error text, and a killed session has a reason. */
	if (status < 0 ? !*ptl_error_text() : files->killed && !files->doubt[0])
		abort();
	if (fd >= 0)
		close(fd);
	free(path);
	return fd >= 0;
}

static void ask_for_files(void)
{
	struct format_session_files files = {.session = SESSION};

	for (unsigned i = 0; i < 20 && ask_for_file(&files); i++)
		;
	format_session_files_free(&files);
	/* All received descriptors are closed. */
	pthread_mutex_lock(&session.lock);
	if (session.sent >= 0 && poll(&(struct pollfd){.fd = session.sent, .events = POLLIN}, 1, 0) != 1)
		abort();
	pthread_mutex_unlock(&session.lock);
}

static void set_answer(const uint8_t *data, size_t size)
{
	pthread_mutex_lock(&session.lock);
	free(session.data);
	session.data = malloc(size ? size : 1);
	session.size = size;
	if (!session.data)
		abort();
	if (size)
		memcpy(session.data, data, size);
	pthread_mutex_unlock(&session.lock);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > COMMON_SESSION_MESSAGE_MAX)
		return 0;
	open_session();
	set_answer(data, size);
	ask_for_text(data, size);
	ask_for_files();
	return 0;
}
