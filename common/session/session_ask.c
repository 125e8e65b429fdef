/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends a message to a session's socket and receives the answer. */
#include "common/session/session_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/error.h"
#include "common/session/session_folder.h"

#define LATE_TIME 10000 /* milliseconds to wait for the late answer of a session that ends */

static int send_request(int connection, const struct ptl_bytes *request)
{
	if (request->failed)
		return common_fail_memory("request", request->size);
	return send(connection, request->data, request->size, MSG_NOSIGNAL) < 0
		       ? common_fail_errno("cannot ask the session")
		       : 0;
}

static bool is_ready(int connection, int timeout)
{
	struct pollfd ready = {.fd = connection, .events = POLLIN};

	return poll(&ready, 1, timeout) > 0;
}

static int wait_for_answer(int connection, const char *name, const struct common_session_wait *wait)
{
	int status = 0;

	for (uint64_t waited = COMMON_SESSION_PAUSE; !status && !is_ready(connection, COMMON_SESSION_PAUSE);
	     waited += COMMON_SESSION_PAUSE)
		status = common_session_wait(wait, name, waited);
	return status;
}

static int exchange(int connection, const char *name, const struct common_session_wait *wait,
		    const struct ptl_bytes *request, char *answer, size_t *size)
{
	int status = send_request(connection, request);
	ssize_t got;

	if (!status)
		status = wait_for_answer(connection, name, wait);
	if (status)
		return status;
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
	return common_fail(PTL_SYSTEM, "%s", got > 1 && answer[1] ? answer + 1 : "the session refuses");
}

int common_session_ask(int folder, const char *name, const struct common_session_wait *wait, struct ptl_bytes *request,
		       char **memory, const char **text, size_t *size)
{
	char *answer = malloc(COMMON_SESSION_MESSAGE_MAX + 1);
	int connection, status = answer ? common_session_connect(folder, name, wait, &connection)
					: common_fail_memory("answer", COMMON_SESSION_MESSAGE_MAX);

	if (status == 0) {
		status = exchange(connection, name, wait, request, answer, size);
		close(connection);
	}
	common_bytes_free(request);
	if (status) {
		free(answer);
		return status;
	}
	answer[*size + 1] = 0;
	*memory = answer;
	*text = answer + 1;
	return 0;
}

/* ---- later answers ----------------------------------------------------------------------------- */

int common_session_request(int folder, const char *name, const struct common_session_wait *wait,
			   struct ptl_bytes *request, int *connection)
{
	int status = common_session_connect(folder, name, wait, connection);

	if (status == 0) {
		status = send_request(*connection, request);
		if (status < 0)
			close(*connection);
	}
	common_bytes_free(request);
	return status;
}

bool common_session_is_answered(int connection)
{
	return is_ready(connection, 0);
}

static void take_descriptors(struct msghdr *message, struct common_session_answer *answer)
{
	for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
		const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(part) + i * sizeof(fd), sizeof(fd));
			/* Control messages are rounded up in size and may hold one descriptor more. */
			if (answer->descriptor_count < COMMON_SESSION_DESCRIPTORS_MAX)
				answer->descriptors[answer->descriptor_count++] = fd;
			else
				close(fd);
		}
	}
}

static int receive(int connection, struct common_session_answer *answer)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(COMMON_SESSION_DESCRIPTORS_MAX * sizeof(int))];
	} control;
	struct iovec part = {.iov_base = answer->memory, .iov_len = COMMON_SESSION_MESSAGE_MAX};
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got;

	if (!is_ready(connection, LATE_TIME))
		return common_fail(PTL_SYSTEM, "the session does not answer");
	got = recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	/* ECONNRESET: the session ended before it read the request. */
	if (got < 0 && errno != ECONNRESET)
		return common_fail_errno("the session does not answer");
	if (got <= 0)
		return common_fail(PTL_NOT_FOUND, "the session ended without an answer");
	take_descriptors(&message, answer);
	answer->text = answer->memory + 1;
	answer->size = (size_t)got - 1;
	answer->refused = answer->memory[0] != '+';
	answer->memory[got] = 0;
	return 0;
}

int common_session_await(int connection, struct common_session_answer *answer)
{
	int status;

	*answer = (struct common_session_answer){.memory = malloc(COMMON_SESSION_MESSAGE_MAX + 1)};
	if (!answer->memory)
		return common_fail_memory("answer", COMMON_SESSION_MESSAGE_MAX);
	status = receive(connection, answer);
	if (status < 0)
		common_session_answer_free(answer);
	return status;
}

void common_session_answer_free(struct common_session_answer *answer)
{
	for (size_t i = 0; i < answer->descriptor_count; i++)
		if (answer->descriptors[i] >= 0)
			close(answer->descriptors[i]);
	free(answer->memory);
	*answer = (struct common_session_answer){0};
}
