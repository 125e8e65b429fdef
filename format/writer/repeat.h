/* SPDX-License-Identifier: BSD-2-Clause */
/* A file that goes on where another one ends. */
#ifndef FORMAT_WRITER_REPEAT_H
#define FORMAT_WRITER_REPEAT_H

#include <ptl/reader.h>
#include <ptl/writer.h>

/* Writes the schemas and maps that another writer was given. As ptl_writer_schema. */
int format_writer_repeat(struct ptl_writer *writer, const struct ptl_writer *before);
/*
 * Writes the blob of this hash, unless the file has it, as another trace has it; nothing, where that has it not or it cannot be
 * read. As ptl_writer_blob.
 */
int format_writer_repeat_blob(struct ptl_writer *writer, struct ptl_trace *before, const uint8_t hash[PTL_HASH_SIZE]);

/* Hands all that was taken so far over to be written, and does not wait: *position is how far that goes. As ptl_writer_flush. */
int format_writer_submit(struct ptl_writer *writer, uint64_t *position);
/* Whether the file has all up to there, but for what could not be written. */
bool format_writer_reached(struct ptl_writer *writer, uint64_t position);
/* Waits for that; on any thread, while the writer is not closed. */
void format_writer_await(struct ptl_writer *writer, uint64_t position);

#endif
