/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A killed session cannot name its files, so they are found by their names. A file belongs to the session if both
 * recordings began at the same time.
 */
#include "format/reader/session_killed.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/session/series.h"

/* Reads when the trace's recording began; 0: unknown. PTL_NO_MEMORY. */
static int start_of(int fd, const char *path, uint64_t *start_time, char boot_id[37])
{
	const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct ptl_trace *trace;
	int status;

	*start_time = 0;
	if (copy < 0)
		return 0;
	status = ptl_open_fd(copy, path, NULL, &trace);
	if (status) {
		close(copy);
		return status == PTL_NO_MEMORY ? status : 0;
	}
	*start_time = ptl_trace_machine(trace)->start_time;
	memcpy(boot_id, ptl_trace_machine(trace)->boot_id, 37);
	ptl_close(trace);
	return 0;
}

int format_session_killed_find(struct format_session_killed *left, const char *path, int fd, uint64_t number)
{
	size_t stem, suffix;
	int status;

	if (!path || !common_series_parse(path, number, &stem, &suffix))
		return 0;
	status = start_of(fd, path, &left->start_time, left->boot_id);
	if (status || !left->start_time)
		return status;
	left->stem = strndup(path, stem);
	left->suffix = strdup(path + suffix);
	if (!left->stem || !left->suffix)
		return common_fail_memory("file names", strlen(path));
	status = common_series_list(left->stem, left->suffix, number, &left->numbers, &left->count);
	return status == PTL_NOT_FOUND ? 0 : status;
}

/* Opens a file. *fd is -1 if the file cannot be read or belongs to another recording. */
static int open_own(const struct format_session_killed *left, const char *path, int *fd)
{
	uint64_t start_time;
	char boot_id[37];
	int status;

	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return 0;
	status = start_of(*fd, path, &start_time, boot_id);
	if (!status && start_time == left->start_time && memcmp(boot_id, left->boot_id, sizeof(boot_id)) == 0)
		return 0;
	close(*fd);
	*fd = -1;
	return status;
}

int format_session_killed_next(struct format_session_killed *left, uint64_t *number, int *fd, char **path)
{
	int status = 0;

	*fd = -1;
	*path = NULL;
	while (!status && *fd < 0 && left->next < left->count) {
		*number = left->numbers[left->next++];
		free(*path);
		*path = common_series_path(left->stem, *number, left->suffix);
		status = *path ? open_own(left, *path, fd) : common_fail_memory("a file name", strlen(left->stem));
	}
	if (*fd < 0) {
		free(*path);
		*path = NULL;
	}
	return status;
}

void format_session_killed_free(struct format_session_killed *left)
{
	free(left->stem);
	free(left->suffix);
	free(left->numbers);
	*left = (struct format_session_killed){0};
}
