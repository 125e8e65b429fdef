/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the buffer header (docs/format.md 3). */
#include "common/bytes.h"
#include "format/container/layout.h"

#define CHECKED_SIZE 96 /* bytes that the header checksum covers */

static const uint8_t magic[4] = {'P', 'T', 'L', 'B'};

void ptl_buffer_header_encode(const struct ptl_buffer_header *header,
			      uint8_t out[PTL_BUFFER_HEADER_SIZE])
{
	memcpy(out, magic, sizeof(magic));
	out[4] = header->codec;
	out[5] = header->flags;
	ptl_store16(out + 6, header->reserved1);
	ptl_store32(out + 8, header->kind);
	ptl_store32(out + 12, header->stream);
	ptl_store32(out + 16, header->cpu);
	ptl_store32(out + 20, header->pid);
	ptl_store32(out + 24, header->tid);
	ptl_store32(out + 28, header->records);
	ptl_store32(out + 32, header->side_size);
	ptl_store32(out + 36, header->raw_size);
	ptl_store32(out + 40, header->stored_size);
	ptl_store32(out + 44, header->reserved2);
	ptl_store64(out + 48, header->sequence);
	ptl_store64(out + 56, header->first_time);
	ptl_store64(out + 64, header->last_time);
	ptl_store64(out + 72, header->position);
	ptl_store64(out + 80, header->file_id);
	ptl_store64(out + 88, header->payload_checksum);
	ptl_store64(out + 96, ptl_checksum(out, CHECKED_SIZE));
}

static bool sizes_fit(const struct ptl_buffer_header *header)
{
	if (header->side_size && (header->side_size < 9 || header->side_size > PTL_SIDE_MAX))
		return false;
	if (header->raw_size > PTL_RAW_MAX)
		return false;
	switch (header->codec) {
	case PTL_CODEC_RAW:
		return header->stored_size == header->raw_size;
	case PTL_CODEC_ZSTD:
		return header->stored_size >= 1 && header->stored_size <= header->raw_size;
	default:
		return header->stored_size <= PTL_RAW_MAX;
	}
}

bool ptl_buffer_header_decode(const uint8_t data[PTL_BUFFER_HEADER_SIZE],
			      struct ptl_buffer_header *header)
{
	if (memcmp(data, magic, sizeof(magic)) != 0 ||
	    ptl_checksum(data, CHECKED_SIZE) != ptl_load64(data + 96))
		return false;
	header->codec = data[4];
	header->flags = data[5];
	header->reserved1 = ptl_load16(data + 6);
	header->kind = ptl_load32(data + 8);
	header->stream = ptl_load32(data + 12);
	header->cpu = ptl_load32(data + 16);
	header->pid = ptl_load32(data + 20);
	header->tid = ptl_load32(data + 24);
	header->records = ptl_load32(data + 28);
	header->side_size = ptl_load32(data + 32);
	header->raw_size = ptl_load32(data + 36);
	header->stored_size = ptl_load32(data + 40);
	header->reserved2 = ptl_load32(data + 44);
	header->sequence = ptl_load64(data + 48);
	header->first_time = ptl_load64(data + 56);
	header->last_time = ptl_load64(data + 64);
	header->position = ptl_load64(data + 72);
	header->file_id = ptl_load64(data + 80);
	header->payload_checksum = ptl_load64(data + 88);
	return sizes_fit(header) && header->first_time <= header->last_time &&
	       header->sequence < PTL_POSITION_MAX && header->position < PTL_POSITION_MAX &&
	       header->position + header->raw_size < PTL_POSITION_MAX;
}

bool ptl_buffer_header_usable(const struct ptl_buffer_header *header)
{
	return header->codec <= PTL_CODEC_ZSTD && !header->flags && !header->reserved1 &&
	       !header->reserved2;
}
