/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers of a named session's socket, as who asks it for its next file reads them: the whole input is one message, and the session
 * is gone behind it. An answer without a byte is one that ended.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session_ask.h"
#include "common/session_folder.h"
#include "format/reader/session_files.h"

#define SESSION "fuzz"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
	int folder, listener;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows: a server may still write what nobody reads any more */
	uint8_t *data;
	size_t size;
} session = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Answers each connection with the input: what is asked for again is answered again. */
static void *answer(void *unused)
{
	char request[256];

	(void)unused;
	for (;;) {
		const int fd = accept(session.listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		pthread_mutex_lock(&session.lock);
		if (recv(fd, request, sizeof(request), 0) > 0 && session.size)
			(void)send(fd, session.data, session.size, MSG_NOSIGNAL);
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

/* A session of this process alone. Paths of answers count from an empty folder. */
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
	if (common_session_ask(session.folder, SESSION, &request, &memory, &text, &text_size) == 0) {
		if (!size || data[0] != '+' || text_size != size - 1 || text[text_size] ||
		    memcmp(text, data + 1, text_size) != 0)
			abort();
		free(memory);
	} else if (size && data[0] == '+')
		abort();
}

static void ask_for_file(void)
{
	struct format_session_files files = {.session = SESSION};
	int fd = -1, status;
	char *path = NULL;

	status = format_session_files_next(&files, &fd, &path);
	if (!status && !path != (fd < 0))
		abort();
	if (status && path)
		abort();
	if (fd >= 0)
		close(fd);
	free(path);
	format_session_files_free(&files);
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
	ask_for_file();
	return 0;
}
