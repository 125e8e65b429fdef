/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the trace of a capture, and writes data from the sources into the trace. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/program/message.h"
#include "record/capture/beginning.h"
#include "record/capture/capture.h"
#include "record/capture/capture_metadata.h"
#include "record/capture/keeper.h"
#include "record/capture/notes.h"
#include "record/capture/output_options.h"
#include "record/capture/series.h"
#include "record/image/image_store.h"

#define TICK 100000000u /* nanoseconds between two checks of old buffers */

/* ---- data from the model --------------------------------------------------------------------- */

static int capture_take_event(void *context, uint32_t stream_pair, enum record_part part, const struct ptl_event *event)
{
	struct record_capture *capture = context;
	int status = 0;

	if (capture->series)
		status = record_series_event(capture->series, event);
	if (status == 0 && capture->series)
		status = record_rotation_code(capture, event);
	return status < 0 ? status : record_streams_model_event(capture, stream_pair, part, event);
}

int record_capture_blob(struct record_capture *capture, uint32_t type, const void *data, size_t size,
			uint8_t hash[PTL_HASH_SIZE])
{
	int status = 0;

	/* Packets that still go to the previous file may need the blob there. */
	if (capture->rotation.before.writer)
		status = record_output_check(&capture->rotation.before,
					     ptl_writer_blob(capture->rotation.before.writer, type, data, size, hash));
	if (status == 0 && capture->rotation.next)
		status = record_next_file_blob(capture->rotation.next, type, data, size);
	return status < 0 ? status
			  : record_output_check(&capture->output,
						ptl_writer_blob(capture->output.writer, type, data, size, hash));
}

static int put_blob(void *context, uint32_t type, const void *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	return record_capture_blob(context, type, data, size, hash);
}

static int take_code(void *context, const uint8_t *data, size_t size, uint8_t hash[PTL_HASH_SIZE])
{
	return put_blob(context, PTL_BLOB_CODE, data, size, hash);
}

static int take_loss(void *context, const struct ptl_loss *loss)
{
	return record_capture_loss(context, loss);
}

/* ---- start and end --------------------------------------------------------------------------- */

/*
 * Starts to watch the wall clock from the reading in the machine record: readers compute times of day from the same
 * reading.
 */
static void begin_to_watch_wall(struct record_capture *capture)
{
	const struct ptl_machine *machine = &capture->machine;
	const uint64_t half = machine->wall_uncertainty / 2;
	const struct record_wall_reading reading = {
		.before = machine->start_time - half,
		.after = machine->start_time + half,
		.wall = machine->wall_start,
	};
	int64_t step;

	(void)record_wall_stepped(&capture->wall, &reading, &step);
}

static int make_parts(struct record_capture *capture)
{
	const struct record_sink sink = {
		.context = capture,
		.event = capture_take_event,
		.code = capture->settings->embed == ELF_EMBED_NONE ? NULL : take_code,
		.loss = take_loss,
	};
	const struct elf_image_sink files = {capture, put_blob, record_capture_attachment};
	int status = record_model_new(&sink, &capture->model);

	if (status == 0)
		status = record_capture_only(capture, &capture->settings->only);
	/* The first filter also applies to earlier events. */
	capture->filter.since = 0;
	if (status == 0)
		status = record_image_store_new(capture->settings->embed, &files, &capture->images);
	return status;
}

/* Checks that the file to append to is a trace. */
static int check_trace(const char *path)
{
	/* O_NONBLOCK: another user may have replaced the file by a FIFO, and an open would wait for a writer. */
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct ptl_trace *trace;
	struct stat info;
	int status = 0;

	if (fd < 0)
		status = common_fail_errno("%s", path);
	else if (fstat(fd, &info) < 0 || !S_ISREG(info.st_mode))
		status = common_fail(PTL_SYSTEM, "%s is no regular file", path);
	if (status == 0)
		status = ptl_open_fd(fd, path, NULL, &trace);
	if (status < 0) {
		if (fd >= 0)
			close(fd);
		return common_fail_in(PTL_SYSTEM, "nothing can be appended");
	}
	ptl_close(trace);
	return 0;
}

/* Records into a separate file. At the end, the keeper merges the complete file into the existing trace. */
static int open_appended(struct record_capture *capture, const char *path)
{
	const struct record_settings *settings = capture->settings;
	struct ptl_writer_options options;
	char *part, *through;
	int status = check_trace(path);

	if (status == 0)
		status = record_keeper_new(path, true, &capture->keeping.appends);
	if (status < 0)
		return status;
	part = record_series_name(path, ".append");
	through = record_series_name(path, ".appended");
	if (part && through && record_keeper_through(capture->keeping.appends, through) == 0) {
		options = record_writer_options(settings, part);
		status = record_output_open(&capture->output, part, 0, &options);
	} else {
		status = common_fail_memory("file name", strlen(path));
	}
	if (status < 0 && part && access(part, F_OK) == 0)
		status = common_fail_in(status,
					"a recorder that was killed has left %s; ptl-relog puts it together with %s",
					part, path);
	free(part);
	free(through);
	if (status < 0) {
		record_keeper_free(capture->keeping.appends);
		capture->keeping.appends = NULL;
	}
	return status;
}

static int open_series(struct record_capture *capture, const char *path)
{
	const struct record_settings *settings = capture->settings;
	struct record_series_file file;
	int status = settings->mode == RECORD_MODE_BUFFERING
			     ? record_keeper_new(path, settings->force, &capture->keeping.keeper)
			     : 0;

	if (status == 0)
		status = record_series_new(settings, path, &capture->series);
	if (status == 0)
		status = record_series_open_next(capture->series, &file, &capture->output);
	if (status == 0) {
		record_series_take(capture->series, &file);
		record_series_begun(capture->series, 0);
	} else {
		record_series_free(capture->series);
		record_keeper_free(capture->keeping.keeper);
	}
	return status;
}

static int open_first(struct record_capture *capture, const char *path, const struct ptl_writer_options *options)
{
	const struct record_settings *settings = capture->settings;

	if (settings->mode != RECORD_MODE_SEQUENTIAL)
		return open_series(capture, path);
	if (settings->append && access(path, F_OK) == 0)
		return open_appended(capture, path);
	return record_output_open(&capture->output, path, record_output_wish(settings), options);
}

int record_capture_open(struct record_capture *capture, const struct record_settings *settings, const char *path,
			const struct ptl_machine *machine)
{
	const struct ptl_writer_options options = record_writer_options(settings, path);
	int status;

	*capture = (struct record_capture){.settings = settings, .machine = *machine, .rotation.before.fd = -1};
	begin_to_watch_wall(capture);
	status = open_first(capture, path, &options);
	if (status < 0)
		return status;
	status = make_parts(capture);
	if (status == 0)
		status = record_capture_write_beginning(capture);
	if (status == 0)
		return 0;
	record_capture_discard(capture);
	return status;
}

/* ---- processes ------------------------------------------------------------------------------- */

int record_capture_exit_status(struct record_capture *capture, uint32_t pid, uint32_t wait_status)
{
	return record_model_exit_status(capture->model, pid, wait_status);
}

/* ---- files ----------------------------------------------------------------------------------- */

struct file_visit {
	int (*visit)(void *context, const char *path);
	void *context;
};

/* Visits the absolute path: a reader of the path has another working directory. */
static int visit_absolute(void *context, const char *path)
{
	const struct file_visit *visit = context;
	char *absolute = realpath(path, NULL);
	int status;

	if (!absolute)
		return common_fail_errno("%s", path);
	status = visit->visit(visit->context, absolute);
	free(absolute);
	return status;
}

int record_capture_files(const struct record_capture *capture, int (*visit)(void *context, const char *path),
			 void *context)
{
	struct file_visit absolute = {visit, context};

	if (capture->output.fd < 0)
		return common_fail(PTL_SYSTEM, "the trace is written to %s, which nobody else can read",
				   capture->output.path);
	if (capture->series && record_series_in_memory(capture->series))
		return record_series_files(capture->series, visit, context);
	return capture->series ? record_series_files(capture->series, visit_absolute, &absolute)
			       : visit_absolute(&absolute, capture->output.path);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Notes a step of the wall clock. Readers compute times of day from the clock's state at the start. */
static int look_at_wall(struct record_capture *capture)
{
	const struct record_wall_reading reading = record_wall_read();
	struct record_note note = {.time = reading.after, .pid = PTL_NO_ID, .tid = PTL_NO_ID, .warning = true};
	char text[256];
	int64_t step;

	if (!record_wall_stepped(&capture->wall, &reading, &step))
		return 0;
	note.text = record_wall_step_text(step, text, sizeof(text));
	common_message_warning("%s", text);
	return record_note(capture, &note);
}

int record_capture_advance(struct record_capture *capture, uint64_t now)
{
	int status = 0;

	if (capture->keeping.keeper)
		record_capture_look_at_keeper(capture);
	if (now - capture->ticked >= TICK) {
		capture->ticked = now;
		status = record_model_tick(capture->model, now);
		if (status == 0 && capture->settings->clock != PTL_CLOCK_VIRTUAL)
			status = look_at_wall(capture);
	}
	if (status == 0)
		status = record_output_check(&capture->output, ptl_writer_poll(capture->output.writer));
	if (status == 0 && capture->rotation.before.writer)
		status = record_output_check(&capture->rotation.before,
					     ptl_writer_poll(capture->rotation.before.writer));
	return status == 0 ? record_rotation_step(capture, now) : status;
}
