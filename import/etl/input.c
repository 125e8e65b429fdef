/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts an .etl file from start to end. */
#include "import/etl/input.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/error.h"
#include "common/file.h"
#include "import/etl/file/layout.h"
#include "import/etl/import.h"

#define MANIFEST_LIMIT ((size_t)64 << 20)
#define LOSSES_MAX 1000u /* maximum buffers with a loss record of their own */

static int check_interruption(const struct etl_import *import)
{
	return import->options->check ? import->options->check() : 0;
}

/* Handles unreadable data: keeps the first cause, counts, and writes a loss. */
static int lose_data(struct etl_import *import, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BUFFERS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = 1,
		.first_time = import->now,
		.cause = cause,
	};

	etl_threads_forget_all(&import->threads);
	if (!import->outcome.damaged_buffers++)
		snprintf(import->outcome.damage, sizeof(import->outcome.damage), "%s", cause);
	if (import->outcome.damaged_buffers > LOSSES_MAX)
		return 0;
	return ptl_writer_loss(import->writer, &loss);
}

static int lose_rest(struct etl_import *import, const struct etl_buffer *buffer)
{
	char cause[256];

	snprintf(cause, sizeof(cause), "buffer at offset %llu: %s", (unsigned long long)buffer->offset,
		 ptl_error_text());
	return lose_data(import, cause);
}

/* Prefetches the stacks of the next event, which lie far away in memory, while the current event is written. */
static void expect_next(const struct etl_import *import, const struct etl_buffer *buffer, size_t at)
{
	struct etl_raw raw;

	if (import->stacks.count && etl_record_find(buffer, &at, &raw) > 0)
		etl_stacks_expect(&import->stacks, etl_raw_time(&raw));
}

/* Reads the events of a buffer up to the first unreadable event. */
static int read_buffer(struct etl_import *import, const struct etl_buffer *buffer)
{
	struct etl_record record;
	size_t at = ETL_BUFFER_HEADER;
	const bool lost = buffer->flags & (ETL_BUFFER_EVENTS_LOST | ETL_BUFFER_BUFFER_LOST);
	int status;

	if (lost)
		etl_threads_forget(&import->threads, buffer->cpu);
	while ((status = etl_record_next(buffer, &at, &record)) > 0) {
		expect_next(import, buffer, at);
		status = etl_event_take(import, buffer, &record);
		if (status)
			return status;
	}
	if (lost)
		etl_threads_forget(&import->threads, buffer->cpu);
	if (status && !buffer->cut)
		return lose_rest(import, buffer);
	if (buffer->cut) {
		common_fail(PTL_TRUNCATED, "its events end within it");
		return lose_rest(import, buffer);
	}
	return 0;
}

static int read_buffers(struct etl_import *import)
{
	struct etl_buffer buffer;
	int status;

	while ((status = import->stacks.any ? etl_held_next(import, &buffer) : etl_file_next(import->file, &buffer)) !=
	       0) {
		if (status > 0)
			status = read_buffer(import, &buffer);
		else if (status == PTL_CORRUPT || status == PTL_TRUNCATED || status == PTL_UNSUPPORTED)
			status = lose_data(import, ptl_error_text());
		if (!status)
			status = check_interruption(import);
		if (status)
			break;
	}
	return status;
}

/* Writes the losses that Windows has counted. */
static int write_losses(struct etl_import *import)
{
	const struct etl_log_header *header = etl_file_header(import->file);
	struct ptl_loss loss = {
		.kind = PTL_LOSS_EVENTS,
		.stream = PTL_NO_ID,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.count = header->events_lost,
		.first_time = import->machine.start_time,
		.last_time = import->now,
		.cause = "Windows had no buffer for them",
	};
	int status = loss.count ? ptl_writer_loss(import->writer, &loss) : 0;

	loss.kind = PTL_LOSS_BUFFERS;
	loss.count = header->buffers_lost;
	loss.cause = "Windows could not write them";
	if (!status && loss.count)
		status = ptl_writer_loss(import->writer, &loss);
	if (import->outcome.damaged_buffers > LOSSES_MAX) {
		loss.count = import->outcome.damaged_buffers - LOSSES_MAX;
		loss.cause = "more buffers that cannot be read";
		status = status ? status : ptl_writer_loss(import->writer, &loss);
	}
	import->outcome.lost_events = header->events_lost;
	import->outcome.lost_buffers = header->buffers_lost;
	return status;
}

static void describe_machine(struct etl_import *import)
{
	const struct etl_log_header *header = etl_file_header(import->file);
	struct ptl_machine *machine = &import->machine;

	*machine = (struct ptl_machine){
		.source = "etl",
		.cpus = header->processors,
		.mode = header->pointer_size == 4 ? 32 : 64,
		.return_compression = true,
	};
	snprintf(machine->architecture, sizeof(machine->architecture), "%s",
		 header->pointer_size == 4 ? "x86" : "x86_64");
	snprintf(machine->kernel, sizeof(machine->kernel), "Windows %u.%u.%u", header->version & 0xff,
		 header->version >> 8 & 0xff, header->build);
	etl_clock_set(import);
}

static int read_manifest(struct etl_import *import, const char *path)
{
	uint8_t *text = NULL;
	size_t size;
	int status = common_read_file(path, MANIFEST_LIMIT, &text, &size);

	if (!status)
		status = etl_manifest_read(&import->known, import->writer, (const char *)text, size);
	free(text);
	return status;
}

static int import_file(struct etl_import *import)
{
	int status = 0;

	describe_machine(import);
	for (size_t i = 0; !status && i < import->options->manifest_count; i++)
		status = read_manifest(import, import->options->manifests[i]);
	if (!status)
		status = etl_survey(import);
	import->outcome.incomplete_manifests = etl_pieces_incomplete(&import->pieces);
	if (!status)
		status = etl_methods_write(import);
	if (!status)
		status = read_buffers(import);
	if (!status)
		status = write_losses(import);
	import->machine.end_time = import->now;
	return status ? status : ptl_writer_machine(import->writer, &import->machine);
}

int etl_import(int fd, const struct etl_options *options, struct ptl_writer *writer, struct etl_outcome *outcome)
{
	struct etl_import *import = calloc(1, sizeof(*import));
	int status;

	*outcome = (struct etl_outcome){0};
	if (!import)
		return common_fail_memory("an .etl file", sizeof(*import));
	import->options = options;
	import->writer = writer;
	status = etl_file_open(fd, &import->file);
	if (!status)
		status = import_file(import);
	*outcome = import->outcome;
	etl_file_close(import->file);
	etl_known_free(&import->known);
	etl_pieces_free(&import->pieces);
	etl_held_free(&import->held);
	etl_stacks_free(&import->stacks);
	etl_threads_free(&import->threads);
	etl_stack_keys_free(&import->stack_keys);
	etl_paths_free(&import->paths);
	etl_image_ids_free(&import->image_ids);
	etl_file_names_free(&import->file_names);
	etl_methods_free(&import->methods);
	common_bytes_free(&import->storage);
	free(import);
	return status;
}
