/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes blocks of partial results. Each block has sizes and checksums. The last block shows that no block is
 * missing.
 */
#include "dump/run/partial_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/vector.h"
#include "format/container/codec.h"
#include "format/container/layout.h"

#define COMPRESSION_LEVEL 1

static const uint8_t magic[8] = "PTLPART\n";

/* Layout in the file: four numbers of 4 bytes, then two checksums. */
struct block_header {
	uint32_t kind, codec, raw_size, stored_size;
	uint64_t payload_checksum;
};

/* ---- writing ------------------------------------------------------------------------------------- */

static int write_all(struct dump_partial_writer *writer, const struct ptl_bytes *bytes)
{
	if (bytes->failed)
		return common_fail_memory("partial results", bytes->size);
	return common_write_all(writer->file.fd, bytes->data, bytes->size);
}

int dump_partial_writer_open(struct dump_partial_writer *writer, const char *path)
{
	int status;

	*writer = (struct dump_partial_writer){.file.fd = -1};
	status = common_output_open(&writer->file, path, true);
	if (status < 0)
		return status;
	writer->compressor = format_compressor_new(COMPRESSION_LEVEL);
	if (!writer->compressor)
		return common_fail_memory("compression", 0);
	common_write_bytes(&writer->block, magic, sizeof(magic));
	common_write_le(&writer->block, DUMP_PARTIAL_VERSION, 2);
	common_write_le(&writer->block, 0, 6);
	return write_all(writer, &writer->block);
}

static int write_block(struct dump_partial_writer *writer, uint32_t kind, const uint8_t *data, size_t size)
{
	struct ptl_bytes *block = &writer->block;
	uint8_t codec = FORMAT_CODEC_RAW, *header;
	int status;

	block->size = 0;
	if (!common_bytes_grow(block, DUMP_PARTIAL_BLOCK_HEADER_SIZE))
		return common_fail_memory("partial results", size);
	status = format_compress(writer->compressor, data, size, NULL, 0, block, &codec);
	if (status < 0)
		return status;
	header = block->data;
	common_store32(header, kind);
	common_store32(header + 4, codec);
	common_store32(header + 8, (uint32_t)size);
	common_store32(header + 12, (uint32_t)(block->size - DUMP_PARTIAL_BLOCK_HEADER_SIZE));
	common_store64(header + 16, format_checksum(header + DUMP_PARTIAL_BLOCK_HEADER_SIZE,
						    block->size - DUMP_PARTIAL_BLOCK_HEADER_SIZE));
	common_store64(header + 24, format_checksum(header, 24));
	writer->blocks++;
	return write_all(writer, block);
}

/* Writes pending records as full blocks. all: also writes the rest as a smaller block. */
static int flush_records(struct dump_partial_writer *writer, bool all)
{
	struct ptl_bytes *records = &writer->records;
	size_t done = 0;
	int status = records->failed ? common_fail_memory("partial results", records->size) : 0;

	while (!status && (records->size - done >= DUMP_PARTIAL_BLOCK_MAX || (all && done < records->size))) {
		const size_t left = records->size - done;
		const size_t size = left < DUMP_PARTIAL_BLOCK_MAX ? left : DUMP_PARTIAL_BLOCK_MAX;

		status = write_block(writer, DUMP_PARTIAL_RECORDS, records->data + done, size);
		done += size;
	}
	if (done) {
		memmove(records->data, records->data + done, records->size - done);
		records->size -= done;
	}
	return status;
}

int dump_partial_write_record(struct dump_partial_writer *writer, const struct ptl_bytes *record)
{
	if (record->size > DUMP_PARTIAL_RECORD_MAX)
		return common_fail(PTL_UNSUPPORTED,
				   "a partial result of %zu bytes is too large: more shards have smaller ones",
				   record->size);
	common_write_varint(&writer->records, record->size);
	common_write_bytes(&writer->records, record->data, record->size);
	return flush_records(writer, false);
}

int dump_partial_write_block(struct dump_partial_writer *writer, enum dump_partial_block kind,
			     const struct ptl_bytes *payload)
{
	int status = flush_records(writer, true);

	if (status < 0)
		return status;
	if (payload->failed || payload->size > DUMP_PARTIAL_BLOCK_MAX)
		return common_fail(PTL_UNSUPPORTED, "the options and names of traces are too long for partial results");
	return write_block(writer, kind, payload->data, payload->size);
}

int dump_partial_writer_commit(struct dump_partial_writer *writer)
{
	struct ptl_bytes end = {0};
	int status;

	common_write_le(&end, writer->blocks, 8);
	status = dump_partial_write_block(writer, DUMP_PARTIAL_END, &end);
	common_bytes_free(&end);
	return status < 0 ? status : common_output_commit(&writer->file);
}

void dump_partial_writer_close(struct dump_partial_writer *writer)
{
	common_output_abandon(&writer->file);
	format_compressor_free(writer->compressor);
	common_bytes_free(&writer->records);
	common_bytes_free(&writer->block);
}

/* ---- reading ------------------------------------------------------------------------------------- */

static int fail_block(const struct dump_partial_reader *reader, uint64_t offset, const char *what)
{
	return common_fail(PTL_CORRUPT, "%s: block at offset %" PRIu64 ": %s; make this partial result again",
			   reader->path, offset, what);
}

static int read_header(const struct dump_partial_reader *reader, uint64_t offset, struct block_header *header)
{
	uint8_t bytes[DUMP_PARTIAL_BLOCK_HEADER_SIZE];
	const int status = common_read_at(reader->fd, bytes, sizeof(bytes), offset);

	if (status < 0)
		return common_fail_in(status, "%s: block at offset %" PRIu64, reader->path, offset);
	if (common_load64(bytes + 24) != format_checksum(bytes, 24))
		return fail_block(reader, offset, "the checksum of its header differs");
	*header = (struct block_header){common_load32(bytes), common_load32(bytes + 4), common_load32(bytes + 8),
					common_load32(bytes + 12), common_load64(bytes + 16)};
	if (header->kind < DUMP_PARTIAL_RUN || header->kind > DUMP_PARTIAL_END)
		return fail_block(reader, offset, "it is of no kind that there is");
	if (!header->stored_size || header->raw_size > DUMP_PARTIAL_BLOCK_MAX || header->codec > FORMAT_CODEC_ZSTD ||
	    header->stored_size > header->raw_size ||
	    (header->codec == FORMAT_CODEC_RAW && header->stored_size != header->raw_size))
		return fail_block(reader, offset, "its sizes cannot be right");
	return 0;
}

int dump_partial_read_block(struct dump_partial_reader *reader, uint64_t offset, uint32_t *kind,
			    struct ptl_bytes *payload, uint64_t *next)
{
	struct block_header header;
	int status = read_header(reader, offset, &header);
	uint8_t *room;

	if (status < 0)
		return status;
	*kind = header.kind;
	*next = offset + DUMP_PARTIAL_BLOCK_HEADER_SIZE + header.stored_size;
	reader->stored.size = payload->size = 0;
	if (!common_bytes_grow(&reader->stored, header.stored_size) || !common_bytes_grow(payload, header.raw_size))
		return common_fail_memory("partial results", header.raw_size);
	status = common_read_at(reader->fd, reader->stored.data, header.stored_size,
				offset + DUMP_PARTIAL_BLOCK_HEADER_SIZE);
	if (status < 0)
		return common_fail_in(status, "%s: block at offset %" PRIu64, reader->path, offset);
	if (format_checksum(reader->stored.data, header.stored_size) != header.payload_checksum)
		return fail_block(reader, offset, "its checksum differs");
	room = payload->data;
	if (header.codec == FORMAT_CODEC_RAW) {
		memcpy(room, reader->stored.data, header.raw_size);
		return 0;
	}
	status = format_decompress(reader->decompressor, reader->stored.data, header.stored_size, room,
				   header.raw_size);
	return status < 0 ? common_fail_in(status, "%s: block at offset %" PRIu64, reader->path, offset) : 0;
}

static int check_file_header(const struct dump_partial_reader *reader, uint64_t size)
{
	uint8_t bytes[DUMP_PARTIAL_HEADER_SIZE] = {0};
	const size_t head = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
	const int status = common_read_at(reader->fd, bytes, head, 0);

	if (status < 0)
		return common_fail_in(status, "%s", reader->path);
	if (size < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0)
		return common_fail(PTL_NOT_OURS,
				   "%s has no partial results: 'ptl-dump report --partial FILE' makes them",
				   reader->path);
	if (size < sizeof(bytes))
		return common_fail(PTL_TRUNCATED, "%s ends in its header; make this partial result again",
				   reader->path);
	if (common_load16(bytes + 8) != DUMP_PARTIAL_VERSION)
		return common_fail(PTL_UNSUPPORTED, "%s has version %u of partial results, and this program reads %u",
				   reader->path, common_load16(bytes + 8), DUMP_PARTIAL_VERSION);
	if (common_load_le(bytes + 10, 6))
		return common_fail(PTL_CORRUPT, "%s: a reserved field is not 0", reader->path);
	return 0;
}

static int add_record_place(struct dump_partial_reader *reader, uint64_t offset, uint32_t kind)
{
	if (kind == DUMP_PARTIAL_RECORDS)
		return 0;
	if (!common_vector_room(&reader->places, reader->count, sizeof(*reader->places)))
		return common_fail_memory("partial results", reader->count * sizeof(*reader->places));
	reader->places[reader->count++] = (struct dump_partial_place){offset, kind};
	return 0;
}

/* Checks that the last block, at `offset`, counts the blocks before it correctly. */
static int check_last(struct dump_partial_reader *reader, uint64_t offset, uint64_t blocks)
{
	struct ptl_bytes payload = {0};
	uint64_t next;
	uint32_t kind;
	int status = dump_partial_read_block(reader, offset, &kind, &payload, &next);

	if (!status && (payload.size != 8 || common_load64(payload.data) != blocks))
		status = fail_block(reader, offset, "there are other blocks before it than it counts");
	common_bytes_free(&payload);
	return status;
}

static int find_blocks(struct dump_partial_reader *reader, uint64_t size)
{
	uint64_t offset = DUMP_PARTIAL_HEADER_SIZE, blocks = 0;
	struct block_header header;
	int status;

	for (;; blocks++) {
		if (size - offset < DUMP_PARTIAL_BLOCK_HEADER_SIZE)
			return common_fail(PTL_TRUNCATED,
					   "%s is cut off at offset %" PRIu64 "; make this partial result again",
					   reader->path, size);
		status = read_header(reader, offset, &header);
		if (status < 0)
			return status;
		if (header.stored_size > size - offset - DUMP_PARTIAL_BLOCK_HEADER_SIZE)
			return common_fail(PTL_TRUNCATED,
					   "%s is cut off at offset %" PRIu64 "; make this partial result again",
					   reader->path, size);
		if (header.kind == DUMP_PARTIAL_END)
			break;
		status = add_record_place(reader, offset, header.kind);
		if (status < 0)
			return status;
		offset += DUMP_PARTIAL_BLOCK_HEADER_SIZE + header.stored_size;
	}
	if (size - offset - DUMP_PARTIAL_BLOCK_HEADER_SIZE != header.stored_size)
		return fail_block(reader, offset, "something follows the last block");
	return check_last(reader, offset, blocks);
}

int dump_partial_reader_open(struct dump_partial_reader *reader, const char *path)
{
	struct stat info;
	int status;

	*reader = (struct dump_partial_reader){.path = path, .fd = common_open_regular(path, &info)};
	if (reader->fd < 0)
		return common_fail_errno("cannot open %s", path);
	reader->decompressor = format_decompressor_new();
	if (!reader->decompressor)
		return common_fail_memory("decompression", 0);
	status = check_file_header(reader, (uint64_t)info.st_size);
	return status < 0 ? status : find_blocks(reader, (uint64_t)info.st_size);
}

void dump_partial_reader_close(struct dump_partial_reader *reader)
{
	if (reader->fd >= 0)
		close(reader->fd);
	format_decompressor_free(reader->decompressor);
	common_bytes_free(&reader->stored);
	free(reader->places);
	*reader = (struct dump_partial_reader){.fd = -1};
}

/* ---- records ------------------------------------------------------------------------------------- */

/* Reads the next block of records. Returns PTL_CORRUPT if another kind of block follows. */
static int next_payload(struct dump_partial_reader *reader, struct dump_partial_records *records)
{
	const uint64_t offset = records->next;
	uint32_t kind;
	const int status = dump_partial_read_block(reader, offset, &kind, &records->payload, &records->next);

	records->at = 0;
	if (status < 0)
		return status;
	return kind == DUMP_PARTIAL_RECORDS && records->payload.size
		       ? 0
		       : fail_block(reader, offset, "records of a run are missing before it");
}

static int next_byte(struct dump_partial_reader *reader, struct dump_partial_records *records, uint8_t *byte)
{
	const int status = records->at == records->payload.size ? next_payload(reader, records) : 0;

	if (!status)
		*byte = records->payload.data[records->at++];
	return status;
}

/* Reads a varint, which may span two blocks. */
static int read_size(struct dump_partial_reader *reader, struct dump_partial_records *records, uint64_t *size)
{
	uint8_t bytes[10];
	struct common_cursor cursor;
	size_t count = 0;
	int status;

	do
		status = next_byte(reader, records, &bytes[count]);
	while (!status && bytes[count++] & 0x80 && count < sizeof(bytes));
	if (status < 0)
		return status;
	cursor = common_cursor(bytes, count);
	*size = common_read_varint(&cursor);
	return cursor.failed || *size > DUMP_PARTIAL_RECORD_MAX
		       ? fail_block(reader, records->next, "the size of a record before it cannot be right")
		       : 0;
}

int dump_partial_read_record(struct dump_partial_reader *reader, struct dump_partial_records *records,
			     struct ptl_bytes *record)
{
	uint64_t left = 0;
	int status = read_size(reader, records, &left);

	record->size = 0;
	while (!status && left) {
		const size_t ready = records->payload.size - records->at;
		const size_t size = left < ready ? (size_t)left : ready;

		common_write_bytes(record, records->payload.data + records->at, size);
		records->at += size;
		left -= size;
		if (record->failed)
			return common_fail_memory("partial results", record->size);
		if (left)
			status = next_payload(reader, records);
	}
	return status;
}
