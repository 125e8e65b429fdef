/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a session of the same user for its files. */
#include "dump/session/live.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/session_ask.h"
#include "common/session_folder.h"

/* The answer has paths, each with a zero behind it; the last one is being written. */
static int take_last(const char *paths, size_t size, char **path)
{
	const char *last = NULL;

	for (const char *next = paths; next < paths + size; next += strlen(next) + 1)
		last = next;
	if (!last)
		return common_fail(PTL_NOT_FOUND, "the session has no file");
	*path = strdup(last);
	return *path ? 0 : common_fail_memory("file name", strlen(last));
}

int dump_live_path(const char *session, char **path)
{
	struct ptl_bytes request = {0};
	const char *name, *text;
	char *memory;
	size_t size;
	int folder, status = common_session_name(session, &name);

	if (status == 0)
		status = common_session_folder(false, &folder);
	if (status == PTL_NOT_FOUND)
		return common_fail(PTL_NOT_FOUND, "there is no session %s", name);
	if (status < 0)
		return status;
	common_write_bytes(&request, "files", sizeof("files"));
	status = common_session_ask(folder, name, &request, &memory, &text, &size);
	close(folder);
	if (status < 0)
		return status;
	status = take_last(text, size, path);
	free(memory);
	return status;
}
