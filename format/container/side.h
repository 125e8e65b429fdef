/* SPDX-License-Identifier: BSD-2-Clause */
/* The side area of a buffer (docs/format.md 3.1): PSBs and blob chunks, readable without decompression. */
#ifndef FORMAT_CONTAINER_SIDE_H
#define FORMAT_CONTAINER_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>

struct ptl_bytes;

enum format_side_item { FORMAT_SIDE_PSBS = 1, FORMAT_SIDE_CHUNKS = 2 };

/* A piece of a blob. The pieces of a buffer follow each other in the payload. */
struct format_chunk {
	uint8_t hash[PTL_HASH_SIZE];
	uint32_t type;
	uint64_t blob_size;
	uint64_t offset; /* offset in the blob */
	uint64_t length;
};

/* Most bytes of a PSB entry: two zigzag varints. */
#define FORMAT_PSB_ENTRY_MAX 20
/* Most bytes of a chunk entry. */
#define FORMAT_CHUNK_ENTRY_MAX (PTL_HASH_SIZE + 5 + 3 * 10)

/*
 * format_side_psbs and format_side_chunks append an item. format_side_finish appends the checksum of all bytes since
 * `start`. Failures are recorded in out->failed.
 */
void format_side_psbs(struct ptl_bytes *out, const struct ptl_psb *psbs, size_t count, uint64_t position,
		      uint64_t first_time);
void format_side_chunks(struct ptl_bytes *out, const struct format_chunk *chunks, size_t count);
void format_side_finish(struct ptl_bytes *out, size_t start);

/* Decoded side area. The caller frees the arrays by format_side_free. */
struct format_side {
	struct ptl_psb *psbs;
	size_t psb_count;
	struct format_chunk *chunks;
	size_t chunk_count;
	bool unknown_items;
};

/*
 * Decodes a whole side area; size 0: no side area. If have_psb, last_psb is the offset of the last PSB before this
 * buffer. PTL_CORRUPT, PTL_NO_MEMORY; `side` is empty on failure.
 */
int format_side_decode(const uint8_t *data, size_t size, uint32_t kind, uint64_t position, uint64_t first_time,
		       uint64_t raw_size, bool have_psb, uint64_t last_psb, struct format_side *side);
void format_side_free(struct format_side *side);

#endif
