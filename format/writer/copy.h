/* SPDX-License-Identifier: BSD-2-Clause */
/* What the relogger needs of a writer besides ptl/writer.h: copies of buffers with changes, and pieces of blobs. */
#ifndef FORMAT_WRITER_COPY_H
#define FORMAT_WRITER_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/reader.h>
#include <ptl/writer.h>

#include "format/container/side.h"
#include "format/writer/room.h"

/* What format_writer_copy_changed does to a buffer on its way. */
struct format_copy_change {
	uint32_t stream;       /* of this writer, of the same kind; not looked at for BLOB buffers */
	int64_t time_shift;    /* nanoseconds that are added to all its times */
	uint64_t position_cut; /* taken from the position, modulo 2^64: where in the copied stream the new one starts */
	bool recompress;       /* the payload is compressed again, with the writer's level */
	bool own_psbs;         /* the PSBs of the buffer are these, with the copied stream's times and offsets */
	const struct ptl_psb *psbs;
	size_t psb_count;
	/* Sees the buffer as it is in the trace before anything is done with it; NULL: nobody. */
	int (*look)(void *context, uint64_t offset, const uint8_t *data, size_t size);
	void *look_context;
};

/* From now on the file has the blob, or has lost it again. PTL_NO_MEMORY. */
int format_writer_note_blob(struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE], bool there);
bool format_writer_has_blob(const struct ptl_writer *writer, const uint8_t hash[PTL_HASH_SIZE]);
/* A piece of a blob whose other pieces are the caller's care. */
int format_writer_chunk(struct ptl_writer *writer, const struct format_chunk *chunk, const uint8_t *data);

/* As ptl_writer_copy_to. */
int format_writer_copy_changed(struct ptl_writer *writer, struct ptl_trace *trace, size_t i,
			       const struct format_copy_change *change);

/* A high id that no stream has. */
uint32_t format_writer_spare_id(const struct ptl_writer *writer);

#define FORMAT_BLOB_STREAM 1 /* ids that this writer gives; readers do not rely on them */
#define FORMAT_INDEX_STREAM 2

#endif
