/* SPDX-License-Identifier: BSD-2-Clause */
/* Little-endian loads and stores, bounded reading (cursor) and growing output (byte vector). */
#ifndef PTL_COMMON_BYTES_H
#define PTL_COMMON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Explicit byte order: no structure is ever laid over bytes of a file. */
static inline uint16_t ptl_load16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t ptl_load32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t ptl_load64(const uint8_t *p)
{
	return (uint64_t)ptl_load32(p) | (uint64_t)ptl_load32(p + 4) << 32;
}

/* size is 0 to 8 bytes. */
static inline uint64_t ptl_load_le(const uint8_t *p, size_t size)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)p[i] << 8 * i;
	return value;
}

/* size is 0 to 8 bytes. */
static inline void ptl_store_le(uint8_t *p, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = (uint8_t)(value >> 8 * i);
}

static inline void ptl_store16(uint8_t *p, uint16_t value)
{
	ptl_store_le(p, value, 2);
}

static inline void ptl_store32(uint8_t *p, uint32_t value)
{
	ptl_store_le(p, value, 4);
}

static inline void ptl_store64(uint8_t *p, uint64_t value)
{
	ptl_store_le(p, value, 8);
}

static inline uint64_t ptl_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t ptl_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/*
 * A cursor walks bytes it does not own. A read past the end returns zero, moves to the end and sets
 * `failed`, so that a decoder may read a whole record and check once, before it uses any value as a
 * size or an index.
 */
struct ptl_cursor {
	const uint8_t *data;
	size_t size;
	size_t at; /* never more than size */
	bool failed;
};

/* data may be NULL where size is 0. */
static inline struct ptl_cursor ptl_cursor(const void *data, size_t size)
{
	/* Not even 0 may be added to NULL. */
	return (struct ptl_cursor){.data = data ? data : (const void *)"", .size = size};
}

static inline size_t ptl_cursor_left(const struct ptl_cursor *cursor)
{
	return cursor->size - cursor->at;
}

/* The next size bytes, or NULL (and `failed`) when fewer are left. */
static inline const uint8_t *ptl_read_bytes(struct ptl_cursor *cursor, size_t size)
{
	const uint8_t *p = cursor->data + cursor->at;

	if (cursor->failed || size > ptl_cursor_left(cursor)) {
		cursor->failed = true;
		cursor->at = cursor->size;
		return NULL;
	}
	cursor->at += size;
	return p;
}

/* size is 1 to 8 bytes. */
static inline uint64_t ptl_read_le(struct ptl_cursor *cursor, size_t size)
{
	const uint8_t *p = ptl_read_bytes(cursor, size);

	return p ? ptl_load_le(p, size) : 0;
}

static inline uint8_t ptl_read8(struct ptl_cursor *cursor)
{
	return (uint8_t)ptl_read_le(cursor, 1);
}

static inline uint16_t ptl_read16(struct ptl_cursor *cursor)
{
	return (uint16_t)ptl_read_le(cursor, 2);
}

static inline uint32_t ptl_read32(struct ptl_cursor *cursor)
{
	return (uint32_t)ptl_read_le(cursor, 4);
}

static inline uint64_t ptl_read64(struct ptl_cursor *cursor)
{
	return ptl_read_le(cursor, 8);
}

/*
 * LEB128, at most 10 bytes; an encoding that is longer than it has to be, or that does not fit 64
 * bits, fails, so that every value has one encoding.
 */
uint64_t ptl_read_varint(struct ptl_cursor *cursor);

/* Bytes that ptl_read_varint takes for value: 1 to 10. */
size_t ptl_varint_size(uint64_t value);

/*
 * A byte vector grows as it is written. An allocation that fails sets `failed`; later writes are
 * ignored, so that a writer checks once at the end. Zero-initialised is empty. Freed with
 * ptl_bytes_free, which leaves it empty and usable.
 */
struct ptl_bytes {
	uint8_t *data;
	size_t size;
	size_t capacity;
	bool failed;
};

void ptl_bytes_free(struct ptl_bytes *bytes);

/* Makes room for size more bytes and returns where they go; NULL (and `failed`) without memory. */
uint8_t *ptl_bytes_grow(struct ptl_bytes *bytes, size_t size);
void ptl_write_bytes(struct ptl_bytes *bytes, const void *data, size_t size);
/* size is 1 to 8. */
void ptl_write_le(struct ptl_bytes *bytes, uint64_t value, size_t size);
void ptl_write_varint(struct ptl_bytes *bytes, uint64_t value);

#endif
