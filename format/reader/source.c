/* SPDX-License-Identifier: BSD-2-Clause */
/* Sources of a trace's bytes: a file, or a pipe that is copied to a temporary file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "format/reader/reader_internal.h"

#define COPY_SIZE (256u << 10)

/*
 * If the first bytes are not a trace's, this many bytes are searched for a buffer, since only the header may be
 * damaged.
 */
#define SEARCHED (16u << 20)

/*
 * Whether the input may still be a trace; at: offset of the bytes in the input. An endless input of another kind is
 * thus not copied.
 */
static bool may_be_trace(const uint8_t *data, size_t size, uint64_t at, bool *found)
{
	static const char buffer[] = "PTLB";

	*found = *found || (!at && format_file_header_begins(data, size)) || memmem(data, size, buffer, 4);
	return *found || at + size < SEARCHED;
}

static int copy_all(int from, int to, const atomic_bool *cancelled, uint64_t *size)
{
	uint8_t *data = malloc(COPY_SIZE);
	bool found = false;
	int status = 0;

	if (!data)
		return common_fail_memory("a copy of the input", COPY_SIZE);
	for (*size = 0; !status;) {
		const ssize_t n = read(from, data, COPY_SIZE);

		if (cancelled && atomic_load(cancelled)) {
			status = common_fail(PTL_CANCELLED, "cancelled");
			break;
		}
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			status = common_fail_errno("cannot read the input");
		else if (!may_be_trace(data, (size_t)n, *size, &found))
			status = common_fail(PTL_NOT_OURS, "not a trace file");
		else
			status = common_write_all(to, data, (size_t)n);
		if (!status)
			*size += (uint64_t)n;
	}
	free(data);
	return status;
}

int format_source_open(const char *path, const char **name)
{
	const bool standard = strcmp(path, "-") == 0;
	const int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);

	*name = standard ? "standard input" : path;
	return fd < 0 ? common_fail_errno("%s", *name) : fd;
}

int format_source_prepare(int *fd, const atomic_bool *cancelled, uint64_t *size)
{
	struct stat info;
	int copy, status;

	if (fstat(*fd, &info) < 0)
		return common_fail_errno("cannot read the input");
	if (S_ISDIR(info.st_mode)) {
		errno = EISDIR;
		return common_fail_errno("cannot read the input");
	}
	if (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)) {
		const off_t end = lseek(*fd, 0, SEEK_END);

		if (end < 0)
			return common_fail_errno("cannot find the size of the input");
		*size = (uint64_t)end;
		return 0;
	}
	status = common_open_temporary(&copy);
	if (status)
		return status;
	status = copy_all(*fd, copy, cancelled, size);
	if (status) {
		close(copy);
		return status;
	}
	close(*fd);
	*fd = copy;
	return 0;
}
