/* SPDX-License-Identifier: BSD-2-Clause */
/* What is asked of a named session, and answered (record/control/request.h). */
#ifndef COMMON_SESSION_ASK_H
#define COMMON_SESSION_ASK_H

#include <stddef.h>

#include "common/bytes.h"

/*
 * Sends the request, which it frees; the answer without its first byte is *text, with a zero behind its *size bytes, at *memory, which
 * the caller frees. folder: of common_session_folder. PTL_NOT_FOUND: there is no such session; PTL_SYSTEM, also with why the
 * session refuses; PTL_NO_MEMORY.
 */
int common_session_ask(int folder, const char *name, struct ptl_bytes *request, char **memory, const char **text,
		       size_t *size);

#endif
