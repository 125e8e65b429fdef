/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the buffer header (docs/format.md 3). */
#include "common/bytes.h"
#include "format/container/layout.h"

#define CHECKED_SIZE 96 /* bytes covered by the header checksum */

static const uint8_t magic[4] = {'P', 'T', 'L', 'B'};

void format_buffer_header_encode(const struct format_buffer_header *header, uint8_t out[FORMAT_BUFFER_HEADER_SIZE])
{
	memcpy(out, magic, sizeof(magic));
	out[4] = header->codec;
	out[5] = header->flags;
	common_store16(out + 6, header->reserved1);
	common_store32(out + 8, header->kind);
	common_store32(out + 12, header->stream);
	common_store32(out + 16, header->cpu);
	common_store32(out + 20, header->pid);
	common_store32(out + 24, header->tid);
	common_store32(out + 28, header->records);
	common_store32(out + 32, header->side_size);
	common_store32(out + 36, header->raw_size);
	common_store32(out + 40, header->stored_size);
	common_store32(out + 44, header->reserved2);
	common_store64(out + 48, header->sequence);
	common_store64(out + 56, header->first_time);
	common_store64(out + 64, header->last_time);
	common_store64(out + 72, header->position);
	common_store64(out + 80, header->file_id);
	common_store64(out + 88, header->payload_checksum);
	common_store64(out + 96, format_checksum(out, CHECKED_SIZE));
}

static bool sizes_fit(const struct format_buffer_header *header)
{
	if (header->side_size && (header->side_size < 9 || header->side_size > FORMAT_SIDE_MAX))
		return false;
	if (header->raw_size > FORMAT_RAW_MAX)
		return false;
	switch (header->codec) {
	case FORMAT_CODEC_RAW:
		return header->stored_size == header->raw_size;
	case FORMAT_CODEC_ZSTD:
		return header->stored_size >= 1 && header->stored_size <= header->raw_size;
	default:
		return header->stored_size <= FORMAT_RAW_MAX;
	}
}

bool format_buffer_header_decode(const uint8_t data[FORMAT_BUFFER_HEADER_SIZE], struct format_buffer_header *header)
{
	if (memcmp(data, magic, sizeof(magic)) != 0 || format_checksum(data, CHECKED_SIZE) != common_load64(data + 96))
		return false;
	header->codec = data[4];
	header->flags = data[5];
	header->reserved1 = common_load16(data + 6);
	header->kind = common_load32(data + 8);
	header->stream = common_load32(data + 12);
	header->cpu = common_load32(data + 16);
	header->pid = common_load32(data + 20);
	header->tid = common_load32(data + 24);
	header->records = common_load32(data + 28);
	header->side_size = common_load32(data + 32);
	header->raw_size = common_load32(data + 36);
	header->stored_size = common_load32(data + 40);
	header->reserved2 = common_load32(data + 44);
	header->sequence = common_load64(data + 48);
	header->first_time = common_load64(data + 56);
	header->last_time = common_load64(data + 64);
	header->position = common_load64(data + 72);
	header->file_id = common_load64(data + 80);
	header->payload_checksum = common_load64(data + 88);
	return sizes_fit(header) && header->first_time <= header->last_time && header->sequence < FORMAT_POSITION_MAX &&
	       header->position < FORMAT_POSITION_MAX && header->position + header->raw_size < FORMAT_POSITION_MAX;
}

bool format_buffer_header_usable(const struct format_buffer_header *header)
{
	return header->codec <= FORMAT_CODEC_ZSTD && !header->flags && !header->reserved1 && !header->reserved2;
}
