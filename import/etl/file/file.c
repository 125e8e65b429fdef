/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the buffers of .etl files, and decompresses them. */
#include "import/etl/file/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "import/etl/file/expand.h"
#include "import/etl/file/layout.h"

#define WINDOW ((size_t)1 << 20) /* bytes per read, unless buffers are larger */
#define LOG_HEADER_MIN 272u      /* bytes of TRACE_LOGFILE_HEADER with 4-byte pointers */
#define TIME_ZONE 172u           /* bytes of TIME_ZONE_INFORMATION */

struct etl_file {
	int fd;
	uint64_t size;
	struct etl_log_header header;
	uint64_t at; /* offset of the next buffer */
	uint8_t *window;
	size_t window_capacity;
	uint64_t window_offset;
	size_t window_size;
	uint8_t *expanded;
};

/* Whether the event is the first event of an .etl file. */
static bool is_first_event(const uint8_t *event)
{
	return (event[2] == ETL_SYSTEM32 || event[2] == ETL_SYSTEM64) &&
	       event[3] == (ETL_MARK_HEADER | ETL_MARK_EVENT) && common_load16(event + 6) == 0 &&
	       common_load16(event + 4) >= ETL_SYSTEM_SIZE + LOG_HEADER_MIN;
}

static bool is_size(uint32_t size)
{
	return size >= ETL_BUFFER_HEADER && size <= ETL_BUFFER_MAX;
}

bool etl_file_is(const uint8_t *data, size_t size)
{
	return size >= ETL_BUFFER_HEADER + ETL_SYSTEM_SIZE && is_size(common_load32(data + ETL_BUFFER_SIZE_AT)) &&
	       is_first_event(data + ETL_BUFFER_HEADER);
}

/* ---- the first event ------------------------------------------------------------------------------- */

static int parse_header(const uint8_t *data, size_t size, struct etl_log_header *header)
{
	struct common_cursor cursor = common_cursor(data, size);

	header->buffer_size = common_read32(&cursor);
	header->version = common_read32(&cursor);
	header->build = common_read32(&cursor);
	header->processors = common_read32(&cursor);
	header->end_time = common_read64(&cursor);
	header->timer_resolution = common_read32(&cursor);
	common_read32(&cursor); /* MaximumFileSize */
	header->mode = common_read32(&cursor);
	common_read_bytes(&cursor, 8); /* BuffersWritten, StartBuffers */
	header->pointer_size = common_read32(&cursor);
	header->events_lost = common_read32(&cursor);
	header->cpu_mhz = common_read32(&cursor);
	if (header->pointer_size != 4 && header->pointer_size != 8)
		return common_fail(PTL_CORRUPT, "pointers of %u bytes", header->pointer_size);
	if (!is_size(header->buffer_size))
		return common_fail(PTL_CORRUPT, "buffers of %u bytes", header->buffer_size);
	common_read_bytes(&cursor, (size_t)2 * header->pointer_size); /* LoggerName, LogFileName */
	header->bias = (int32_t)common_read32(&cursor);
	common_read_bytes(&cursor, TIME_ZONE - 4);
	common_read_bytes(&cursor, 4); /* padding: the following members are aligned with both pointer sizes */
	header->boot_time = common_read64(&cursor);
	header->frequency = common_read64(&cursor);
	header->start_time = common_read64(&cursor);
	header->clock = common_read32(&cursor);
	header->buffers_lost = common_read32(&cursor);
	return cursor.failed ? common_fail(PTL_TRUNCATED, "the log's header has %zu bytes", size) : 0;
}

static int read_header(struct etl_file *file)
{
	uint8_t data[ETL_BUFFER_HEADER + ETL_SYSTEM_SIZE + LOG_HEADER_MIN + 8];
	const uint8_t *event = data + ETL_BUFFER_HEADER;
	const size_t size = file->size < sizeof(data) ? (size_t)file->size : sizeof(data);
	size_t length;
	int status = common_read_at(file->fd, data, size, 0);

	if (status)
		return status;
	if (!etl_file_is(data, size))
		return common_fail(PTL_CORRUPT, "offset 0: no header of an .etl file");
	length = common_load16(event + 4) - ETL_SYSTEM_SIZE;
	if (length > size - ETL_BUFFER_HEADER - ETL_SYSTEM_SIZE)
		length = size - ETL_BUFFER_HEADER - ETL_SYSTEM_SIZE;
	file->header.first_time = common_load64(event + 16);
	status = parse_header(event + ETL_SYSTEM_SIZE, length, &file->header);
	if (!status && file->header.mode & ETL_COMPRESSED_MODE)
		file->header.compression = common_load32(data + ETL_BUFFER_STATE_AT) & 0xffff;
	return status ? common_fail_in(status, "offset %u", ETL_BUFFER_HEADER + ETL_SYSTEM_SIZE) : 0;
}

int etl_file_open(int fd, struct etl_file **opened)
{
	struct etl_file *file = calloc(1, sizeof(*file));
	struct stat info;
	int status;

	*opened = NULL;
	if (!file)
		return common_fail_memory("an .etl file", sizeof(*file));
	file->fd = fd;
	status = fstat(fd, &info) < 0 ? common_fail_errno("cannot read") : 0;
	file->size = status ? 0 : (uint64_t)info.st_size;
	if (!status)
		status = read_header(file);
	file->window_capacity = WINDOW;
	file->window = status ? NULL : malloc(file->window_capacity);
	file->expanded = status ? NULL : malloc(file->header.buffer_size);
	if (!status && (!file->window || !file->expanded))
		status = common_fail_memory("buffers of an .etl file", WINDOW);
	if (status)
		etl_file_close(file);
	else
		*opened = file;
	return status;
}

void etl_file_close(struct etl_file *file)
{
	if (!file)
		return;
	free(file->window);
	free(file->expanded);
	free(file);
}

uint64_t etl_file_size(const struct etl_file *file)
{
	return file->size;
}

const struct etl_log_header *etl_file_header(const struct etl_file *file)
{
	return &file->header;
}

void etl_file_rewind(struct etl_file *file)
{
	file->at = 0;
}

/* ---- buffers ----------------------------------------------------------------------------------------- */

/* Reads up to `size` bytes at offset. *got: bytes available in the file. */
static int read_window(struct etl_file *file, uint64_t offset, size_t size, const uint8_t **data, size_t *got)
{
	int status;

	if (size > file->size - offset)
		size = (size_t)(file->size - offset);
	*got = size;
	if (offset >= file->window_offset && offset - file->window_offset <= file->window_size &&
	    size <= file->window_size - (size_t)(offset - file->window_offset)) {
		*data = file->window + (offset - file->window_offset);
		return 0;
	}
	if (size > file->window_capacity) {
		uint8_t *larger = realloc(file->window, size);

		if (!larger)
			return common_fail_memory("a buffer of an .etl file", size);
		file->window = larger;
		file->window_capacity = size;
	}
	file->window_offset = offset;
	file->window_size = file->size - offset < file->window_capacity ? (size_t)(file->size - offset)
									: file->window_capacity;
	status = common_read_at(file->fd, file->window, file->window_size, offset);
	if (status)
		file->window_size = 0;
	*data = file->window;
	return status;
}

static bool is_zero(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (data[i])
			return false;
	return true;
}

/*
 * Whether data is a plausible buffer header. The size may differ from the file's buffer size: for a compressed buffer,
 * and for a first buffer that was cut to fit.
 */
static bool is_header(const struct etl_file *file, const uint8_t *data)
{
	const uint32_t size = common_load32(data + ETL_BUFFER_SIZE_AT);
	const uint32_t end = common_load32(data + ETL_BUFFER_OFFSET_AT);
	const bool compressed = common_load16(data + ETL_BUFFER_FLAGS_AT) & ETL_BUFFER_COMPRESSED;

	return size >= ETL_BUFFER_HEADER && size <= ETL_BUFFER_MAX && end >= ETL_BUFFER_HEADER &&
	       end <= (compressed ? file->header.buffer_size : size);
}

/*
 * Skips bytes that are no buffer. Buffers of an uncompressed file lie at multiples of the buffer size; else searches
 * the next header.
 */
static int skip_to_buffer(struct etl_file *file)
{
	const uint64_t start = file->at;
	uint32_t step = file->header.buffer_size;

	if (!file->header.compression) {
		file->at = step < file->size - start ? start + step : file->size;
		return 0;
	}
	while (++file->at < file->size) {
		const uint8_t *data;
		size_t got;
		int status = read_window(file, file->at, ETL_BUFFER_HEADER, &data, &got);

		if (status)
			return status;
		if (got < ETL_BUFFER_HEADER)
			file->at = file->size - 1;
		else if (is_header(file, data) && common_load16(data + ETL_BUFFER_FLAGS_AT) & ETL_BUFFER_COMPRESSED &&
			 common_load16(data + ETL_BUFFER_TYPE_AT) < 8 && common_load32(data + ETL_BUFFER_STATE_AT) < 8)
			return 0;
	}
	return 0;
}

/* Decompresses a buffer behind its header. A damaged buffer is decompressed as far as possible. */
static int expand(struct etl_file *file, const uint8_t *data, size_t got, struct etl_buffer *buffer)
{
	const size_t wanted = buffer->size - ETL_BUFFER_HEADER;
	size_t made = 0;
	int status;

	memcpy(file->expanded, data, ETL_BUFFER_HEADER);
	status = etl_expand(file->header.compression, data + ETL_BUFFER_HEADER, got - ETL_BUFFER_HEADER,
			    file->expanded + ETL_BUFFER_HEADER, wanted, &made);
	if (status == PTL_UNSUPPORTED)
		return status;
	buffer->cut |= status || made < wanted;
	buffer->data = file->expanded;
	buffer->size = ETL_BUFFER_HEADER + made;
	return 0;
}

/* Finds the next buffer's header. A preallocated file has zeros in unwritten buffers, which are skipped. */
static int look_at_header(struct etl_file *file, const uint8_t **data, size_t *got)
{
	int status = 0;

	while (!status && file->at < file->size) {
		status = read_window(file, file->at, ETL_BUFFER_HEADER, data, got);
		if (status || !is_zero(*data, *got))
			break;
		file->at = file->header.buffer_size < file->size - file->at ? file->at + file->header.buffer_size
									    : file->size;
	}
	return status;
}

int etl_file_next(struct etl_file *file, struct etl_buffer *buffer)
{
	const uint8_t *data;
	size_t size, got;
	int status;

	status = look_at_header(file, &data, &got);
	*buffer = (struct etl_buffer){.offset = file->at};
	if (status || file->at >= file->size)
		return status;
	if (got < ETL_BUFFER_HEADER || !is_header(file, data)) {
		status = skip_to_buffer(file);
		return status ? status
			      : common_fail(got < ETL_BUFFER_HEADER ? PTL_TRUNCATED : PTL_CORRUPT,
					    "offset %llu: no header of a buffer", (unsigned long long)buffer->offset);
	}
	size = common_load32(data + ETL_BUFFER_SIZE_AT);
	status = read_window(file, file->at, size, &data, &got);
	if (status)
		return status;
	file->at += got;
	buffer->sequence = common_load64(data + ETL_BUFFER_SEQUENCE_AT);
	buffer->flags = common_load16(data + ETL_BUFFER_FLAGS_AT);
	buffer->type = common_load16(data + ETL_BUFFER_TYPE_AT);
	buffer->cpu = buffer->flags & ETL_BUFFER_PROCESSOR_INDEX ? common_load16(data + ETL_BUFFER_CPU_AT)
								 : data[ETL_BUFFER_CPU_AT];
	buffer->size = common_load32(data + ETL_BUFFER_OFFSET_AT);
	buffer->data = data;
	if (buffer->flags & ETL_BUFFER_COMPRESSED) {
		status = expand(file, data, got, buffer);
		return status ? common_fail_in(status, "offset %llu", (unsigned long long)buffer->offset) : 1;
	}
	if (buffer->size > got) {
		buffer->size = got;
		buffer->cut = true;
	}
	return 1;
}
