/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the output of a command. */
#include "dump/run/output.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "dump/run/line_cut.h"

/*
 * Writes bytes and keeps errno, which stdio alone would lose. Returns the number of bytes written; 0 reports a failure
 * to stdio.
 */
static ssize_t write_output(void *cookie, const char *data, size_t given)
{
	struct dump_output *output = cookie;
	size_t size = given, done;

	if (output->cut && !output->discards && !dump_line_cut_add(output->cut, &data, &size)) {
		output->error = ENOMEM;
		return 0;
	}
	done = output->discards ? size : 0;
	while (done < size && !output->error) {
		const ssize_t written = write(output->fd, data + done, size - done);

		if (written >= 0)
			done += (size_t)written;
		else if (errno != EINTR)
			output->error = errno;
	}
	return output->error ? 0 : (ssize_t)given;
}

/* Runs in a signal handler: removes the unfinished file at once, however long the command would still run. */
static void remove_unfinished(void *context)
{
	const struct dump_output *output = context;

	if (output->file.temporary)
		(void)unlink(output->file.temporary);
	common_interrupt_die();
}

static int refuse_input(const struct dump_run *run, const struct stat *target, const char *input)
{
	struct stat info;

	if (stat(input, &info) == 0 && info.st_dev == target->st_dev && info.st_ino == target->st_ino)
		return common_fail(PTL_MISUSE, "%s is the trace itself: -o has to name another file",
				   run->options->output);
	return 0;
}

/* Refuses an output that is one of the input traces: it would replace its own input. */
static int refuse_inputs(const struct dump_run *run)
{
	struct stat target;
	int status;

	if (stat(run->options->output, &target) < 0 || !S_ISREG(target.st_mode))
		return 0;
	status = refuse_input(run, &target, run->path);
	for (size_t i = 0; status == 0 && i < run->more_count; i++)
		status = refuse_input(run, &target, run->more[i]);
	return status;
}

static int open_file(struct dump_run *run, struct dump_output *output)
{
	int status = refuse_inputs(run);

	if (status < 0)
		return status;
	common_interrupt_catch(remove_unfinished, output);
	status = common_output_open(&output->file, run->options->output, run->options->force);
	if (status < 0) {
		common_interrupt_forget();
		return status;
	}
	output->to_file = true;
	output->fd = output->file.fd;
	return 0;
}

int dump_output_open(struct dump_run *run, struct dump_output *output)
{
	int status = 0;

	*output = (struct dump_output){.fd = STDOUT_FILENO, .file.fd = -1, .discards = run->saver != NULL};
	run->output = output;
	if (run->options->output && strcmp(run->options->output, "-") != 0)
		status = open_file(run, output);
	if (status < 0)
		return status;
	output->stream = fopencookie(output, "w", (cookie_io_functions_t){.write = write_output});
	if (!output->stream)
		return common_fail_memory("output", DUMP_OUTPUT_BUFFER);
	if (run->width && run->cuts_lines && !dump_line_cut_new(run->width, &output->cut))
		return common_fail_memory("output", DUMP_OUTPUT_BUFFER);
	setvbuf(output->stream, NULL, _IOFBF, DUMP_OUTPUT_BUFFER);
	run->out = output->stream;
	return 0;
}

int dump_output_check(const struct dump_run *run)
{
	const int error = run->output->error;

	if (!error)
		return 0;
	if (error == EPIPE)
		return common_fail(PTL_CANCELLED, "the reader of the output has gone");
	errno = error;
	return run->output->to_file ? common_fail_errno("cannot write %s", run->options->output)
				    : common_fail_errno("cannot write the output");
}

int dump_output_flush(struct dump_run *run)
{
	fflush(run->output->stream);
	return dump_output_check(run);
}

int dump_output_close(struct dump_run *run, bool keep)
{
	struct dump_output *output = run->output;
	int status = 0;

	if (output->stream)
		fclose(output->stream);
	dump_line_cut_free(output->cut);
	output->cut = NULL;
	common_interrupt_forget();
	if (!output->to_file)
		return 0;
	if (keep)
		status = common_output_commit(&output->file);
	else
		common_output_abandon(&output->file);
	return status;
}

bool dump_output_is_terminal(const struct dump_run *run)
{
	return !run->output->to_file && isatty(STDOUT_FILENO);
}

const char *dump_output_file(const struct dump_run *run)
{
	return run->output->file.temporary;
}
