/* SPDX-License-Identifier: BSD-2-Clause */
/* The file being written: whole buffers, handling of failed writes, the index and the trailer. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/guid.h"
#include "common/vector.h"
#include "format/writer/writer_internal.h"

#define INDEX_PIECE (1u << 20) /* bytes, larger than any item; a power of two, as memory grows in powers of two */
#define INDEX_KEPT 4           /* pieces kept in memory; enough for nearly all files */
#define WRITE_BACK_PIECE (16u << 20)

enum index_item { ITEM_BUFFER = 1, ITEM_STREAM_END = 2 };

int format_output_fail(const struct format_output *output)
{
	return common_fail_errno("cannot write %s", output->name ? output->name : "the trace");
}

/* Writes as many bytes as possible. *written: their number. */
static int write_some(const struct format_output *output, const uint8_t *data, size_t size, size_t *written)
{
	for (*written = 0; *written < size;) {
		const ssize_t n = write(output->fd, data + *written, size - *written);

		if (n > 0) {
			*written += (size_t)n;
		} else if (n == 0) {
			errno = EIO;
			return format_output_fail(output);
		} else if (errno == EAGAIN) {
			struct pollfd wait = {.fd = output->fd, .events = POLLOUT};

			poll(&wait, 1, -1);
		} else if (errno != EINTR) {
			return format_output_fail(output);
		}
	}
	return 0;
}

/* Asks the system to start writing to disk, without waiting. Failures are ignored. */
static void start_write_back(struct format_output *output)
{
	if (!output->write_back || output->offset - output->written_back < WRITE_BACK_PIECE)
		return;
	sync_file_range(output->fd, (off_t)output->written_back, (off_t)(output->offset - output->written_back),
			SYNC_FILE_RANGE_WRITE);
	output->written_back = output->offset;
}

/* Appends all bytes. On failure, appends nothing if the file can be truncated. */
static int append_bytes(struct format_output *output, const uint8_t *data, size_t size)
{
	size_t written;
	const int status = write_some(output, data, size, &written);

	/* A partial buffer would be reported as damage by readers, so it is cut off. */
	if (status && written && output->can_rewind && ftruncate(output->fd, (off_t)output->offset) == 0 &&
	    lseek(output->fd, (off_t)output->offset, SEEK_SET) >= 0)
		written = 0;
	output->offset += written;
	start_write_back(output);
	return status;
}

int format_output_start(struct format_output *output, int fd, const struct ptl_writer_options *options)
{
	struct format_file_header header = {.major = FORMAT_VERSION_MAJOR, .minor = FORMAT_VERSION_MINOR};
	uint8_t bytes[FORMAT_FILE_HEADER_SIZE];
	struct timespec now;
	struct stat info;
	int status = common_guid_random(&header.id);

	if (options->minor > header.minor)
		header.minor = options->minor;
	if (status)
		return status;
	clock_gettime(CLOCK_REALTIME, &now);
	header.wall_time = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	*output = (struct format_output){
		.fd = fd,
		.name = options->name ? strdup(options->name) : NULL,
		.file_id = common_load64(header.id.bytes),
		.index_stream = FORMAT_INDEX_STREAM,
		.index_end = FORMAT_FILE_HEADER_SIZE,
		.spill = -1,
	};
	if (options->name && !output->name)
		return common_fail_memory("file name", strlen(options->name));
	if (fstat(fd, &info) < 0)
		return format_output_fail(output);
	output->can_rewind = S_ISREG(info.st_mode);
	format_file_header_encode(&header, bytes);
	return append_bytes(output, bytes, sizeof(bytes));
}

/* Moves a full piece to the temporary file. If this file cannot be written, the piece stays in memory. */
static void spill_piece(struct format_output *output, struct format_index_piece *piece)
{
	if (output->spill < 0 && common_open_temporary(&output->spill)) {
		output->spill = -1;
		output->spill_failed = true;
	}
	if (output->spill_failed ||
	    common_write_temporary(output->spill, piece->bytes.data, piece->bytes.size, output->spilled)) {
		output->spill_failed = true;
		return;
	}
	piece->size = piece->bytes.size;
	piece->offset = output->spilled;
	output->spilled += piece->size;
	common_bytes_free(&piece->bytes);
}

/* Returns the piece for an item of the index: the last piece, or a new piece if the item does not fit. */
static struct ptl_bytes *index_piece(struct format_output *output, size_t size)
{
	struct format_index_piece *last = output->index_count ? &output->index[output->index_count - 1] : NULL;

	if (last && last->bytes.size + size <= INDEX_PIECE)
		return &last->bytes;
	if (output->index_count > INDEX_KEPT && !output->spill_failed)
		spill_piece(output, &output->index[output->index_count - INDEX_KEPT - 1]);
	if (!common_vector_room(&output->index, output->index_count, sizeof(*last))) {
		output->index_failed = true;
		return NULL;
	}
	last = &output->index[output->index_count++];
	*last = (struct format_index_piece){0};
	return &last->bytes;
}

static void add_item(struct format_output *output, enum index_item type, uint64_t number, const uint8_t *data,
		     size_t size)
{
	const size_t body = common_varint_size(number) + size;
	struct ptl_bytes *piece = index_piece(output, common_varint_size(type) + common_varint_size(body) + body);

	if (!piece)
		return;
	common_write_varint(piece, type);
	common_write_varint(piece, body);
	common_write_varint(piece, number);
	common_write_bytes(piece, data, size);
	output->index_failed |= piece->failed;
}

int format_output_buffer(struct format_output *output, const uint8_t *data, size_t size)
{
	const size_t head = FORMAT_BUFFER_HEADER_SIZE + common_load32(data + 32);
	const uint64_t offset = output->offset;
	const int status = append_bytes(output, data, size);

	if (status)
		return status;
	add_item(output, ITEM_BUFFER, offset - output->index_end, data, head);
	output->index_end = offset + size;
	return 0;
}

void format_output_stream_end(struct format_output *output, uint32_t stream, uint64_t sequence, uint64_t position)
{
	struct ptl_bytes body = {0};

	common_write_varint(&body, sequence);
	common_write_varint(&body, position);
	if (body.failed)
		output->index_failed = true;
	else
		add_item(output, ITEM_STREAM_END, stream, body.data, body.size);
	common_bytes_free(&body);
}

/* Loads a piece back from the temporary file. */
static int load_piece(const struct format_output *output, struct format_index_piece *piece)
{
	uint8_t *data = piece->size ? common_bytes_grow(&piece->bytes, piece->size) : NULL;

	if (!piece->size)
		return 0;
	return data ? common_read_at(output->spill, data, piece->size, piece->offset)
		    : common_fail_memory("the index", piece->size);
}

/* Encodes a piece of the index as an INDEX buffer. position: of the piece in the stream. */
static int encode_piece(struct format_output *output, size_t i, uint64_t position, struct format_compressor *compressor,
			struct ptl_bytes *out)
{
	const struct ptl_bytes *piece = &output->index[i].bytes;
	struct format_buffer_header header = {
		.kind = PTL_KIND_INDEX,
		.stream = output->index_stream,
		.cpu = PTL_NO_CPU,
		.pid = PTL_NO_ID,
		.tid = PTL_NO_ID,
		.sequence = i,
		.raw_size = (uint32_t)piece->size,
		.position = position,
		.file_id = output->file_id,
	};
	int status;

	out->size = 0;
	if (!common_bytes_grow(out, FORMAT_BUFFER_HEADER_SIZE))
		return common_fail_memory("the index", piece->size);
	status = format_compress(compressor, piece->data, piece->size, NULL, 0, out, &header.codec);
	if (status)
		return status;
	header.stored_size = (uint32_t)(out->size - FORMAT_BUFFER_HEADER_SIZE);
	header.payload_checksum = format_checksum(out->data + FORMAT_BUFFER_HEADER_SIZE, header.stored_size);
	format_buffer_header_encode(&header, out->data);
	return 0;
}

int format_output_finish(struct format_output *output, struct format_compressor *compressor)
{
	struct format_trailer trailer = {output->offset, (uint32_t)output->index_count, output->file_id};
	const uint64_t start = output->offset;
	uint64_t position = 0;
	uint8_t bytes[FORMAT_TRAILER_SIZE];
	struct ptl_bytes out = {0};
	int status = 0;

	if (output->index_failed)
		return common_fail_memory("the index", output->index_count * INDEX_PIECE);
	if (!output->index_count && !index_piece(output, 0))
		return common_fail_memory("the index", INDEX_PIECE);
	trailer.index_buffers = (uint32_t)output->index_count;
	for (size_t i = 0; !status && i < output->index_count; i++) {
		struct format_index_piece *piece = &output->index[i];

		status = load_piece(output, piece);
		if (!status)
			status = encode_piece(output, i, position, compressor, &out);
		if (!status)
			status = append_bytes(output, out.data, out.size);
		position += piece->bytes.size;
		common_bytes_free(&piece->bytes);
	}
	common_bytes_free(&out);
	if (!status) {
		format_trailer_encode(&trailer, bytes);
		status = append_bytes(output, bytes, sizeof(bytes));
	}
	if (status && output->can_rewind && ftruncate(output->fd, (off_t)start) == 0)
		output->offset = start;
	return status;
}

void format_output_free(struct format_output *output)
{
	for (size_t i = 0; i < output->index_count; i++)
		common_bytes_free(&output->index[i].bytes);
	free(output->index);
	free(output->name);
	if (output->spill >= 0)
		close(output->spill);
	output->spill = -1;
	output->index = NULL;
	output->name = NULL;
	output->index_count = 0;
}
