/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches between files of a series: decides when to switch, writes the initial records of the next file, and
 * completes the previous file.
 */
#include "record/capture/rotation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/vector.h"
#include "format/event/kernel_class.h"
#include "format/writer/closing.h"
#include "format/writer/repeat.h"
#include "record/capture/capture.h"
#include "record/capture/series.h"
#include "record/image/image_store.h"

#define SECOND 1000000000u
/* Maximum time for packets to the previous file. A thread that sleeps longer has no packets, and begins with a PSB. */
#define WAIT_TIME SECOND
/* Milliseconds to wait for each of two files at a time. A ring of 4 MiB holds 30 ms of a million events a second. */
#define OVERDUE_WAIT 10
/* How long late events may refer to code in the previous file. */
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
	add_counts(counts, &capture->rotation.past);
	if (capture->rotation.closing.work.works)
		add_counts(counts, &capture->rotation.closing.counts);
	if (!capture->rotation.before.writer)
		return;
	ptl_writer_counts(capture->rotation.before.writer, &before);
	add_counts(counts, &before);
}

/* ---- the previous file ----------------------------------------------------------------------- */

static void forget_code(struct record_capture *capture)
{
	ptl_close(capture->rotation.code_before);
	capture->rotation.code_before = NULL;
}

/* Reads code from the previous file, because the kept blobs exceeded their memory. */
static void open_code_again(struct record_capture *capture)
{
	char path[64];
	int fd;

	forget_code(capture);
	if (capture->rotation.before.fd < 0 || ptl_writer_flush(capture->rotation.before.writer) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", capture->rotation.before.fd);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && ptl_open_fd(fd, capture->rotation.before.path, NULL, &capture->rotation.code_before) < 0)
		close(fd);
}

/*
 * Writes the hashes of the blobs that an event refers to, and returns their number. storage: buffer of the event's
 * payload.
 */
static size_t hashes_of(const struct ptl_event *event, struct ptl_bytes *storage, uint8_t hashes[3][PTL_HASH_SIZE])
{
	struct format_kernel_event decoded;
	size_t count = 0;

	if (format_kernel_decode(event, storage, &decoded) < 0)
		return 0;
	if (decoded.class == FORMAT_CLASS_CODE)
		memcpy(hashes[count++], decoded.code.code, PTL_HASH_SIZE);
	if (decoded.class != FORMAT_CLASS_IMAGE)
		return count;
	if (decoded.image.has_code)
		memcpy(hashes[count++], decoded.image.code, PTL_HASH_SIZE);
	if (decoded.image.has_symbols)
		memcpy(hashes[count++], decoded.image.symbols, PTL_HASH_SIZE);
	if (decoded.image.has_debug)
		memcpy(hashes[count++], decoded.image.debug, PTL_HASH_SIZE);
	return count;
}

int record_rotation_code(struct record_capture *capture, const struct ptl_event *event)
{
	uint8_t hashes[3][PTL_HASH_SIZE];
	struct ptl_bytes storage = {0};
	size_t count;
	int status = 0;

	if (!capture->rotation.code_before)
		return 0;
	count = hashes_of(event, &storage, hashes);
	for (size_t i = 0; status == 0 && i < count; i++)
		status = record_output_check(
			&capture->output,
			format_writer_repeat_blob(capture->output.writer, capture->rotation.code_before, hashes[i]));
	common_bytes_free(&storage);
	return status;
}

/* Returns the time of the trace. The virtual clock advances only by events. */
static uint64_t trace_time(const struct record_capture *capture, uint64_t now)
{
	return capture->settings->clock == PTL_CLOCK_VIRTUAL ? record_model_last_time(capture->model) : now;
}

/* Completes a file on a background thread, because the disk may be slow. */
static int complete_file(void *context)
{
	struct record_capture *capture = context;
	struct record_output *output = &capture->rotation.closing.output;

	(void)record_output_check(output, ptl_writer_flush(output->writer));
	ptl_writer_counts(output->writer, &capture->rotation.closing.completed);
	return record_output_check(output, record_output_close(output));
}

static void look_at_closing(struct record_capture *capture, bool wait)
{
	int status;

	if (!record_background_done(&capture->rotation.closing.work, wait, &status))
		return;
	add_counts(&capture->rotation.past, &capture->rotation.closing.completed);
	if (status < 0)
		common_message_error("%s", ptl_error_text());
	capture->rotation.failed |= status < 0 || capture->rotation.closing.output.failed;
}

void record_rotation_await(struct record_capture *capture)
{
	look_at_closing(capture, true);
}

int record_capture_flush(struct record_capture *capture)
{
	int status = 0;

	record_rotation_await(capture);
	if (capture->rotation.before.writer)
		status = record_output_check(&capture->rotation.before,
					     ptl_writer_flush(capture->rotation.before.writer));
	return status < 0 ? status : record_output_check(&capture->output, ptl_writer_flush(capture->output.writer));
}

/* Ends writing to the previous file. */
static int end_before(struct record_capture *capture, uint64_t now, bool last)
{
	struct record_output *output = &capture->rotation.before;
	int status;

	if (!output->writer)
		return 0;
	status = record_streams_leave_before(capture, last);
	capture->machine.end_time = trace_time(capture, now);
	/* record_output_check reports and counts a failed write. */
	(void)record_output_check(output, ptl_writer_machine(output->writer, &capture->machine));
	capture->machine.end_time = 0;
	if (capture->unfinished)
		format_writer_leave_unfinished(output->writer);
	ptl_writer_counts(output->writer, &capture->rotation.closing.counts);
	capture->rotation.closing.output = *output;
	*output = (struct record_output){.fd = -1};
	record_background_start(&capture->rotation.closing.work, complete_file, capture);
	return status;
}

void record_rotation_free(struct record_capture *capture)
{
	record_next_file_free(capture->rotation.next);
	capture->rotation.next = NULL;
	forget_code(capture);
	look_at_closing(capture, true);
	if (capture->rotation.before.writer)
		(void)record_output_close(&capture->rotation.before);
}

/* ---- the next file --------------------------------------------------------------------------- */

struct wanted_code {
	uint8_t (*hashes)[PTL_HASH_SIZE];
	size_t count, capacity;
};

/* Adds the code of a rundown event; each file but the first begins with rundown events. */
static int want_code(void *context, const struct ptl_event *event)
{
	struct wanted_code *wanted = context;
	uint8_t hashes[3][PTL_HASH_SIZE];
	struct ptl_bytes storage = {0};
	const size_t count = hashes_of(event, &storage, hashes);

	common_bytes_free(&storage);
	if (count && COMMON_VECTOR_RESERVE(wanted->hashes, wanted->capacity, wanted->count + count, "code"))
		return PTL_NO_MEMORY;
	for (size_t i = 0; i < count; i++)
		memcpy(wanted->hashes[wanted->count++], hashes[i], PTL_HASH_SIZE);
	return 0;
}

/* Starts preparing the next file with the code of living processes, which is most of the initial data. */
static int prepare_next(struct record_capture *capture, uint64_t now)
{
	struct wanted_code wanted = {0};
	uint64_t start;
	int status = 0;

	if (capture->streams.pair_count)
		status = record_series_rundown(capture->series, trace_time(capture, now), &start, want_code, &wanted);
	if (status == 0)
		return record_next_file_new(capture, wanted.hashes, wanted.count);
	free(wanted.hashes);
	return status;
}

/* Writes a rundown event to the current file; each file but the first begins with rundown events. */
static int take_rundown(void *context, const struct ptl_event *event)
{
	struct record_capture *capture = context;
	int status = record_rotation_code(capture, event);

	return status < 0 ? status : record_capture_put(capture, capture->streams.pairs[0][0], event);
}

/* Continues the recording in the current file: repeats schemas, declares streams, and writes the living processes. */
static int carry_over(struct record_capture *capture, uint64_t now)
{
	struct ptl_writer *writer = capture->output.writer;
	struct ptl_writer_counts counts;
	int status = format_writer_repeat(writer, capture->rotation.before.writer);

	if (status == 0)
		status = record_streams_go_on(capture);
	if (status == 0 && capture->streams.pair_count)
		status = record_series_rundown(capture->series, trace_time(capture, now), &capture->rotation.file_start,
					       take_rundown, capture);
	if (status == 0)
		status = record_switches_repeat(capture);
	status = record_output_check(&capture->output,
				     status == 0 ? format_writer_submit(writer, &capture->rotation.begun) : status);
	capture->rotation.begins = true;
	record_capture_counts(capture, &counts);
	record_series_mark(capture->series, &(struct record_series_mark){capture->events, counts.buffers});
	return status;
}

/* Switches to the next file. The next file exists before the previous file is closed. */
static int go_on_in_next(struct record_capture *capture, uint64_t now)
{
	struct record_next_file *next = capture->rotation.next;
	int status = record_image_store_finish(capture->images);

	forget_code(capture);
	capture->rotation.before = capture->output;
	if (status == 0)
		status = record_next_file_take(next, &capture->output, &capture->rotation.code_before);
	if (record_next_file_overflowed(next))
		open_code_again(capture);
	capture->rotation.before_since = capture->rotation.code_since = now;
	capture->rotation.count++;
	if (status == 0)
		status = carry_over(capture, now);
	return status < 0 ? status : record_image_store_restart(capture->images);
}

/* Switches to the next file if the preparation has ended. wait: waits for the end of the preparation. */
static int look_at_next(struct record_capture *capture, uint64_t now, bool wait)
{
	int status;

	if (!record_next_file_done(capture->rotation.next, wait, &status))
		return 0;
	if (status == 0)
		status = go_on_in_next(capture, now);
	else if (status != PTL_NO_MEMORY) {
		record_series_refused(capture->series);
		status = 0;
	}
	record_next_file_free(capture->rotation.next);
	capture->rotation.next = NULL;
	return status;
}

/*
 * Drops a file in preparation, except if the current file takes no data: the series may have removed an older file for
 * the new one, so the new one has to hold the rest.
 */
int record_rotation_finish(struct record_capture *capture, uint64_t now)
{
	int status = 0;

	if (capture->rotation.next && capture->output.failed)
		status = look_at_next(capture, now, true);
	record_next_file_free(capture->rotation.next);
	capture->rotation.next = NULL;
	look_at_closing(capture, true);
	if (status == 0)
		status = end_before(capture, now, true);
	look_at_closing(capture, true);
	return status;
}

/* ---- when ------------------------------------------------------------------------------------ */

static void look_at_beginning(struct record_capture *capture)
{
	struct ptl_writer_counts counts;

	if (!capture->rotation.begins || !format_writer_reached(capture->output.writer, capture->rotation.begun))
		return;
	capture->rotation.begins = false;
	ptl_writer_counts(capture->output.writer, &counts);
	record_series_begun(capture->series, counts.stored_bytes);
}

/*
 * Waits for the files instead of exceeding the size limit. Each wait is short: the rings must not overflow meanwhile,
 * so the current file may become slightly larger.
 */
static void await_files(const struct record_capture *capture)
{
	record_background_await(&capture->rotation.closing.work, OVERDUE_WAIT);
	if (capture->rotation.next)
		record_next_file_await(capture->rotation.next, OVERDUE_WAIT);
}

static int step_series(struct record_capture *capture, uint64_t now)
{
	struct ptl_writer_counts counts;
	int status = 0;

	look_at_beginning(capture);
	ptl_writer_counts(capture->output.writer, &counts);
	if (record_series_is_overdue(capture->series, &counts))
		await_files(capture);
	look_at_closing(capture, false);
	if (capture->rotation.before.writer &&
	    (!capture->streams.waiting || now - capture->rotation.before_since >= WAIT_TIME))
		status = end_before(capture, now, false);
	if (capture->rotation.code_before && now - capture->rotation.code_since >= CODE_TIME)
		forget_code(capture);
	if (status == 0 && capture->rotation.next)
		return look_at_next(capture, now, false);
	if (status < 0 || capture->rotation.before.writer || capture->rotation.closing.work.works)
		return status;
	return record_series_is_due(capture->series, &counts, capture->output.failed, now) ? prepare_next(capture, now)
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
