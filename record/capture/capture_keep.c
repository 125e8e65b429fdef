/* SPDX-License-Identifier: BSD-2-Clause */
/* Merges the files of a capture into its output: the files in memory, or the file to append to. */
#include "record/capture/capture_keep.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/capture.h"
#include "record/capture/keeper.h"

static int begin_to_keep(struct record_capture *capture)
{
	int status = record_series_files(capture->series, record_keeper_add, capture->keeping.keeper);

	if (status == 0)
		record_keeper_start(capture->keeping.keeper);
	return status;
}

int record_capture_keep(struct record_capture *capture)
{
	int status = record_capture_flush(capture);

	return status < 0 ? status : begin_to_keep(capture);
}

void record_capture_look_at_keeper(struct record_capture *capture)
{
	int status;

	if (!record_keeper_done(capture->keeping.keeper, false, &status))
		return;
	snprintf(capture->keeping.failure, sizeof(capture->keeping.failure), "%s", status < 0 ? ptl_error_text() : "");
	if (status < 0)
		common_message_error("%s", ptl_error_text());
	else if (!capture->settings->quiet)
		common_message_note("%s: written with what is in memory", record_keeper_path(capture->keeping.keeper));
}

static void take_size(struct record_capture *capture, const struct record_keeper *keeper)
{
	struct stat info;

	if (stat(record_keeper_path(keeper), &info) == 0)
		capture->output.end.stored_bytes = (uint64_t)info.st_size;
}

int record_capture_keep_all(struct record_capture *capture)
{
	int status;

	if (record_keeper_works(capture->keeping.keeper))
		(void)record_keeper_done(capture->keeping.keeper, true, &status);
	record_keeper_expect_whole(capture->keeping.keeper);
	status = begin_to_keep(capture);
	if (status == 0)
		(void)record_keeper_done(capture->keeping.keeper, true, &status);
	if (status == 0)
		take_size(capture, capture->keeping.keeper);
	return status;
}

int record_capture_append_part(struct record_capture *capture, const char *part)
{
	int status = capture->unfinished ? common_fail(PTL_SYSTEM, "nothing was appended to %s",
						       record_keeper_path(capture->keeping.appends))
					 : record_keeper_add(capture->keeping.appends,
							     record_keeper_path(capture->keeping.appends));

	if (status == 0)
		status = record_keeper_add(capture->keeping.appends, part);
	if (status == 0) {
		record_keeper_expect_whole(capture->keeping.appends);
		record_keeper_start(capture->keeping.appends);
		(void)record_keeper_done(capture->keeping.appends, true, &status);
	}
	if (status < 0)
		return common_fail_in(status, "%s has what was recorded", part);
	(void)unlink(part);
	take_size(capture, capture->keeping.appends);
	return 0;
}

void record_keeping_free(struct record_keeping *keeping)
{
	record_keeper_free(keeping->keeper);
	record_keeper_free(keeping->appends);
	keeping->keeper = keeping->appends = NULL;
}
