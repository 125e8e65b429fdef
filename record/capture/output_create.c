/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the output of a trace: a new file, a descriptor, or an existing pipe or device, which has to be the user's own.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/file_owner.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "record/capture/output.h"
#include "record/launch/signals.h"

/* Milliseconds between two checks for a FIFO's reader. */
#define READER_WAIT_MS 20

#define FD_PREFIX "/dev/fd/"

/* Returns the number in "/dev/fd/N"; -1 for other paths. */
static int descriptor_of(const char *path)
{
	const char *digits = path + strlen(FD_PREFIX);
	char *end;
	long number;

	if (strncmp(path, FD_PREFIX, strlen(FD_PREFIX)) != 0 || !isdigit((unsigned char)*digits))
		return -1;
	number = strtol(digits, &end, 10);
	return *end || number > INT32_MAX ? -1 : (int)number;
}

static int open_descriptor(const char *path, int number, int *fd)
{
	const int flags = fcntl(number, F_GETFL);

	if (flags < 0)
		return common_fail_errno("%s", path);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return common_fail(PTL_MISUSE, "%s is not open for writing", path);
	*fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
	if (*fd < 0)
		return common_fail_errno("%s", path);
	/* A copy in the command would hide the end of the pipe from the reader. */
	if (number > STDERR_FILENO)
		fcntl(number, F_SETFD, FD_CLOEXEC);
	return 0;
}

/* ---- existing pipes and devices -------------------------------------------------------------- */

/* Checks the opened descriptor, not the path: nobody can replace the file between check and write. */
static int check_special(int fd, const char *path, unsigned wish)
{
	const bool sure = (wish & RECORD_OUTPUT_NAMED) && (wish & RECORD_OUTPUT_REPLACE);
	struct stat info;

	if (fstat(fd, &info) < 0)
		return common_fail_errno("%s", path);
	if (S_ISREG(info.st_mode))
		return common_fail(PTL_SYSTEM, "%s was replaced while it was opened", path);
	if (common_file_is_anonymous(fd) || sure)
		return common_file_check_link(path);
	if (!(wish & RECORD_OUTPUT_NAMED))
		return common_fail(PTL_SYSTEM, "%s is no regular file; -o names another", path);
	if (S_ISBLK(info.st_mode))
		return common_fail(PTL_SYSTEM, "%s is a disk; -f writes to it, -o names another", path);
	if (S_ISFIFO(info.st_mode) && !common_file_is_trusted(info.st_uid))
		return common_file_refuse_foreign(path, info.st_uid);
	return common_file_check_link(path);
}

/*
 * Opens the path; waits for the reader of a FIFO. Returns the descriptor, or -1 with errno. A signal ends the wait with
 * EINTR.
 */
static int open_when_read(const char *path)
{
	static const struct timespec pause = {0, READER_WAIT_MS * 1000000};

	for (bool announced = false;; announced = true) {
		const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		struct stat info;

		if (fd >= 0 || errno != ENXIO || stat(path, &info) < 0 || !S_ISFIFO(info.st_mode))
			return fd;
		if (record_signals_asked()) {
			errno = EINTR;
			return -1;
		}
		if (!announced)
			common_message_note("%s: waiting for a reader", path);
		nanosleep(&pause, NULL);
	}
}

static int open_special(const char *path, unsigned wish, int *fd)
{
	struct stat info;
	int status = common_file_check_link(path);

	/* Refuses early, before the wait for a reader. The decisive check is check_special on the opened descriptor. */
	if (status == 0 && stat(path, &info) == 0 && S_ISFIFO(info.st_mode) && !common_file_is_trusted(info.st_uid) &&
	    wish != (RECORD_OUTPUT_NAMED | RECORD_OUTPUT_REPLACE) && strncmp(path, "/dev/", 5) != 0 &&
	    strncmp(path, "/proc/", 6) != 0)
		status = common_file_refuse_foreign(path, info.st_uid);
	if (status < 0)
		return status;
	*fd = open_when_read(path);
	if (*fd < 0)
		return errno == EINTR ? common_fail(PTL_SYSTEM, "%s: a signal came before a reader did", path)
				      : common_fail_errno("cannot write to %s", path);
	status = check_special(*fd, path, wish);
	if (status == 0 && fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) < 0)
		status = common_fail_errno("%s", path);
	if (status < 0)
		close(*fd);
	return status;
}

/* ---- new files ------------------------------------------------------------------------------- */

/* Removes the existing file. Removes a file of another user only if the user gave its name. */
static int remove_before(const char *path, unsigned wish)
{
	struct stat info;
	int status = common_file_check_recorded(path);

	if (status == 0 && !(wish & RECORD_OUTPUT_NAMED) && lstat(path, &info) == 0 &&
	    !common_file_is_trusted(info.st_uid))
		status = common_file_refuse_foreign(path, info.st_uid);
	if (status == 0 && unlink(path) < 0 && errno != ENOENT)
		status = common_fail_errno("cannot replace %s", path);
	return status;
}

int record_output_create(const char *path, unsigned wish, int *fd)
{
	const int number = descriptor_of(path);
	struct stat info;
	int status = 0;

	if (number >= 0)
		return open_descriptor(path, number, fd);
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
		return open_special(path, wish, fd);
	if (wish & RECORD_OUTPUT_REPLACE)
		status = remove_before(path, wish);
	if (status < 0)
		return status;
	/*
	 * Only the user may read the file, like perf.data: the trace holds code and command lines. O_EXCL refuses a
	 * file that appeared meanwhile.
	 */
	*fd = open(path, O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
	if (*fd >= 0) {
		common_file_lock_recorded(*fd);
		return 0;
	}
	if (errno == EEXIST)
		return common_fail(PTL_SYSTEM, "%s exists; -f replaces it, -o names another", path);
	return common_fail_errno("cannot create %s", path);
}
