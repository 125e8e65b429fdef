/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the trailer, which leads to the index (docs/format.md 8). */
#include "common/bytes.h"
#include "format/container/layout.h"

static const uint8_t magic[8] = {'P', 'T', 'L', 'I', 'N', 'D', 'E', 'X'};

void ptl_trailer_encode(const struct ptl_trailer *trailer, uint8_t out[PTL_TRAILER_SIZE])
{
	memcpy(out, magic, sizeof(magic));
	ptl_store64(out + 8, trailer->index_offset);
	ptl_store32(out + 16, trailer->index_buffers);
	ptl_store32(out + 20, 0);
	ptl_store64(out + 24, trailer->file_id);
	ptl_store64(out + 32, ptl_checksum(out, 32));
}

bool ptl_trailer_decode(const uint8_t data[PTL_TRAILER_SIZE], struct ptl_trailer *trailer)
{
	if (memcmp(data, magic, sizeof(magic)) != 0 || ptl_load32(data + 20) ||
	    ptl_checksum(data, 32) != ptl_load64(data + 32))
		return false;
	trailer->index_offset = ptl_load64(data + 8);
	trailer->index_buffers = ptl_load32(data + 16);
	trailer->file_id = ptl_load64(data + 24);
	return true;
}
