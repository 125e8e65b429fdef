/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the trailer, which locates the index (docs/format.md 8). */
#include "common/bytes.h"
#include "format/container/layout.h"

static const uint8_t magic[8] = {'P', 'T', 'L', 'I', 'N', 'D', 'E', 'X'};

void format_trailer_encode(const struct format_trailer *trailer, uint8_t out[FORMAT_TRAILER_SIZE])
{
	memcpy(out, magic, sizeof(magic));
	common_store64(out + 8, trailer->index_offset);
	common_store32(out + 16, trailer->index_buffers);
	common_store32(out + 20, 0);
	common_store64(out + 24, trailer->file_id);
	common_store64(out + 32, format_checksum(out, 32));
}

bool format_trailer_decode(const uint8_t data[FORMAT_TRAILER_SIZE], struct format_trailer *trailer)
{
	if (memcmp(data, magic, sizeof(magic)) != 0 || common_load32(data + 20) ||
	    format_checksum(data, 32) != common_load64(data + 32))
		return false;
	trailer->index_offset = common_load64(data + 8);
	trailer->index_buffers = common_load32(data + 16);
	trailer->file_id = common_load64(data + 24);
	return true;
}
