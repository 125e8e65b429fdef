/* SPDX-License-Identifier: BSD-2-Clause */
/* Decompresses LZNT1 and plain Xpress: [MS-XCA] 2.4 and 2.5. */
#include "import/etl/file/expand.h"

#include <string.h>

#include "common/bytes.h"
#include "common/error.h"
#include "import/etl/file/expand_copy.h"
#include "import/etl/file/layout.h"

/* ---- LZNT1: independent chunks of at most 4096 bytes */

#define CHUNK 4096u
#define CHUNK_COMPRESSED 0x8000u

/*
 * Returns the bits of the distance. A copy has 16 bits for distance and length; the split depends on the position in
 * the chunk.
 */
static unsigned distance_bits(size_t at)
{
	unsigned bits = 4;

	while (at > (size_t)1 << bits)
		bits++;
	return bits;
}

static int expand_chunk(struct common_cursor *from, struct etl_target *target)
{
	const size_t start = target->at, end = target->size - start < CHUNK ? target->size : start + CHUNK;

	while (common_cursor_left(from) && target->at < end) {
		unsigned flags = common_read8(from);

		for (unsigned i = 0; i < 8 && common_cursor_left(from) && target->at < end; i++, flags >>= 1) {
			unsigned copy, bits;

			if (!(flags & 1)) {
				target->to[target->at++] = common_read8(from);
				continue;
			}
			copy = common_read16(from);
			bits = distance_bits(target->at - start);
			if (from->failed || (copy >> (16 - bits)) + 1 > target->at - start)
				return common_fail(PTL_CORRUPT, "LZNT1: a copy from before its chunk");
			etl_copy(target, (copy >> (16 - bits)) + 1, (copy & ((1u << (16 - bits)) - 1)) + 3, end);
		}
	}
	return 0;
}

int etl_expand_lznt1(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made)
{
	struct common_cursor cursor = common_cursor(from, from_size);
	struct etl_target target = {to, size, 0};
	int status = 0;

	while (!status && common_cursor_left(&cursor) >= 2 && target.at < size) {
		const unsigned header = common_read16(&cursor);
		const size_t length = (header & 0xfff) + 1;
		const uint8_t *bytes;
		struct common_cursor chunk;

		if (!header)
			break;
		bytes = common_read_bytes(&cursor, length);
		if (!bytes) {
			status = common_fail(PTL_CORRUPT, "LZNT1: a chunk of %zu bytes passes the end", length);
			break;
		}
		chunk = common_cursor(bytes, length);
		if (header & CHUNK_COMPRESSED) {
			status = expand_chunk(&chunk, &target);
			continue;
		}
		memcpy(to + target.at, bytes, length < size - target.at ? length : size - target.at);
		target.at += length < size - target.at ? length : size - target.at;
	}
	*made = target.at;
	return status;
}

/* ---- Xpress: literals and copies, told apart by flag bits in words of 32 */

struct xpress {
	struct common_cursor from;
	size_t half; /* offset of a byte whose upper half is the next length; 0: none */
};

/* Reads the rest of a long length. Lengths extend to half a byte, a byte, 16 bits and 32 bits. */
static int read_length(struct xpress *xpress, uint32_t *length)
{
	uint32_t more;

	if (xpress->half) {
		more = xpress->from.data[xpress->half] >> 4;
		xpress->half = 0;
	} else {
		xpress->half = xpress->from.at;
		more = common_read8(&xpress->from) & 0xf;
	}
	*length = 7 + more;
	if (more < 15)
		return 0;
	more = common_read8(&xpress->from);
	*length = 7 + 15 + more;
	if (more < 255)
		return 0;
	more = common_read16(&xpress->from);
	if (!more)
		more = common_read32(&xpress->from);
	*length = more;
	return more < 15 + 7 ? common_fail(PTL_CORRUPT, "Xpress: a long copy of %u bytes", more) : 0;
}

static int copy_match(struct xpress *xpress, struct etl_target *target)
{
	const unsigned copy = common_read16(&xpress->from);
	const size_t distance = (copy >> 3) + 1;
	uint32_t length = copy & 7;
	int status = length == 7 ? read_length(xpress, &length) : 0;

	if (status)
		return status;
	if (xpress->from.failed)
		return common_fail(PTL_CORRUPT, "Xpress: the input ends within a copy");
	if (distance > target->at)
		return common_fail(PTL_CORRUPT, "Xpress: a copy from before the start");
	etl_copy(target, distance, (size_t)length + 3, target->size);
	return 0;
}

int etl_expand_xpress(const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made)
{
	struct xpress xpress = {.from = common_cursor(from, from_size)};
	struct etl_target target = {to, size, 0};
	unsigned left = 0;
	uint32_t flags = 0;
	int status = 0;

	while (!status && target.at < size && common_cursor_left(&xpress.from)) {
		if (!left) {
			if (common_cursor_left(&xpress.from) < 4)
				break;
			flags = common_read32(&xpress.from);
			left = 32;
			continue;
		}
		if (flags >> --left & 1)
			status = copy_match(&xpress, &target);
		else
			to[target.at++] = common_read8(&xpress.from);
	}
	*made = target.at;
	return status;
}

int etl_expand(unsigned compression, const uint8_t *from, size_t from_size, uint8_t *to, size_t size, size_t *made)
{
	*made = 0;
	switch (compression) {
	case ETL_COMPRESSION_LZNT1:
		return etl_expand_lznt1(from, from_size, to, size, made);
	case ETL_COMPRESSION_XPRESS:
		return etl_expand_xpress(from, from_size, to, size, made);
	case ETL_COMPRESSION_XPRESS_HUFFMAN:
		return etl_expand_huffman(from, from_size, to, size, made);
	default:
		return common_fail(PTL_UNSUPPORTED, "the compression format %u", compression);
	}
}
