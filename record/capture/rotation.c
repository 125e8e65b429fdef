/* SPDX-License-Identifier: BSD-2-Clause */
/* From file to file of a series: when, what the next one begins with, and when the one before is complete. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "format/event/kernel_class.h"
#include "format/writer/repeat.h"
#include "record/capture/capture_state.h"
#include "record/capture/machine.h"

#define SECOND 1000000000u
/* Packets may go to the file before for so long. A thread that sleeps has none, and begins with a PSB. */
#define WAIT_TIME SECOND
/* Code of the file before may be wanted by events that come so late. */
#define CODE_TIME (2ull * SECOND)

/* ---- counts ---------------------------------------------------------------------------------- */

static void add_counts(struct ptl_writer_counts *sum, const struct ptl_writer_counts *counts)
{
	sum->raw_bytes += counts->raw_bytes;
	sum->stored_bytes += counts->stored_bytes;
	sum->buffers += counts->buffers;
	sum->events += counts->events;
	sum->lost_buffers += counts->lost_buffers;
}

void record_capture_counts(const struct record_capture *capture, struct ptl_writer_counts *counts)
{
	struct ptl_writer_counts before;

	ptl_writer_counts(capture->output.writer, counts);
	add_counts(counts, &capture->past);
	if (!capture->before.writer)
		return;
	ptl_writer_counts(capture->before.writer, &before);
	add_counts(counts, &before);
}

/* ---- the file before ------------------------------------------------------------------------- */

static void forget_code(struct record_capture *capture)
{
	ptl_close(capture->code_before);
	capture->code_before = NULL;
}

/* Without it, code that is there already is missing in the next file: which is a gap there, as it is where code cannot be read. */
static void open_code(struct record_capture *capture, uint64_t now)
{
	char path[64];
	int fd;

	forget_code(capture);
	if (capture->before.fd < 0 || ptl_writer_flush(capture->before.writer) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", capture->before.fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && ptl_open_fd(fd, capture->before.path, NULL, &capture->code_before) < 0)
		close(fd);
	capture->code_since = now;
}

static int repeat_code(struct record_capture *capture, const uint8_t hash[PTL_HASH_SIZE])
{
	return record_output_check(&capture->output,
				   format_writer_repeat_blob(capture->output.writer, capture->code_before, hash));
}

int record_rotation_code(struct record_capture *capture, const struct ptl_event *event)
{
	struct format_kernel_event decoded;
	struct ptl_bytes storage = {0};
	int status = 0;

	if (!capture->code_before || capture->settings->embed == ELF_EMBED_NONE ||
	    format_kernel_decode(event, &storage, &decoded) < 0) {
		common_bytes_free(&storage);
		return 0;
	}
	if (decoded.class == FORMAT_CLASS_CODE) {
		status = repeat_code(capture, decoded.code.code);
	} else if (decoded.class == FORMAT_CLASS_IMAGE) {
		if (decoded.image.has_code)
			status = repeat_code(capture, decoded.image.code);
		if (status == 0 && decoded.image.has_symbols)
			status = repeat_code(capture, decoded.image.symbols);
		if (status == 0 && decoded.image.has_debug)
			status = repeat_code(capture, decoded.image.debug);
	}
	common_bytes_free(&storage);
	return status;
}

/* The virtual clock does not go on by itself. */
static uint64_t trace_time(const struct record_capture *capture, uint64_t now)
{
	return capture->settings->clock == PTL_CLOCK_VIRTUAL ? record_model_last_time(capture->model) : now;
}

/* A failure to write has been said, and is counted. */
static void close_before(struct record_capture *capture, uint64_t now)
{
	struct record_output *output = &capture->before;
	struct ptl_writer_counts counts;

	capture->machine.end_time = trace_time(capture, now);
	(void)record_output_check(output, ptl_writer_machine(output->writer, &capture->machine));
	capture->machine.end_time = 0;
	(void)ptl_writer_flush(output->writer);
	ptl_writer_counts(output->writer, &counts);
	add_counts(&capture->past, &counts);
	(void)record_output_close(output);
	capture->series_failed |= output->failed;
	*output = (struct record_output){.fd = -1};
}

int record_rotation_end_before(struct record_capture *capture, uint64_t now, bool last)
{
	int status;

	if (!capture->before.writer)
		return 0;
	status = record_streams_leave_before(capture, last);
	close_before(capture, now);
	return status;
}

void record_rotation_free(struct record_capture *capture)
{
	forget_code(capture);
	if (capture->before.writer)
		(void)record_output_close(&capture->before);
}

/* ---- the next file --------------------------------------------------------------------------- */

/* An event of the rundown, which each file but the first begins with. */
static int take_rundown(void *context, const struct ptl_event *event)
{
	struct record_capture *capture = context;
	int status = record_rotation_code(capture, event);

	return status < 0 ? status : record_capture_put(capture, capture->stream_pairs[0][0], event);
}

/* What came before goes on in this file: its schemas, its streams, and who lives. */
static int carry_over(struct record_capture *capture, uint64_t now)
{
	struct ptl_writer *writer = capture->output.writer;
	struct ptl_writer_counts counts, counts_all;
	int status = ptl_writer_machine(writer, &capture->machine);

	if (status == 0)
		status = record_capture_write_provenance(capture);
	if (status == 0)
		status = format_writer_repeat(writer, capture->before.writer);
	if (status == 0)
		status = record_streams_go_on(capture);
	open_code(capture, now);
	if (status == 0 && capture->stream_pair_count)
		status = record_series_rundown(capture->series, trace_time(capture, now), &capture->file_start,
					       take_rundown, capture);
	if (status == 0)
		status = record_streams_write_switches(capture);
	status = record_output_check(&capture->output, status == 0 ? ptl_writer_flush(writer) : status);
	ptl_writer_counts(writer, &counts);
	record_capture_counts(capture, &counts_all);
	record_series_begun(capture->series, counts.stored_bytes,
			    &(struct record_series_mark){capture->events, counts_all.buffers});
	return status;
}

/* The next file is there before the one before it is closed. */
static int go_on_in_next(struct record_capture *capture, uint64_t now)
{
	int status = record_rotation_end_before(capture, now, false);

	if (status == 0)
		status = record_image_store_finish(capture->images);
	if (status < 0)
		return status;
	capture->before = capture->output;
	status = record_series_open_next(capture->series, &capture->output);
	if (status < 0) {
		capture->output = capture->before;
		capture->before = (struct record_output){.fd = -1};
		record_series_say_failure(capture->series);
		return status == PTL_NO_MEMORY ? status : 0;
	}
	capture->before_since = now;
	capture->rotations++;
	status = carry_over(capture, now);
	return status < 0 ? status : record_image_store_restart(capture->images);
}

/* ---- when ------------------------------------------------------------------------------------ */

static int step_series(struct record_capture *capture, uint64_t now)
{
	struct ptl_writer_counts counts;
	int status = 0;

	if (capture->before.writer && (!capture->waiting || now - capture->before_since >= WAIT_TIME))
		status = record_rotation_end_before(capture, now, false);
	if (capture->code_before && now - capture->code_since >= CODE_TIME)
		forget_code(capture);
	if (status < 0 || capture->before.writer)
		return status;
	ptl_writer_counts(capture->output.writer, &counts);
	return record_series_is_due(capture->series, &counts, capture->output.failed, now) ? go_on_in_next(capture, now)
											   : 0;
}

int record_rotation_step(struct record_capture *capture, uint64_t now)
{
	struct ptl_writer_counts counts;

	if (capture->series)
		return step_series(capture, now);
	if (!capture->settings->max_size)
		return 0;
	ptl_writer_counts(capture->output.writer, &counts);
	capture->full |= counts.stored_bytes >= capture->settings->max_size;
	return 0;
}
