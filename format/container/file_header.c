/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the file header (docs/format.md 2.1). */
#include "common/bytes.h"
#include "format/container/layout.h"

static const uint8_t magic[8] = {0x89, 'P', 'T', 'L', '\r', '\n', 0x1a, '\n'};

void ptl_file_header_encode(const struct ptl_file_header *header, uint8_t out[PTL_FILE_HEADER_SIZE])
{
	memset(out, 0, PTL_FILE_HEADER_SIZE);
	memcpy(out, magic, sizeof(magic));
	ptl_store16(out + 8, header->major);
	ptl_store16(out + 10, header->minor);
	memcpy(out + 16, header->id.bytes, sizeof(header->id.bytes));
	ptl_store64(out + 32, (uint64_t)header->wall_time);
	ptl_store64(out + 56, ptl_checksum(out, 56));
}

enum ptl_header_state ptl_file_header_decode(const uint8_t data[PTL_FILE_HEADER_SIZE],
					     struct ptl_file_header *header)
{
	if (memcmp(data, magic, sizeof(magic)) != 0)
		return PTL_HEADER_BAD_MAGIC;
	if (ptl_checksum(data, 56) != ptl_load64(data + 56))
		return PTL_HEADER_BAD_CHECKSUM;
	header->major = ptl_load16(data + 8);
	header->minor = ptl_load16(data + 10);
	memcpy(header->id.bytes, data + 16, sizeof(header->id.bytes));
	header->wall_time = (int64_t)ptl_load64(data + 32);
	header->reserved_set = ptl_load32(data + 12) || ptl_load64(data + 40) ||
			       ptl_load64(data + 48);
	return PTL_HEADER_RIGHT;
}

bool ptl_file_header_begins(const uint8_t *data, size_t size)
{
	return memcmp(data, magic, size < sizeof(magic) ? size : sizeof(magic)) == 0;
}
