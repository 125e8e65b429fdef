/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens the next file of a series, and copies code into it. */
#include "record/capture/next_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "format/writer/repeat.h"
#include "record/capture/background.h"
#include "record/capture/beginning.h"
#include "record/capture/capture.h"

/* Maximum bytes of new code kept in memory during the preparation. */
#define KEPT_MAX ((size_t)64 << 20)

struct kept_blob {
	struct kept_blob *next;
	uint32_t type;
	size_t size;
	uint8_t data[];
};

struct record_next_file {
	const struct record_capture *capture; /* the thread reads only constant members */
	struct record_series *series;
	struct ptl_machine machine;
	/* Of the current file: */
	struct ptl_writer *writer;
	uint64_t position; /* the thread waits until the file is written up to this position */
	int fd;            /* -1 if unreadable */
	char *name;
	uint8_t (*hashes)[PTL_HASH_SIZE];
	size_t count;
	/* Owned by the thread until the end of the thread: */
	struct record_background work;
	struct record_series_file file;
	struct record_output output;
	struct ptl_trace *code;
	/* Code stored during the preparation: */
	struct kept_blob *first, **last;
	size_t kept;
	bool overflowed;
};

/* ---- on the thread --------------------------------------------------------------------------- */

/*
 * Opens the current file to copy its code. Without the code, decoders of the next file report gaps, as for unreadable
 * code.
 */
static void open_code(struct record_next_file *next)
{
	if (next->fd < 0)
		return;
	format_writer_await(next->writer, next->position);
	if (ptl_open_fd(next->fd, next->name, NULL, &next->code) == 0)
		next->fd = -1;
	else
		next->code = NULL;
}

static int copy_code(struct record_next_file *next)
{
	int status = 0;

	open_code(next);
	for (size_t i = 0; status == 0 && next->code && i < next->count; i++)
		status = record_output_check(
			&next->output, format_writer_repeat_blob(next->output.writer, next->code, next->hashes[i]));
	return status;
}

static int prepare_next_file(void *context)
{
	struct record_next_file *next = context;
	int status = record_series_open_next(next->series, &next->file, &next->output);

	if (status < 0)
		return status;
	status = record_output_check(&next->output, ptl_writer_machine(next->output.writer, &next->machine));
	if (status == 0)
		status = record_output_check(&next->output,
					     record_capture_write_provenance(next->capture, next->output.writer));
	if (status == 0)
		status = copy_code(next);
	return status < 0 ? status : record_output_check(&next->output, ptl_writer_flush(next->output.writer));
}

/* ---- on the recorder's thread ---------------------------------------------------------------- */

static int open_code_source(struct record_next_file *next, struct record_output *source)
{
	char path[64];

	next->writer = source->writer;
	next->name = strdup(source->path);
	if (!next->name)
		return common_fail_memory("file name", strlen(source->path));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", source->fd);
	next->fd = source->fd < 0 ? -1 : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return record_output_check(source, format_writer_submit(source->writer, &next->position));
}

int record_next_file_new(struct record_capture *capture, uint8_t (*hashes)[PTL_HASH_SIZE], size_t count)
{
	struct record_next_file *next = calloc(1, sizeof(*next));
	int status;

	if (!next) {
		free(hashes);
		return common_fail_memory("next file", sizeof(*next));
	}
	next->capture = capture;
	next->series = capture->series;
	next->machine = capture->machine;
	next->hashes = hashes;
	next->count = count;
	next->last = &next->first;
	next->fd = next->file.memory = next->output.fd = -1;
	status = open_code_source(next, &capture->output);
	if (status < 0) {
		record_next_file_free(next);
		return status;
	}
	record_series_prepare(capture->series, capture->output.failed);
	record_background_start(&next->work, prepare_next_file, next);
	capture->rotation.next = next;
	return 0;
}

int record_next_file_blob(struct record_next_file *next, uint32_t type, const void *data, size_t size)
{
	struct kept_blob *kept;

	if (next->overflowed || size > KEPT_MAX - next->kept) {
		next->overflowed = true;
		return 0;
	}
	kept = malloc(sizeof(*kept) + size);
	if (!kept)
		return common_fail_memory("code", size);
	kept->next = NULL;
	kept->type = type;
	kept->size = size;
	if (size)
		memcpy(kept->data, data, size);
	*next->last = kept;
	next->last = &kept->next;
	next->kept += size;
	return 0;
}

bool record_next_file_overflowed(const struct record_next_file *next)
{
	return next->overflowed;
}

void record_next_file_await(const struct record_next_file *next, unsigned milliseconds)
{
	record_background_await(&next->work, milliseconds);
}

bool record_next_file_done(struct record_next_file *next, bool wait, int *status)
{
	return record_background_done(&next->work, wait, status);
}

int record_next_file_take(struct record_next_file *next, struct record_output *output, struct ptl_trace **code)
{
	int status = 0;

	*output = next->output;
	*code = next->code;
	next->output = (struct record_output){.fd = -1};
	next->code = NULL;
	record_series_take(next->series, &next->file);
	for (const struct kept_blob *kept = next->first; status == 0 && kept; kept = kept->next) {
		uint8_t hash[PTL_HASH_SIZE];

		status = record_output_check(output,
					     ptl_writer_blob(output->writer, kept->type, kept->data, kept->size, hash));
	}
	return status;
}

void record_next_file_free(struct record_next_file *next)
{
	int status;

	if (!next)
		return;
	(void)record_background_done(&next->work, true, &status);
	if (next->output.writer || next->file.path)
		record_series_leave(&next->file, &next->output);
	ptl_close(next->code);
	if (next->fd >= 0)
		close(next->fd);
	while (next->first) {
		struct kept_blob *after = next->first->next;

		free(next->first);
		next->first = after;
	}
	free(next->hashes);
	free(next->name);
	free(next);
}
