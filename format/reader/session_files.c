/* SPDX-License-Identifier: BSD-2-Clause */
/* Asks a session of the same user for its files. */
#include "format/reader/session_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <xxhash.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/session_ask.h"
#include "common/session_folder.h"
#include "format/event/kernel_class.h"

#define GONE_MAX 16 /* files in a row */

/* "NUMBER MISSED PATH"; empty: there is none so far. */
static int take_answer(struct format_session_files *files, const char *text, char **path)
{
	uint64_t number, missed;
	int at = 0;

	if (!*text)
		return 0;
	if (sscanf(text, "%" SCNu64 " %" SCNu64 " %n", &number, &missed, &at) != 2 || !at)
		return common_fail(PTL_SYSTEM, "the session's answer is not as it should be");
	*path = strdup(text + at);
	files->number = number;
	files->missed += missed;
	files->files++;
	return *path ? 0 : common_fail_memory("file name", strlen(text));
}

static int ask(struct format_session_files *files, int folder, const char *name, char **path)
{
	struct ptl_bytes request = {0};
	const char *text;
	char *memory, after[24];
	size_t size;
	int status;

	common_write_bytes(&request, "next", sizeof("next"));
	snprintf(after, sizeof(after), "%" PRIu64, files->number);
	if (files->number)
		common_write_bytes(&request, after, strlen(after) + 1);
	status = common_session_ask(folder, name, &request, &memory, &text, &size);
	if (status < 0)
		return status;
	status = take_answer(files, text, path);
	free(memory);
	return status;
}

/* *path is NULL where there is none any more. */
static int find_next(struct format_session_files *files, char **path)
{
	const bool first = !files->number;
	const char *name;
	int folder, status = common_session_name(files->session, &name);

	*path = NULL;
	if (status == 0)
		status = common_session_folder(false, &folder);
	if (status == PTL_NOT_FOUND)
		return first ? common_fail(PTL_NOT_FOUND, "there is no session %s", name) : 0;
	if (status < 0)
		return status;
	status = ask(files, folder, name, path);
	close(folder);
	/* It has ended meanwhile: what was read was its last file. */
	return status < 0 && !first && status != PTL_NO_MEMORY ? 0 : status;
}

/* Once a file is open, it stays; one that is gone by now is one that was missed, which is counted when it is asked for again. */
int format_session_files_next(struct format_session_files *files, int *fd, char **path)
{
	int status;

	common_hash_map_free(&files->before);
	files->before = files->seen;
	files->seen = (struct common_hash_map){0};
	for (unsigned gone = 0;; gone++) {
		*fd = -1;
		status = find_next(files, path);
		if (status < 0 || !*path)
			return status;
		*fd = open(*path, O_RDONLY | O_CLOEXEC);
		if (*fd >= 0)
			return 0;
		if (gone == GONE_MAX)
			status = common_fail_errno("%s", *path);
		free(*path);
		*path = NULL;
		if (status < 0)
			return status;
		files->number--;
		files->files--;
	}
}

int format_session_files_begin(struct format_session_files *files, int *fd, char **path)
{
	const int status = format_session_files_next(files, fd, path);

	return status == PTL_NOT_FOUND
		       ? common_fail(PTL_SYSTEM, "there is no session %s; ptl-record list shows those that are there",
				     files->session)
		       : status;
}

void format_session_files_free(struct format_session_files *files)
{
	common_hash_map_free(&files->before);
	common_hash_map_free(&files->seen);
}

int format_session_files_repeat(struct format_session_files *files, const struct ptl_event *event)
{
	const enum format_class class = format_class_of(&event->descriptor);
	uint64_t key;
	int status;

	if (class == FORMAT_CLASS_NONE || !files->number)
		return 0;
	/* What was there already, which each file begins with. */
	if ((event->flags & PTL_EVENT_INJECTED) && files->files > 1)
		return 1;
	key = XXH64(event->payload, event->payload_size, event->time);
	key ^= (uint64_t)event->descriptor.opcode << 56 ^ (uint64_t)event->pid << 24 ^ event->tid;
	status = common_hash_map_put(&files->seen, key, 1);
	if (status < 0)
		return status;
	return common_hash_map_get(&files->before, key) != NULL;
}
