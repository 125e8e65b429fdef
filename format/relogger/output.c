/* SPDX-License-Identifier: BSD-2-Clause */
/* The output: its file, its writer, and how buffers are compressed. */
#include "format/relogger/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "format/relogger/control.h"
#include "format/relogger/input.h"
#include "format/relogger/relogger_internal.h"
#include "format/relogger/unfinished.h"
#include "format/writer/closing.h"

#define LIVE_FLUSH ((uint64_t)150 * 1000000) /* ns that an event waits in a partial buffer */

static int check_output(const struct ptl_relogger *relogger)
{
	if (relogger->output.given)
		return common_fail(PTL_MISUSE, "there is an output already");
	return format_relogger_check_new(relogger);
}

int ptl_relogger_output(struct ptl_relogger *relogger, const char *path, bool force)
{
	int status = check_output(relogger);

	/* Inputs that are the output are detected later, by format_output_check_inputs. */
	if (status)
		return status;
	status = common_output_open_unnamed(&relogger->output.file, path, force);
	relogger->output.file.sync |= !status && relogger->options.sync;
	relogger->output.given = !status;
	return status;
}

int ptl_relogger_output_fd(struct ptl_relogger *relogger, int fd)
{
	const int status = check_output(relogger);

	if (status)
		return status;
	relogger->output.fd = fd;
	relogger->output.given = true;
	return 0;
}

int ptl_relogger_recompress(struct ptl_relogger *relogger, int level)
{
	const int status = format_relogger_check_new(relogger);

	if (status)
		return status;
	if (level < 0 || level > 19)
		return common_fail(PTL_MISUSE, "expected a compression level from 0 to 19, found %d", level);
	relogger->output.recompress = true;
	relogger->output.level = level;
	return 0;
}

void format_relogger_leave_unfinished(struct ptl_relogger *relogger)
{
	relogger->output.unfinished = true;
}

int format_output_check_inputs(const struct ptl_relogger *relogger)
{
	const char *path = relogger->output.file.path;
	struct stat output, input;

	if ((path ? stat(path, &output) : fstat(relogger->output.fd, &output)) < 0 || !S_ISREG(output.st_mode))
		return 0;
	for (size_t i = 0; i < relogger->input_count; i++)
		if (fstat(relogger->inputs[i]->fd, &input) == 0 && input.st_dev == output.st_dev &&
		    input.st_ino == output.st_ino)
			return common_fail(PTL_MISUSE, "%s is an input and the output", relogger->inputs[i]->name);
	return 0;
}

int format_output_open(struct ptl_relogger *relogger)
{
	struct ptl_writer_options options = {
		.size = sizeof(options),
		.level = relogger->output.recompress ? relogger->output.level : relogger->options.level,
		.store = relogger->output.recompress && !relogger->output.level,
		.threads = relogger->options.threads,
		.memory_limit = relogger->options.memory_limit / 4,
		.write_back = relogger->output.file.sync, /* as the file will be synced before it gets its name */
		.flush_interval = relogger->inputs[0]->live ? LIVE_FLUSH : 0,
		.name = relogger->output.file.path,
	};
	int fd = relogger->output.fd;
	int status;

	for (size_t i = 0; i < relogger->input_count; i++) {
		uint16_t major, minor;

		ptl_trace_version(relogger->inputs[i]->trace, &major, &minor);
		options.minor = minor > options.minor ? minor : options.minor;
		relogger->control.total += ptl_trace_size(relogger->inputs[i]->trace);
	}
	relogger->output.fd = -1;
	if (fd < 0)
		fd = fcntl(relogger->output.file.fd, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return common_fail_errno("cannot write %s", relogger->output.file.path);
	status = ptl_writer_open(fd, &options, &relogger->writer);
	if (status)
		close(fd);
	/* A growing output is read under its final name. The lock keeps other programs from replacing it. */
	if (!status && relogger->inputs[0]->live && relogger->output.file.path) {
		if (relogger->output.file.temporary || relogger->output.file.unnamed)
			common_file_lock_recorded(relogger->output.file.fd);
		status = common_output_commit(&relogger->output.file);
	}
	return status;
}

int format_output_commit(struct ptl_relogger *relogger)
{
	int status;

	if (relogger->output.unfinished)
		format_writer_leave_unfinished(relogger->writer);
	status = ptl_writer_close(relogger->writer);
	relogger->writer = NULL;
	if (!status)
		status = format_relogger_check(relogger);
	if (!status && relogger->output.file.path)
		status = common_output_commit(&relogger->output.file);
	return status;
}

void format_output_abandon(struct ptl_relogger *relogger)
{
	if (relogger->writer)
		ptl_writer_abandon(relogger->writer);
	relogger->writer = NULL;
	if (relogger->output.file.path)
		common_output_abandon(&relogger->output.file);
	if (relogger->output.fd >= 0)
		close(relogger->output.fd);
	relogger->output.fd = -1;
}
