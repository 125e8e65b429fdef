/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions for the relogger, besides ptl/writer.h: copies of buffers with changes, and pieces of blobs. */
#ifndef FORMAT_WRITER_COPY_H
#define FORMAT_WRITER_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "format/container/side.h"
#include "format/writer/room.h"

/* Changes of a buffer that format_writer_copy_changed copies. */
struct format_copy_change {
	uint32_t stream;    /* stream of this writer, of the same kind; ignored for BLOB buffers */
	int64_t time_shift; /* nanoseconds added to all times */
	/* subtracted from the position, modulo 2^64: position in the copied stream at which the new stream starts */
	uint64_t position_cut;
	bool recompress; /* recompress the payload with the writer's level */
	/* replace the buffer's PSBs by `psbs`, which have the copied stream's times and offsets */
	bool own_psbs;
	const struct ptl_psb *psbs;
	size_t psb_count;
	/* Called with the unchanged buffer before processing; may be NULL. */
	int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size);
	void *look_context;
};

/* Notes that the file has a blob, or has lost it. PTL_NO_MEMORY. */
int format_writer_note_blob(struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE], bool there);
bool format_writer_has_blob(const struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE]);
/* Writes a piece of a blob. The caller is responsible for the other pieces. */
int format_writer_chunk(struct ptl_writer *writer, const struct format_chunk *chunk, const uint8_t *data);

/* As ptl_writer_copy_to, with changes. */
int format_writer_copy_changed(struct ptl_writer *writer, struct ptl_trace *trace, size_t i,
			       const struct format_copy_change *change);

/* Returns a high id that no stream uses. */
uint32_t format_writer_spare_id(const struct ptl_writer *writer);

#define FORMAT_BLOB_STREAM 1 /* ids chosen by this writer; readers must not rely on them */
#define FORMAT_INDEX_STREAM 2

#endif
