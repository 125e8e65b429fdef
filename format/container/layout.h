/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fixed structures of a trace file (docs/format.md 2, 3 and 8): file header, buffer header,
 * trailer.
 */
#ifndef FORMAT_CONTAINER_LAYOUT_H
#define FORMAT_CONTAINER_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/guid.h>

#define FORMAT_VERSION_MAJOR 1
#define FORMAT_VERSION_MINOR 5

#define FORMAT_FILE_HEADER_SIZE 64
#define FORMAT_BUFFER_HEADER_SIZE 104
#define FORMAT_TRAILER_SIZE 40

#define FORMAT_RAW_MAX (16u << 20)   /* limit for a buffer's payload before compression, in bytes */
#define FORMAT_SIDE_MAX (256u << 10) /* limit for a buffer's side area with its checksum, in bytes */
/*
 * Limit for the expansion of a compressed EVENTS buffer: raw bytes divided by the bytes in the file, including header
 * and side area. A reader can disable the limit: see docs/format.md.
 */
#define FORMAT_EXPANSION_MAX 256u
#define FORMAT_METADATA_MAX (16u << 20) /* limit for the raw payloads of all METADATA buffers together, in bytes */
/* Limit for records, fields of schemas, entries of maps and inputs of provenance together. */
#define FORMAT_METADATA_ITEMS_MAX (1u << 20)
#define FORMAT_RECORD_ITEMS_MAX (16u << 10) /* limit for the fields, entries or inputs of one record */
/* limit for a name in a schema or map, in bytes, as each event may show the name */
#define FORMAT_NAME_MAX 1024u
#define FORMAT_MESSAGE_MAX (16u << 10)   /* limit for a schema's message, in bytes */
#define FORMAT_POSITION_MAX (1ull << 63) /* exclusive limit for positions and sequence numbers */

#define FORMAT_METADATA_STREAM 0

enum format_codec { FORMAT_CODEC_RAW = 0, FORMAT_CODEC_ZSTD = 1 };

/* XXH64 with seed 0, the only checksum algorithm of the format. */
uint64_t format_checksum(const void *data, size_t size);

struct format_file_header {
	uint16_t major;
	uint16_t minor;
	struct ptl_guid id;
	int64_t wall_time;
	bool reserved_set; /* set by the decoder: a reserved field is not 0 */
};

/* Results of decoding a file header, in the order of the checks in docs/format.md 2.1. */
enum format_header_state { FORMAT_HEADER_RIGHT, FORMAT_HEADER_BAD_MAGIC, FORMAT_HEADER_BAD_CHECKSUM };

void format_file_header_encode(const struct format_file_header *header, uint8_t out[FORMAT_FILE_HEADER_SIZE]);
/* Fills `header` only if the result is FORMAT_HEADER_RIGHT. */
enum format_header_state format_file_header_decode(const uint8_t data[FORMAT_FILE_HEADER_SIZE],
						   struct format_file_header *header);
/* Whether the first `size` bytes (fewer than a header) could begin a trace file. */
bool format_file_header_begins(const uint8_t *data, size_t size);

struct format_buffer_header {
	uint8_t codec;
	uint8_t flags;
	uint16_t reserved1;
	uint32_t kind;
	uint32_t stream;
	uint32_t cpu;
	uint32_t pid;
	uint32_t tid;
	uint32_t records;
	uint32_t side_size;
	uint32_t raw_size;
	uint32_t stored_size;
	uint32_t reserved2;
	uint64_t sequence;
	uint64_t first_time;
	uint64_t last_time;
	uint64_t position;
	uint64_t file_id;
	uint64_t payload_checksum;
};

/* Encodes the header and computes the header checksum. */
void format_buffer_header_encode(const struct format_buffer_header *header, uint8_t out[FORMAT_BUFFER_HEADER_SIZE]);
/* Decodes a header; false if invalid (docs/format.md 3). Does not check the file id. */
bool format_buffer_header_decode(const uint8_t data[FORMAT_BUFFER_HEADER_SIZE], struct format_buffer_header *header);
/* Whether a reader of this version can decode the payload (codec, reserved fields). */
bool format_buffer_header_usable(const struct format_buffer_header *header);

/* Returns the size of the buffer in the file, in bytes. */
static inline uint64_t format_buffer_header_extent(const struct format_buffer_header *header)
{
	return (uint64_t)FORMAT_BUFFER_HEADER_SIZE + header->side_size + header->stored_size;
}

struct format_trailer {
	uint64_t index_offset;
	uint32_t index_buffers;
	uint64_t file_id;
};

void format_trailer_encode(const struct format_trailer *trailer, uint8_t out[FORMAT_TRAILER_SIZE]);
/* Decodes a trailer; false if invalid. Does not check the file id. */
bool format_trailer_decode(const uint8_t data[FORMAT_TRAILER_SIZE], struct format_trailer *trailer);

#endif
