/* SPDX-License-Identifier: BSD-2-Clause */
/* Encoder and decoder of the side area. */
#include "format/container/side.h"

#include <stdlib.h>

#include "common/bytes.h"
#include "common/error.h"
#include "format/container/layout.h"
#include "common/vector.h"

#define CHECKSUM_SIZE 8
#define PSB_SPACING 16 /* bytes of a PSB packet, hence the least distance of two PSBs */

/*
 * Appends the item's type, its length, and its bytes, and frees the bytes. The length is known only when the item is
 * complete.
 */
static void append_item(struct ptl_bytes *out, enum format_side_item type, struct ptl_bytes *body)
{
	common_write_varint(out, type);
	common_write_varint(out, body->size);
	common_write_bytes(out, body->data, body->size);
	out->failed |= body->failed;
	common_bytes_free(body);
}

void format_side_psbs(struct ptl_bytes *out, const struct ptl_psb *psbs, size_t count, uint64_t position,
		      uint64_t first_time)
{
	struct ptl_psb last = {position, first_time};
	struct ptl_bytes body = {0};

	for (size_t i = 0; i < count; i++) {
		common_write_varint(&body, common_zigzag((int64_t)(psbs[i].offset - last.offset)));
		common_write_varint(&body, common_zigzag((int64_t)(psbs[i].time - last.time)));
		last = psbs[i];
	}
	append_item(out, FORMAT_SIDE_PSBS, &body);
}

void format_side_chunks(struct ptl_bytes *out, const struct format_chunk *chunks, size_t count)
{
	struct ptl_bytes body = {0};

	for (size_t i = 0; i < count; i++) {
		common_write_bytes(&body, chunks[i].hash, PTL_HASH_SIZE);
		common_write_varint(&body, chunks[i].type);
		common_write_varint(&body, chunks[i].blob_size);
		common_write_varint(&body, chunks[i].offset);
		common_write_varint(&body, chunks[i].length);
	}
	append_item(out, FORMAT_SIDE_CHUNKS, &body);
}

void format_side_finish(struct ptl_bytes *out, size_t start)
{
	if (!out->failed)
		common_write_le(out, format_checksum(out->data + start, out->size - start), CHECKSUM_SIZE);
}

struct psb_state {
	struct ptl_psb last; /* base of the next differences */
	bool have;           /* an earlier PSB exists, at offset `before` */
	uint64_t before;
};

static int decode_psbs(struct common_cursor *cursor, struct psb_state *state, struct format_side *side)
{
	while (common_cursor_left(cursor)) {
		struct ptl_psb psb;

		psb.offset = state->last.offset + (uint64_t)common_unzigzag(common_read_varint(cursor));
		psb.time = state->last.time + (uint64_t)common_unzigzag(common_read_varint(cursor));
		if (cursor->failed || psb.offset >= FORMAT_POSITION_MAX ||
		    (state->have && psb.offset < state->before + PSB_SPACING))
			return common_fail(PTL_CORRUPT, "PSB entries are out of order");
		if (!common_vector_room(&side->psbs, side->psb_count, sizeof(psb)))
			return common_fail_memory("PSB entries", side->psb_count * sizeof(psb));
		side->psbs[side->psb_count++] = psb;
		state->last = psb;
		state->have = true;
		state->before = psb.offset;
	}
	return 0;
}

static int decode_chunks(struct common_cursor *cursor, uint64_t *left, struct format_side *side)
{
	while (common_cursor_left(cursor)) {
		const uint8_t *hash = common_read_bytes(cursor, PTL_HASH_SIZE);
		struct format_chunk chunk;
		const uint64_t type = common_read_varint(cursor);

		chunk.type = (uint32_t)type;
		chunk.blob_size = common_read_varint(cursor);
		chunk.offset = common_read_varint(cursor);
		chunk.length = common_read_varint(cursor);
		if (cursor->failed || type > UINT32_MAX || chunk.length > *left || chunk.offset > chunk.blob_size ||
		    chunk.length > chunk.blob_size - chunk.offset || (chunk.length == 0) != (chunk.blob_size == 0))
			return common_fail(PTL_CORRUPT, "blob chunks do not fit");
		*left -= chunk.length;
		memcpy(chunk.hash, hash, PTL_HASH_SIZE);
		if (!common_vector_room(&side->chunks, side->chunk_count, sizeof(chunk)))
			return common_fail_memory("blob chunks", side->chunk_count * sizeof(chunk));
		side->chunks[side->chunk_count++] = chunk;
	}
	return 0;
}

static int decode_items(struct common_cursor *cursor, uint32_t kind, struct psb_state *state, uint64_t raw_size,
			struct format_side *side)
{
	uint64_t left = raw_size;
	int status = 0;

	while (!status && common_cursor_left(cursor)) {
		const uint64_t type = common_read_varint(cursor);
		const uint64_t length = common_read_varint(cursor);
		const uint8_t *body = common_read_bytes(cursor, length);
		struct common_cursor item;

		if (!body)
			return common_fail(PTL_CORRUPT, "an item of the side area does not fit");
		item = common_cursor(body, length);
		if (type == FORMAT_SIDE_PSBS && kind == PTL_KIND_PT)
			status = decode_psbs(&item, state, side);
		else if (type == FORMAT_SIDE_CHUNKS && kind == PTL_KIND_BLOB)
			status = decode_chunks(&item, &left, side);
		else
			side->unknown_items = true;
	}
	if (!status && kind == PTL_KIND_BLOB && side->chunk_count && left)
		return common_fail(PTL_CORRUPT, "blob chunks leave %llu bytes over", (unsigned long long)left);
	return status;
}

int format_side_decode(const uint8_t *data, size_t size, uint32_t kind, uint64_t position, uint64_t first_time,
		       uint64_t raw_size, bool have_psb, uint64_t last_psb, struct format_side *side)
{
	struct psb_state state = {{position, first_time}, have_psb, last_psb};
	struct common_cursor cursor;
	int status;

	*side = (struct format_side){0};
	if (!size)
		return 0;
	if (size <= CHECKSUM_SIZE)
		return common_fail(PTL_CORRUPT, "side area of %zu bytes", size);
	size -= CHECKSUM_SIZE;
	if (format_checksum(data, size) != common_load64(data + size))
		return common_fail(PTL_CORRUPT, "checksum of the side area differs");
	cursor = common_cursor(data, size);
	status = decode_items(&cursor, kind, &state, raw_size, side);
	if (status)
		format_side_free(side);
	return status;
}

void format_side_free(struct format_side *side)
{
	free(side->psbs);
	free(side->chunks);
	*side = (struct format_side){0};
}
