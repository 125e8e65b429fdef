/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests to a named session, and its answers (record/control/request.h). */
#ifndef COMMON_SESSION_SESSION_ASK_H
#define COMMON_SESSION_SESSION_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/session/session_folder.h"

#define COMMON_SESSION_DESCRIPTORS_MAX 8 /* most descriptors with one answer */

/*
 * Sends the request, which this function frees, and waits for the answer. *text: the answer without its first byte,
 * *size bytes and a zero byte; *memory: the block to be freed by the caller. folder: from common_session_folder. A
 * recorder that is stopped or hangs is waited for until `wait` ends the wait.
 * PTL_NOT_FOUND: no such session. PTL_SYSTEM: system error, or the session refuses (the text says why). PTL_NO_MEMORY.
 * Any status returned by `wait`.
 */
int common_session_ask(int folder, const char *name, const struct common_session_wait *wait, struct ptl_bytes *request,
		       char **memory, const char **text, size_t *size);

/*
 * Sends the request, which this function frees, for an answer that comes later on *connection. Errors as
 * common_session_ask.
 */
int common_session_request(int folder, const char *name, const struct common_session_wait *wait,
			   struct ptl_bytes *request, int *connection);
struct common_session_answer {
	char *memory;     /* memory that holds the text */
	const char *text; /* message without its first byte, followed by a zero byte */
	size_t size;
	bool refused;                                    /* whether the session refused; the text says why */
	int descriptors[COMMON_SESSION_DESCRIPTORS_MAX]; /* received with the answer; -1: taken over by another owner */
	size_t descriptor_count;
};
/* Whether an answer is ready, so that common_session_await would not wait. */
bool common_session_is_answered(int connection);
/*
 * Waits up to 10 seconds for the answer, which the caller frees. PTL_NOT_FOUND: the session ended without an answer.
 * PTL_SYSTEM: no answer in time, or a signal came. PTL_NO_MEMORY. On failure, nothing needs to be freed.
 */
int common_session_await(int connection, struct common_session_answer *answer);
void common_session_answer_free(struct common_session_answer *answer);

#endif
