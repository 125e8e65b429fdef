/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes blocks of pcapng, in little endian. */
#include "dump/export/packet/pcapng.h"

#define SECTION 0x0a0d0d0au
#define INTERFACE 1u
#define STATISTICS 5u
#define ENHANCED_PACKET 6u

#define MAGIC 0x1a2b3c4du
#define NANOSECONDS 9u /* 10^-9 seconds */

enum { OPTION_END = 0, OPTION_COMMENT = 1 };
enum { SECTION_SYSTEM = 3, SECTION_PROGRAM = 4 };
enum { INTERFACE_NAME = 2, INTERFACE_DESCRIPTION = 3, INTERFACE_RESOLUTION = 9 };
enum { PACKET_FLAGS = 2 };
enum { STATISTICS_RECEIVED = 4 };

static void pad(struct ptl_bytes *out, size_t size)
{
	if (size % 4)
		common_write_le(out, 0, 4 - size % 4);
}

/* Begins a block. Returns its offset. */
static size_t begin_block(struct ptl_bytes *out, uint32_t type)
{
	const size_t start = out->size;

	common_write_le(out, type, 4);
	common_write_le(out, 0, 4);
	return start;
}

static void end_block(struct ptl_bytes *out, size_t start)
{
	const size_t size = out->size - start + 4;

	common_write_le(out, size, 4);
	if (!out->failed)
		common_store32(out->data + start + 4, (uint32_t)size);
}

static void write_option(struct ptl_bytes *out, uint32_t code, const void *data, size_t size)
{
	common_write_le(out, code, 2);
	common_write_le(out, size, 2);
	common_write_bytes(out, data, size);
	pad(out, size);
}

/* Writes a text option. A text that exceeds the maximum size is cut between characters. */
static void write_text(struct ptl_bytes *out, uint32_t code, const char *text)
{
	size_t size = text ? strlen(text) : 0;

	if (size > UINT16_MAX) {
		size = UINT16_MAX;
		while (size && ((unsigned char)text[size] & 0xc0) == 0x80)
			size--;
	}
	if (size)
		write_option(out, code, text, size);
}

static void write_number(struct ptl_bytes *out, uint32_t code, uint64_t number, size_t size)
{
	uint8_t bytes[8];

	common_store64(bytes, number);
	write_option(out, code, bytes, size);
}

static void end_options(struct ptl_bytes *out)
{
	common_write_le(out, OPTION_END, 4);
}

void dump_pcapng_section(struct ptl_bytes *out, const char *system, const char *program)
{
	const size_t start = begin_block(out, SECTION);

	common_write_le(out, MAGIC, 4);
	common_write_le(out, 1, 2); /* version 1.0 */
	common_write_le(out, 0, 2);
	common_write_le(out, UINT64_MAX, 8); /* unspecified length of the section */
	write_text(out, SECTION_SYSTEM, system);
	write_text(out, SECTION_PROGRAM, program);
	end_options(out);
	end_block(out, start);
}

void dump_pcapng_interface(struct ptl_bytes *out, uint32_t link, uint32_t packet_max, const char *name,
			   const char *description)
{
	const size_t start = begin_block(out, INTERFACE);

	common_write_le(out, link, 2);
	common_write_le(out, 0, 2);
	common_write_le(out, packet_max, 4);
	write_text(out, INTERFACE_NAME, name);
	write_text(out, INTERFACE_DESCRIPTION, description);
	write_number(out, INTERFACE_RESOLUTION, NANOSECONDS, 1);
	end_options(out);
	end_block(out, start);
}

static void write_time(struct ptl_bytes *out, uint64_t time)
{
	common_write_le(out, time >> 32, 4);
	common_write_le(out, (uint32_t)time, 4);
}

void dump_pcapng_packet(struct ptl_bytes *out, const struct dump_pcapng_packet *packet)
{
	const size_t start = begin_block(out, ENHANCED_PACKET);

	common_write_le(out, packet->interface, 4);
	write_time(out, packet->time);
	common_write_le(out, packet->size, 4);
	common_write_le(out, packet->original, 4);
	if (packet->size)
		common_write_bytes(out, packet->data, packet->size);
	pad(out, packet->size);
	write_text(out, OPTION_COMMENT, packet->comment);
	if (packet->direction)
		write_number(out, PACKET_FLAGS, packet->direction, 4);
	end_options(out);
	end_block(out, start);
}

void dump_pcapng_statistics(struct ptl_bytes *out, uint32_t interface, uint64_t time, uint64_t received,
			    const char *comment)
{
	const size_t start = begin_block(out, STATISTICS);

	common_write_le(out, interface, 4);
	write_time(out, time);
	write_text(out, OPTION_COMMENT, comment);
	write_number(out, STATISTICS_RECEIVED, received, 8);
	end_options(out);
	end_block(out, start);
}
