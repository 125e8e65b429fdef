/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the file header (docs/format.md 2.1). */
#include "common/bytes.h"
#include "format/container/layout.h"

static const uint8_t magic[8] = {0x89, 'P', 'T', 'L', '\r', '\n', 0x1a, '\n'};

void format_file_header_encode(const struct format_file_header *header, uint8_t out[FORMAT_FILE_HEADER_SIZE])
{
	memset(out, 0, FORMAT_FILE_HEADER_SIZE);
	memcpy(out, magic, sizeof(magic));
	common_store16(out + 8, header->major);
	common_store16(out + 10, header->minor);
	memcpy(out + 16, header->id.bytes, sizeof(header->id.bytes));
	common_store64(out + 32, (uint64_t)header->wall_time);
	common_store64(out + 56, format_checksum(out, 56));
}

enum format_header_state format_file_header_decode(const uint8_t data[FORMAT_FILE_HEADER_SIZE],
						   struct format_file_header *header)
{
	if (memcmp(data, magic, sizeof(magic)) != 0)
		return FORMAT_HEADER_BAD_MAGIC;
	if (format_checksum(data, 56) != common_load64(data + 56))
		return FORMAT_HEADER_BAD_CHECKSUM;
	header->major = common_load16(data + 8);
	header->minor = common_load16(data + 10);
	memcpy(header->id.bytes, data + 16, sizeof(header->id.bytes));
	header->wall_time = (int64_t)common_load64(data + 32);
	header->reserved_set = common_load32(data + 12) || common_load64(data + 40) || common_load64(data + 48);
	return FORMAT_HEADER_RIGHT;
}

bool format_file_header_begins(const uint8_t *data, size_t size)
{
	return memcmp(data, magic, size < sizeof(magic) ? size : sizeof(magic)) == 0;
}
