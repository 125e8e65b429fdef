/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes metadata records, and loss records for buffers that could not be written. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "format/metadata/metadata.h"
#include "format/writer/room.h"
#include "format/writer/stream.h"
#include "format/writer/writer_internal.h"

bool format_writer_has_room(const struct ptl_writer *writer, unsigned percent)
{
	return FORMAT_METADATA_MAX - writer->metadata_bytes >= FORMAT_METADATA_MAX / 100 * percent &&
	       FORMAT_METADATA_ITEMS_MAX - writer->metadata_items >= FORMAT_METADATA_ITEMS_MAX / 100 * percent;
}

int format_writer_put_record(struct ptl_writer *writer, uint64_t type, const struct ptl_bytes *body)
{
	struct ptl_writer_stream *stream = writer->streams[FORMAT_METADATA_STREAM];
	const size_t size = body->size + common_varint_size(type) + common_varint_size(body->size);
	const uint64_t items = format_record_items(type, body->data, body->size);
	const size_t before = stream->raw.size;
	int status = 0;

	if (body->failed)
		return common_fail_memory("a record", body->size);
	if (items > FORMAT_METADATA_ITEMS_MAX - writer->metadata_items)
		return common_fail(PTL_MISUSE,
				   "there is too much metadata: %u records, fields, entries and inputs are allowed",
				   FORMAT_METADATA_ITEMS_MAX);
	if (size > FORMAT_RAW_MAX || size > FORMAT_METADATA_MAX - writer->metadata_bytes)
		return common_fail(PTL_MISUSE, "a record of %zu bytes passes the bound on metadata", size);
	if (stream->raw.size + size > FORMAT_RAW_MAX)
		status = format_stream_submit(writer, stream);
	if (status)
		return status;
	common_write_varint(&stream->raw, type);
	common_write_varint(&stream->raw, body->size);
	common_write_bytes(&stream->raw, body->data, body->size);
	if (stream->raw.failed) {
		stream->raw.size = before;
		stream->raw.failed = false;
		return common_fail_memory("a record", size);
	}
	stream->records++;
	writer->metadata_bytes += size;
	writer->metadata_items += items;
	writer->raw_bytes += size;
	return format_stream_added(writer, stream);
}

int format_writer_put_loss(struct ptl_writer *writer, const struct ptl_loss *loss)
{
	struct ptl_bytes body = {0};
	int status;

	format_loss_encode(loss, &body);
	status = format_writer_put_record(writer, FORMAT_RECORD_LOSS, &body);
	common_bytes_free(&body);
	return status;
}

static int write_lost(struct ptl_writer *writer, const struct format_lost *lost, const char *cause)
{
	const struct ptl_loss loss = {
		.kind = PTL_LOSS_BUFFERS,
		.stream = lost->stream,
		.pid = lost->pid,
		.tid = lost->tid,
		.count = lost->buffers,
		.bytes = lost->bytes,
		.first_time = lost->first_time,
		.last_time = lost->last_time,
		.cause = cause,
	};

	return format_writer_put_loss(writer, &loss);
}

/* Requeues the content of a lost METADATA buffer. For a lost BLOB buffer, notes that its blobs are missing. */
static void take_back(struct ptl_writer *writer, struct format_job *job)
{
	struct ptl_writer_stream *stream = writer->streams[FORMAT_METADATA_STREAM];

	for (size_t i = 0; i < job->chunk_count; i++)
		format_writer_note_blob(writer, job->chunks[i].hash, false);
	if (job->header.kind == PTL_KIND_METADATA) {
		common_write_bytes(&stream->raw, job->raw.data, job->raw.size);
		if (stream->raw.failed)
			stream->raw.failed = false;
		else
			stream->records += job->header.records;
	}
	format_job_free(job);
}

/* Retries lost METADATA and BLOB buffers with the next buffer, regardless of whether the file accepts bytes again. */
static void take_all_back(struct ptl_writer *writer)
{
	struct format_queue *queue = &writer->queue;
	struct format_job *returned;

	pthread_mutex_lock(&queue->lock);
	returned = queue->returned;
	queue->returned = NULL;
	pthread_mutex_unlock(&queue->lock);
	while (returned) {
		struct format_job *next = returned->next;

		take_back(writer, returned);
		returned = next;
	}
}

int format_writer_report_losses(struct ptl_writer *writer, bool finally)
{
	struct format_queue *queue = &writer->queue;
	struct format_lost *lost;
	size_t count;
	int status = 0;
	char cause[sizeof(queue->cause)];

	take_all_back(writer);
	pthread_mutex_lock(&queue->lock);
	if (queue->failing && !finally) {
		pthread_mutex_unlock(&queue->lock);
		return 0;
	}
	lost = queue->lost;
	count = queue->lost_count;
	queue->lost = NULL;
	queue->lost_count = 0;
	memcpy(cause, queue->cause, sizeof(cause));
	pthread_mutex_unlock(&queue->lock);
	for (size_t i = 0; i < count && !status; i++)
		status = write_lost(writer, &lost[i], cause);
	/* A file without room for its loss records must not look complete. */
	if (status == PTL_MISUSE) {
		queue->output.unfinished = true;
		status = 0;
	}
	free(lost);
	return status;
}

int format_writer_settle(struct ptl_writer *writer, int status)
{
	struct format_queue *queue = &writer->queue;
	bool tell = false;

	if (status || __atomic_load_n(&queue->counts.lost_buffers, __ATOMIC_RELAXED) == writer->seen_lost)
		return status;
	pthread_mutex_lock(&queue->lock);
	tell = queue->unreported;
	queue->unreported = false;
	if (!queue->failing)
		writer->seen_lost = queue->counts.lost_buffers;
	pthread_mutex_unlock(&queue->lock);
	status = format_writer_report_losses(writer, false);
	return status || !tell ? status : common_fail(queue->first_status, "%s", queue->first_text);
}
