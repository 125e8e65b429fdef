/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes the files of a named session one after the other. */
#include "relog/session.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/session/session_say.h"
#include "common/text/text.h"
#include "format/reader/session_beginning.h"
#include "format/reader/session_files.h"
#include "relog/follow.h"
#include "relog/run.h"
#include "relog/part_files.h"

/* An interruption between two files stops the run. */
static int wait_for_session(void *context, const char *name, uint64_t waited)
{
	(void)context;
	common_session_say_waiting(name, waited);
	return common_interrupt_check();
}

static int begin_session(struct format_session_files *files, int *fd, char **path)
{
	struct ptl_bytes beginning = {0};
	int status = format_session_files_begin(files, fd, path);

	if (!status && format_session_beginning(files, *fd, *path, &beginning) == 0 && beginning.size)
		common_message_note("%s", common_text_string(&beginning));
	common_bytes_free(&beginning);
	return status;
}

/* missed: events that were lost before this file. */
static int write_file(const struct relog_settings *settings, const char *path, int fd, size_t number, uint64_t missed,
		      bool *damaged)
{
	struct relog_settings file = *settings;
	char *output = NULL;
	int status;

	if (number > 1 && strcmp(settings->output, "-") == 0)
		return common_fail(PTL_MISUSE, "the session goes on in another file, and the output is a pipe: "
					       "-o OUTPUT.ptl, for as many outputs");
	if (number > 1) {
		output = relog_part_name(settings->output, number, false);
		if (!output)
			return common_fail_memory("a file name", strlen(settings->output));
		file.output = output;
	}
	file.inputs = &path;
	file.opened = fd;
	file.missed = missed;
	status = relog_run(&file, damaged);
	free(output);
	return status;
}

/* Whether the complete file reaches beyond the end of the --time window. */
static bool is_past_window(const struct relog_settings *settings, int fd, const char *path)
{
	const struct common_time_span *span = &settings->cut.span;
	const int copy = span->to.given && !span->to.from_end && !span->from.from_end ? fcntl(fd, F_DUPFD_CLOEXEC, 3)
										      : -1;
	const struct ptl_machine *machine;
	struct ptl_trace *trace;
	uint64_t first, last;
	bool past;

	if (copy < 0)
		return false;
	if (ptl_open_fd(copy, path, NULL, &trace)) {
		close(copy);
		return false;
	}
	machine = ptl_trace_machine(trace);
	past = common_time_span_resolve(span, machine->start_time, 0, &first, &last) == 0 && machine->end_time > last;
	ptl_close(trace);
	return past;
}

int relog_session(const struct relog_settings *settings, bool *damaged)
{
	struct format_session_files files = {.session = settings->inputs[0], .wait = {.wait = wait_for_session}};
	uint64_t missed = 0;
	char *path;
	int fd, status = begin_session(&files, &fd, &path);

	while (!status && fd >= 0) {
		bool past;

		status = write_file(settings, path, fd, (size_t)files.files, files.missed - missed, damaged);
		missed = files.missed;
		past = !status && is_past_window(settings, fd, path);
		close(fd);
		free(path);
		if (status || past || relog_follow_was_interrupted())
			break;
		status = format_session_files_next(&files, &fd, &path);
		common_session_say_missed(files.missed - missed);
		if (status == PTL_CANCELLED) {
			common_message_note("%s: interrupted; what is there is taken", files.session);
			status = 0;
		}
	}
	if (!status && files.doubt[0])
		common_message_warning("%s", files.doubt);
	format_session_files_free(&files);
	return status;
}
