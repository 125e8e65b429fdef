/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes protocol buffer messages: https://protobuf.dev/programming-guides/encoding. An inner message is built first,
 * in a buffer of its own.
 */
#ifndef DUMP_EXPORT_PROTOBUF_H
#define DUMP_EXPORT_PROTOBUF_H

#include <string.h>

#include "common/bytes.h"

enum { DUMP_PROTO_VARINT = 0, DUMP_PROTO_FIXED64 = 1, DUMP_PROTO_BYTES = 2 };

static inline void dump_proto_u64(struct ptl_bytes *message, uint32_t field, uint64_t value)
{
	common_write_varint(message, (uint64_t)field << 3 | DUMP_PROTO_VARINT);
	common_write_varint(message, value);
}

/* A negative value takes ten bytes. */
static inline void dump_proto_i64(struct ptl_bytes *message, uint32_t field, int64_t value)
{
	dump_proto_u64(message, field, (uint64_t)value);
}

static inline void dump_proto_fixed64(struct ptl_bytes *message, uint32_t field, uint64_t value)
{
	common_write_varint(message, (uint64_t)field << 3 | DUMP_PROTO_FIXED64);
	common_write_le(message, value, 8);
}

static inline void dump_proto_bytes(struct ptl_bytes *message, uint32_t field, const void *data, size_t size)
{
	common_write_varint(message, (uint64_t)field << 3 | DUMP_PROTO_BYTES);
	common_write_varint(message, size);
	common_write_bytes(message, data, size);
}

/* `words` must be UTF-8. */
static inline void dump_proto_string(struct ptl_bytes *message, uint32_t field, const char *words)
{
	dump_proto_bytes(message, field, words, strlen(words));
}

/* Appends the message in `inner`, and empties `inner`. */
static inline void dump_proto_message(struct ptl_bytes *message, uint32_t field, struct ptl_bytes *inner)
{
	dump_proto_bytes(message, field, inner->data, inner->size);
	message->failed |= inner->failed;
	inner->size = 0;
}

/*
 * Functions that write in place, for messages of known size. Each returns the address after its output. A varint takes
 * common_varint_size bytes; field numbers are below 16.
 */
static inline uint8_t *dump_proto_varint_at(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Writes the tag and size; the caller writes the bytes. */
static inline uint8_t *dump_proto_bytes_at(uint8_t *at, uint32_t field, size_t size)
{
	return dump_proto_varint_at(dump_proto_varint_at(at, field << 3 | DUMP_PROTO_BYTES), size);
}

#endif
