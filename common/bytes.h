/* SPDX-License-Identifier: BSD-2-Clause */
/* Little-endian loads and stores, bounded reading (cursor) and growing output (byte vector). */
#ifndef COMMON_BYTES_H
#define COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ptl/bytes.h>

/* Explicit byte order: structures are never overlaid on bytes of a file. */
static inline uint16_t common_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t common_load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t common_load64(const uint8_t *p)
{
	return (uint64_t)common_load32(p) | (uint64_t)common_load32(p + 4) << 32;
}

/* size is 0 to 8 bytes. */
static inline uint64_t common_load_le(const uint8_t *p, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)p[i] << 8 * i;
	return value;
}

/* size is 0 to 8 bytes. */
static inline void common_store_le(uint8_t *p, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

/* Stores of a fixed size have no loop: the compiler makes each a single instruction. */
static inline void common_store16(uint8_t *p, uint16_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
}

static inline void common_store32(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
	p[2] = (uint8_t)(value >> 16);
	p[3] = (uint8_t)(value >> 24);
}

static inline void common_store64(uint8_t *p, uint64_t value)
{
	p[0] = (uint8_t)value;
	p[1] = (uint8_t)(value >> 8);
	p[2] = (uint8_t)(value >> 16);
	p[3] = (uint8_t)(value >> 24);
	p[4] = (uint8_t)(value >> 32);
	p[5] = (uint8_t)(value >> 40);
	p[6] = (uint8_t)(value >> 48);
	p[7] = (uint8_t)(value >> 56);
}

static inline uint64_t common_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t common_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/*
 * A cursor walks bytes that the caller owns. A read past the end returns zero, moves the cursor to the end and sets
 * `failed`. So a decoder may read a whole record and check `failed` once, before using any value as a size or an index.
 */
struct common_cursor {
	const uint8_t *data;
	size_t size;
	size_t at; /* never more than size */
	bool failed;
};

/* data may be NULL if size is 0. */
static inline struct common_cursor common_cursor(const void *data, size_t size)
{
	/* In C, even adding 0 to NULL is undefined. */
	return (struct common_cursor){.data = data ? data : (const void *)"", .size = size};
}

static inline size_t common_cursor_left(const struct common_cursor *cursor)
{
	return cursor->size - cursor->at;
}

/* Returns the next `size` bytes. NULL, and `failed` is set, if fewer bytes are left. */
static inline const uint8_t *common_read_bytes(struct common_cursor *cursor, size_t size)
{
	const uint8_t *p = cursor->data + cursor->at;

	if (cursor->failed || size > common_cursor_left(cursor)) {
		cursor->failed = true;
		cursor->at = cursor->size;
		return NULL;
	}
	cursor->at += size;
	return p;
}

/* size is 1 to 8 bytes. */
static inline uint64_t common_read_le(struct common_cursor *cursor, size_t size)
{
	const uint8_t *p = common_read_bytes(cursor, size);

	return p ? common_load_le(p, size) : 0;
}

static inline uint8_t common_read8(struct common_cursor *cursor)
{
	return (uint8_t)common_read_le(cursor, 1);
}

static inline uint16_t common_read16(struct common_cursor *cursor)
{
	const uint8_t *p = common_read_bytes(cursor, 2);

	return (uint16_t)(p ? common_load16(p) : 0);
}

static inline uint32_t common_read32(struct common_cursor *cursor)
{
	const uint8_t *p = common_read_bytes(cursor, 4);

	return p ? common_load32(p) : 0;
}

static inline uint64_t common_read64(struct common_cursor *cursor)
{
	const uint8_t *p = common_read_bytes(cursor, 8);

	return p ? common_load64(p) : 0;
}

/*
 * Reads an LEB128 number of at most 10 bytes. An encoding that is longer than necessary or exceeds 64 bits fails, so
 * that every value has exactly one encoding.
 */
uint64_t common_read_varint(struct common_cursor *cursor);

/* Returns the size of the LEB128 encoding of `value`: 1 to 10 bytes. */
static inline size_t common_varint_size(uint64_t value)
{
	size_t size = 1;

	for (; value >= 0x80; value >>= 7)
		size++;
	return size;
}

/* struct ptl_bytes is a byte vector that grows as bytes are written. A writer checks `failed` once, at the end. */

/* Appends `size` bytes of undefined content and returns their address. NULL, and `failed` is set, without memory. */
uint8_t *common_bytes_grow(struct ptl_bytes *bytes, size_t size);
/* As ptl_bytes_free of libptl. */
void common_bytes_free(struct ptl_bytes *bytes);
void common_write_bytes(struct ptl_bytes *bytes, const void *data, size_t size);
/* size is 1 to 8. */
void common_write_le(struct ptl_bytes *bytes, uint64_t value, size_t size);
void common_write_varint(struct ptl_bytes *bytes, uint64_t value);

#endif
