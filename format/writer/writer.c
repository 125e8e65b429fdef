/* SPDX-License-Identifier: BSD-2-Clause */
/* The public functions of ptl/writer.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/error.h"
#include "common/structure.h"
#include "format/metadata/metadata.h"
#include "common/vector.h"
#include "format/writer/records.h"
#include "format/writer/repeat.h"
#include "format/writer/closing.h"
#include "format/writer/writer_internal.h"
#include "format/writer/stream.h"

#define DEFAULT_BUFFER (512u << 10)
#define BUFFER_MIN (4u << 10)
#define BUFFER_MAX (8u << 20)

/* ---- life ----------------------------------------------------------------------------------------- */

static int check_output(int fd)
{
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return common_fail_errno("cannot write to file descriptor %d", fd);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return common_fail(PTL_MISUSE, "file descriptor %d is not open for writing", fd);
	return 0;
}

static void free_writer(struct ptl_writer *writer)
{
	for (size_t i = 0; i < writer->stream_count; i++)
		format_stream_free(writer->streams[i]);
	free(writer->streams);
	for (size_t i = 0; i < writer->copied_count; i++)
		format_stream_free(writer->copied[i]);
	free(writer->copied);
	common_hash_map_free(&writer->copied_map);
	common_byte_map_free(&writer->once);
	common_memory_budget_close(&writer->memory_budget);
	free(writer->blobs);
	common_row_index_free(&writer->blob_index);
	free(writer);
}

static bool make_own_streams(struct ptl_writer *writer)
{
	static const uint32_t kinds[] = {PTL_KIND_METADATA, PTL_KIND_BLOB, PTL_KIND_INDEX};
	bool made = true;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		made &= format_stream_new(writer, &(struct ptl_stream){.kind = kinds[i],
								       .cpu = PTL_NO_CPU,
								       .pid = PTL_NO_ID,
								       .tid = PTL_NO_ID}) != NULL;
	return made;
}

int ptl_writer_open(int fd, const struct ptl_writer_options *options, struct ptl_writer **writer)
{
	struct ptl_writer_options taken;
	struct ptl_writer *result;
	size_t size;
	int status = check_output(fd);

	*writer = NULL;
	if (!status)
		status = common_structure_take_optional("ptl_writer_options", options, &taken, sizeof(taken));
	if (status)
		return status;
	result = calloc(1, sizeof(*result));
	if (!result)
		return common_fail_memory("a writer", sizeof(*result));
	size = taken.buffer_size ? taken.buffer_size : DEFAULT_BUFFER;
	result->buffer_size = size < BUFFER_MIN ? BUFFER_MIN : size > BUFFER_MAX ? BUFFER_MAX : size;
	result->flush_interval = taken.flush_interval;
	status = make_own_streams(result) ? format_queue_start(&result->queue, fd, &taken)
					  : common_fail_memory("a writer", sizeof(*result));
	if (status)
		free_writer(result);
	else
		*writer = result;
	return status;
}

int ptl_writer_flush(struct ptl_writer *writer)
{
	const int status = format_streams_submit(writer, UINT64_MAX);

	format_queue_drain(&writer->queue);
	return format_writer_settle(writer, status);
}

int format_writer_submit(struct ptl_writer *writer, uint64_t *position)
{
	const int status = format_streams_submit(writer, UINT64_MAX);

	*position = writer->queue.submitted;
	return format_writer_settle(writer, status);
}

bool format_writer_reached(struct ptl_writer *writer, uint64_t position)
{
	return format_queue_reach(&writer->queue, position, false);
}

void format_writer_await(struct ptl_writer *writer, uint64_t position)
{
	(void)format_queue_reach(&writer->queue, position, true);
}

int ptl_writer_poll(struct ptl_writer *writer)
{
	return format_writer_settle(writer, format_streams_submit_old(writer));
}

void ptl_writer_counts(const struct ptl_writer *writer, struct ptl_writer_counts *counts)
{
	struct format_queue *queue = (struct format_queue *)&writer->queue;
	size_t used;

	pthread_mutex_lock(&queue->lock);
	*counts = queue->counts;
	used = queue->memory + writer->partial_bytes;
	pthread_mutex_unlock(&queue->lock);
	counts->buffer_size = writer->buffer_size;
	counts->buffers_all = queue->memory_limit / writer->buffer_size;
	used = (used + writer->buffer_size - 1) / writer->buffer_size;
	counts->buffers_free = counts->buffers_all > used ? counts->buffers_all - used : 0;
	counts->raw_bytes = writer->raw_bytes;
	counts->events = writer->events;
}

uint32_t format_writer_spare_id(const struct ptl_writer *writer)
{
	uint32_t id = PTL_NO_ID - 1;

	while (common_hash_map_get(&writer->copied_map, id) || id < writer->stream_count ||
	       writer->streams[FORMAT_BLOB_STREAM]->stream.id == id)
		id--;
	return id;
}

void format_writer_leave_unfinished(struct ptl_writer *writer)
{
	writer->queue.output.unfinished = true;
}

/*
 * Whether all loss records, and all metadata and blobs, were written. Otherwise a file that claims to be complete would
 * hide losses.
 */
static int check_all_written(struct format_queue *queue)
{
	const bool all_written = !queue->lost_count && !queue->returned;

	return all_written ? 0 : common_fail(queue->first_status, "%s", queue->first_text);
}

/* Finishes writing. Everything that can still fail is done here, before the first failure is returned. */
static int finish_file(struct ptl_writer *writer)
{
	struct format_queue *queue = &writer->queue;
	int status = format_streams_submit(writer, UINT64_MAX);

	format_queue_drain(queue);
	/* The loss records may be lost, too; this is not retried. */
	if (!status && queue->counts.lost_buffers) {
		status = format_writer_report_losses(writer, true);
		if (!status)
			status = format_streams_submit(writer, UINT64_MAX);
		format_queue_drain(queue);
		if (!status)
			status = check_all_written(queue);
	}
	format_queue_stop(queue, false);
	for (size_t i = 0; i < writer->stream_count; i++)
		if (writer->streams[i]->sequence)
			format_output_stream_end(&queue->output, writer->streams[i]->stream.id,
						 writer->streams[i]->sequence, writer->streams[i]->position);
	for (size_t i = 0; i < writer->copied_count; i++)
		format_output_stream_end(&queue->output, writer->copied[i]->stream.id, writer->copied[i]->sequence,
					 writer->copied[i]->position);
	if (common_hash_map_get(&writer->copied_map, FORMAT_INDEX_STREAM))
		queue->output.index_stream = format_writer_spare_id(writer);
	return status || queue->output.unfinished ? status : format_output_finish(&queue->output, queue->compressor);
}

int format_writer_close(struct ptl_writer *writer, struct format_writer_end *end)
{
	struct format_queue *queue = &writer->queue;
	int status = finish_file(writer);

	*end = (struct format_writer_end){queue->output.offset, queue->counts.lost_buffers, queue->lost_events};
	if (queue->first_status)
		status = common_fail(queue->first_status, "%s", queue->first_text);
	if (close(queue->output.fd) < 0 && !status)
		status = format_output_fail(&queue->output);
	format_queue_free(queue);
	free_writer(writer);
	return status;
}

int ptl_writer_close(struct ptl_writer *writer)
{
	struct format_writer_end end;

	return format_writer_close(writer, &end);
}

void ptl_writer_abandon(struct ptl_writer *writer)
{
	if (!writer)
		return;
	format_queue_stop(&writer->queue, true);
	close(writer->queue.output.fd);
	format_queue_free(&writer->queue);
	free_writer(writer);
}

/* ---- adding data ----------------------------------------------------------------------------------- */

/* Returns a stream declared by the caller. NULL, with PTL_MISUSE in the error chain, for any other id. */
static struct ptl_writer_stream *find_stream(struct ptl_writer *writer, uint32_t id)
{
	if (id > FORMAT_INDEX_STREAM && id < writer->stream_count && !writer->streams[id]->taken)
		return writer->streams[id];
	common_fail(PTL_MISUSE, "no stream %u was declared", id);
	return NULL;
}

/* As find_stream, for a stream of bytes: PT, TRUTH, or an unknown kind. */
static struct ptl_writer_stream *find_bytes_stream(struct ptl_writer *writer, uint32_t id)
{
	struct ptl_writer_stream *stream = find_stream(writer, id);

	if (!stream || stream->stream.kind != PTL_KIND_EVENTS)
		return stream;
	common_fail(PTL_MISUSE, "stream %u holds events", id);
	return NULL;
}

int ptl_writer_machine(struct ptl_writer *writer, const struct ptl_machine *machine)
{
	struct ptl_bytes body = {0};
	int status;

	format_machine_encode(machine, &body);
	status = format_writer_put_record(writer, FORMAT_RECORD_MACHINE, &body);
	common_bytes_free(&body);
	return format_writer_settle(writer, status);
}

int format_writer_stream_quietly(struct ptl_writer *writer, struct ptl_stream *stream)
{
	struct ptl_writer_stream *added;

	if (stream->kind == PTL_KIND_METADATA || stream->kind == PTL_KIND_BLOB || stream->kind == PTL_KIND_INDEX)
		return common_fail(PTL_MISUSE, "a stream of kind %u cannot be declared", stream->kind);
	added = format_stream_new(writer, stream);
	if (!added)
		return PTL_NO_MEMORY;
	stream->id = added->stream.id;
	return 0;
}

int ptl_writer_stream(struct ptl_writer *writer, struct ptl_stream *stream)
{
	struct ptl_bytes body = {0};
	/* Kind 0 is reserved; only copied streams may have it. */
	int status = stream->kind ? format_writer_stream_quietly(writer, stream)
				  : common_fail(PTL_MISUSE, "a stream of kind 0 cannot be declared");

	if (status)
		return status;
	format_stream_encode(stream, &body);
	status = format_writer_put_record(writer, FORMAT_RECORD_STREAM, &body);
	common_bytes_free(&body);
	return format_writer_settle(writer, status);
}

/* Writes a record unless an equal record was written. Frees body. */
static int write_once(struct ptl_writer *writer, uint32_t type, struct ptl_bytes *body)
{
	int status = 0;
	struct ptl_bytes key = {0};

	common_write_varint(&key, type);
	common_write_bytes(&key, body->data, body->size);
	body->failed |= key.failed;
	if (body->failed || !common_byte_map_get(&writer->once, key.data, key.size)) {
		status = format_writer_put_record(writer, type, body);
		if (!status)
			status = common_byte_map_put(&writer->once, key.data, key.size, 1);
	}
	common_bytes_free(&key);
	common_bytes_free(body);
	return format_writer_settle(writer, status);
}

int ptl_writer_schema(struct ptl_writer *writer, const struct ptl_schema *schema)
{
	struct ptl_bytes body = {0};

	format_schema_encode(schema, &body);
	return write_once(writer, FORMAT_RECORD_SCHEMA, &body);
}

int ptl_writer_map(struct ptl_writer *writer, const struct ptl_map *map)
{
	struct ptl_bytes body = {0};

	if (map->count > FORMAT_RECORD_ITEMS_MAX)
		return common_fail(PTL_MISUSE, "a map of %zu entries: %u are allowed", map->count,
				   FORMAT_RECORD_ITEMS_MAX);
	format_map_encode(map, &body);
	return write_once(writer, FORMAT_RECORD_MAP, &body);
}

int format_writer_repeat(struct ptl_writer *writer, const struct ptl_writer *before)
{
	const void *key;
	size_t size, at = 0;
	int status = 0;

	while (status == 0 && common_byte_map_next(&before->once, &at, &key, &size)) {
		struct common_cursor in = common_cursor(key, size);
		const uint64_t type = common_read_varint(&in);
		struct ptl_bytes body = {0};

		common_write_bytes(&body, common_read_bytes(&in, common_cursor_left(&in)),
				   size - common_varint_size(type));
		status = write_once(writer, (uint32_t)type, &body);
	}
	return status;
}

int ptl_writer_record(struct ptl_writer *writer, uint64_t type, const void *data, size_t size)
{
	struct ptl_bytes body = {0};
	int status;

	if (size)
		common_write_bytes(&body, data, size);
	if (type == FORMAT_RECORD_SCHEMA || type == FORMAT_RECORD_MAP || type == FORMAT_RECORD_ATTACHMENT)
		return write_once(writer, (uint32_t)type, &body);
	status = format_writer_settle(writer, format_writer_put_record(writer, type, &body));
	common_bytes_free(&body);
	return status;
}

static struct ptl_writer_stream *find_events_stream(struct ptl_writer *writer, uint32_t id)
{
	struct ptl_writer_stream *stream = find_stream(writer, id);

	if (!stream || stream->stream.kind == PTL_KIND_EVENTS)
		return stream;
	common_fail(PTL_MISUSE, "stream %u does not hold events", id);
	return NULL;
}

int format_writer_records(struct ptl_writer *writer, uint32_t id, const struct format_event_record *records,
			  size_t count)
{
	struct ptl_writer_stream *stream = find_events_stream(writer, id);
	int status = 0;

	if (!stream)
		return PTL_MISUSE;
	while (count && status == 0) {
		const size_t added = format_event_batch_add_records(&stream->batch, records, count,
								    writer->buffer_size);

		if (!added)
			return common_fail_memory("an event", records->kind->payload_size);
		for (size_t i = 0; i < added; i++)
			writer->raw_bytes += records[i].kind->payload_size;
		writer->events += added;
		records += added;
		count -= added;
		status = format_stream_added(writer, stream);
	}
	return format_writer_settle(writer, status);
}

int ptl_writer_event(struct ptl_writer *writer, uint32_t id, const struct ptl_event *event)
{
	struct ptl_writer_stream *stream = find_events_stream(writer, id);
	size_t extended = 0;
	int status;

	if (!stream)
		return PTL_MISUSE;
	status = format_event_batch_add(&stream->batch, event);
	if (status)
		return status;
	for (size_t i = 0; i < event->extended_count; i++)
		extended += event->extended[i].size;
	writer->raw_bytes += event->payload_size + extended;
	writer->events++;
	return format_writer_settle(writer, format_stream_added(writer, stream));
}

int ptl_writer_bytes(struct ptl_writer *writer, uint32_t id, const void *data, size_t size, uint64_t time)
{
	struct ptl_writer_stream *stream = find_bytes_stream(writer, id);
	int status = 0;

	if (!stream)
		return PTL_MISUSE;
	while (size && !status) {
		const size_t room = writer->buffer_size - stream->raw.size;
		const size_t part = size < room ? size : room;

		/* Every buffer that gets bytes has this time. */
		format_stream_touch(stream, time);
		status = format_stream_bytes(writer, stream, data, part);
		data = (const uint8_t *)data + part;
		size -= part;
	}
	return format_writer_settle(writer, status);
}

int ptl_writer_psb(struct ptl_writer *writer, uint32_t id, uint64_t offset, uint64_t time)
{
	struct ptl_writer_stream *stream = find_stream(writer, id);

	if (!stream)
		return PTL_MISUSE;
	if (stream->stream.kind != PTL_KIND_PT)
		return common_fail(PTL_MISUSE, "stream %u does not hold PT", id);
	if (offset >= FORMAT_POSITION_MAX || (stream->has_psb && offset < stream->last_psb + 16))
		return common_fail(PTL_MISUSE, "the PSB at offset %llu is out of order", (unsigned long long)offset);
	if (!common_vector_room(&stream->psbs, stream->psb_count, sizeof(*stream->psbs)))
		return common_fail_memory("PSBs", stream->psb_count * sizeof(*stream->psbs));
	stream->psbs[stream->psb_count++] = (struct ptl_psb){offset, time};
	stream->has_psb = true;
	stream->last_psb = offset;
	if (time && offset >= stream->position)
		format_stream_touch(stream, time);
	return format_writer_settle(writer, format_stream_added(writer, stream));
}

int ptl_writer_hole(struct ptl_writer *writer, uint32_t id, uint64_t size, uint64_t time)
{
	struct ptl_writer_stream *stream = find_bytes_stream(writer, id);
	int status = 0;

	if (!stream)
		return PTL_MISUSE;
	if (!size)
		return 0;
	if (stream->raw.size)
		status = format_stream_submit(writer, stream);
	if (status)
		return status;
	if (size >= FORMAT_POSITION_MAX - stream->position)
		return common_fail(PTL_MISUSE, "a hole of %llu bytes is too large", (unsigned long long)size);
	stream->position += size;
	format_stream_touch(stream, time);
	return format_writer_settle(writer, format_stream_added(writer, stream));
}

int ptl_writer_loss(struct ptl_writer *writer, const struct ptl_loss *loss)
{
	return format_writer_settle(writer, format_writer_put_loss(writer, loss));
}

int ptl_writer_attachment(struct ptl_writer *writer, const struct ptl_attachment *attachment)
{
	struct ptl_bytes body = {0};

	format_attachment_encode(attachment, &body);
	return write_once(writer, FORMAT_RECORD_ATTACHMENT, &body);
}

int ptl_writer_provenance(struct ptl_writer *writer, const struct ptl_provenance *provenance)
{
	struct ptl_bytes body = {0};
	int status;

	format_provenance_encode(provenance, &body);
	status = format_writer_put_record(writer, FORMAT_RECORD_PROVENANCE, &body);
	common_bytes_free(&body);
	return format_writer_settle(writer, status);
}
