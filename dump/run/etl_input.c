/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/run/etl_input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/program/message.h"
#include "import/etl/input.h"
#include "import/spool.h"

#define START 4096u

static bool is_etl(int fd)
{
	uint8_t start[START];
	const ssize_t size = pread(fd, start, sizeof(start), 0);

	return size > 0 && etl_file_is(start, (size_t)size);
}

/* Refuses an output that is the input: completing the output would replace the input. */
static int check_output(const struct dump_run *run, int fd)
{
	struct stat input, output;

	if (!run->options->output || stat(run->options->output, &output) || fstat(fd, &input) ||
	    input.st_dev != output.st_dev || input.st_ino != output.st_ino)
		return 0;
	return common_fail(PTL_MISUSE, "%s is the input, too", run->options->output);
}

static int import(struct dump_run *run, int fd, struct import_spool *spool)
{
	const struct etl_options options = {0};
	struct etl_outcome outcome;
	const int status = etl_import(fd, &options, spool->writer, &outcome);

	if (status)
		return status;
	if (outcome.damage[0])
		common_message_warning("%s: %s%s", run->path, outcome.damage,
				       outcome.damaged_buffers > 1 ? ", and more buffers" : "");
	run->damaged = outcome.damage[0];
	return 0;
}

static int convert_etl(struct dump_run *run, int fd, const struct ptl_open_options *options)
{
	struct import_spool spool;
	int made = -1;
	int status = import_spool_open(&spool, PTL_HASH_NONE);

	if (status)
		return status;
	status = import(run, fd, &spool);
	if (!status)
		status = import_spool_take(&spool, &made);
	import_spool_free(&spool);
	if (status)
		return status;
	status = ptl_open_fd(made, run->path, options, &run->trace);
	if (status)
		close(made);
	return status;
}

int dump_etl_open(struct dump_run *run, const struct ptl_open_options *options)
{
	const int fd = open(run->path, O_RDONLY | O_CLOEXEC);
	int status;

	if (fd < 0)
		return common_fail_errno("%s", run->path);
	status = is_etl(fd) ? check_output(run, fd) : common_fail(PTL_NOT_OURS, "%s: not a trace file", run->path);
	if (!status)
		status = convert_etl(run, fd, options);
	close(fd);
	return status;
}
