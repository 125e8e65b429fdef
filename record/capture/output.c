/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the trace file, and notices failed writes and removal of the file. */
#include "record/capture/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"

/* Redirects standard output to standard error: other output would damage a trace on standard output. */
static int open_standard_output(int *fd)
{
	*fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return common_fail_errno("cannot write to standard output");
	return 0;
}

/* Opens the writer. Removes a new, empty file after a failure. */
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

int record_output_open(struct record_output *output, const char *path, unsigned wish,
		       const struct ptl_writer_options *options)
{
	int fd, status = name_output(output, path, false);

	if (status == 0)
		status = strcmp(path, "-") == 0 ? open_standard_output(&fd) : record_output_create(path, wish, &fd);
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
	/* Removes only a directory entry of the file itself, not the target of a link or of /dev/fd/N. */
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
	struct stat info;
	int status;

	if (!output->writer)
		return 0;
	record_output_look(output);
	status = format_writer_close(output->writer, &output->end);
	output->writer = NULL;
	/* A device, a descriptor or "-" may have held other data before. */
	if (output->fd >= 0 && fstat(output->fd, &info) == 0)
		output->end.stored_bytes = (uint64_t)info.st_size;
	if (output->fd >= 0)
		close(output->fd);
	output->fd = -1;
	free(output->path);
	output->path = NULL;
	return status;
}
