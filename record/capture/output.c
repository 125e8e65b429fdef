/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the trace file, and notices when it cannot be written or is taken away. */
#include "record/capture/output.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"

#define FD_PREFIX "/dev/fd/"

/* The number in "/dev/fd/N"; -1 for any other path. */
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
	/* The command must not hold a pipe open whose reader waits for its end. */
	if (number > STDERR_FILENO)
		fcntl(number, F_SETFD, FD_CLOEXEC);
	return 0;
}

int record_output_create(const char *path, bool force, int *fd)
{
	const int number = descriptor_of(path);
	int flags = O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL;
	struct stat info;
	int status;

	if (number >= 0)
		return open_descriptor(path, number, fd);
	if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
		flags = O_WRONLY | O_CLOEXEC;
	} else if (force) {
		status = common_file_check_recorded(path);
		if (status < 0)
			return status;
		if (unlink(path) < 0 && errno != ENOENT)
			return common_fail_errno("cannot replace %s", path);
	}
	/* It holds code and command lines: for nobody else, as perf.data. */
	*fd = open(path, flags, S_IRUSR | S_IWUSR);
	if (*fd >= 0) {
		if (flags & O_EXCL)
			common_file_lock_recorded(*fd);
		return 0;
	}
	if (errno == EEXIST)
		return common_fail(PTL_SYSTEM, "%s exists; --force replaces it, -o names another", path);
	return common_fail_errno("cannot create %s", path);
}

/* What else is written to standard output would be in the midst of the trace. */
static int open_standard_output(int *fd)
{
	*fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return common_fail_errno("cannot write to standard output");
	return 0;
}

/* A file that was made for this, and has nothing in it, is removed after a failure. */
static int open_writer(struct record_output *output, int fd, const struct ptl_writer_options *options)
{
	struct stat info;
	int status;

	output->is_stream = fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
	if (!output->is_stream && S_ISREG(info.st_mode))
		output->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	status = ptl_writer_open(fd, options, &output->writer);
	if (status == 0)
		return 0;
	close(fd);
	if (output->fd >= 0 && !output->in_memory)
		(void)unlink(output->path);
	if (output->fd >= 0)
		close(output->fd);
	return status;
}

static int name_output(struct record_output *output, const char *path, bool in_memory)
{
	*output = (struct record_output){.fd = -1, .path = strdup(path), .in_memory = in_memory};
	return output->path ? 0 : common_fail_memory("file name", strlen(path));
}

static int conclude_open(struct record_output *output, int status)
{
	if (status == 0)
		return 0;
	free(output->path);
	output->path = NULL;
	output->writer = NULL;
	return status;
}

int record_output_open(struct record_output *output, const char *path, bool force,
		       const struct ptl_writer_options *options)
{
	int fd, status = name_output(output, path, false);

	if (status == 0)
		status = strcmp(path, "-") == 0 ? open_standard_output(&fd) : record_output_create(path, force, &fd);
	if (status == 0)
		status = open_writer(output, fd, options);
	return conclude_open(output, status);
}

int record_output_open_memory(struct record_output *output, const char *path, const struct ptl_writer_options *options)
{
	int fd, status = name_output(output, path, true);

	if (status == 0) {
		fd = open(path, O_WRONLY | O_CLOEXEC);
		status = fd < 0 ? common_fail_errno("cannot write to memory") : open_writer(output, fd, options);
	}
	return conclude_open(output, status);
}

static void say_failure(struct record_output *output)
{
	common_message_error("%s", ptl_error_text());
	if (output->is_stream) {
		output->broken = true;
		common_message_hint("its reader is gone: recording ends here, the command goes on");
	} else {
		common_message_hint("the command and the recording go on; what cannot be written is "
				    "counted as lost");
	}
}

int record_output_check(struct record_output *output, int status)
{
	if (status != PTL_SYSTEM)
		return status < 0 ? status : 0;
	if (!output->failed) {
		output->failed = true;
		say_failure(output);
	}
	return 0;
}

void record_output_look(struct record_output *output)
{
	struct stat info;

	if (output->fd < 0 || output->vanished || output->in_memory || fstat(output->fd, &info) < 0 || info.st_nlink)
		return;
	output->vanished = true;
	common_message_error("%s was removed while it is being recorded", output->path);
	common_message_hint("what is recorded will be gone when ptl-record ends; until then it can be copied: "
			    "cp /proc/%d/fd/%d COPY",
			    (int)getpid(), output->fd);
}

void record_output_discard(struct record_output *output)
{
	struct stat ours, named;

	if (!output->writer)
		return;
	ptl_writer_abandon(output->writer);
	output->writer = NULL;
	/* Only what has this name itself: not what a link or /dev/fd/N leads to. */
	if (output->fd >= 0 && fstat(output->fd, &ours) == 0 && lstat(output->path, &named) == 0 &&
	    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
		(void)unlink(output->path);
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	free(output->path);
	output->path = NULL;
}

int record_output_close(struct record_output *output)
{
	struct ptl_writer_counts counts;
	struct stat info;
	int status;

	if (!output->writer)
		return 0;
	record_output_look(output);
	ptl_writer_counts(output->writer, &counts);
	output->stored = counts.stored_bytes;
	status = ptl_writer_close(output->writer);
	output->writer = NULL;
	if (output->fd >= 0 && fstat(output->fd, &info) == 0)
		output->stored = (uint64_t)info.st_size;
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	free(output->path);
	output->path = NULL;
	return status;
}
