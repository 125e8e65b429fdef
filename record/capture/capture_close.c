/* SPDX-License-Identifier: BSD-2-Clause */
/* Closes the trace of a capture. An error that ended the recording leaves a file that readers report as incomplete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/writer/closing.h"
#include "record/capture/capture.h"
#include "record/capture/keeper.h"
#include "record/capture/series.h"
#include "record/image/image_store.h"

/* Frees everything but the output. */
static void free_parts(struct record_capture *capture)
{
	record_model_free(capture->model);
	record_image_store_free(capture->images);
	free(capture->pt_filters);
	record_streams_free(capture);
	record_rotation_free(capture);
	record_keeping_free(&capture->keeping);
	record_capture_filter_free(&capture->filter);
	record_series_free(capture->series);
	capture->series = NULL;
	capture->model = NULL;
	capture->images = NULL;
}

void record_capture_discard(struct record_capture *capture)
{
	free_parts(capture);
	record_output_discard(&capture->output);
}

static int lose_images(struct record_capture *capture, uint32_t kind, uint64_t count, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = kind,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = count,
		.cause = cause,
	};

	return count ? record_capture_loss(capture, &loss) : 0;
}

/* Reports images with unreadable files, and cut names. */
static int lose_unread(struct record_capture *capture)
{
	const uint64_t cut = record_image_store_cut_names(capture->images);
	char cause[128];
	int status = lose_images(capture, PTL_LOSS_CODE, record_image_store_unread(capture->images),
				 "mapped files, their symbols, or names of code that was made, could not be read");

	if (status < 0)
		return status;
	snprintf(cause, sizeof(cause), "%llu names of functions overlap in a mapped file, and were cut",
		 (unsigned long long)cut);
	status = lose_images(capture, PTL_LOSS_SYMBOLS, cut != 0, cause);
	if (status < 0)
		return status;
	return lose_images(capture, PTL_LOSS_SYMBOLS, record_image_store_report_sources(capture->images),
			   "source files are larger than the trace may store");
}

void record_capture_cut_short(struct record_capture *capture, uint64_t time, const char *cause)
{
	struct record_model_counts counts;
	char text[256];
	struct ptl_loss loss = {
		.kind = PTL_LOSS_END,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.first_time = capture->settings->clock == PTL_CLOCK_VIRTUAL ? record_model_last_time(capture->model)
									    : time,
		.cause = text,
	};

	if (capture->unfinished)
		return;
	capture->unfinished = true;
	snprintf(text, sizeof(text), "an error ended the recording: %s", cause);
	record_model_counts(capture->model, &counts);
	loss.count = counts.living ? counts.living : 1;
	/*
	 * Writes the record before the rundown takes memory. Without memory for the record, the missing trailer tells
	 * readers.
	 */
	if (record_capture_loss(capture, &loss) == 0)
		(void)record_output_check(&capture->output, ptl_writer_flush(capture->output.writer));
}

bool record_capture_write_failed(const struct record_capture *capture)
{
	return capture->output.failed || capture->output.vanished || capture->rotation.failed;
}

/* Writes the last records of the trace. */
static int write_end(struct record_capture *capture, uint64_t end_time)
{
	/* An error may have left the model half changed. */
	int status = capture->unfinished ? 0 : record_model_finish(capture->model);

	record_filter_warn(&capture->filter.current, &capture->filter.schemas);
	if (status == 0)
		status = record_image_store_finish(capture->images);
	if (status == 0)
		status = lose_unread(capture);
	if (capture->settings->clock == PTL_CLOCK_VIRTUAL)
		end_time = record_model_last_time(capture->model);
	if (status == 0)
		status = record_rotation_finish(capture, end_time);
	if (status == 0)
		status = record_capture_report_more(capture);
	capture->machine.end_time = end_time;
	if (status == 0)
		status = record_output_check(&capture->output,
					     ptl_writer_machine(capture->output.writer, &capture->machine));
	return status;
}

/* Closes the current file, and merges the file into its destination. */
static int close_files(struct record_capture *capture)
{
	char *part = capture->keeping.appends ? strdup(capture->output.path) : NULL;
	int status;

	if (capture->unfinished)
		format_writer_leave_unfinished(capture->output.writer);
	if (capture->unfinished && capture->keeping.keeper)
		record_keeper_leave_unfinished(capture->keeping.keeper);
	status = record_output_close(&capture->output);
	if (capture->keeping.keeper && status == 0)
		status = record_capture_keep_all(capture);
	if (capture->keeping.appends && status == 0)
		status = part ? record_capture_append_part(capture, part) : common_fail_memory("file name", 0);
	free(part);
	return status;
}

int record_capture_close(struct record_capture *capture, uint64_t end_time)
{
	char text[512] = "";
	int status = write_end(capture, end_time), closed;

	if (status < 0) {
		snprintf(text, sizeof(text), "%s", ptl_error_text());
		record_capture_cut_short(capture, end_time, text);
	}
	closed = close_files(capture);
	if (status == 0 && closed < 0)
		snprintf(text, sizeof(text), "%s", ptl_error_text());
	status = status < 0 ? status : closed;
	if (capture->series && capture->rotation.rest_wanted)
		capture->rotation.rest = record_series_rest(capture->series, capture->events);
	free_parts(capture);
	return status < 0 ? common_fail(status, "%s", text) : 0;
}
