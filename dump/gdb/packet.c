/* SPDX-License-Identifier: BSD-2-Clause */
/* Framing of gdb's remote protocol. */
#include "dump/gdb/packet.h"

#include <string.h>

#include "common/text/digits.h"

#define ESCAPE '}'
#define ESCAPE_BIT 0x20
#define INTERRUPT 0x03

/* ---- received packets ---------------------------------------------------------------------------- */

static void packet_start(struct dump_gdb_parser *parser)
{
	parser->size = 0;
	parser->sum = 0;
	parser->bad = false;
	parser->state = DUMP_GDB_INSIDE;
}

static void packet_add(struct dump_gdb_parser *parser, uint8_t byte)
{
	if (parser->size < DUMP_GDB_PACKET_MAX)
		parser->data[parser->size++] = byte;
	else
		parser->bad = true;
}

static enum dump_gdb_input packet_outside(struct dump_gdb_parser *parser, uint8_t byte)
{
	if (byte == '$')
		packet_start(parser);
	else if (byte == INTERRUPT)
		return DUMP_GDB_INTERRUPT;
	else if (byte == '-')
		return DUMP_GDB_RESEND;
	else if (byte == '+')
		return DUMP_GDB_RECEIVED;
	return DUMP_GDB_NOTHING;
}

static void packet_inside(struct dump_gdb_parser *parser, uint8_t byte)
{
	if (byte == '$') {
		/* The beginning of the next packet: the end of this packet is lost. */
		packet_start(parser);
		return;
	}
	if (byte == '#') {
		parser->state = DUMP_GDB_SUM_HIGH;
		return;
	}
	parser->sum = (uint8_t)(parser->sum + byte);
	if (byte == ESCAPE)
		parser->state = DUMP_GDB_ESCAPED;
	else
		packet_add(parser, byte);
}

static enum dump_gdb_input packet_end(struct dump_gdb_parser *parser, uint8_t byte)
{
	const int high = common_hex_digit((char)parser->high), low = common_hex_digit((char)byte);

	parser->state = DUMP_GDB_OUTSIDE;
	parser->data[parser->size] = 0;
	if (high < 0 || low < 0 || high * 16 + low != parser->sum)
		parser->bad = true;
	return parser->bad ? DUMP_GDB_DAMAGED : DUMP_GDB_PACKET;
}

static enum dump_gdb_input packet_byte(struct dump_gdb_parser *parser, uint8_t byte)
{
	switch (parser->state) {
	case DUMP_GDB_OUTSIDE:
		return packet_outside(parser, byte);
	case DUMP_GDB_INSIDE:
		packet_inside(parser, byte);
		break;
	case DUMP_GDB_ESCAPED:
		parser->sum = (uint8_t)(parser->sum + byte);
		packet_add(parser, byte ^ ESCAPE_BIT);
		parser->state = DUMP_GDB_INSIDE;
		break;
	case DUMP_GDB_SUM_HIGH:
		parser->high = byte;
		parser->state = DUMP_GDB_SUM_LOW;
		break;
	case DUMP_GDB_SUM_LOW:
		return packet_end(parser, byte);
	}
	return DUMP_GDB_NOTHING;
}

enum dump_gdb_input dump_gdb_parse(struct dump_gdb_parser *parser, const uint8_t *bytes, size_t size, size_t *used)
{
	enum dump_gdb_input input = DUMP_GDB_NOTHING;

	for (*used = 0; input == DUMP_GDB_NOTHING && *used < size;)
		input = packet_byte(parser, bytes[(*used)++]);
	return input;
}

/* ---- sent packets -------------------------------------------------------------------------------- */

void dump_gdb_packet_write(const uint8_t *data, size_t size, struct ptl_bytes *out)
{
	static const char digits[] = "0123456789abcdef";
	/* Each byte may need an escape. */
	uint8_t *const start = common_bytes_grow(out, 2 * size + 4), *at = start;
	uint8_t sum = 0;

	if (!start)
		return;
	*at++ = '$';
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = data[i];

		if (byte == '$' || byte == '#' || byte == ESCAPE || byte == '*') {
			*at++ = ESCAPE;
			sum = (uint8_t)(sum + ESCAPE);
			byte ^= ESCAPE_BIT;
		}
		*at++ = byte;
		sum = (uint8_t)(sum + byte);
	}
	*at++ = '#';
	*at++ = (uint8_t)digits[sum >> 4];
	*at++ = (uint8_t)digits[sum & 15];
	out->size -= 2 * size + 4 - (size_t)(at - start);
}

/* ---- parts of packets ---------------------------------------------------------------------------- */

bool dump_gdb_read_hex(const char **text, uint64_t *value)
{
	size_t digits = 0;

	*value = 0;
	for (; digits <= 16 && common_hex_digit((*text)[digits]) >= 0; digits++)
		*value = *value << 4 | (uint64_t)common_hex_digit((*text)[digits]);
	if (!digits || digits > 16)
		return false;
	*text += digits;
	return true;
}

bool dump_gdb_read_word(const char **text, const char *word)
{
	const size_t size = strlen(word);

	if (strncmp(*text, word, size) != 0)
		return false;
	*text += size;
	return true;
}

bool dump_gdb_read_hex_bytes(const char *text, struct ptl_bytes *bytes)
{
	for (; *text; text += 2) {
		const int high = common_hex_digit(text[0]);
		const int low = high < 0 ? -1 : common_hex_digit(text[1]);

		if (low < 0)
			return false;
		common_write_le(bytes, (uint64_t)(high * 16 + low), 1);
	}
	return true;
}
