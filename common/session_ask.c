/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends one message to a session's socket, and takes one. */
#include "common/session_ask.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session_folder.h"

static int exchange(int connection, const struct ptl_bytes *request, char *answer, size_t *size)
{
	ssize_t got;

	if (request->failed)
		return common_fail_memory("request", request->size);
	if (send(connection, request->data, request->size, MSG_NOSIGNAL) < 0)
		return common_fail_errno("cannot ask the session");
	do
		got = recv(connection, answer, COMMON_SESSION_MESSAGE_MAX, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return common_fail_errno("the session does not answer");
	if (got == 0)
		return common_fail(PTL_SYSTEM, "the session ended without an answer");
	*size = (size_t)got - 1;
	if (answer[0] == '+')
		return 0;
	answer[got] = 0;
	return common_fail(PTL_SYSTEM, "%s", answer + 1);
}

int common_session_ask(int folder, const char *name, struct ptl_bytes *request, char **memory, const char **text,
		       size_t *size)
{
	char *answer = malloc(COMMON_SESSION_MESSAGE_MAX + 1);
	int connection, status = answer ? common_session_connect(folder, name, &connection)
					: common_fail_memory("answer", COMMON_SESSION_MESSAGE_MAX);

	if (status == 0) {
		status = exchange(connection, request, answer, size);
		close(connection);
	}
	common_bytes_free(request);
	if (status < 0) {
		free(answer);
		return status;
	}
	answer[*size + 1] = 0;
	*memory = answer;
	*text = answer + 1;
	return 0;
}
