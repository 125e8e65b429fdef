/* SPDX-License-Identifier: BSD-2-Clause */
/* From the name of a session to its files, one after the other. */
#include "relog/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/message.h"
#include "format/reader/session_files.h"
#include "relog/follow.h"
#include "relog/run.h"
#include "relog/split.h"

static void say_missed(const struct format_session_files *files, uint64_t before)
{
	if (files->missed > before)
		common_message_warning("missed %" PRIu64 " events: the session went on faster than they were read",
				       files->missed - before);
	if (files->doubt[0])
		common_message_warning("%s", files->doubt);
}

/* missed: events before this file. */
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

int relog_session(const struct relog_settings *settings, bool *damaged)
{
	struct format_session_files files = {.session = settings->inputs[0]};
	uint64_t missed = 0;
	char *path;
	int fd, status = format_session_files_begin(&files, &fd, &path);

	while (!status && fd >= 0) {
		status = write_file(settings, path, fd, (size_t)files.files, files.missed - missed, damaged);
		missed = files.missed;
		close(fd);
		free(path);
		if (status || relog_follow_was_interrupted())
			break;
		status = format_session_files_next(&files, &fd, &path);
		say_missed(&files, missed);
	}
	format_session_files_free(&files);
	return status;
}
