/* SPDX-License-Identifier: BSD-2-Clause */
/* The container format of perf.data files. */
#include "import/perf/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/bytes.h"
#include "common/error.h"
#include "common/file.h"
#include "common/program/interrupt.h"
#include "format/metadata/input_hash.h"
#include "import/perf/expand.h"

#define WINDOW ((size_t)1 << 20) /* bytes per read of the file; larger than any record */
#define RECORD_MAX 65535u
#define PIECE ((size_t)1 << 20)

struct perf_file {
	int fd;
	uint64_t size;
	int64_t written;
	bool pipe;
	uint64_t end; /* end of the records in the file */
	size_t attr_size;
	struct perf_section attrs;
	struct perf_section event_types;
	struct perf_section features[PERF_FEATURES];

	uint8_t *window;
	uint64_t window_offset; /* file offset of the window's first byte */
	size_t window_size;
	uint64_t at;      /* file offset of the next record */
	uint64_t payload; /* unread bytes of the payload behind the current record */
	uint64_t record_offset;
	struct perf_expand expand;
};

/* Magic numbers. old_magic (perf up to Linux 3.4) is the same in all byte orders. */
static const char magic[] = "PERFILE2", swapped[] = "2ELIFREP", old_magic[] = "PERFFILE";

bool perf_file_is(const uint8_t *data, size_t size)
{
	return size >= PERF_MAGIC_SIZE &&
	       (!memcmp(data, magic, PERF_MAGIC_SIZE) || !memcmp(data, swapped, PERF_MAGIC_SIZE) ||
		!memcmp(data, old_magic, PERF_MAGIC_SIZE));
}

int perf_file_fd(const struct perf_file *file)
{
	return file->fd;
}

int perf_file_read(const struct perf_file *file, uint64_t offset, void *data, size_t size)
{
	if (offset > file->size || size > file->size - offset)
		return common_fail(PTL_TRUNCATED, "the file ends at %llu, within %zu bytes at %llu",
				   (unsigned long long)file->size, size, (unsigned long long)offset);
	return common_read_at(file->fd, data, size, offset);
}

static struct perf_section section_of(const uint8_t *data)
{
	return (struct perf_section){common_load64(data), common_load64(data + 8)};
}

/* Reads a section for each set bit. Sections lie in order behind the records. */
static int read_features(struct perf_file *file, const uint8_t *bits)
{
	uint64_t at = file->end;
	int status = 0;

	for (unsigned i = 0; !status && i < PERF_FEATURES; i++) {
		uint8_t data[PERF_SECTION_SIZE];

		if (!(bits[i / 8] >> i % 8 & 1))
			continue;
		status = perf_file_read(file, at, data, sizeof(data));
		at += sizeof(data);
		if (!status)
			file->features[i] = section_of(data);
		if (!status && (file->features[i].offset > file->size ||
				file->features[i].size > file->size - file->features[i].offset))
			file->features[i] = (struct perf_section){0};
	}
	return status;
}

static int read_file_header(struct perf_file *file)
{
	uint8_t data[PERF_FILE_HEADER_SIZE];
	struct perf_section records;
	int status = perf_file_read(file, 0, data, sizeof(data));

	if (status)
		return status;
	file->attr_size = (size_t)common_load64(data + 16);
	file->attrs = section_of(data + 24);
	file->event_types = section_of(data + 56);
	records = section_of(data + 40);
	if (file->attr_size < PERF_ATTR_SIZE_MIN + PERF_SECTION_SIZE || file->attr_size > 4096)
		return common_fail(PTL_CORRUPT, "offset 16: attributes of %zu bytes", file->attr_size);
	if (records.offset > file->size)
		return common_fail(PTL_TRUNCATED, "offset 40: records at %llu in a file of %llu bytes",
				   (unsigned long long)records.offset, (unsigned long long)file->size);
	file->at = records.offset;
	/*
	 * perf writes the size at its end. A killed perf leaves size 0: the file then has all records, and no features.
	 */
	if (!records.size) {
		file->end = file->size;
		return 0;
	}
	if (records.size > file->size - records.offset) {
		file->end = file->size;
		return 0;
	}
	file->end = records.offset + records.size;
	/* Features are optional: a file that is truncated in the features still has its records. */
	status = read_features(file, data + 72);
	return status == PTL_TRUNCATED ? 0 : status;
}

static int read_header(struct perf_file *file)
{
	uint8_t data[PERF_PIPE_HEADER_SIZE];
	uint64_t size;
	int status;

	if (file->size < sizeof(data))
		return common_fail(PTL_NOT_OURS, "not a perf.data file");
	status = perf_file_read(file, 0, data, sizeof(data));
	if (status)
		return status;
	if (!perf_file_is(data, sizeof(data)))
		return common_fail(PTL_NOT_OURS, "not a perf.data file");
	if (!memcmp(data, swapped, PERF_MAGIC_SIZE) ||
	    (!memcmp(data, old_magic, PERF_MAGIC_SIZE) && common_load64(data + 8) >> 32))
		return common_fail(PTL_UNSUPPORTED, "recorded on a big-endian machine");
	size = common_load64(data + 8);
	if (size == PERF_PIPE_HEADER_SIZE) {
		file->pipe = true;
		file->at = size;
		file->end = file->size;
		return 0;
	}
	if (size != PERF_FILE_HEADER_SIZE)
		return common_fail(PTL_UNSUPPORTED, "offset 8: a header of %llu bytes is of an unknown version",
				   (unsigned long long)size);
	return read_file_header(file);
}

/* Opens a part: the file has records only. */
static int read_nothing(struct perf_file *file)
{
	file->end = file->size;
	return 0;
}

static int open_file(int fd, int (*read_start)(struct perf_file *file), struct perf_file **file)
{
	struct perf_file *opened = calloc(1, sizeof(*opened));
	struct stat info;
	int status = 0;

	if (!opened)
		return common_fail_memory("perf.data", sizeof(*opened));
	opened->fd = fd;
	if (fstat(fd, &info) < 0)
		status = common_fail_errno("cannot look at it");
	else {
		opened->size = (uint64_t)info.st_size;
		opened->written = info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
	}
	if (!status) {
		opened->window = malloc(opened->size < WINDOW ? opened->size + 1 : WINDOW);
		status = opened->window ? read_start(opened) : common_fail_memory("perf.data", WINDOW);
	}
	if (status) {
		perf_file_close(opened);
		return status;
	}
	*file = opened;
	return 0;
}

int perf_file_open(int fd, struct perf_file **file)
{
	return open_file(fd, read_header, file);
}

int perf_file_open_part(int fd, struct perf_file **file)
{
	return open_file(fd, read_nothing, file);
}

void perf_file_close(struct perf_file *file)
{
	if (!file)
		return;
	perf_expand_free(&file->expand);
	free(file->window);
	free(file);
}

bool perf_file_is_pipe(const struct perf_file *file)
{
	return file->pipe;
}

int64_t perf_file_written(const struct perf_file *file)
{
	return file->written;
}

uint64_t perf_file_size(const struct perf_file *file)
{
	return file->size;
}

struct perf_section perf_file_attrs(const struct perf_file *file, size_t *entry_size)
{
	*entry_size = file->attr_size;
	return file->attrs;
}

struct perf_section perf_file_event_types(const struct perf_file *file)
{
	return file->event_types;
}

struct perf_section perf_file_feature(const struct perf_file *file, unsigned feature)
{
	return feature < PERF_FEATURES ? file->features[feature] : (struct perf_section){0};
}

/* Makes `size` bytes at file->at available in the window. Returns PTL_TRUNCATED at the end of the records. */
static int read_window(struct perf_file *file, size_t size, const uint8_t **data)
{
	const uint64_t left = file->end - file->at;
	uint64_t skipped;

	if (size > left)
		return common_fail(PTL_TRUNCATED, "offset %llu: the file ends within a record",
				   (unsigned long long)file->record_offset);
	skipped = file->at - file->window_offset;
	if (file->at < file->window_offset || skipped > file->window_size || file->window_size - skipped < size) {
		const size_t wanted = left < WINDOW ? (size_t)left : WINDOW;
		int status = perf_file_read(file, file->at, file->window, wanted);

		file->window_size = 0;
		if (status)
			return status;
		file->window_offset = file->at;
		file->window_size = wanted;
		skipped = 0;
	}
	*data = file->window + skipped;
	return 0;
}

/* Parses a record's header; the body follows. */
static int take_header(const struct perf_file *file, const uint8_t *header, struct perf_record *record)
{
	const size_t size = common_load16(header + 6);

	record->type = common_load32(header);
	record->misc = common_load16(header + 4);
	record->offset = file->record_offset;
	if (size < PERF_RECORD_HEADER_SIZE)
		return common_fail(PTL_CORRUPT, "offset %llu: a record of %zu bytes",
				   (unsigned long long)file->record_offset, size);
	record->size = size - PERF_RECORD_HEADER_SIZE;
	return 0;
}

/* Returns the size of the payload that follows some records, and is not counted in the record's size. */
static uint64_t payload_of(const struct perf_record *record)
{
	if (record->type == PERF_RECORD_AUXTRACE && record->size >= 8)
		return common_load64(record->body);
	if (record->type == PERF_RECORD_TRACING_DATA && record->size >= 4)
		return ((uint64_t)common_load32(record->body) + 7) & ~7ull;
	return 0;
}

/* Reads the next record as stored in the file. */
static int next_stored(struct perf_file *file, struct perf_record *record)
{
	const uint8_t *data;
	int status;

	file->at = file->payload < file->end - file->at ? file->at + file->payload : file->end;
	file->payload = 0;
	if (file->at == file->end)
		return 0;
	file->record_offset = file->at;
	status = read_window(file, PERF_RECORD_HEADER_SIZE, &data);
	if (!status)
		status = take_header(file, data, record);
	if (!status)
		status = read_window(file, PERF_RECORD_HEADER_SIZE + record->size, &data);
	if (status)
		return status;
	record->body = data + PERF_RECORD_HEADER_SIZE;
	file->at += PERF_RECORD_HEADER_SIZE + record->size;
	file->payload = payload_of(record);
	return 1;
}

/* Returns the next record of the decompressed records; 0: no complete record. */
static int next_expanded(struct perf_file *file, struct perf_record *record)
{
	size_t left;
	const uint8_t *data = perf_expand_left(&file->expand, &left);
	int status;

	if (left < PERF_RECORD_HEADER_SIZE)
		return 0;
	status = take_header(file, data, record);
	if (status)
		return status;
	if (left < PERF_RECORD_HEADER_SIZE + record->size)
		return 0;
	record->body = data + PERF_RECORD_HEADER_SIZE;
	perf_expand_consume(&file->expand, PERF_RECORD_HEADER_SIZE + record->size);
	return 1;
}

/* Decompresses the bytes of a record. The newer kind of record begins with the size without padding. */
static int expand(struct perf_file *file, const struct perf_record *record)
{
	const uint8_t *data = record->body;
	size_t size = record->size;
	int status;

	if (record->type == PERF_RECORD_COMPRESSED2) {
		const uint64_t stated_size = size >= 8 ? common_load64(data) : UINT64_MAX;

		if (stated_size > size - (size < 8 ? size : 8))
			return common_fail(PTL_CORRUPT, "offset %llu: a compressed record has less than it says",
					   (unsigned long long)record->offset);
		data += 8;
		size = (size_t)stated_size;
	}
	status = perf_expand_add(&file->expand, data, size);

	return status ? common_fail_in(status, "offset %llu", (unsigned long long)record->offset) : 0;
}

int perf_file_next(struct perf_file *file, struct perf_record *record)
{
	for (;;) {
		int status = next_expanded(file, record);

		if (status)
			return status;
		status = next_stored(file, record);
		if (status <= 0)
			return status;
		if (record->type != PERF_RECORD_COMPRESSED && record->type != PERF_RECORD_COMPRESSED2)
			return 1;
		status = expand(file, record);
		if (status)
			return status;
	}
}

int perf_file_payload(struct perf_file *file, uint8_t *data, size_t size)
{
	uint64_t wanted = file->payload < size ? file->payload : size;
	int status;

	if (wanted > INT32_MAX)
		wanted = INT32_MAX;
	if (wanted > file->end - file->at)
		wanted = file->end - file->at;
	if (!wanted)
		return file->payload
			       ? common_fail(PTL_TRUNCATED,
					     "offset %llu: the file ends within the bytes "
					     "behind a record, %llu are missing",
					     (unsigned long long)file->record_offset, (unsigned long long)file->payload)
			       : 0;
	status = perf_file_read(file, file->at, data, (size_t)wanted);
	if (status)
		return status;
	file->at += wanted;
	file->payload -= wanted;
	return (int)wanted;
}

uint64_t perf_file_payload_offset(const struct perf_file *file)
{
	return file->at;
}

int perf_file_hash(const struct perf_file *file, struct format_input_hash *hash)
{
	uint8_t *piece = malloc(file->size < PIECE ? file->size + 1 : PIECE);
	uint64_t at = 0;
	int status = piece ? 0 : common_fail_memory("a hash", PIECE);

	while (!status && at < file->size) {
		const size_t n = file->size - at < PIECE ? (size_t)(file->size - at) : PIECE;

		status = perf_file_read(file, at, piece, n);
		if (!status) {
			format_input_hash_add(hash, piece, n);
			at += n;
			status = common_interrupt_check();
		}
	}
	free(piece);
	return status;
}
