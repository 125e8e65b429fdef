/* SPDX-License-Identifier: BSD-2-Clause */
/* Variable-length integers, and the byte vector that encoders write to. */
#include "common/bytes.h"

#include <stdlib.h>

#include "common/vector.h"

#define VARINT_MAX_SIZE 10
#define FIRST_CAPACITY 256

static uint64_t bad_varint(struct common_cursor *cursor)
{
	cursor->failed = true;
	cursor->at = cursor->size;
	return 0;
}

uint64_t common_read_varint(struct common_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < VARINT_MAX_SIZE; i++) {
		const uint8_t byte = common_read8(cursor);

		if (cursor->failed)
			return 0;
		/*
		 * The tenth byte may hold only bit 63. A last byte of zero would be a longer encoding than necessary.
		 */
		if ((i == VARINT_MAX_SIZE - 1 && byte > 1) || (i > 0 && byte == 0))
			return bad_varint(cursor);
		value |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			return value;
	}
	return bad_varint(cursor);
}

void common_bytes_free(struct ptl_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct ptl_bytes){0};
}

/* Not inlined: the frequent case, a write that fits, then saves no registers. */
static __attribute__((noinline)) bool reserve_bytes(struct ptl_bytes *bytes, size_t needed)
{
	if (needed < FIRST_CAPACITY)
		needed = FIRST_CAPACITY;
	return COMMON_VECTOR_GROW(bytes->data, bytes->capacity, needed);
}

uint8_t *common_bytes_grow(struct ptl_bytes *bytes, size_t size)
{
	uint8_t *place;

	if (bytes->failed)
		return NULL;
	if (size > SIZE_MAX - bytes->size ||
	    ((!bytes->data || size > bytes->capacity - bytes->size) && !reserve_bytes(bytes, bytes->size + size))) {
		bytes->failed = true;
		return NULL;
	}
	place = bytes->data + bytes->size;
	bytes->size += size;
	return place;
}

void common_write_bytes(struct ptl_bytes *bytes, const void *data, size_t size)
{
	uint8_t *place = size ? common_bytes_grow(bytes, size) : NULL;

	if (place)
		memcpy(place, data, size);
}

void common_write_le(struct ptl_bytes *bytes, uint64_t value, size_t size)
{
	uint8_t *place = common_bytes_grow(bytes, size);

	if (place)
		common_store_le(place, value, size);
}

void common_write_varint(struct ptl_bytes *bytes, uint64_t value)
{
	uint8_t *place = common_bytes_grow(bytes, common_varint_size(value));

	if (!place)
		return;
	for (; value >= 0x80; value >>= 7)
		*place++ = (uint8_t)(value | 0x80);
	*place = (uint8_t)value;
}
