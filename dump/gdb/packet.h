/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets of gdb's remote protocol: "$data#xx", with escapes and a checksum. */
#ifndef DUMP_GDB_PACKET_H
#define DUMP_GDB_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"

/* Bytes of data in a received packet, without escapes. A longer packet is refused. */
#define DUMP_GDB_PACKET_MAX 16384

enum dump_gdb_input {
	DUMP_GDB_NOTHING,   /* all bytes were used; no packet is complete */
	DUMP_GDB_PACKET,    /* a packet is complete */
	DUMP_GDB_INTERRUPT, /* the byte 0x03: gdb's user interrupts the program */
	DUMP_GDB_RESEND,    /* gdb did not understand the last reply */
	DUMP_GDB_RECEIVED,  /* gdb has the last reply */
	DUMP_GDB_DAMAGED,   /* bad packet: wrong checksum, or too long */
};

/* Reads packets from a stream of bytes. Zero-initialised is the beginning of a stream. */
struct dump_gdb_parser {
	uint8_t data[DUMP_GDB_PACKET_MAX + 1]; /* the packet; a zero byte follows */
	size_t size;
	enum { DUMP_GDB_OUTSIDE, DUMP_GDB_INSIDE, DUMP_GDB_ESCAPED, DUMP_GDB_SUM_HIGH, DUMP_GDB_SUM_LOW } state;
	uint8_t sum;  /* sum of the bytes so far */
	uint8_t high; /* first digit of the checksum */
	bool bad;     /* a digit of the checksum is wrong, or the packet is too long */
};

/*
 * Reads bytes up to the next input that needs an answer. *used: number of bytes read. Bytes outside of packets are
 * skipped. The packet in data and size is valid until the next call.
 */
enum dump_gdb_input dump_gdb_parse(struct dump_gdb_parser *parser, const uint8_t *bytes, size_t size, size_t *used);

/* Appends "$data#xx" with all escapes. */
void dump_gdb_packet_write(const uint8_t *data, size_t size, struct ptl_bytes *out);

/* The next two read a part of a packet and move *text behind this part. Return false, if there is no such part. */
/* Reads a hexadecimal number of at most 16 digits. */
bool dump_gdb_read_hex(const char **text, uint64_t *value);
/* Reads the word, if the text begins with this word. */
bool dump_gdb_read_word(const char **text, const char *word);

/* Appends the bytes of hexadecimal digits. Returns false at a character that is no digit, or at half a byte. */
bool dump_gdb_read_hex_bytes(const char *text, struct ptl_bytes *bytes);

#endif
