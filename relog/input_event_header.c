/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts a file of EventHeader events to a trace. */
#include "relog/input_event_header.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/event_header.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/program/interrupt.h"
#include "common/program/message.h"
#include "common/text/guid.h"

#define SIZE_FIELD 4u
#define HEADER_SIZE 8u        /* bytes of an event's header */
#define RECORD_MAX (1u << 17) /* an event has at most 64 KiB */
#define CHECK_EVERY 1024u

struct importing {
	int fd;
	uint64_t size, at;
	struct ptl_writer *writer;
	struct ptl_event_headers *headers;
	uint32_t stream;
	uint64_t records;
	uint8_t *record; /* RECORD_MAX bytes */
	struct event_header_outcome *outcome;
};

/*
 * Returns the size of the tracepoint name with its zero byte; 0: these bytes are no name of the EventHeader convention.
 */
static size_t name_size(const uint8_t *name, size_t size)
{
	const size_t length = strnlen((const char *)name, size);
	struct ptl_tracepoint_name parsed;

	return length < size && ptl_tracepoint_name_parse((const char *)name, &parsed) ? length + 1 : 0;
}

static bool is_event_header_file(const uint8_t *start, size_t size)
{
	const uint32_t record = size > SIZE_FIELD ? common_load32(start) : 0;
	const size_t name = size > SIZE_FIELD ? name_size(start + SIZE_FIELD, size - SIZE_FIELD) : 0;

	return name && record >= SIZE_FIELD + name + HEADER_SIZE && record <= RECORD_MAX;
}

static int lose_rest(struct importing *import, const char *cause)
{
	const struct ptl_loss loss = {.kind = PTL_LOSS_EVENTS,
				      .stream = PTL_NO_ID,
				      .pid = PTL_NO_ID,
				      .tid = PTL_NO_ID,
				      .count = 1,
				      .cause = cause};

	snprintf(import->outcome->damage, sizeof(import->outcome->damage), "%s", cause);
	return ptl_writer_loss(import->writer, &loss);
}

/*
 * Reads the size of the next record. Returns 1; 0 at the end of the file; PTL_CORRUPT or PTL_TRUNCATED for an
 * impossible record.
 */
static int next_record(struct importing *import, size_t *size)
{
	const uint64_t left = import->size - import->at;
	uint8_t field[SIZE_FIELD];
	int status;

	if (!left)
		return 0;
	if (left < SIZE_FIELD)
		return common_fail(PTL_TRUNCATED, "offset %llu: the file ends within a record",
				   (unsigned long long)import->at);
	status = common_read_at(import->fd, field, sizeof(field), import->at);
	if (status)
		return status;
	*size = common_load32(field);
	if (*size <= SIZE_FIELD || *size > RECORD_MAX)
		return common_fail(PTL_CORRUPT, "offset %llu: a record of %zu bytes", (unsigned long long)import->at,
				   *size);
	if (*size > left)
		return common_fail(PTL_TRUNCATED, "offset %llu: the file ends within a record of %zu bytes",
				   (unsigned long long)import->at, *size);
	status = common_read_at(import->fd, import->record, *size, import->at);
	import->at += *size;
	return status ? status : 1;
}

static int take_record(struct importing *import, const uint8_t *data, size_t size)
{
	const size_t name = strnlen((const char *)data, size);
	const struct ptl_schema *schema = NULL;
	struct ptl_event event;
	bool is_new;
	int status = name == size ? PTL_UNSUPPORTED
				  : ptl_event_header_decode(import->headers, (const char *)data, data + name + 1,
							    size - name - 1, &event, &schema, &is_new);

	if (status == PTL_NOT_OURS || status == PTL_UNSUPPORTED || status == PTL_TRUNCATED) {
		import->outcome->unknown++;
		return 0;
	}
	if (status && status != PTL_CORRUPT)
		return status;
	status = schema && is_new ? ptl_writer_schema(import->writer, schema) : 0;
	event.time = 0;
	event.cpu = PTL_NO_CPU;
	event.pid = event.tid = PTL_NO_ID;
	return status ? status : ptl_writer_event(import->writer, import->stream, &event);
}

static int read_records(struct importing *import)
{
	size_t size = 0;
	int status = 0;

	while (status >= 0 && (status = next_record(import, &size)) > 0) {
		status = take_record(import, import->record + SIZE_FIELD, size - SIZE_FIELD);
		if (!status && ++import->records % CHECK_EVERY == 0)
			status = common_interrupt_check();
	}
	return status == PTL_CORRUPT || status == PTL_TRUNCATED ? lose_rest(import, ptl_error_text()) : status;
}

static int write_unknown(struct importing *import)
{
	const struct ptl_loss loss = {.kind = PTL_LOSS_EVENTS,
				      .stream = PTL_NO_ID,
				      .pid = PTL_NO_ID,
				      .tid = PTL_NO_ID,
				      .count = import->outcome->unknown,
				      .cause = "their tracepoints are none of EventHeader's"};

	return loss.count ? ptl_writer_loss(import->writer, &loss) : 0;
}

static int import_file(struct importing *import)
{
	const struct ptl_machine machine = {.source = "event_header",
					    .architecture = "",
					    .mode = 64,
					    .clock = PTL_CLOCK_NONE,
					    .return_compression = true};
	struct ptl_stream stream = {.kind = PTL_KIND_EVENTS, .cpu = PTL_NO_CPU, .pid = PTL_NO_ID, .tid = PTL_NO_ID};
	struct stat info;
	int status = ptl_writer_stream(import->writer, &stream);

	import->stream = stream.id;
	if (!status && fstat(import->fd, &info) < 0)
		status = common_fail_errno("cannot read");
	if (status)
		return status;
	import->size = (uint64_t)info.st_size;
	status = read_records(import);
	if (!status)
		status = write_unknown(import);
	return status ? status : ptl_writer_machine(import->writer, &machine);
}

int relog_event_header_import(int fd, struct ptl_writer *writer, struct event_header_outcome *outcome)
{
	struct importing import = {.fd = fd, .writer = writer, .outcome = outcome, .record = malloc(RECORD_MAX)};
	int status = import.record ? 0 : common_fail_memory("a record", RECORD_MAX);

	*outcome = (struct event_header_outcome){0};
	if (!status)
		status = ptl_event_headers_new(ptl_guid_from_name, &import.headers);
	if (!status)
		status = import_file(&import);
	ptl_event_headers_free(import.headers);
	free(import.record);
	return status;
}

static int convert_event_header(const struct relog_settings *settings, const char *path, int fd, const uint8_t *start,
				size_t size, struct import_spool *spool)
{
	struct event_header_outcome outcome;
	int status = relog_event_header_import(fd, spool->writer, &outcome);

	(void)settings;
	(void)start;
	(void)size;
	if (status)
		return status;
	if (outcome.damage[0])
		common_message_warning("%s: %s; what follows is missing", path, outcome.damage);
	if (outcome.unknown)
		common_message_warning(
			"%s: records of tracepoints that are none of EventHeader's, not in the trace: %llu", path,
			(unsigned long long)outcome.unknown);
	spool->damaged = outcome.damage[0] != 0;
	return import_spool_origin_file(spool, path, fd);
}

const struct relog_format relog_format_event_header = {"EventHeader", is_event_header_file, convert_event_header};
