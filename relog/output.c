/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the output, and finishes it with the record of its own making. */
#include "relog/output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/thread_pool.h"
#include "common/version.h"

/* A descriptor for the writer to own; the output keeps its own until it is put into place. */
static int open_descriptor(struct relog_output *output, const struct relog_settings *settings,
			   int *fd)
{
	output->to_stdout = strcmp(settings->output, "-") == 0;
	if (output->to_stdout && isatty(STDOUT_FILENO))
		return ptl_fail(
			PTL_MISUSE,
			"standard output is a terminal: give -o FILE, or send it to a pipe");
	if (!output->to_stdout) {
		int status = ptl_output_open(&output->file, settings->output, settings->force);

		if (status)
			return status;
	}
	*fd = fcntl(output->to_stdout ? STDOUT_FILENO : output->file.fd, F_DUPFD_CLOEXEC, 3);
	if (*fd < 0)
		return ptl_fail_errno("%s", settings->output);
	return 0;
}

/* Inputs are never changed, not even with --force. name may be NULL. */
static int check_not_output(const char *name, const struct stat *output)
{
	struct stat info;

	if (!name || (strcmp(name, "-") == 0 ? fstat(STDIN_FILENO, &info) : stat(name, &info)) < 0)
		return 0; /* reading it will say why */
	if (info.st_dev != output->st_dev || info.st_ino != output->st_ino)
		return 0;
	return ptl_fail(PTL_MISUSE, "%s is an input and the output", name);
}

static int check_inputs(const struct relog_settings *settings)
{
	struct stat output;
	int status;

	if (strcmp(settings->output, "-") == 0 || stat(settings->output, &output) < 0 ||
	    !S_ISREG(output.st_mode))
		return 0;
	status = check_not_output(settings->input, &output);
	if (!status)
		status = check_not_output(settings->memory, &output);
	if (!status)
		status = check_not_output(settings->memory_map, &output);
	for (size_t i = 0; !status && i < settings->pt_count; i++)
		status = check_not_output(settings->pt[i], &output);
	return status;
}

int relog_output_open(struct relog_output *output, const struct relog_settings *settings,
		      uint16_t minor)
{
	struct ptl_writer_options options = {.threads = ptl_cpu_count() - 1, .minor = minor};
	int fd = -1;
	int status;

	*output = (struct relog_output){.file.fd = -1};
	status = check_inputs(settings);
	if (!status)
		status = open_descriptor(output, settings, &fd);
	if (!status) {
		status = ptl_writer_open(fd, &options, &output->writer);
		if (status)
			close(fd);
	}
	if (status)
		relog_output_abandon(output);
	return status;
}

int relog_output_add_input(struct relog_output *output, const char *name, uint64_t size,
			   const uint8_t hash[PTL_HASH_SIZE])
{
	size_t bytes = (output->inputs + 1) * sizeof(*output->input);
	struct ptl_provenance_input *input = realloc(output->input, bytes);

	if (!input)
		return ptl_fail_memory("provenance", bytes);
	output->input = input;
	input += output->inputs++;
	*input = (struct ptl_provenance_input){.name = name, .size = size};
	memcpy(input->hash, hash, PTL_HASH_SIZE);
	return 0;
}

static int write_provenance(struct relog_output *output, const struct relog_settings *settings)
{
	struct ptl_provenance provenance = {
		.tool = "ptl-relog",
		.version = PTL_VERSION,
		.rules = "",
		.inputs = output->inputs,
		.input = output->input,
	};
	struct timespec now;

	if (settings->command.failed)
		return ptl_fail_memory("the command line", settings->command.size);
	provenance.command = (const char *)settings->command.data;
	clock_gettime(CLOCK_REALTIME, &now);
	provenance.wall_time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	return ptl_writer_provenance(output->writer, &provenance);
}

int relog_output_commit(struct relog_output *output, const struct relog_settings *settings)
{
	int status = write_provenance(output, settings);
	int closed = ptl_writer_close(output->writer);

	output->writer = NULL;
	if (!status)
		status = closed;
	if (!status)
		status = relog_check_signals();
	if (!status && !output->to_stdout)
		status = ptl_output_commit(&output->file);
	if (status)
		ptl_fail_in(status, "cannot write %s",
			    output->to_stdout ? "to standard output" : settings->output);
	relog_output_abandon(output);
	return status;
}

void relog_output_abandon(struct relog_output *output)
{
	if (output->writer)
		ptl_writer_abandon(output->writer);
	if (!output->to_stdout && output->file.path)
		ptl_output_abandon(&output->file);
	free(output->input);
	*output = (struct relog_output){.file.fd = -1};
}
