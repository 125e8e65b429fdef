/* SPDX-License-Identifier: BSD-2-Clause */
/* Fills the buffers of a writer's streams, and submits full buffers. */
#include <stdlib.h>
#include <time.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/writer/writer_internal.h"
#include "format/writer/stream.h"

/* Numbers of side area entries that certainly fit FORMAT_SIDE_MAX. */
#define PSBS_MAX (FORMAT_SIDE_MAX / FORMAT_PSB_ENTRY_MAX - 16)
#define CHUNKS_MAX (FORMAT_SIDE_MAX / FORMAT_CHUNK_ENTRY_MAX - 16)
#define CALLS_BETWEEN_LOOKS 64
/* Bytes of a batch's tables before they grow with the events. */
#define BATCH_BYTES 5120

uint64_t format_monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct ptl_writer_stream *append_stream(struct ptl_writer *writer, const struct ptl_stream *identity, bool taken)
{
	struct ptl_writer_stream *stream;

	if (common_memory_budget_take(&writer->memory_budget, sizeof(*stream) + 32, "streams",
				      writer->stream_count + 1))
		return NULL;
	stream = calloc(1, sizeof(*stream));
	if (!stream || writer->stream_count == PTL_NO_ID ||
	    !common_vector_room(&writer->streams, writer->stream_count, sizeof(*writer->streams))) {
		free(stream);
		common_fail_memory("a stream", sizeof(*stream));
		return NULL;
	}
	stream->stream = *identity;
	stream->taken = taken;
	stream->stream.id = (uint32_t)writer->stream_count;
	writer->streams[writer->stream_count++] = stream;
	return stream;
}

struct ptl_writer_stream *format_stream_new(struct ptl_writer *writer, const struct ptl_stream *identity)
{
	/* Skips ids that copied streams use: adds placeholders, which are never written. */
	while (common_hash_map_get(&writer->copied_map, writer->stream_count))
		if (!append_stream(writer, &(struct ptl_stream){.kind = 0}, true))
			return NULL;
	return append_stream(writer, identity, false);
}

void format_stream_free(struct ptl_writer_stream *stream)
{
	common_bytes_free(&stream->raw);
	format_event_batch_free(&stream->batch);
	free(stream->psbs);
	free(stream->chunks);
	free(stream);
}

/* Returns the bytes buffered in the stream. */
static size_t waiting(const struct ptl_writer_stream *stream)
{
	return stream->batch.count ? format_event_batch_size(&stream->batch) : stream->raw.size;
}

/* Returns the memory used by `size` buffered bytes of the stream. */
static size_t memory_of(const struct ptl_writer_stream *stream, size_t size)
{
	return size + (stream->batch.count ? BATCH_BYTES : 0);
}

static bool is_empty(const struct ptl_writer_stream *stream)
{
	return !stream->raw.size && !stream->batch.count && !stream->psb_count && !stream->chunk_count &&
	       stream->position == stream->end;
}

/* Moves the buffered data into a job, and starts the next buffer. */
static void fill_job(struct ptl_writer_stream *stream, struct format_job *job)
{
	job->header = (struct format_buffer_header){
		.kind = stream->stream.kind,
		.stream = stream->stream.id,
		.cpu = stream->stream.cpu,
		.pid = stream->stream.pid,
		.tid = stream->stream.tid,
		.records = stream->batch.count ? (uint32_t)stream->batch.count : stream->records,
		.sequence = stream->sequence++,
		.first_time = stream->batch.count ? stream->batch.first_time : stream->first_time,
		.last_time = stream->batch.count ? stream->batch.last_time : stream->last_time,
		.position = stream->position,
	};
	job->raw = stream->raw;
	job->batch = stream->batch;
	job->psbs = stream->psbs;
	job->psb_count = stream->psb_count;
	job->chunks = stream->chunks;
	job->chunk_count = stream->chunk_count;
	stream->raw = (struct ptl_bytes){0};
	stream->batch = (struct format_event_batch){
		.expected_events = job->batch.count,
		.expected_bytes = job->batch.payloads.size,
	};
	stream->psbs = NULL;
	stream->chunks = NULL;
	stream->psb_count = stream->chunk_count = 0;
	stream->records = 0;
	/* Later data is not earlier than the data so far. */
	stream->first_time = stream->last_time;
	stream->since = 0;
}

static int submit_kind(struct ptl_writer *writer, uint32_t kind)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < writer->stream_count; i++)
		if (writer->streams[i]->stream.kind == kind)
			status = format_stream_submit(writer, writer->streams[i]);
	return status;
}

/*
 * Submits what a buffer depends on: metadata before everything else, code before the events that report it, and events
 * before PT. So a file that ends at any place has no PT of an unknown process.
 */
static int submit_before(struct ptl_writer *writer, const struct ptl_writer_stream *stream)
{
	const uint32_t kind = stream->stream.kind;
	int status = 0;

	if (stream->stream.id == FORMAT_METADATA_STREAM)
		return 0;
	if (kind == PTL_KIND_PT)
		status = submit_kind(writer, PTL_KIND_EVENTS);
	if (status == 0 && kind == PTL_KIND_EVENTS)
		status = submit_kind(writer, PTL_KIND_BLOB);
	return status < 0 ? status : format_stream_submit(writer, writer->streams[FORMAT_METADATA_STREAM]);
}

int format_stream_submit(struct ptl_writer *writer, struct ptl_writer_stream *stream)
{
	struct format_job *job;
	size_t size;

	if (is_empty(stream))
		return 0;
	if (submit_before(writer, stream) < 0)
		return PTL_NO_MEMORY;
	job = calloc(1, sizeof(*job));
	if (!job)
		return common_fail_memory("a buffer", sizeof(*job));
	size = waiting(stream);
	/* The buffered data, the encoded events, and the compressed data. */
	job->memory = 2 * size + memory_of(stream, size) + stream->psb_count * sizeof(struct ptl_psb) + sizeof(*job);
	writer->partial_bytes -= stream->accounted;
	stream->accounted = 0;
	fill_job(stream, job);
	/*
	 * The encoded size of events is not known yet. Positions have no meaning for events, so an upper bound
	 * suffices.
	 */
	stream->position += job->batch.count ? size : job->raw.size;
	stream->end = stream->position;
	format_queue_submit(&writer->queue, job);
	return 0;
}

void format_stream_touch(struct ptl_writer_stream *stream, uint64_t time)
{
	if (!stream->has_time || time < stream->first_time)
		stream->first_time = time;
	if (!stream->has_time || time > stream->last_time)
		stream->last_time = time;
	stream->has_time = true;
}

/* Submits every partial buffer begun at or before the given monotonic time. */
int format_streams_submit(struct ptl_writer *writer, uint64_t before)
{
	for (size_t i = 0; i < writer->stream_count; i++) {
		struct ptl_writer_stream *stream = writer->streams[i];
		int status;

		if (before != UINT64_MAX && (!stream->since || stream->since > before))
			continue;
		status = format_stream_submit(writer, stream);
		if (status)
			return status;
	}
	return 0;
}

int format_stream_added(struct ptl_writer *writer, struct ptl_writer_stream *stream)
{
	const size_t size = waiting(stream), memory = memory_of(stream, size);

	writer->partial_bytes += memory - stream->accounted;
	stream->accounted = memory;
	if (size >= writer->buffer_size || stream->psb_count >= PSBS_MAX || stream->chunk_count >= CHUNKS_MAX ||
	    stream->batch.count >= FORMAT_EVENTS_MAX)
		return format_stream_submit(writer, stream);
	if (writer->partial_bytes > writer->queue.memory_limit / 2)
		return format_streams_submit(writer, UINT64_MAX);
	if (!writer->flush_interval)
		return 0;
	if (!stream->since)
		stream->since = format_monotonic_now();
	if (++writer->calls % CALLS_BETWEEN_LOOKS)
		return 0;
	return format_streams_submit_old(writer);
}

int format_streams_submit_old(struct ptl_writer *writer)
{
	const uint64_t now = format_monotonic_now();

	if (!writer->flush_interval || now < writer->flush_interval)
		return 0;
	return format_streams_submit(writer, now - writer->flush_interval);
}

int format_stream_bytes(struct ptl_writer *writer, struct ptl_writer_stream *stream, const uint8_t *data, size_t size)
{
	writer->raw_bytes += size;
	while (size) {
		const size_t room = writer->buffer_size - stream->raw.size;
		const size_t part = size < room ? size : room;
		int status;

		if (!stream->raw.size && part && !stream->raw.data) {
			/* Reserves the whole buffer at once, as PT arrives in small pieces. */
			if (common_bytes_grow(&stream->raw, writer->buffer_size))
				stream->raw.size = 0;
		}
		common_write_bytes(&stream->raw, data, part);
		if (stream->raw.failed) {
			stream->raw.failed = false;
			return common_fail_memory("a buffer", writer->buffer_size);
		}
		data += part;
		size -= part;
		status = format_stream_added(writer, stream);
		if (status)
			return status;
	}
	return 0;
}
