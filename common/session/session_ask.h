/* SPDX-License-Identifier: BSD-2-Clause */
/* What is asked of a named session, and answered (record/control/request.h). */
#ifndef COMMON_SESSION_SESSION_ASK_H
#define COMMON_SESSION_SESSION_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"
#include "common/session/session_folder.h"

#define COMMON_SESSION_DESCRIPTORS_MAX 8 /* with one answer */

/*
 * Sends the request, which it frees; the answer without its first byte is *text, with a zero behind its *size bytes, at *memory, which
 * the caller frees. folder: of common_session_folder. PTL_NOT_FOUND: there is no such session; PTL_SYSTEM, also with why the
 * session refuses; PTL_NO_MEMORY; what wait returned. A recorder that is stopped, or hangs, is waited for until wait ends that.
 */
int common_session_ask(int folder, const char *name, const struct common_session_wait *wait, struct ptl_bytes *request,
		       char **memory, const char **text, size_t *size);

/* Sends the request, which it frees, for an answer that comes later, by *connection. As common_session_ask. */
int common_session_request(int folder, const char *name, const struct common_session_wait *wait,
			   struct ptl_bytes *request, int *connection);
struct common_session_answer {
	char *memory;     /* of the text */
	const char *text; /* without the first byte of the message, and with a zero behind its size */
	size_t size;
	bool refused;                                    /* the text says why */
	int descriptors[COMMON_SESSION_DESCRIPTORS_MAX]; /* that came with it; -1: taken by who has it now */
	size_t descriptor_count;
};
/* Whether common_session_await would not wait. */
bool common_session_is_answered(int connection);
/*
 * Waits some seconds for that answer, which the caller frees. PTL_NOT_FOUND: the other side is gone and has not answered; PTL_SYSTEM: it
 * does not answer, or a signal came; PTL_NO_MEMORY. Without an answer there is nothing to free.
 */
int common_session_await(int connection, struct common_session_answer *answer);
void common_session_answer_free(struct common_session_answer *answer);

#endif
